"""What a check is given: the throw-away stack, and ways to look at what it made."""

import base64
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

import yaml

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.live.azure import Answer, Arm, CheckError, Grafana, Kubernetes, Tokens, poll
from tests.live.stack import ROOT, ThrowAwayStack

CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
POOL: Final = "azure-native:containerservice:AgentPool"
EXTENSION: Final = "azure-native:kubernetesconfiguration:Extension"
GRAFANA: Final = "azure-native:dashboard:Grafana"
ENDPOINT: Final = "azure-native:dashboard:ManagedPrivateEndpoint"
RULE: Final = "azure-native:monitor:DataCollectionRule"
ACCOUNT: Final = "azure-native:storage:StorageAccount"
NAMESPACE: Final = "/api/v1/namespaces/gadget"

WORKLOAD: Final = "examples/gpu-workload.yaml"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a run is asked for."""

    subscription: str
    prefix: str
    """Of the names of everything that is made."""
    folder: Path
    """Where the run keeps its project, state and report."""
    location: str = "westeurope"
    other_location: str = "northeurope"
    """For a second Grafana, in another region than the cluster."""
    gpu: bool = False
    gpu_size: str = "Standard_NC4as_T4_v3"
    grafana_major: str = "12"

    @property
    def resource_group(self) -> str:
        """The group that holds all that a run makes."""
        return f"rg-{self.prefix}"

    @property
    def group_id(self) -> str:
        """Its ARM id."""
        return f"/subscriptions/{self.subscription}/resourceGroups/{self.resource_group}"

    def settings(self) -> dict[str, object]:
        """The throw-away stack's settings: all made by the stack, without GPU nodes at first."""
        return {
            "azure": {
                "subscriptionId": self.subscription,
                "location": self.location,
                "resourceGroup": {"name": self.resource_group, "create": True},
            },
            "cluster": {"create": {}},
            "gpuPool": {"enabled": False},
            # An account that goes with the stack's group.
            "pyroscope": {"storage": {"blob": {}, "onDestroy": "delete"}},
            "grafana": {"create": {"majorVersion": self.grafana_major}},
            "prometheus": {"azureMonitorWorkspace": {"create": {}}},
        }


class UnsafeError(Exception):
    """A test would have reached beyond this machine."""


@dataclass
class World:
    """One run's Azure."""

    options: Options
    stack: ThrowAwayStack
    tokens: Tokens = field(default_factory=Tokens)
    _kept: dict[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        self.arm = Arm(self.tokens)
        host = urlsplit(self.arm.url).hostname
        if "PYTEST_CURRENT_TEST" in os.environ and host not in ("127.0.0.1", "localhost"):
            raise UnsafeError(f"tests never call {host}; run scripts/live yourself")

    def close(self) -> None:
        """Let go of the connections."""
        self.arm.close()
        self.tokens.close()

    def once(self, what: str, make: Callable[[], T]) -> T:
        """What ``make`` answered the first time; several checks look at the same run."""
        if what not in self._kept:
            self._kept[what] = make()
        return cast("T", self._kept[what])

    def keep(self, what: str, value: object) -> None:
        """Let :meth:`once` of ``what`` answer ``value``."""
        self._kept[what] = value

    def forget(self, what: str) -> None:
        """Let the next :meth:`once` of ``what`` run again."""
        self._kept.pop(what, None)

    # --- what the stack made --------------------------------------------------------------------

    def resource(self, type_: str) -> JsonObject:
        """The stack's one resource of a type, from its state.

        Raises:
            CheckError: it has none, or several.
        """
        resources = self.once("state", self.stack.resources)
        found = [one for one in resources if one.get("type") == type_]
        if len(found) != 1:
            raise CheckError(f"the stack has {len(found)} resources of type {type_}")
        return found[0]

    def id_of(self, type_: str) -> str:
        """The ARM id of the stack's one resource of a type."""
        return as_text(self.resource(type_).get("id"))

    def named(self, name: str) -> JsonObject:
        """The resource of a name in the program, from the stack's state.

        Raises:
            CheckError: there is none.
        """
        for one in self.once("state", self.stack.resources):
            if as_text(one.get("urn")).endswith(f"::{name}"):
                return one
        raise CheckError(f"the stack has no resource {name!r}")

    def urn_of(self, name: str) -> str:
        """The URN of the resource of a name in the program."""
        return as_text(self.named(name).get("urn"))

    def command_input(self, name: str) -> JsonObject:
        """The request that a deploy-time operation was given."""
        return as_object(json.loads(as_text(dig(self.named(name), "inputs", "stdin"))))

    def outputs(self, name: str) -> JsonObject:
        """A structured output of the stack."""
        return as_object(json.loads(self.stack.output(name)))

    @property
    def private_link(self) -> str:
        """The ARM id of the Private Link Service."""
        return as_text(self.command_input("pyroscope-private-link-ready").get("id"))

    def connections(self) -> list[JsonObject]:
        """The connections of the Private Link Service."""
        service = self.arm.get(self.private_link)
        return as_objects(dig(service, "properties", "privateEndpointConnections"))

    def own_connection(self) -> JsonObject:
        """The approved connection of the stack's endpoint.

        Raises:
            CheckError: there is not exactly one.
        """
        name = self.id_of(ENDPOINT).rsplit("/", 1)[-1]
        found = [one for one in self.connections() if connected(one).endswith(f"-{name}")]
        if len(found) != 1:
            seen = ", ".join(connected(one) for one in self.connections())
            raise CheckError(f"{len(found)} connections of {name}; there are: {seen or 'none'}")
        return found[0]

    def grafana(self) -> Grafana:
        """The API of the stack's workspace."""
        endpoint = as_text(json.loads(self.stack.output("grafanaEndpoint")))
        return self.once("grafana", lambda: Grafana(self.tokens, endpoint))

    def kubernetes(self) -> Kubernetes:
        """The API server of the stack's cluster, with fresh credentials."""
        path = f"{self.id_of(CLUSTER)}/listClusterUserCredential"
        answer = self.arm.call("POST", path, query={"format": "exec"})
        if not answer.ok:
            raise CheckError(f"the cluster's credentials: {answer.error}")
        encoded = as_text(dig(answer.items("kubeconfigs")[0], "value"))
        return Kubernetes(self.tokens, base64.b64decode(encoded).decode())

    def signal(self) -> dict[str, tuple[bool, str]]:
        """What the signal check says of each link: whether it holds, and what it saw."""

        def ask() -> dict[str, tuple[bool, str]]:
            request = self.stack.output("signalCheck")
            done = self.stack.run(
                "sh", "operations/run", "check-signal", "--wait", "1200", stdin=request
            )
            lines = done.stdout.strip().splitlines()
            report = as_object(json.loads(lines[-1])) if lines else {}
            links = as_objects(report.get("links"))
            if not links:
                raise CheckError(f"check-signal: {done.stderr.strip()[-300:]}")
            return {
                as_text(one.get("link")): (one.get("ok") is True, as_text(one.get("saw")))
                for one in links
            }

        return self.once("signal", ask)

    def start_workload(self) -> None:
        """Begin what allocates on a GPU; one that ended, or runs, is begun again.

        Raises:
            CheckError: the API server refuses it.
        """
        kubernetes = self.kubernetes()
        for path, manifest in self.manifests(WORKLOAD):
            name = as_text(dig(manifest, "metadata", "name"))
            body = {"propagationPolicy": "Background"}
            kubernetes.call("DELETE", f"{path}/{name}", body)
            poll(
                lambda one=f"{path}/{name}": kubernetes.call("GET", one).status == 404,
                what=f"the deletion of {name}",
                seconds=300,
            )
            answer = kubernetes.call("POST", path, manifest)
            if not answer.ok:
                raise CheckError(f"the GPU workload: {answer.error}")

    def manifests(self, file: str) -> list[tuple[str, JsonObject]]:
        """The objects in a manifest of the project, each with the path to post it to."""
        found: list[tuple[str, JsonObject]] = []
        for document in yaml.safe_load_all((ROOT / file).read_text()):
            manifest = as_object(document)
            version, kind = as_text(manifest.get("apiVersion")), as_text(manifest.get("kind"))
            group = f"/apis/{version}" if "/" in version else f"/api/{version}"
            namespace = as_text(dig(manifest, "metadata", "namespace"))
            found.append((f"{group}/namespaces/{namespace}/{kind.lower()}s", manifest))
        return found

    # --- a second Grafana, for what must not disturb the first ---------------------------------

    def other_grafana(self) -> str:
        """The ARM id of a second workspace, in another region; made when first asked for."""
        path = f"{self.options.group_id}/providers/Microsoft.Dashboard/grafana"
        path = f"{path}/{self.options.prefix[-20:]}-2"

        def make() -> str:
            self.stack.say(f"making a second Grafana in {self.options.other_location}")
            self.arm.put(
                path,
                {
                    "location": self.options.other_location,
                    "sku": {"name": "Standard"},
                    "identity": {"type": "SystemAssigned"},
                    "properties": {},
                },
            )
            return path

        return self.once("other Grafana", make)

    def endpoint_body(self) -> JsonObject:
        """A managed private endpoint of the second Grafana to this stack's Pyroscope."""
        return {
            "location": self.options.other_location,
            "properties": {
                "privateLinkResourceId": self.private_link,
                "privateLinkResourceRegion": self.options.location,
                "requestMessage": self.options.prefix,
            },
        }

    @contextmanager
    def probe(self, name: str) -> Generator[tuple[str, JsonObject]]:
        """A second endpoint to this stack's Pyroscope: its id, and its pending connection."""
        path = f"{self.other_grafana()}/managedPrivateEndpoints/{name}"
        self.stack.say(f"making the managed private endpoint {name}")
        try:
            made = self.arm.put(path, self.endpoint_body())
            state = dig(made, "properties", "provisioningState")
            if state != "Succeeded":
                raise CheckError(f"the endpoint {name} is {state}")
            found = [one for one in self.connections() if connected(one).endswith(f"-{name}")]
            if not found:
                raise CheckError(f"no connection of {name} on the Private Link Service")
            yield path, found[0]
        finally:
            self.arm.delete(path)

    def decide(self, connection: JsonObject, status: str, description: str) -> Answer:
        """Write the state of a connection, as its owner does; waits for a success to be done."""
        path = as_text(connection.get("id"))
        state = {"status": status, "description": description}
        body = {"properties": {"privateLinkServiceConnectionState": state}}
        answer = self.arm.call("PUT", path, body)
        if answer.ok:
            self.arm.settled(path)
        return answer

    def state_of(self, connection: JsonObject) -> JsonObject:
        """The connection's state as it is now: status and description."""
        found = self.arm.get(as_text(connection.get("id")))
        return as_object(dig(found, "properties", "privateLinkServiceConnectionState"))

    def refresh(self, grafana: str) -> None:
        """Let a workspace look at its private endpoints."""
        answer = self.arm.call("POST", f"{grafana}/refreshManagedPrivateEndpoints")
        if not answer.ok:
            raise CheckError(f"the refresh of {grafana}: {answer.error}")
        self.arm.follow(answer)


def connected(connection: JsonObject) -> str:
    """The name of the private endpoint behind a connection."""
    return as_text(dig(connection, "properties", "privateEndpoint", "id")).rsplit("/", 1)[-1]
