"""The walkthrough on the simulated Azure, step by step and without Pulumi.

Each step calls the API that a person's tool would call; what then flows follows from that alone.
The simulator takes no wall time, so a step is done when its call is answered.
"""

import base64
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulator import seed
from simulator.arm.roles import MONITORING_DATA_READER
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.azure_client import AzureClient, azure_client
from tests.simulator.planted import Grafana

GROUP = f"/subscriptions/{seed.SUBSCRIPTION_ID}/resourceGroups/rg-dev/providers"
CLUSTER_NAME = "aks-dev"
CLUSTER = f"{GROUP}/Microsoft.ContainerService/managedClusters/{CLUSTER_NAME}"
GRAFANA = f"{GROUP}/Microsoft.Dashboard/grafana/grafana-dev"
WORKSPACE_NAME = "amw-dev"
WORKSPACE = f"{GROUP}/Microsoft.Monitor/accounts/{WORKSPACE_NAME}"
EXTENSION = f"{CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/inspektor-gadget"
ENDPOINT = f"{GRAFANA}/managedPrivateEndpoints/pyroscope-mpe"
ANNOTATION = "service.beta.kubernetes.io/azure-"

APPROVED = "approved and refreshed"
NOT_REFRESHED = "approved, not refreshed"
REJECTED = "rejected"
PENDING = "pending"


@dataclass(frozen=True)
class Deployed:
    """What the procedure left behind."""

    azure: AzureClient
    grafana: Grafana
    private_ip: str
    """Where Grafana reaches Pyroscope; empty unless the link is approved and refreshed."""

    @property
    def query_endpoint(self) -> str:
        """Where the Azure Monitor workspace answers queries."""
        return f"{self.azure.server.arm_url}/prometheus/{WORKSPACE_NAME}"


class Procedure:
    """The steps; every one raises for an answer that is not a success."""

    def __init__(self, azure: AzureClient) -> None:
        self._azure = azure

    def add_gpu_pool(self) -> None:
        """A pool for the GPU workloads, and the device plugin that offers its GPUs to them."""
        properties: JsonObject = {
            "mode": "User",
            "count": 1,
            "vmSize": "Standard_NC24ads_A100_v4",
            "osType": "Linux",
        }
        self._azure.arm(
            "PUT", f"{CLUSTER}/agentPools/gpu", "2025-09-01", {"properties": properties}
        )
        labels = {"name": "nvidia-device-plugin"}
        image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
        manifest: JsonObject = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "nvidia-device-plugin", "namespace": "kube-system"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "plugin", "image": image}]},
                },
            },
        }
        path = "/apis/apps/v1/namespaces/kube-system/daemonsets"
        self._kubernetes("POST", path, self._cluster_token(), manifest)

    def install_agent(self, version: str) -> None:
        """The Inspektor Gadget extension, pinned to a version."""
        properties: JsonObject = {
            "extensionType": "microsoft.inspektorgadget",
            "autoUpgradeMinorVersion": False,
            "version": version,
            "configurationSettings": {
                "gpuObservability.enabled": "true",
                "azureMonitor.enabled": "true",
            },
        }
        self._azure.arm("PUT", EXTENSION, "2023-05-01", {"properties": properties})

    def end_pod(self, *, kill: bool) -> None:
        """Pyroscope's pod ends, killed or in order, and the StatefulSet makes it anew."""
        path = "/api/v1/namespaces/gadget/pods/pyroscope-0"
        options: JsonObject = {"gracePeriodSeconds": 0} if kill else {}
        self._kubernetes("DELETE", path, self._cluster_token(), options)

    def remove_agent(self) -> None:
        """Delete the extension."""
        self._azure.arm("DELETE", EXTENSION, "2023-05-01")

    def install_pyroscope(self, version: str, more: JsonObject | None = None) -> None:
        """The Helm release, whose Service makes the private link; ``more`` of ``pyroscope:``."""
        annotations = {
            f"{ANNOTATION}load-balancer-internal": "true",
            f"{ANNOTATION}pls-create": "true",
            f"{ANNOTATION}pls-name": "pyroscope-pls",
            f"{ANNOTATION}pls-visibility": "*",
        }
        values: JsonObject = {
            "pyroscope": {
                "image": {"repository": "grafana/pyroscope", "tag": version},
                "service": {"type": "LoadBalancer", "port": 4040, "annotations": annotations},
                **(more or {}),
            },
            "alloy": {"enabled": False},
            "minio": {"enabled": False},
        }
        body: JsonObject = {
            "chart": "oci://ghcr.io/grafana/helm-charts/pyroscope",
            "version": "1.15.0",
            "values": values,
            "createNamespace": True,
            "timeout": 300,
        }
        token = self._cluster_token()
        self._kubernetes("PUT", "/releases/gadget/pyroscope", token, body)
        release = self._kubernetes("GET", "/releases/gadget/pyroscope", token)
        assert release["status"] == "deployed", release

    def connect(self) -> None:
        """The managed private endpoint of the Grafana workspace."""
        properties: JsonObject = {
            "privateLinkResourceId": self._private_link(),
            "privateLinkResourceRegion": seed.LOCATION,
            "requestMessage": "from a test",
        }
        body: JsonObject = {"location": seed.LOCATION, "properties": properties}
        self._azure.arm("PUT", ENDPOINT, "2024-10-01", body)

    def decide(self, status: str) -> None:
        """Approve or reject the connection at the Private Link Service."""
        service = self._azure.arm("GET", self._private_link(), "2024-05-01")
        (connection,) = as_objects(dig(service, "properties", "privateEndpointConnections"))
        state: JsonObject = {"status": status, "description": "from a test"}
        body: JsonObject = {
            "name": connection["name"],
            "properties": {"privateLinkServiceConnectionState": state},
        }
        self._azure.arm("PUT", as_text(connection["id"]), "2024-05-01", body)

    def refresh(self) -> str:
        """Let Grafana look its endpoints up; answers the private address."""
        self._azure.arm("POST", f"{GRAFANA}/refreshManagedPrivateEndpoints", "2024-10-01")
        endpoint = self._azure.arm("GET", ENDPOINT, "2024-10-01")
        return as_text(dig(endpoint, "properties", "privateLinkServicePrivateIP"))

    def collect_metrics(self) -> None:
        """Data collection endpoint and rule of the workspace, associated with the cluster."""
        insights = f"{GROUP}/Microsoft.Insights"
        endpoint = f"{insights}/dataCollectionEndpoints/dce-dev"
        rule = f"{insights}/dataCollectionRules/dcr-dev"
        stream = "Microsoft-PrometheusMetrics"
        body: JsonObject = {"location": seed.LOCATION, "kind": "Linux", "properties": {}}
        self._azure.arm("PUT", endpoint, "2022-06-01", body)
        body["properties"] = {
            "dataCollectionEndpointId": endpoint,
            "dataSources": {"prometheusForwarder": [{"name": "prometheus", "streams": [stream]}]},
            "destinations": {
                "monitoringAccounts": [{"name": "workspace", "accountResourceId": WORKSPACE}]
            },
            "dataFlows": [{"streams": [stream], "destinations": ["workspace"]}],
        }
        self._azure.arm("PUT", rule, "2022-06-01", body)
        association = f"{CLUSTER}/providers/Microsoft.Insights/dataCollectionRuleAssociations/dcra"
        body = {"properties": {"dataCollectionRuleId": rule}}
        self._azure.arm("PUT", association, "2022-06-01", body)

    def let_read_metrics(self, principal: str) -> None:
        """Assign Monitoring Data Reader on the workspace."""
        name = f"00000000-0000-4000-8000-{principal[-12:]}"
        definitions = "/providers/Microsoft.Authorization/roleDefinitions"
        properties: JsonObject = {
            "roleDefinitionId": f"{definitions}/{MONITORING_DATA_READER}",
            "principalId": principal,
            "principalType": "ServicePrincipal",
        }
        path = f"{WORKSPACE}/providers/Microsoft.Authorization/roleAssignments/{name}"
        self._azure.arm("PUT", path, "2022-04-01", {"properties": properties})

    def _private_link(self) -> str:
        cluster = self._azure.arm("GET", CLUSTER, "2025-09-01")
        group = as_text(dig(cluster, "properties", "nodeResourceGroup"))
        return (
            f"/subscriptions/{seed.SUBSCRIPTION_ID}/resourceGroups/{group}"
            "/providers/Microsoft.Network/privateLinkServices/pyroscope-pls"
        )

    def _cluster_token(self) -> str:
        path = f"{CLUSTER}/listClusterUserCredential"
        listed = self._azure.arm("POST", path, "2025-09-01")
        text = base64.b64decode(as_text(as_objects(listed["kubeconfigs"])[0]["value"])).decode()
        found = re.search(r"token: (\S+)", text)
        assert found is not None, text
        return found[1].strip('"')

    def _kubernetes(self, method: str, path: str, token: str, body: object = None) -> JsonObject:
        url = f"/kubernetes/{CLUSTER_NAME}{path}"
        headers = {"Authorization": f"Bearer {token}"}
        answer = self._azure.http.request(method, url, headers=headers, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return as_object(answer.json())


@contextmanager
def deployed(
    home: Path,
    *,
    agent: str = "0.54.1",
    server: str = "1.15.0",
    link: str = APPROVED,
    metrics: bool = True,
    pyroscope: JsonObject | None = None,
) -> Generator[Deployed]:
    """Run the procedure on a new simulator.

    Args:
        home: folder of the simulator's state.
        agent: version of Inspektor Gadget; empty: not installed.
        server: tag of the Pyroscope image.
        link: how far the private link gets; one of the constants above.
        metrics: whether the cluster's metrics are collected.
        pyroscope: further values under ``pyroscope:`` of the release.
    """
    with azure_client(home) as azure:
        steps = Procedure(azure)
        steps.add_gpu_pool()
        if agent:
            steps.install_agent(agent)
        steps.install_pyroscope(server, pyroscope)
        steps.connect()
        if link != PENDING:
            steps.decide("Rejected" if link == REJECTED else "Approved")
        private_ip = "" if link == NOT_REFRESHED else steps.refresh()
        if metrics:
            steps.collect_metrics()
        yield Deployed(azure, Grafana(azure, "grafana-dev"), private_ip)
