"""Objects of the release that somebody has changed: seen, and put back as Helm rendered them."""

import pytest

from contract.messages.base import Verb
from contract.messages.release import RepairRequest
from contract.messages.survey import InsideFacts
from simulator.values import JsonObject, as_object, as_objects, dig, merge_patch
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.operations.test_survey import survey
from tests.simulator.azure import Kubernetes

SERVICE = "/api/v1/namespaces/gadget/services/pyroscope"
CONFIG = "/api/v1/namespaces/gadget/configmaps/pyroscope-config"
STATEFUL_SET = "/apis/apps/v1/namespaces/gadget/statefulsets/pyroscope"
VISIBILITY = "service.beta.kubernetes.io/azure-pls-visibility"


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    """With the release."""
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    assert kubernetes.release()["status"] == "deployed"
    return kubernetes


def get(cluster: Kubernetes, path: str) -> JsonObject:
    return as_object(cluster.call("GET", path).json())


def edit(cluster: Kubernetes, path: str, change: JsonObject) -> None:
    changed = merge_patch(get(cluster, path), change)
    assert cluster.call("PUT", path, changed).status_code == 200


def looked_at(operations: Operations) -> InsideFacts:
    return survey(operations, look_at_release=True).inside


def repair(operations: Operations, found: InsideFacts) -> object:
    request = RepairRequest(cluster_id=CLUSTER_ID, objects=found.drifted)
    return operations.succeed(Verb.REPAIR_RELEASE, request).answer["putBack"]


def test_of_a_release_that_nobody_touched_nothing_has_drifted(
    cluster: Kubernetes, operations: Operations
) -> None:
    found = looked_at(operations)
    assert (found.drifted, found.drift_problem) == ((), "")


CHANGES = {
    "an annotation of the Service": (
        SERVICE,
        {"metadata": {"annotations": {VISIBILITY: "nobody"}}},
        (f"metadata.annotations.{VISIBILITY}",),
        False,
    ),
    "the Service's kind": (SERVICE, {"spec": {"type": "ClusterIP"}}, ("spec.type",), False),
    "the number of servers": (STATEFUL_SET, {"spec": {"replicas": 0}}, ("spec.replicas",), False),
    "the server's configuration": (
        CONFIG,
        {"data": {"config.yaml": ""}},
        ("data.config.yaml",),
        False,
    ),
    "what its pods are made of": (
        STATEFUL_SET,
        {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}},
        ("spec.template.spec.dnsPolicy",),
        True,
    ),
}


@pytest.mark.parametrize(("path", "change", "fields", "restarts"), CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_named_and_put_back_and_then_nothing_is_left(
    cluster: Kubernetes,
    operations: Operations,
    path: str,
    change: JsonObject,
    fields: tuple[str, ...],
    restarts: bool,
) -> None:
    before = get(cluster, path)
    edit(cluster, path, change)
    found = looked_at(operations)
    assert [(one.path, tuple(one.fields), one.restarts) for one in found.drifted] == [
        (path, fields, restarts)
    ]
    assert repair(operations, found) == [found.drifted[0].name]
    assert as_object(get(cluster, path)).get("spec") == before.get("spec")
    assert get(cluster, path).get("data") == before.get("data")
    assert looked_at(operations).drifted == ()
    assert repair(operations, found) == []


def test_what_was_deleted_is_made_again_as_the_releases_own(
    cluster: Kubernetes, operations: Operations
) -> None:
    assert cluster.call("DELETE", CONFIG).status_code == 200
    found = looked_at(operations)
    assert [(one.name, tuple(one.fields)) for one in found.drifted] == [
        ("ConfigMap gadget/pyroscope-config", ())
    ]
    repair(operations, found)
    annotations = as_object(dig(get(cluster, CONFIG), "metadata", "annotations"))
    assert annotations["meta.helm.sh/release-name"] == "pyroscope"
    assert looked_at(operations).drifted == ()


def test_what_somebody_added_is_left_alone(cluster: Kubernetes, operations: Operations) -> None:
    edit(cluster, SERVICE, {"metadata": {"annotations": {"example.com/mine": "kept"}}})
    assert looked_at(operations).drifted == ()


def test_a_container_that_somebody_added_is_taken_out_again(
    cluster: Kubernetes, operations: Operations
) -> None:
    containers = as_objects(
        dig(get(cluster, STATEFUL_SET), "spec", "template", "spec", "containers")
    )
    added = [*containers, {"name": "debug", "image": "busybox"}]
    edit(cluster, STATEFUL_SET, {"spec": {"template": {"spec": {"containers": added}}}})
    found = looked_at(operations)
    (one,) = found.drifted
    assert tuple(one.fields) == ("spec.template.spec.containers",)
    assert one.restarts
    repair(operations, found)
    after = as_objects(dig(get(cluster, STATEFUL_SET), "spec", "template", "spec", "containers"))
    assert [one["name"] for one in after] == [one["name"] for one in containers]


def test_looking_changes_nothing(cluster: Kubernetes, operations: Operations) -> None:
    edit(cluster, SERVICE, {"metadata": {"annotations": {VISIBILITY: "nobody"}}})
    before = get(cluster, SERVICE)
    looked_at(operations)
    assert get(cluster, SERVICE) == before


def test_an_object_that_may_not_be_read_is_no_drift_but_a_sentence(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    edit(cluster, SERVICE, {"metadata": {"annotations": {VISIBILITY: "nobody"}}})
    azure.fault("GET", f"/kubernetes/.*{CONFIG}", {"status": 403}, count=None)
    found = looked_at(operations)
    assert found.drifted == ()
    assert "look at ConfigMap gadget/pyroscope-config" in found.drift_problem
