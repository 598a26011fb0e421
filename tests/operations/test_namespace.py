"""Keeping the agent's namespace: marked, protected, and never a reason for a deployment to fail."""

from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.namespace import NamespaceRequest
from simulator.values import JsonObject, as_object, as_text, dig
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.operations.test_survey import survey
from tests.simulator.azure import Kubernetes

KEEP, RELEASE = Verb.KEEP_NAMESPACE, Verb.RELEASE_NAMESPACE
NAMESPACE = "/api/v1/namespaces/gadget"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "pyroscope"},
    "spec": {"ports": [{"port": 4040}]},
}


def request_for(**changes: Any) -> NamespaceRequest:
    request = NamespaceRequest(
        cluster_id=CLUSTER_ID,
        namespace="gadget",
        service="pyroscope",
        release="inspektor-gadget",
        stack_mark="gpuobs gpuobs dev 1",
    )
    return request.model_copy(update=changes)


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    """With the namespace."""
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    return kubernetes


def metadata(cluster: Kubernetes) -> JsonObject:
    return as_object(as_object(cluster.call("GET", NAMESPACE).json())["metadata"])


def test_it_is_marked_for_helm_and_kept_while_the_service_is_in_it(
    cluster: Kubernetes, operations: Operations
) -> None:
    for _ in range(2):
        answer = operations.succeed(KEEP, request_for()).answer
        assert answer == {"namespace": "gadget", "protected": True, "note": ""}
    assert dig(metadata(cluster), "labels", "app.kubernetes.io/managed-by") == "Helm"
    annotations = as_object(metadata(cluster)["annotations"])
    assert annotations["meta.helm.sh/release-name"] == "inspektor-gadget"
    assert annotations["meta.helm.sh/release-namespace"] == "gadget"
    assert annotations["gpuobs/stack"] == "gpuobs gpuobs dev 1"
    cluster.call("POST", f"{NAMESPACE}/services", SERVICE)
    refused = cluster.call("DELETE", NAMESPACE)
    assert refused.status_code == 403
    assert "gadget holds pyroscope" in refused.text
    cluster.call("DELETE", f"{NAMESPACE}/services/pyroscope")
    assert cluster.call("DELETE", NAMESPACE).status_code == 200


def test_one_that_is_somebody_elses_is_protected_and_not_marked(
    cluster: Kubernetes, operations: Operations
) -> None:
    operations.succeed(KEEP, request_for(release=None, stack_mark=None, admin=True))
    assert "labels" not in metadata(cluster)
    assert len(cluster.call("GET", POLICIES).json()["items"]) == 1


def test_releasing_it_leaves_no_policy_and_may_be_repeated(
    cluster: Kubernetes, operations: Operations
) -> None:
    operations.succeed(KEEP, request_for())
    for _ in range(2):
        assert operations.succeed(RELEASE, request_for()).answer["protected"] is False
    assert cluster.call("GET", POLICIES).json()["items"] == []
    assert cluster.call("GET", f"{POLICIES.removesuffix('ies')}ybindings").json()["items"] == []


@pytest.mark.parametrize("status", [403, 404])
def test_an_api_server_that_takes_no_policies_is_told_of_and_no_failure(
    azure: Azure, cluster: Kubernetes, operations: Operations, status: int
) -> None:
    body = {"kind": "Status", "message": "the server could not find the requested resource"}
    azure.fault("PATCH", f".*{POLICIES}/.*", {"status": status, "body": body}, count=None)
    result = operations.succeed(KEEP, request_for())
    assert result.answer["protected"] is False
    assert "note: the namespace gadget is not protected" in result.stderr
    assert dig(metadata(cluster), "labels", "app.kubernetes.io/managed-by") == "Helm"


def test_a_cluster_that_is_gone_needs_no_release(azure: Azure, operations: Operations) -> None:
    del azure
    result = operations.succeed(RELEASE, request_for(cluster_id=f"{CLUSTER_ID}-gone"))
    assert result.answer["protected"] is False
    assert result.stderr == ""


def test_a_busy_api_server_is_asked_again(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    azure.fault("PATCH", ".*/namespaces/gadget", {"status": 503}, count=2)
    assert operations.succeed(KEEP, request_for()).answer["protected"] is True
    assert dig(metadata(cluster), "labels", "app.kubernetes.io/managed-by") == "Helm"


def test_on_a_cluster_with_entra_id_the_callers_own_token_counts(
    azure: Azure, operations: Operations
) -> None:
    Kubernetes(azure, CLUSTER_ID).make_namespace()
    cluster = azure.arm("GET", CLUSTER_ID, "2025-09-01")
    properties = {**as_object(cluster["properties"]), "aadProfile": {"managed": True}}
    azure.arm("PUT", CLUSTER_ID, "2025-09-01", {**cluster, "properties": properties})
    assert operations.succeed(KEEP, request_for()).answer["protected"] is True


def test_a_kubeconfig_that_is_a_proxys_page_is_asked_for_again_and_then_reported(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    page = {"status": 200, "text": "<html>sign in</html>"}
    credential = ".*/listClusterUserCredential"
    azure.fault("POST", credential, page, count=2)
    assert operations.succeed(KEEP, request_for()).answer["protected"] is True
    azure.fault("POST", credential, page, count=None)
    result = operations.succeed(KEEP, request_for())
    assert "the answer is not from Azure Resource Manager" in as_text(result.answer["note"])


ANOTHERS = ["[]", '{"message": "ok"}', '{"kind": "Namespace", "metadata": {"name": "other"}}']


@pytest.mark.parametrize("text", ANOTHERS)
@pytest.mark.parametrize("path", [NAMESPACE, f"{POLICIES}/gpuobs-keep-gadget"])
def test_what_something_else_answered_does_not_count_as_marked_or_protected(
    azure: Azure, cluster: Kubernetes, operations: Operations, path: str, text: str
) -> None:
    then: JsonObject = {"status": 200, "text": text}
    azure.fault("PATCH", f".*{path}", then, count=2)
    assert operations.succeed(KEEP, request_for()).answer["protected"] is True
    azure.fault("PATCH", f".*{path}", then, count=None)
    answer = operations.succeed(KEEP, request_for(), "--deadline", "20").answer
    assert answer["protected"] is False
    assert "is not the API server" in as_text(answer["note"])
    assert metadata(cluster)["name"] == "gadget"


@pytest.mark.parametrize("text", ANOTHERS)
def test_a_protection_that_something_else_says_is_gone_is_taken_away_all_the_same(
    azure: Azure, cluster: Kubernetes, operations: Operations, text: str
) -> None:
    operations.succeed(KEEP, request_for())
    azure.fault("DELETE", f".*{POLICIES}/.*", {"status": 200, "text": text}, count=1)
    operations.succeed(RELEASE, request_for())
    assert cluster.call("GET", POLICIES).json()["items"] == []


@pytest.mark.parametrize("text", ["<html>not here</html>", ""], ids=["page", "empty"])
def test_a_protection_that_stays_as_a_proxy_says_that_there_is_no_cluster_is_told_of(
    azure: Azure, cluster: Kubernetes, operations: Operations, text: str
) -> None:
    operations.succeed(KEEP, request_for())
    credential = ".*/listClusterUserCredential"
    azure.fault("POST", credential, {"status": 404, "text": text}, count=None)
    result = operations.succeed(RELEASE, request_for())
    assert "note: the protection of the namespace gadget stays" in result.stderr
    assert len(cluster.call("GET", POLICIES).json()["items"]) == 1


# --- is it still kept? -----------------------------------------------------------------------


def unkept(operations: Operations) -> str:
    return survey(operations, look_at_release=True, kept_namespace=request_for()).inside.unkept


def test_as_it_was_left_it_is_kept_and_looking_changes_nothing(
    cluster: Kubernetes, operations: Operations
) -> None:
    operations.succeed(KEEP, request_for())
    before = metadata(cluster)
    assert unkept(operations) == ""
    assert metadata(cluster) == before


@pytest.mark.parametrize("lost", ["label", "stack's mark", "policy", "spec"])
def test_what_it_has_lost_is_seen_each_time_anew_until_it_is_kept_again(
    cluster: Kubernetes, operations: Operations, lost: str
) -> None:
    operations.succeed(KEEP, request_for())
    policy = f"{POLICIES}/gpuobs-keep-gadget"
    if lost == "label":
        manifest = as_object(cluster.call("GET", NAMESPACE).json())
        as_object(manifest["metadata"])["labels"] = {}
        cluster.call("PUT", NAMESPACE, manifest)
    elif lost == "stack's mark":
        manifest = as_object(cluster.call("GET", NAMESPACE).json())
        del as_object(as_object(manifest["metadata"])["annotations"])["gpuobs/stack"]
        cluster.call("PUT", NAMESPACE, manifest)
    elif lost == "policy":
        cluster.call("DELETE", policy)
    else:
        manifest = as_object(cluster.call("GET", policy).json())
        as_object(manifest["spec"])["failurePolicy"] = "Ignore"
        assert cluster.call("PUT", policy, manifest).status_code == 200
    first, second = unkept(operations), unkept(operations)
    assert first
    assert second
    assert first != second
    operations.succeed(KEEP, request_for())
    assert unkept(operations) == ""


def test_what_may_not_be_looked_at_counts_as_kept(
    azure: Azure, cluster: Kubernetes, operations: Operations
) -> None:
    operations.succeed(KEEP, request_for())
    cluster.call("DELETE", f"{POLICIES}/gpuobs-keep-gadget")
    azure.fault("GET", f".*{POLICIES}/.*", {"status": 403}, count=None)
    assert unkept(operations) == ""
