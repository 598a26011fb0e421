"""An extension that neither Helm nor Azure can remove is forgotten by both, and by nothing else."""

from collections.abc import Callable

import pytest

from contract.messages.base import Verb
from contract.messages.extension import ExtensionRecoveryRequest
from operations.errors import ExitCode
from simulator.values import as_object, as_objects, as_text, dig
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.operations.test_namespace import KEEP, NAMESPACE, SERVICE, request_for
from tests.operations.test_survey import survey
from tests.simulator.azure import Kubernetes

EXTENSION = f"{CLUSTER_ID}/providers/Microsoft.KubernetesConfiguration/extensions/inspektor-gadget"
REQUEST = ExtensionRecoveryRequest(
    cluster_id=CLUSTER_ID,
    namespace="gadget",
    extension_id=EXTENSION,
    release="inspektor-gadget",
    seen="1",
)
INSTALLED = {
    "properties": {
        "extensionType": "microsoft.inspektorgadget",
        "releaseTrain": "preview",
        "configurationSettings": {"gpuObservability.enabled": "true"},
    }
}


def state(azure: Azure) -> str:
    """Of the extension; empty: Azure does not know it."""
    answer = azure.call("GET", EXTENSION)
    found = as_object(answer.json()) if answer.is_success else {}
    return as_text(dig(found, "properties", "provisioningState"))


def records(cluster: Kubernetes) -> list[str]:
    """The statuses of what Helm keeps of the extension's release."""
    listed = as_objects(as_object(cluster.call("GET", f"{NAMESPACE}/secrets").json())["items"])
    return [as_text(dig(one, "metadata", "labels", "status")) for one in listed]


@pytest.fixture
def cluster(azure: Azure, operations: Operations) -> Kubernetes:
    """With the agent, whose chart carries the namespace that Pyroscope is in, too."""
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    operations.succeed(KEEP, request_for())
    kubernetes.call("POST", f"{NAMESPACE}/services", SERVICE)
    azure.settings(extensionChart={"namespace": True})
    azure.arm("PUT", EXTENSION, "", INSTALLED)
    azure.advance()
    assert (state(azure), records(kubernetes)) == ("Succeeded", ["deployed"])
    return kubernetes


@pytest.fixture
def stuck(azure: Azure, cluster: Kubernetes) -> Kubernetes:
    """After somebody has tried to remove the extension."""
    azure.arm("DELETE", EXTENSION)
    azure.advance()
    assert (state(azure), records(cluster)) == ("Failed", ["uninstalling"])
    return cluster


def test_the_survey_tells_it_from_other_failures_by_helms_words(
    azure: Azure, stuck: Kubernetes, operations: Operations
) -> None:
    found = survey(operations).installed
    assert (found.id, found.helm_release) == (EXTENSION, REQUEST.release)
    assert found.not_removed
    assert survey(operations).installed.not_removed != found.not_removed, "the same each time"
    azure.settings(extensionChart={"namespace": True, "release": "other"})
    azure.call("DELETE", EXTENSION, forceDelete="true")
    azure.arm("PUT", EXTENSION, "", INSTALLED)
    azure.advance()
    found = survey(operations).installed
    assert (found.helm_release, found.not_removed) == ("other", "")


def test_without_it_the_extension_cannot_be_installed_again(
    azure: Azure, stuck: Kubernetes
) -> None:
    azure.call("DELETE", EXTENSION, forceDelete="true")
    azure.arm("PUT", EXTENSION, "", INSTALLED)
    azure.advance()
    assert state(azure) == "Failed"


def test_both_forget_it_the_rest_of_the_namespace_stays_and_it_is_installed_again(
    azure: Azure, stuck: Kubernetes, operations: Operations
) -> None:
    before = stuck.call("GET", NAMESPACE).json()
    for _ in range(2):
        answer = operations.succeed(Verb.RECOVER_EXTENSION, REQUEST).answer
        assert answer == {"extensionId": EXTENSION, "seen": "1"}
    assert (state(azure), records(stuck)) == ("", [])
    assert stuck.call("GET", NAMESPACE).json() == before
    assert stuck.call("GET", f"{NAMESPACE}/services/pyroscope").is_success
    azure.arm("PUT", EXTENSION, "", INSTALLED)
    azure.advance()
    assert (state(azure), records(stuck)) == ("Succeeded", ["deployed"])


def healthy(azure: Azure, cluster: Kubernetes) -> None:
    """Azure has gone on with it."""
    azure.call("DELETE", EXTENSION, forceDelete="true")
    for name in _names(cluster):
        cluster.call("DELETE", f"{NAMESPACE}/secrets/{name}")
    azure.arm("PUT", EXTENSION, "", INSTALLED)
    azure.advance()


def at_work(azure: Azure, cluster: Kubernetes) -> None:
    """Helm has gone on with it."""
    del azure
    labels = {"owner": "helm", "name": REQUEST.release, "status": "pending-install"}
    metadata = {
        "name": "sh.helm.release.v1.inspektor-gadget.v2",
        "labels": labels | {"version": "2"},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    assert cluster.call("POST", f"{NAMESPACE}/secrets", secret).status_code == 201


def _names(cluster: Kubernetes) -> list[object]:
    listed = as_objects(as_object(cluster.call("GET", f"{NAMESPACE}/secrets").json())["items"])
    return [dig(one, "metadata", "name") for one in listed]


@pytest.mark.parametrize("change", [healthy, at_work])
def test_what_has_gone_on_since_it_was_looked_at_stays(
    azure: Azure,
    stuck: Kubernetes,
    operations: Operations,
    change: Callable[[Azure, Kubernetes], None],
) -> None:
    change(azure, stuck)
    before = (state(azure), records(stuck))
    result = operations(Verb.RECOVER_EXTENSION, REQUEST)
    assert result.exit_code == ExitCode.CONFLICT
    assert "has changed since it was looked at" in result.stderr
    assert (state(azure), records(stuck)) == before


def test_what_helm_keeps_goes_first_so_that_a_refusal_of_azure_is_met_again(
    azure: Azure, stuck: Kubernetes, operations: Operations
) -> None:
    refusal = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.fault("DELETE", ".*/extensions/.*", {"status": 403, "body": refusal}, count=None)
    result = operations(Verb.RECOVER_EXTENSION, REQUEST)
    assert result.exit_code == ExitCode.FORBIDDEN
    assert (state(azure), records(stuck)) == ("Failed", [])
    azure.settings(faults=[])
    operations.succeed(Verb.RECOVER_EXTENSION, REQUEST)
    assert state(azure) == ""
