"""The survey's look into a cluster: what others installed there, and nothing where it is closed."""

from contract.messages.survey import InsideFacts, Presence
from simulator.values import JsonObject
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.operations.test_survey import survey
from tests.simulator.azure import Kubernetes

ADMISSION = "/apis/constraints.gatekeeper.sh/v1beta1/k8sazurev2noprivilege"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def make(cluster: Kubernetes, path: str, manifest: JsonObject) -> None:
    answer = cluster.call("POST", path, manifest)
    assert answer.status_code == 201, answer.text


def look(operations: Operations) -> InsideFacts:
    return survey(operations, look_inside=True).inside


def test_an_empty_cluster_has_nothing_in_the_way(azure: Azure, operations: Operations) -> None:
    del azure
    assert look(operations) == InsideFacts(presence=Presence.FOUND)


def test_a_cluster_that_is_busy_for_a_moment_is_looked_into(
    azure: Azure, operations: Operations
) -> None:
    for path in (".*/listClusterUserCredential", "/kubernetes/.*/namespaces/gadget"):
        azure.fault("GET|POST", path, {"status": 429})
        assert look(operations).presence is Presence.FOUND


def test_nobody_looks_who_does_not_ask(azure: Azure, operations: Operations) -> None:
    del azure
    assert survey(operations).inside.presence is Presence.NOT_ASKED


def test_what_the_manual_procedure_installed_is_found(azure: Azure, operations: Operations) -> None:
    cluster = Kubernetes(azure, CLUSTER_ID)
    cluster.install_device_plugin()
    cluster.make_namespace()
    assert cluster.release()["status"] == "deployed"
    found = look(operations)
    assert found.namespace
    assert [(one.status, one.private_link_name) for one in found.release_records] == [
        ("deployed", "pyroscope-pls")
    ]
    assert found.private_link_name == "pyroscope-pls"
    assert [one.name for one in found.device_plugins] == ["kube-system/nvidia-device-plugin"]
    assert found.device_plugins[0].tolerations == (
        {"key": "sku", "operator": "Exists", "effect": "NoSchedule"},
    )


def test_an_agent_without_a_release_is_found(azure: Azure, operations: Operations) -> None:
    cluster = Kubernetes(azure, CLUSTER_ID)
    cluster.make_namespace()
    manifest: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "gadget"},
        "spec": {"template": {"spec": {"containers": [{"name": "gadget", "image": "gadget"}]}}},
    }
    make(cluster, "/apis/apps/v1/namespaces/gadget/daemonsets", manifest)
    assert look(operations).agent_by_hand


def test_the_gpu_operator_is_found_by_its_kind(azure: Azure, operations: Operations) -> None:
    definition: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterpolicies.nvidia.com"},
    }
    make(Kubernetes(azure, CLUSTER_ID), DEFINITIONS, definition)
    assert look(operations).gpu_operator


def test_a_policy_counts_where_it_denies_and_does_not_leave_the_namespace_out(
    azure: Azure, operations: Operations
) -> None:
    cluster = Kubernetes(azure, CLUSTER_ID)
    for name, action, excluded in (
        ("denying", "deny", ["kube-system"]),
        ("auditing", "dryrun", []),
        ("excluding", "deny", ["kube-system", "gadget"]),
    ):
        constraint: JsonObject = {
            "apiVersion": "constraints.gatekeeper.sh/v1beta1",
            "kind": "K8sAzureV2NoPrivilege",
            "metadata": {"name": name},
            "spec": {"enforcementAction": action, "match": {"excludedNamespaces": excluded}},
        }
        make(cluster, ADMISSION, constraint)
    assert look(operations).policies == ("denying",)


def test_an_api_server_that_does_not_answer_is_no_failure(
    azure: Azure, operations: Operations
) -> None:
    azure.fault("GET", "/kubernetes/.*", {"drop": "before"}, count=None)
    assert look(operations).presence is Presence.UNREACHABLE
