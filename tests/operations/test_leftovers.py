"""What killed runs have left in a cluster: this stack's is removed, and nobody else's."""

from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.leftovers import STACK_MARK, LeftoversRequest
from contract.messages.survey import InsideFacts, SurveyRequest
from simulator.values import JsonObject, as_object, as_text, dig
from tests.operations.conftest import CLUSTER_ID, MESSAGE, SUBSCRIPTION, Azure, Operations
from tests.simulator.azure import Kubernetes

NAMESPACE = "/api/v1/namespaces/gadget"
DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
OTHERS = f"{MESSAGE} too"


def request_for(**changes: Any) -> LeftoversRequest:
    return LeftoversRequest(cluster_id=CLUSTER_ID, mark=MESSAGE).model_copy(update=changes)


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    return Kubernetes(azure, CLUSTER_ID)


def make_namespace(cluster: Kubernetes, mark: str | None = MESSAGE) -> str:
    """The namespace with a mark, or without; its uid."""
    metadata: JsonObject = {"name": "gadget"}
    if mark is not None:
        metadata["annotations"] = {STACK_MARK: mark}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    made = cluster.call("POST", "/api/v1/namespaces", body)
    assert made.status_code == 201, made.text
    return as_text(dig(as_object(made.json()), "metadata", "uid"))


def make_plugin(cluster: Kubernetes, name: str, mark: str) -> str:
    """A device plugin; its path."""
    labels = {"name": name}
    body: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "annotations": {STACK_MARK: mark}},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {}},
        },
    }
    assert cluster.call("POST", DAEMON_SETS, body).status_code == 201
    return f"{DAEMON_SETS}/{name}"


def is_there(cluster: Kubernetes, path: str) -> bool:
    return cluster.call("GET", path).status_code == 200


def inside(operations: Operations) -> InsideFacts:
    request = SurveyRequest(
        provider_subscription_id=SUBSCRIPTION,
        provider_object_id="",
        namespaces=(),
        cluster_id=CLUSTER_ID,
        look_inside=True,
        stack_mark=MESSAGE,
    )
    answer = operations.succeed(Verb.SURVEY, request).answer
    return InsideFacts.model_validate(answer["inside"])


def test_the_survey_finds_what_carries_the_mark_and_clearing_removes_exactly_that(
    cluster: Kubernetes, operations: Operations
) -> None:
    make_namespace(cluster)
    own = make_plugin(cluster, "nvidia-device-plugin-gpu", MESSAGE)
    others = make_plugin(cluster, "nvidia-device-plugin-other", OTHERS)
    found = inside(operations)
    assert [one.path for one in found.marked] == [own, NAMESPACE]
    assert found.namespace_empty
    named = " ".join(map(str, found.marked))
    result = operations.succeed(Verb.CLEAR_LEFTOVERS, request_for(), observed=named)
    assert result.answer == {"removed": [own, NAMESPACE]}
    assert "which an earlier run has left" in result.stderr
    assert [is_there(cluster, one) for one in (NAMESPACE, own, others)] == [False, False, True]


def test_what_has_been_made_again_since_is_not_removed(
    cluster: Kubernetes, operations: Operations
) -> None:
    old = make_namespace(cluster)
    cluster.call("DELETE", NAMESPACE)
    make_namespace(cluster)
    operations.succeed(Verb.CLEAR_LEFTOVERS, request_for(), observed=f"{NAMESPACE}@{old}")
    assert is_there(cluster, NAMESPACE)


def test_nothing_named_is_nothing_to_ask_the_cluster_for(
    azure: Azure, operations: Operations
) -> None:
    azure.settings(faults=[{"service": "kubernetes", "count": None, "then": {"drop": "before"}}])
    assert operations.succeed(Verb.CLEAR_LEFTOVERS, request_for()).answer == {"removed": []}


def test_the_end_of_a_stack_removes_what_carries_its_mark_and_the_namespaces_protection(
    cluster: Kubernetes, operations: Operations
) -> None:
    make_namespace(cluster)
    own = make_plugin(cluster, "nvidia-device-plugin-gpu", MESSAGE)
    others = make_plugin(cluster, "nvidia-device-plugin-other", OTHERS)
    keep = {"clusterId": CLUSTER_ID, "namespace": "gadget", "service": "pyroscope"}
    operations.succeed(Verb.KEEP_NAMESPACE, keep)
    operations.succeed(Verb.REMOVE_LEFTOVERS, request_for())
    assert [is_there(cluster, one) for one in (NAMESPACE, own, others)] == [False, False, True]
    assert not is_there(cluster, f"{POLICIES}/gpuobs-keep-gadget")


@pytest.mark.parametrize(("mark", "is_left"), [(MESSAGE, False), (OTHERS, True), (None, True)])
def test_of_the_services_to_which_agents_push_the_stacks_own_alone_is_removed(
    cluster: Kubernetes, operations: Operations, mark: str | None, is_left: bool
) -> None:
    make_namespace(cluster, None)
    metadata: JsonObject = {"name": "pyroscope"}
    if mark is not None:
        metadata["annotations"] = {STACK_MARK: mark}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    spec = {"type": "ExternalName", "externalName": "pyroscope.example.org"}
    made = cluster.call("POST", f"{NAMESPACE}/services", {**body, "spec": spec})
    assert made.status_code == 201, made.text
    operations.succeed(Verb.REMOVE_LEFTOVERS, request_for(keeps_namespace=True))
    assert is_there(cluster, f"{NAMESPACE}/services/pyroscope") is is_left


@pytest.mark.parametrize("mark", [None, OTHERS])
def test_the_end_of_a_stack_leaves_another_namespace(
    cluster: Kubernetes, operations: Operations, mark: str | None
) -> None:
    make_namespace(cluster, mark)
    operations.succeed(Verb.REMOVE_LEFTOVERS, request_for())
    assert is_there(cluster, NAMESPACE)


def test_the_end_of_a_stack_leaves_a_namespace_that_its_stack_file_gave_away(
    cluster: Kubernetes, operations: Operations
) -> None:
    make_namespace(cluster)
    operations.succeed(Verb.REMOVE_LEFTOVERS, request_for(keeps_namespace=True))
    assert is_there(cluster, NAMESPACE)


def test_in_a_cluster_that_is_gone_nothing_is_left(azure: Azure, operations: Operations) -> None:
    azure.arm("DELETE", CLUSTER_ID, "2025-09-01")
    azure.arm("GET", CLUSTER_ID.rpartition("/providers/")[0], "2024-03-01")
    assert operations.succeed(Verb.REMOVE_LEFTOVERS, request_for()).answer == {"removed": []}


def test_a_cluster_that_does_not_answer_is_no_cluster_without_leftovers(
    azure: Azure, operations: Operations
) -> None:
    azure.settings(faults=[{"service": "kubernetes", "count": None, "then": {"drop": "before"}}])
    assert operations(Verb.REMOVE_LEFTOVERS, request_for()).exit_code == 7


@pytest.mark.parametrize(
    "then",
    [
        {"status": 200, "text": "[]"},
        {"status": 200, "text": '{"message": "ok"}'},
        {"status": 404, "text": "<html>not here</html>"},
        {"status": 404, "text": ""},
    ],
    ids=["a list", "another document", "a page that is not found", "not found without a word"],
)
@pytest.mark.parametrize("path", [NAMESPACE, DAEMON_SETS])
def test_an_answer_that_is_not_the_clusters_is_none_without_leftovers(
    azure: Azure, cluster: Kubernetes, operations: Operations, path: str, then: JsonObject
) -> None:
    make_namespace(cluster)
    own = make_plugin(cluster, "nvidia-device-plugin-gpu", MESSAGE)
    azure.fault("GET", f".*{path}", then, count=2)
    operations.succeed(Verb.REMOVE_LEFTOVERS, request_for())
    assert not is_there(cluster, own)
    azure.fault("GET", f".*{path}", then, count=None)
    assert operations(Verb.REMOVE_LEFTOVERS, request_for(), "--deadline", "20").exit_code == 7


@pytest.mark.parametrize("kind", ["namespace", "daemonset"])
def test_what_does_not_go_is_shown_by_the_line_that_is_printed(
    azure: Azure, cluster: Kubernetes, operations: Operations, kind: str
) -> None:
    if kind == "namespace":
        make_namespace(cluster)
        shown = "kubectl describe namespace gadget"
    else:
        make_plugin(cluster, "plugin", MESSAGE)
        shown = "kubectl describe daemonsets.apps plugin --namespace kube-system"
    done = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
    removed = ".*/(namespaces/gadget|daemonsets/plugin)"
    azure.fault("DELETE", removed, {"status": 200, "body": done}, count=None)
    result = operations(Verb.REMOVE_LEFTOVERS, request_for())
    assert result.exit_code != 0
    assert "is still there" in result.stderr
    assert f"--command '{shown}'" in result.stderr


def test_a_kind_that_the_api_server_does_not_know_is_one_without_leftovers(
    azure: Azure, operations: Operations
) -> None:
    unknown: JsonObject = {"status": 404, "text": "404 page not found\n"}
    azure.fault("GET", ".*/podmonitors", unknown, count=None)
    assert operations.succeed(Verb.REMOVE_LEFTOVERS, request_for()).answer == {"removed": []}
