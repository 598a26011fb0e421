"""Real API servers behind the simulated Azure's clusters, and what AKS does around them."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
import yaml

from simulator.apiserver import provision
from simulator.identity import KUBERNETES_AUDIENCES
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.kubernetes.cluster import Cluster, name_of, until
from tests.simulator.azure import (
    ANNOTATIONS,
    CLUSTER,
    EXTENSION,
    GROUP,
    NODE_GROUP,
    PLS,
    Azure,
    Kubernetes,
    azure_on,
)

pytestmark = pytest.mark.kubernetes

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gpu-workload.yaml"

NAMESPACE = "/api/v1/namespaces/gadget"
SERVICES = f"{NAMESPACE}/services"
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "pyroscope", "annotations": ANNOTATIONS},
    "spec": {"type": "LoadBalancer", "selector": {"app": "pyroscope"}, "ports": [{"port": 4040}]},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("azure") / "azure"
    provision.provide_for(folder)
    return folder


@pytest.fixture(scope="module")
def shared(home: Path) -> Generator[Azure]:
    with started(home) as azure:
        yield azure


@contextlib.contextmanager
def started(home: Path) -> Generator[Azure]:
    """A simulated Azure whose API server runs."""
    with azure_on(home) as azure:
        azure.http.timeout = httpx.Timeout(60.0)  # it takes seconds to start
        Kubernetes(azure)
        yield azure


@pytest.fixture
def azure(shared: Azure) -> Azure:
    """A simulated Azure with nothing deployed, its API server emptied with it."""
    shared.reset()
    kubernetes = Kubernetes(shared)
    until(lambda: kubernetes.call("GET", NAMESPACE).status_code == 404)
    return shared


@pytest.fixture
def kubernetes(azure: Azure) -> Kubernetes:
    found = Kubernetes(azure)
    found.make_namespace()
    return found


def names(kubernetes: Kubernetes, path: str) -> list[str]:
    return [name_of(item) for item in as_objects(dig(kubernetes.call("GET", path).json(), "items"))]


def gone(kubernetes: Kubernetes, path: str) -> bool:
    return kubernetes.call("GET", path).status_code == 404


def test_the_kubeconfig_names_a_real_api_server(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    assert not kubernetes.server.startswith(azure.server.arm_url)
    version = as_object(kubernetes.call("GET", "/version").json())
    assert as_text(version["gitVersion"]).startswith("v1.")
    assert "platform" in version  # which the simulated one does not tell
    assert names(kubernetes, "/api/v1/namespaces") == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]


def test_only_tokens_that_azure_gave_out_are_accepted(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    for token in ("", "guessed", azure.token()):
        kubernetes.token = token
        assert kubernetes.call("GET", "/api/v1/namespaces").status_code == 401
    assert Kubernetes(azure, user="Admin").call("GET", "/api/v1/secrets").status_code == 200


def test_rotated_credentials_replace_the_old_ones(azure: Azure) -> None:
    old = Kubernetes(azure)
    azure.control("POST", "credentials/aks-dev")
    new = Kubernetes(azure)
    assert new.server == old.server
    assert new.token != old.token
    # An API server remembers for some seconds whose a token is.
    until(lambda: old.call("GET", "/api/v1/namespaces").status_code == 401)
    assert new.call("GET", "/api/v1/namespaces").status_code == 200


@pytest.mark.handles("local-accounts-disabled")
def test_a_cluster_with_entra_id_takes_entra_tokens(azure: Azure) -> None:
    body = azure.get(CLUSTER)
    as_object(body["properties"])["aadProfile"] = {"managed": True}
    azure.put(CLUSTER, {key: body[key] for key in ("location", "identity", "properties")})
    kubernetes = Kubernetes(azure)
    assert not kubernetes.token  # the kubeconfig has a program to call instead
    (audience,) = KUBERNETES_AUDIENCES
    kubernetes.token = azure.token(audience)
    assert kubernetes.call("GET", "/api/v1/namespaces").status_code == 200
    kubernetes.token = azure.token()
    assert kubernetes.call("GET", "/api/v1/namespaces").status_code == 401


def test_a_service_gets_its_address_and_private_link_and_loses_both(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.call("POST", SERVICES, SERVICE)
    until(kubernetes.address)
    assert dig(azure.get(PLS), "properties", "visibility", "subscriptions") == ["*"]
    # The event is written after the address.
    events = until(
        lambda: as_objects(dig(kubernetes.call("GET", f"{NAMESPACE}/events").json(), "items"))
    )
    assert [event["reason"] for event in events] == ["EnsuredLoadBalancer"]
    kubernetes.call("DELETE", f"{SERVICES}/pyroscope")
    until(lambda: gone(kubernetes, f"{SERVICES}/pyroscope"))
    assert azure.call("GET", PLS).status_code == 404


def test_what_the_cloud_controller_refuses_is_an_event_about_the_service(
    kubernetes: Kubernetes,
) -> None:
    prefix = "service.beta.kubernetes.io/azure-pls-"
    wrong = {**ANNOTATIONS, f"{prefix}ip-adress-count": "2"}
    manifest = {**SERVICE, "metadata": {"name": "pyroscope", "annotations": wrong}}
    kubernetes.call("POST", SERVICES, manifest)

    def messages() -> list[str]:
        events = as_objects(dig(kubernetes.call("GET", f"{NAMESPACE}/events").json(), "items"))
        return [as_text(event["message"]) for event in events]

    (message,) = until(messages)
    assert "ip-adress-count" in message
    assert not kubernetes.address()


def test_the_extension_runs_its_daemon_set_and_takes_it_away(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    azure.install_agent()
    path = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"

    def ready() -> JsonObject:
        found = kubernetes.call("GET", path)
        return as_object(dig(found.json(), "status")) if found.status_code == 200 else {}

    until(lambda: ready().get("observedGeneration") == 1)
    assert ready()["numberReady"] == ready()["desiredNumberScheduled"] == 2
    monitors = "/apis/azmonitoring.coreos.com/v1/namespaces/gadget/podmonitors"
    assert names(kubernetes, monitors) == ["gadget"]
    azure.delete(EXTENSION)
    until(lambda: gone(kubernetes, path))


def test_a_stateful_set_is_ready_and_its_claim_outlives_it(kubernetes: Kubernetes) -> None:
    collection = "/apis/apps/v1/namespaces/gadget/statefulsets"
    claims = f"{NAMESPACE}/persistentvolumeclaims"
    labels = {"app": "store"}
    pod = {"containers": [{"name": "store", "image": "example.com/store:1"}]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    made = kubernetes.call(
        "POST",
        collection,
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "store"},
            "spec": {
                "replicas": 1,
                "serviceName": "store",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
                "volumeClaimTemplates": [claim],
            },
        },
    )
    assert made.status_code == 201, made.text

    def status() -> JsonObject:
        return as_object(dig(kubernetes.call("GET", f"{collection}/store").json(), "status"))

    until(lambda: status().get("readyReplicas") == 1)
    until(lambda: names(kubernetes, claims) == ["data-store-0"])
    patch = {"Content-Type": "application/merge-patch+json"}
    labelled = {"spec": {"template": {"metadata": {"labels": {"app": "store", "more": "1"}}}}}
    pod_path = f"{NAMESPACE}/pods/store-0"

    def running() -> JsonObject:
        found = as_object(kubernetes.call("GET", pod_path).json())
        return found if dig(found, "status", "phase") == "Running" else {}

    first = until(running)
    owner = as_objects(dig(first, "metadata", "ownerReferences"))[0]
    assert owner["uid"] == dig(made.json(), "metadata", "uid")
    kubernetes.call("PATCH", f"{collection}/store", labelled, **patch)
    until(lambda: status().get("observedGeneration") == 2)
    second = until(lambda: dig(running(), "metadata", "labels", "more") and running())
    assert dig(second, "metadata", "uid") != dig(first, "metadata", "uid")
    kubernetes.call("DELETE", pod_path)
    until(lambda: dig(running(), "metadata", "uid") not in (None, dig(second, "metadata", "uid")))
    kubernetes.call("DELETE", f"{collection}/store", {"propagationPolicy": "Foreground"})
    until(lambda: gone(kubernetes, f"{collection}/store"))
    until(lambda: gone(kubernetes, pod_path))
    assert names(kubernetes, claims) == ["data-store-0"]
    kubernetes.call("DELETE", f"{claims}/data-store-0")
    until(lambda: names(kubernetes, claims) == [])


def test_a_namespace_goes_with_what_is_in_it(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.call("POST", SERVICES, SERVICE)
    until(kubernetes.address)
    kubernetes.call("DELETE", NAMESPACE, {"propagationPolicy": "Foreground"})
    until(lambda: gone(kubernetes, NAMESPACE))
    assert azure.call("GET", PLS).status_code == 404


@pytest.mark.parametrize("where", [NAMESPACE, f"{NAMESPACE}/configmaps/held"])
def test_a_namespace_waits_for_every_finalizer(kubernetes: Kubernetes, where: str) -> None:
    kubernetes.call("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "held"}})
    patch = {"Content-Type": "application/merge-patch+json"}
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    assert kubernetes.call("PATCH", where, held, **patch).status_code == 200
    kubernetes.call("DELETE", NAMESPACE)
    # What must be waited for is only the absence of something: another namespace comes and goes.
    kubernetes.make_namespace("other")
    kubernetes.call("DELETE", "/api/v1/namespaces/other")
    until(lambda: gone(kubernetes, "/api/v1/namespaces/other"))
    stuck = as_object(kubernetes.call("GET", NAMESPACE).json())
    assert dig(stuck, "status", "phase") == "Terminating"
    kubernetes.call("PATCH", where, {"metadata": {"finalizers": None}}, **patch)
    until(lambda: gone(kubernetes, NAMESPACE))


@pytest.mark.parametrize("program", ["kube-apiserver", "etcd"])
def test_a_server_that_dies_comes_back_with_all_it_had(
    home: Path, azure: Azure, kubernetes: Kubernetes, program: str
) -> None:
    kubernetes.call("POST", SERVICES, SERVICE)
    until(kubernetes.address)
    Cluster(home.parent).kill(program)

    def answers() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return kubernetes.call("GET", f"{SERVICES}/pyroscope").status_code == 200
        return False

    until(answers)
    kubernetes.call("DELETE", f"{SERVICES}/pyroscope")
    until(lambda: gone(kubernetes, f"{SERVICES}/pyroscope"))
    assert azure.call("GET", PLS).status_code == 404


def test_a_deleted_cluster_takes_its_api_server_along(home: Path, azure: Azure) -> None:
    cluster = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-short"
    body = azure.get(CLUSTER)
    pools = [{"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 1}]
    properties = {"dnsPrefix": "short", "agentPoolProfiles": pools}
    azure.put(
        cluster,
        {"location": body["location"], "identity": body["identity"], "properties": properties},
    )
    kubernetes = Kubernetes(azure, cluster)
    assert kubernetes.call("GET", "/version").status_code == 200
    server = Cluster(home.parent, name="aks-short")
    assert server.folder.exists()
    azure.delete(cluster)
    until(lambda: not server.folder.exists())
    assert Cluster(home.parent).folder.exists()
    assert NODE_GROUP  # the other cluster's nodes are not concerned


def test_objects_survive_the_simulator_and_its_children_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "azure"
    provision.provide_for(folder)
    with started(folder) as azure:
        kubernetes = Kubernetes(azure)
        kubernetes.make_namespace("kept")
        server = kubernetes.server
        pids = Cluster(tmp_path).pids()
        os.kill(azure.server.pid, signal.SIGKILL)
        until(lambda: not any(map(is_alive, pids)))
    with started(folder) as azure:
        kubernetes = Kubernetes(azure)
        assert kubernetes.server == server
        assert "kept" in names(kubernetes, "/api/v1/namespaces")
        pids = Cluster(tmp_path).pids()
    assert not any(map(is_alive, pids))


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.startswith(b"Z")


def test_the_example_workload_is_what_a_cluster_takes(kubernetes: Kubernetes) -> None:
    example = as_object(yaml.safe_load(EXAMPLE.read_text()))

    # Refuses what the API server would otherwise silently drop: a misspelled field.
    jobs = "/apis/batch/v1/namespaces/default/jobs?dryRun=All&fieldValidation=Strict"
    answer = kubernetes.call("POST", jobs, example)
    assert answer.status_code == 201, answer.text
