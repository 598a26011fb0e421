"""Helm's records of a run that was cut off: found, and removed only as they were found."""

import pytest

from contract.messages.base import Verb
from contract.messages.release import RecordOfRelease, RecoveryRequest
from contract.messages.survey import InsideFacts, ReleaseRecord
from operations.errors import ExitCode
from simulator.values import as_object, as_objects, as_text, dig
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.operations.test_survey import survey
from tests.simulator.azure import Kubernetes, pyroscope_values

RELEASE = "/releases/gadget/pyroscope"
SECRETS = "/api/v1/namespaces/gadget/secrets"
CUT_OFF = {"operation": {"status": "Canceled"}}


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    """With the namespace."""
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    return kubernetes


def cut_off(azure: Azure, cluster: Kubernetes, *, upgrade: bool) -> None:
    """An install, or an upgrade of one that is deployed, whose process ends in the middle."""
    if upgrade:
        assert cluster.release()["status"] == "deployed"
    azure.fault("PUT", f"/kubernetes/.*{RELEASE}", CUT_OFF)
    body = {
        "chart": "oci://ghcr.io/grafana/helm-charts/pyroscope",
        "version": "1.15.0",
        "values": pyroscope_values(),
    }
    query = "?upgrade=true" if upgrade else ""
    assert cluster.call("PUT", RELEASE + query, body).status_code == 202
    azure.settings(faults=[])


def pending(operations: Operations) -> InsideFacts:
    return survey(operations, look_at_release=True).inside


def recovery(*records: ReleaseRecord) -> RecoveryRequest:
    found = (RecordOfRelease(name=one.name, uid=one.uid, status=one.status) for one in records)
    return RecoveryRequest(cluster_id=CLUSTER_ID, namespace="gadget", records=tuple(found))


def statuses(cluster: Kubernetes) -> list[str]:
    listed = as_objects(as_object(cluster.call("GET", SECRETS).json())["items"])
    return [as_text(dig(one, "metadata", "labels", "status")) for one in listed]


def test_of_a_release_that_is_done_nothing_is_pending(
    cluster: Kubernetes, operations: Operations
) -> None:
    cluster.release()
    assert pending(operations).release_records == ()


def test_an_upgrade_that_was_cut_off_goes_on_without_its_record_and_keeps_the_one_before(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    cut_off(azure, cluster, upgrade=True)
    assert "another operation" in as_text(cluster.release(upgrade=True)["message"])
    (record,) = pending(operations).release_records
    assert (record.name, record.status, record.private_link_name) == (
        "sh.helm.release.v1.pyroscope.v2",
        "pending-upgrade",
        "pyroscope-pls",
    )
    for removed in ([record.name], []):
        answer = operations.succeed(Verb.RECOVER_RELEASE, recovery(record)).answer
        assert answer == {"removed": removed}
    assert statuses(cluster) == ["deployed"]
    assert cluster.release(upgrade=True)["status"] == "deployed"
    assert statuses(cluster) == ["superseded", "deployed"]


def test_an_install_that_was_cut_off_is_installed_again_without_its_record(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    cut_off(azure, cluster, upgrade=False)
    assert "cannot re-use a name" in as_text(cluster.release()["message"])
    (record,) = pending(operations).release_records
    assert record.status == "pending-install"
    operations.succeed(Verb.RECOVER_RELEASE, recovery(record))
    assert cluster.release()["status"] == "deployed"


@pytest.mark.parametrize("change", [{"status": "pending-install"}, {"uid": "another"}])
def test_a_record_that_has_changed_since_it_was_looked_at_stays(
    azure: Azure, cluster: Kubernetes, operations: Operations, change: dict[str, str]
) -> None:
    cut_off(azure, cluster, upgrade=True)
    (record,) = pending(operations).release_records
    result = operations(Verb.RECOVER_RELEASE, recovery(record.model_copy(update=change)))
    assert result.exit_code == ExitCode.CONFLICT
    assert "somebody is installing or upgrading Pyroscope" in result.stderr
    assert statuses(cluster) == ["deployed", "pending-upgrade"]


def test_what_the_api_server_does_not_show_is_not_there(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    cut_off(azure, cluster, upgrade=True)
    azure.fault("GET", f"/kubernetes/.*{SECRETS}", {"status": 403}, count=None)
    assert pending(operations).release_records == ()
