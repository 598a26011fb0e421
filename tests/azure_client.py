"""The one client of the tests for the simulated Azure: every service, as its caller.

What a room's tests do again and again they add in a class of their own on top of it.
"""

import ssl
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

from simulator.testing import Running, running
from simulator.values import JsonObject, as_object, as_text, dig

ARM = "https://management.azure.com"
GRAFANA = "ce34e7e5-485f-4d76-964f-b3d2b16d1e4f"
PROMETHEUS = "https://prometheus.monitor.azure.com"
AUDIENCES = {"grafana": GRAFANA, "prometheus": PROMETHEUS}
"""By the first part of the path; ARM's otherwise."""
WITHOUT_TOKEN = frozenset({"kubernetes", "pyroscope", "simulator"})
"""They ask for a token of their own, or for none."""

VERSIONS = {
    "microsoft.alertsmanagement": "2023-03-01",
    "microsoft.containerservice": "2025-09-01",
    "microsoft.kubernetesconfiguration": "2023-05-01",
    "microsoft.dashboard": "2024-10-01",
    "microsoft.network": "2024-05-01",
    "microsoft.monitor": "2023-04-03",
    "microsoft.insights": "2022-06-01",
    "microsoft.authorization": "2022-04-01",
    "microsoft.managedidentity": "2023-01-31",
    "microsoft.storage": "2024-01-01",
}
"""API versions by resource provider; the rest is asked with that of resource groups."""


class AzureClient:
    """One connection to a simulated Azure."""

    def __init__(self, server: Running) -> None:
        self.server = server
        self._tokens: dict[str, str] = {}
        trusted = ssl.create_default_context(cafile=server.ca_file)
        self._identity = httpx.Client(verify=trusted, trust_env=False)
        self.http = httpx.Client(
            base_url=server.arm_url,
            verify=trusted,
            auth=self._authorize,
            trust_env=False,
        )
        """Sends the caller's token for the service, unless the request brings its own."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self._identity.close()

    # --- who calls ----------------------------------------------------------------------------

    def token(self, audience: str = ARM) -> str:
        """A token of the present caller; empty if the machine has no identity."""
        if audience not in self._tokens:
            answer = self._identity.get(
                self.server.identity_url,
                params={"api-version": "2019-08-01", "resource": audience},
                headers={"X-IDENTITY-HEADER": self.server.environment["IDENTITY_HEADER"]},
            )
            self._tokens[audience] = as_text(as_object(answer.json()).get("access_token"))
        return self._tokens[audience]

    def _authorize(self, request: httpx.Request) -> httpx.Request:
        service = request.url.path.split("/")[1]
        if "Authorization" not in request.headers and service not in WITHOUT_TOKEN:
            token = self.token(AUDIENCES.get(service, ARM))
            if token:
                request.headers["Authorization"] = f"Bearer {token}"
        return request

    # --- the services -------------------------------------------------------------------------

    def call(self, method: str, path: str, body: object = None, **query: str) -> httpx.Response:
        """One call of ARM, with the version that the type's namespace wants unless given."""
        tail = path.lower().rsplit("/providers/", 1)
        namespace = tail[1].split("/")[0] if len(tail) == 2 else ""
        query.setdefault("api-version", VERSIONS.get(namespace, "2024-03-01"))
        return self.http.request(method, path, json=body, params=query)

    def arm(self, method: str, path: str, version: str = "", body: object = None) -> JsonObject:
        """A call of ARM that must succeed."""
        query = {"api-version": version} if version else {}
        answer = self.call(method, path, body, **query)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return as_object(answer.json() if answer.content else None)

    def grafana(
        self, method: str, path: str, body: object = None, *, workspace: str = "grafana-dev"
    ) -> httpx.Response:
        """One call of a Grafana's API."""
        return self.http.request(method, f"/grafana/{workspace}{path}", json=body)

    def profiled_bytes(self, cluster: str, start: int, end: int) -> int:
        """The bytes that a cluster's Pyroscope shows between two instants, in milliseconds."""
        asked = {
            "profileTypeID": "process_cpu:malloc:bytes:process_cuda:bytes",
            "labelSelector": "{}",
            "start": start,
            "end": end,
        }
        path = f"/pyroscope/{cluster}/querier.v1.QuerierService/SelectMergeStacktraces"
        answer = as_object(self.http.post(path, json=asked).json())
        return int(as_text(dig(answer, "flamegraph", "total"), "0"))

    def make_network(self, network: str, *subnets: str) -> None:
        """A virtual network with subnets of these names."""
        listed = [
            {"name": name, "properties": {"addressPrefix": f"10.{number}.0.0/16"}}
            for number, name in enumerate(subnets, 1)
        ]
        properties = {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}, "subnets": listed}
        self.arm("PUT", network, "", {"location": "westeurope", "properties": properties})

    def move_into(self, subnet: str, cluster: str) -> None:
        """Make a cluster anew, with its system pool in a subnet of its owner's."""
        found = self.arm("GET", cluster)
        self.arm("DELETE", cluster)
        self.advance()
        kept = ("dnsPrefix", "azureMonitorProfile", "oidcIssuerProfile", "securityProfile")
        before = as_object(found["properties"])
        pool = {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 2}
        properties = {name: before[name] for name in kept if name in before}
        properties["agentPoolProfiles"] = [{**pool, "vnetSubnetID": subnet}]
        identity = {"type": "SystemAssigned"}
        body = {"location": found["location"], "identity": identity, "properties": properties}
        self.arm("PUT", cluster, "", body)
        self.advance()

    # --- the simulator itself -----------------------------------------------------------------

    def control(self, method: str, what: str, body: object = None) -> object:
        """A call of the control interface (:mod:`simulator.control`), which must succeed."""
        answer = self.http.request(method, f"/simulator/{what}", json=body)
        assert answer.is_success, f"{method} {what}: {answer.status_code} {answer.text}"
        return answer.json()

    def settings(self, **changes: object) -> None:
        """Change ``faults``, ``caller``, ``latency``, ..."""
        self._tokens.clear()
        self.control("POST", "settings", changes)

    def advance(self, seconds: float = 0) -> JsonObject:
        """Let simulated time pass; what the simulator answers."""
        return as_object(self.control("POST", "advance", {"seconds": seconds}))

    def reset(self) -> None:
        """Begin again as at first."""
        self._tokens.clear()
        self.control("POST", "reset")

    def inspect(self) -> JsonObject:
        """Everything there is."""
        return as_object(self.control("GET", "inspect"))


@contextmanager
def azure_client(
    home: Path, *, latency: float = 0.0, faults: Sequence[JsonObject] = ()
) -> Generator[AzureClient]:
    """A simulated Azure on ``home`` while the context lasts."""
    with running(home, latency=latency, faults=faults) as server, AzureClient(server) as client:
        yield client
