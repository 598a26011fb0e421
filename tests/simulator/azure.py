"""Using the simulated Azure as its clients do, for the tests of ARM and Kubernetes."""

import base64
import json
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from simulator.seed import SUBSCRIPTION_ID
from simulator.testing import running
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, merge_patch
from tests.azure_client import AzureClient

GROUP = f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/rg-dev"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
GRAFANA = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-dev"
WORKSPACE = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-dev"
NODE_GROUP = f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/MC_rg-dev_aks-dev_westeurope"
EXTENSION = f"{CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/inspektor-gadget"
POOL = f"{CLUSTER}/agentPools/gpu"
PLS = f"{NODE_GROUP}/providers/Microsoft.Network/privateLinkServices/pyroscope-pls"
ENDPOINT = f"{GRAFANA}/managedPrivateEndpoints/pyroscope-mpe"
DONE = ("Succeeded", "Failed", "Canceled")

ANNOTATIONS: JsonObject = {
    "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
    "service.beta.kubernetes.io/azure-pls-create": "true",
    "service.beta.kubernetes.io/azure-pls-name": "pyroscope-pls",
    "service.beta.kubernetes.io/azure-pls-proxy-protocol": "false",
    "service.beta.kubernetes.io/azure-pls-visibility": "*",
}


class Azure(AzureClient):
    """The simulated Azure, and the procedure's steps."""

    def get(self, path: str) -> JsonObject:
        """The resource."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return as_object(answer.json())

    def put(self, path: str, body: object) -> JsonObject:
        """Make or change a resource and wait for it."""
        answer = self.call("PUT", path, body)
        assert answer.status_code in (200, 201), answer.text
        return self.settled(path)

    def settled(self, path: str) -> JsonObject:
        """The resource when nothing happens to it any more."""
        for _ in range(500):
            found = self.get(path)
            if as_text(dig(found, "properties", "provisioningState"), "Succeeded") in DONE:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{path} does not settle")

    def delete(self, path: str) -> None:
        """Delete a resource and wait until it is gone."""
        answer = self.call("DELETE", path)
        assert answer.status_code in (200, 202, 204), answer.text
        for _ in range(500):
            if self.call("GET", path).status_code == 404:
                return
            time.sleep(0.01)
        raise AssertionError(f"{path} does not go away: {self.get(path)}")

    def error(self, answer: httpx.Response) -> tuple[int, str]:
        """Status and code of a refusal, with ``error`` around it or, as AKS sends it, without."""
        body = as_object(answer.json())
        return answer.status_code, as_text(as_object(body.get("error") or body).get("code"))

    # --- the procedure's steps -------------------------------------------------------------

    def add_pool(self, **changes: object) -> JsonObject:
        """The GPU pool."""
        pool: JsonObject = {
            "count": 1,
            "vmSize": "Standard_NC24ads_A100_v4",
            "mode": "User",
            "nodeTaints": ["sku=gpu:NoSchedule"],
            **changes,
        }
        return self.put(POOL, {"properties": pool})

    def install_agent(self, *, azure_monitor: str = "true") -> JsonObject:
        """The extension."""
        settings = {"gpuObservability.enabled": "true", "azureMonitor.enabled": azure_monitor}
        properties = {
            "extensionType": "microsoft.inspektorgadget",
            "releaseTrain": "preview",
            "configurationSettings": settings,
        }
        return self.put(EXTENSION, {"properties": properties})

    def make_endpoint(self, path: str = ENDPOINT) -> JsonObject:
        """The managed private endpoint."""
        properties = {"privateLinkResourceId": PLS, "requestMessage": "gpuobs dev"}
        return self.put(path, {"location": "westeurope", "properties": properties})

    def connections(self) -> list[JsonObject]:
        """Those of the Private Link Service."""
        return as_objects(dig(self.get(PLS), "properties", "privateEndpointConnections"))

    def decide(self, status: str, index: int = 0) -> httpx.Response:
        """Approve or reject a connection."""
        name = as_text(self.connections()[index].get("name"))
        path = f"{PLS}/privateEndpointConnections/{name}"
        state = {"status": status, "description": "by a test"}
        answer = self.call(
            "PUT", path, {"properties": {"privateLinkServiceConnectionState": state}}
        )
        if answer.status_code == 200:
            self.settled(path)
        return answer

    def refresh(self) -> None:
        """Let Grafana look at its private links."""
        answer = self.call("POST", f"{GRAFANA}/refreshManagedPrivateEndpoints")
        assert answer.status_code == 202, answer.text
        self.follow(answer.headers["Azure-AsyncOperation"])

    def follow(self, url: str) -> JsonObject:
        """The last document of an operation."""
        for _ in range(500):
            document = as_object(self.http.get(url).json())
            if document.get("status") in DONE:
                return document
            time.sleep(0.01)
        raise AssertionError(f"{url} does not end")


class Kubernetes:
    """One cluster's API server, with the kubeconfig that ARM gives out."""

    def __init__(self, azure: AzureClient, cluster: str = CLUSTER, user: str = "User") -> None:
        answer = azure.call("POST", f"{cluster}/listCluster{user}Credential")
        assert answer.status_code == 200, answer.text
        value = as_text(as_objects(dig(answer.json(), "kubeconfigs"))[0].get("value"))
        self.config = as_object(yaml.safe_load(base64.b64decode(value)))
        cluster_entry = as_object(as_objects(self.config.get("clusters"))[0].get("cluster"))
        user_entry = as_object(as_objects(self.config.get("users"))[0].get("user"))
        self.server = as_text(cluster_entry.get("server"))
        self.token = as_text(user_entry.get("token"))
        self._http = azure.http

    def call(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        """One call."""
        return self._http.request(
            method,
            self.server + path,
            content=json.dumps(body) if body is not None else None,
            headers={
                "Authorization": f"Bearer {self.token or 'none'}",
                "Content-Type": "application/json",
                **headers,
            },
        )

    def get(self, path: str) -> JsonObject:
        """An object that is there."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return as_object(answer.json())

    def edit(self, path: str, change: JsonObject) -> None:
        """Change an object as ``kubectl edit`` does: read, change, write."""
        answer = self.call("PUT", path, merge_patch(self.get(path), change))
        assert answer.status_code == 200, answer.text

    def delete(self, path: str) -> None:
        """Delete an object."""
        assert self.call("DELETE", path).status_code == 200

    def make_namespace(self, name: str = "gadget") -> None:
        """A namespace."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        answer = self.call("POST", "/api/v1/namespaces", manifest)
        assert answer.status_code == 201, answer.text

    def install_device_plugin(self, *, tolerate: str = "sku") -> None:
        """NVIDIA's DaemonSet."""
        pod = {
            "tolerations": [{"key": tolerate, "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}],
        }
        labels = {"name": "nvidia-device-plugin"}
        manifest = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "nvidia-device-plugin", "namespace": "kube-system"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
        answer = self.call("POST", "/apis/apps/v1/namespaces/kube-system/daemonsets", manifest)
        assert answer.status_code == 201, answer.text

    def release(
        self,
        values: JsonObject | None = None,
        *,
        name: str = "pyroscope",
        upgrade: bool = False,
        **body: object,
    ) -> JsonObject:
        """Install or upgrade Pyroscope and wait; the release, or the Status that refused it."""
        document: JsonObject = {
            "chart": "oci://ghcr.io/grafana/helm-charts/pyroscope",
            "version": "1.15.0",
            "values": values if values is not None else pyroscope_values(),
            **body,
        }
        path = f"/releases/gadget/{name}"
        query = "?upgrade=true" if upgrade else ""
        answer = self.call("PUT", path + query, document)
        if answer.status_code != 202:
            return as_object(answer.json())
        return self.settled(path)

    def settled(self, path: str = "/releases/gadget/pyroscope") -> JsonObject:
        """The release when Helm has ended; empty if it is gone."""
        for _ in range(500):
            answer = self.call("GET", path)
            if answer.status_code == 404:
                return {}
            found = as_object(answer.json())
            if found.get("status") in ("deployed", "failed"):
                return found
            time.sleep(0.01)
        raise AssertionError(f"{path} does not settle")

    def uninstall(self) -> JsonObject:
        """Remove Pyroscope; empty, or the release that stays."""
        answer = self.call("DELETE", "/releases/gadget/pyroscope")
        assert answer.status_code == 202, answer.text
        return self.settled()

    def service(self, name: str = "pyroscope") -> JsonObject:
        """A Service in gadget."""
        answer = self.call("GET", f"/api/v1/namespaces/gadget/services/{name}")
        assert answer.status_code == 200, answer.text
        return as_object(answer.json())

    def address(self) -> str:
        """The load balancer's address of the Pyroscope Service; empty while it has none."""
        found = as_objects(dig(self.service(), "status", "loadBalancer", "ingress"))
        return as_text(found[0].get("ip")) if found else ""

    def events(self) -> list[str]:
        """The messages of the events in gadget."""
        answer = self.call("GET", "/api/v1/namespaces/gadget/events")
        return [as_text(item.get("message")) for item in as_objects(answer.json()["items"])]


def pyroscope_values(**changes: object) -> JsonObject:
    """The procedure's chart values; ``changes`` are annotations without prefix, None: left out."""
    annotations = dict(ANNOTATIONS)
    for name, value in changes.items():
        key = f"service.beta.kubernetes.io/azure-{name.replace('_', '-')}"
        annotations[key] = value
        if value is None:
            del annotations[key]
    return {
        "pyroscope": {
            "image": {"repository": "grafana/pyroscope", "tag": "1.15.0"},
            "replicaCount": 1,
            "structuredConfig": {
                "self_profiling": {"disable_push": True},
                "storage": {"backend": "filesystem"},
            },
            "service": {"type": "LoadBalancer", "port": 4040, "annotations": annotations},
        },
        "alloy": {"enabled": False},
        "minio": {"enabled": False},
    }


@contextmanager
def azure_on(
    home: Path, *, latency: float = 0.0, faults: Sequence[JsonObject] = ()
) -> Generator[Azure]:
    """A simulated Azure on ``home`` while the context lasts."""
    with running(home, latency=latency, faults=faults) as server, Azure(server) as azure:
        yield azure
