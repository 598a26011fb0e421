"""What a small made-up Azure answers in unit tests: ids, computed outputs, and operations."""

import base64
import json
from collections.abc import Mapping
from typing import Any, cast

from contract.messages.base import Message, Verb, command_line
from contract.messages.drift import Observation, ObserveRequest
from contract.messages.private_link import (
    Approval,
    HeldPrivateLink,
    PrivateLinkRequest,
    ReadyPrivateLink,
)
from contract.messages.serving import Question, Reply
from contract.messages.survey import (
    ClusterFacts,
    GrafanaFacts,
    PoolFacts,
    Presence,
    Survey,
    WorkspaceFacts,
)
from tests.unit.recording import UNKNOWN

SUBSCRIPTION = "11111111-1111-4111-8111-111111111111"
CALLER = "22222222-2222-4222-8222-222222222222"
GRAFANA_PRINCIPAL = "33333333-3333-4333-8333-333333333333"
NODES = 7
"""Of the GPU pool."""
PRIVATE_IP = "10.0.0.4"
AGENT_VERSION = "0.54.1"
QUERY_ENDPOINT = "https://amw-dev-abcd.westeurope.prometheus.monitor.azure.com"
ENDPOINT = "https://grafana-dev-abcd.weu.grafana.azure.com"
KUBECONFIG = """\
apiVersion: v1
kind: Config
users:
- name: clusterUser
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
"""
ENTRA_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: aks
  cluster: {server: "https://aks.example:443"}
users:
- name: clusterUser
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: kubelogin
      args: [get-token, --server-id, 6dae42f8-4368-4678-94ff-3960e28e3630]
"""


def group(name: str) -> str:
    """ARM id of a resource group."""
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}"


CLUSTER_ID = f"{group('rg-dev')}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
GRAFANA_ID = f"{group('rg-dev')}/providers/Microsoft.Dashboard/grafana/grafana-dev"
WORKSPACE_ID = f"{group('rg-dev')}/providers/Microsoft.Monitor/accounts/amw-dev"

ISSUER = "https://westeurope.oic.prod-aks.azure.com/tenant/issuer/"
IDENTITY_CLIENT = "66666666-6666-4666-8666-666666666666"
IDENTITY_PRINCIPAL = "77777777-7777-4777-8777-777777777777"

EXISTING = Survey(
    caller_object_id=CALLER,
    caller_kind="user",
    subscription_id=SUBSCRIPTION,
    cluster=ClusterFacts(
        presence=Presence.FOUND,
        id=CLUSTER_ID,
        location="westeurope",
        kubernetes_version="1.33",
        power_state="Running",
        provisioning_state="Succeeded",
        identity_type="SystemAssigned",
        principal_id="44444444-4444-4444-8444-444444444444",
        metrics_enabled=True,
        node_resource_group="MC_rg-dev_aks-dev_westeurope",
        untainted_pools=("system",),
        pools=(PoolFacts(name="system", mode="System", count=2),),
        sku="Base",
        issuer_url=ISSUER,
        workload_identity=True,
    ),
    grafana=GrafanaFacts(
        presence=Presence.FOUND,
        id=GRAFANA_ID,
        location="westeurope",
        endpoint=ENDPOINT,
        sku="Standard",
        major_version="12",
        principal_id=GRAFANA_PRINCIPAL,
        provisioning_state="Succeeded",
    ),
    workspace=WorkspaceFacts(
        presence=Presence.FOUND,
        id=WORKSPACE_ID,
        location="westeurope",
        query_endpoint=QUERY_ENDPOINT,
        grafana_may_read=True,
    ),
    may_approve=True,
)
"""What Pulumi.dev.yaml expects to exist."""

NOTHING = Survey(
    caller_object_id=CALLER,
    caller_kind="servicePrincipal",
    subscription_id=SUBSCRIPTION,
    cluster=ClusterFacts(presence=Presence.ABSENT),
    grafana=GrafanaFacts(presence=Presence.ABSENT),
)
"""What Pulumi.sandbox.yaml starts from."""


def encoded(kubeconfig: str) -> dict[str, object]:
    """The answer of ``listCluster...Credentials``."""
    value = base64.b64encode(kubeconfig.encode()).decode()
    return {"kubeconfigs": [{"name": "clusterUser", "value": value}]}


class Azure:
    """Answers the recording monitor; keeps the requests that operations were given."""

    def __init__(self, survey: Survey = EXISTING, kubeconfig: str = KUBECONFIG) -> None:
        self.survey = survey
        self.kubeconfig = kubeconfig
        self.observed: list[ObserveRequest] = []
        self.asked: list[Verb] = []
        self.closed = False
        self.deployed: list[str] = []
        """URNs in the stack's state."""
        self.outputs: dict[str, dict[str, object]] = {}
        """Outputs there, by the resource's name."""

    def resource(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, object]:
        """The outputs of a resource; the type's last part decides."""
        match kind.rpartition(":")[2]:
            case "Command":
                return {"stdout": self._stdout(inputs), "stderr": ""}
            case "ManagedCluster":
                issuer = {"enabled": True, "issuerURL": ISSUER}
                return {
                    "id": CLUSTER_ID,
                    "name": inputs["resourceName"],
                    "oidcIssuerProfile": issuer,
                }
            case "UserAssignedIdentity":
                return {"clientId": IDENTITY_CLIENT, "principalId": IDENTITY_PRINCIPAL}
            case "Grafana":
                return {
                    "id": GRAFANA_ID,
                    "identity": {"type": "SystemAssigned", "principalId": GRAFANA_PRINCIPAL},
                    "properties": {"endpoint": f"{ENDPOINT}/"},
                }
            case "AzureMonitorWorkspace":
                return {"id": WORKSPACE_ID, "metrics": {"prometheusQueryEndpoint": QUERY_ENDPOINT}}
            case "Extension":
                return {"currentVersion": AGENT_VERSION}
            case "Namespace":
                return {"id": "gadget"}
            case "Release":
                return {"id": "gadget/pyroscope"}
            case "ResourceGroup":
                return {"id": group(cast("str", inputs["resourceGroupName"]))}
            case _:
                return {}

    def _stored(self, urn: str) -> dict[str, object]:
        found = self.outputs.get(urn.rpartition("::")[2])
        return {"outputs": found} if found else {}

    def call(self, token: str, arguments: Mapping[str, Any]) -> dict[str, object]:
        """The result of a function."""
        match token.rpartition(":")[2]:
            case "getClientConfig":
                return {
                    "clientId": "c",
                    "objectId": CALLER,
                    "subscriptionId": SUBSCRIPTION,
                    "tenantId": "t",
                }
            case "readStackResourceOutputs":
                return {"outputs": {urn: self._stored(urn) for urn in self.deployed}}
            case "getAgentPool":
                return {"count": NODES}
            case "listManagedClusterUserCredentials" | "listManagedClusterAdminCredentials":
                return encoded(self.kubeconfig)
            case _:
                raise AssertionError(f"nothing answers {token}")

    def ask(self, question: str) -> str:
        """What the process of the operations answers to a line."""
        asked = Question.model_validate_json(question)
        self.asked.append(asked.verb)
        answer = self.answer(asked).model_dump(mode="json", by_alias=True)
        return Reply(answer=answer).to_json()

    def answer(self, question: Question) -> Message:
        """The answer to a question, for tests to change."""
        assert not self.closed
        if question.verb is Verb.SURVEY:
            return self.survey
        assert question.verb is Verb.OBSERVE, question
        request = ObserveRequest.model_validate(question.request)
        self.observed.append(request)
        names = ["approval", *request.data_sources, *request.dashboards]
        return Observation(revisions={name: f"revision-of-{name}" for name in names})

    def close(self) -> None:
        """Nothing more is asked."""
        self.closed = True

    def _stdout(self, inputs: Mapping[str, Any]) -> str:
        request = cast("str", inputs["stdin"])
        match inputs["create"]:
            case _ if request == UNKNOWN:
                return ""  # in a preview, where nothing runs
            case create if create == command_line(Verb.HOLD_PRIVATE_LINK):
                namespace = PrivateLinkRequest.model_validate_json(request).namespace
                return HeldPrivateLink(namespace=namespace).to_json()
            case create if create == command_line(Verb.AWAIT_PRIVATE_LINK):
                link = PrivateLinkRequest.model_validate_json(request)
                return ReadyPrivateLink(id=link.id.upper(), alias="alias").to_json()
            case create if create == command_line(Verb.APPROVE_PRIVATE_ENDPOINT):
                return Approval(
                    state="Approved", private_ip=PRIVATE_IP, connection="connection"
                ).to_json()
            case _:
                return json.dumps({})
