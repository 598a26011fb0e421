"""The end of Pyroscope's pods is waited for, and nothing else is."""

import pytest

from contract.messages.base import Verb
from contract.messages.server import ServerRequest
from operations.errors import ExitCode
from operations.stopped import SELECTOR
from simulator.values import JsonObject
from tests.operations.conftest import CLUSTER_ID, Azure, Operations
from tests.simulator.azure import Kubernetes

NAMESPACE = "/api/v1/namespaces/gadget"
END = ServerRequest(cluster_id=CLUSTER_ID, namespace="gadget")
LABELS = {name: value for name, _, value in (one.partition("=") for one in SELECTOR.split(","))}


@pytest.fixture
def cluster(azure: Azure) -> Kubernetes:
    kubernetes = Kubernetes(azure, CLUSTER_ID)
    kubernetes.make_namespace()
    return kubernetes


def pod(cluster: Kubernetes, name: str, labels: dict[str, str]) -> str:
    """A pod that needs time to end, as the kubelet would let it; its path."""
    metadata: JsonObject = {"name": name, "labels": labels, "finalizers": ["tests/writes"]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
    made = cluster.call("POST", f"{NAMESPACE}/pods", body)
    assert made.status_code == 201, made.text
    return f"{NAMESPACE}/pods/{name}"


def test_where_no_pod_is_left_nothing_is_waited_for(
    cluster: Kubernetes, operations: Operations
) -> None:
    assert operations.succeed(Verb.HOLD_SERVER, END).answer == {"namespace": "gadget"}
    assert operations.succeed(Verb.AWAIT_SERVER_STOPPED, END).answer == {"seen": True}


def test_a_server_that_stays_is_not_waited_for(cluster: Kubernetes, operations: Operations) -> None:
    cluster.release()
    assert operations.succeed(Verb.AWAIT_SERVER_STOPPED, END).answer == {"seen": True}


def test_pods_that_are_ending_are_waited_for_by_name_and_others_are_not(
    cluster: Kubernetes, operations: Operations
) -> None:
    pod(cluster, "other-0", {**LABELS, "app.kubernetes.io/instance": "other"})
    ours = pod(cluster, "pyroscope-0", LABELS)
    cluster.call("DELETE", ours)
    waited = operations(Verb.AWAIT_SERVER_STOPPED, END, "--deadline", "30")
    assert waited.exit_code == ExitCode.CONFLICT
    assert "still writing what it holds: pyroscope-0" in waited.stderr
    assert "kubectl get pods --namespace gadget --selector" in waited.stderr
    assert "other-0" not in waited.stderr
    cluster.call("PATCH", ours, {"metadata": {"finalizers": None}})


def test_pods_that_nobody_tells_to_end_hold_nothing_up_for_long(
    cluster: Kubernetes, operations: Operations
) -> None:
    pod(cluster, "pyroscope-0", LABELS)
    assert operations.succeed(Verb.AWAIT_SERVER_STOPPED, END).answer == {"seen": False}


@pytest.mark.parametrize("status", [403, 500])
def test_a_cluster_that_does_not_say_holds_nothing_up(
    cluster: Kubernetes, azure: Azure, operations: Operations, status: int
) -> None:
    body = {"kind": "Status", "status": "Failure", "message": "no", "code": status}
    azure.fault(
        "GET", ".*/pods", {"status": status, "body": body}, service="kubernetes", count=None
    )
    said = operations.succeed(Verb.AWAIT_SERVER_STOPPED, END)
    assert said.answer == {"seen": False}
    assert "note: whether Pyroscope has written everything is not known" in said.stderr


def test_a_cluster_that_is_gone_holds_nothing_up(azure: Azure, operations: Operations) -> None:
    gone = END.model_copy(update={"cluster_id": CLUSTER_ID.replace("aks-dev", "aks-gone")})
    assert operations.succeed(Verb.AWAIT_SERVER_STOPPED, gone).answer == {"seen": False}
