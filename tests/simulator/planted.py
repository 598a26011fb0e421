"""A simulated world for tests of the data plane: a Grafana workspace with content of one's choice.

The world is planted as a file before the simulator starts, so the tests need none of ARM.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from simulator import seed
from simulator.arm.roles import GRAFANA_ADMIN, MONITORING_DATA_READER, ROLE_ASSIGNMENTS
from simulator.values import JsonObject, as_number, as_object, as_objects, dig
from simulator.world import GrafanaState, Principal, Resource, World
from tests.azure_client import AzureClient, azure_client

GROUP = f"/subscriptions/{seed.SUBSCRIPTION_ID}/resourceGroups/rg-test"
GRAFANA_ID = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-test"
WORKSPACE_ID = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-test"
GRAFANA_PRINCIPAL = "33333333-3333-4333-8333-333333333333"
VERSIONS = {11: "11.6.5", 12: "12.4.1", 13: "13.0.2"}


@dataclass(frozen=True)
class Grafana:
    """The API of a workspace, called as the caller."""

    azure: AzureClient
    name: str = "grafana-test"

    @property
    def query_endpoint(self) -> str:
        """Where the planted Azure Monitor workspace answers queries."""
        return f"{self.azure.server.arm_url}/prometheus/amw-test"

    def call(self, method: str, path: str, body: object = None) -> tuple[int, JsonObject]:
        """Status and decoded object of an answer."""
        response = self.raw(method, path, body)
        return response.status_code, as_object(response.json())

    def raw(self, method: str, path: str, body: object = None) -> httpx.Response:
        """The answer itself."""
        return self.azure.grafana(method, f"/api{path}", body, workspace=self.name)


def assign(world: World, role: str, scope: str, principal: str, *, effective: bool = True) -> None:
    """Assign a role, as if long ago or (not effective) a moment ago."""
    identifier = f"{scope}/providers/{ROLE_ASSIGNMENTS}/{role[:8]}-{principal[:8]}"
    definition = f"/providers/Microsoft.Authorization/roleDefinitions/{role}"
    body: JsonObject = {"properties": {"principalId": principal, "roleDefinitionId": definition}}
    world.put(Resource(identifier, ROLE_ASSIGNMENTS, body, {"effective": effective}))


def plant(
    major: int = 12,
    *,
    role: str | None = GRAFANA_ADMIN,
    effective: bool = True,
    public: bool = True,
    reader: bool = True,
) -> World:
    """A world with a Grafana of this major and an Azure Monitor workspace.

    Args:
        major: Grafana's.
        role: what the caller holds on it.
        effective: whether that assignment has propagated.
        public: whether the workspace answers from public networks.
        reader: whether Grafana's identity may read the Azure Monitor workspace.
    """
    world = World()
    world.principals[seed.CALLER_ID] = Principal(seed.CALLER_ID, "ServicePrincipal", "engineer")
    world.settings["caller"] = seed.CALLER_ID
    grafana: JsonObject = {
        "location": "westeurope",
        "identity": {"type": "SystemAssigned", "principalId": GRAFANA_PRINCIPAL},
        "properties": {
            "provisioningState": "Succeeded",
            "grafanaMajorVersion": str(major),
            "grafanaVersion": VERSIONS[major],
            "publicNetworkAccess": "Enabled" if public else "Disabled",
        },
    }
    world.put(Resource(GRAFANA_ID, "Microsoft.Dashboard/grafana", grafana))
    world.grafanas[GRAFANA_ID.lower()] = GrafanaState()
    monitor: JsonObject = {
        "location": "westeurope",
        "properties": {"provisioningState": "Succeeded"},
    }
    world.put(Resource(WORKSPACE_ID, "Microsoft.Monitor/accounts", monitor))
    if role:
        assign(world, role, GRAFANA_ID, seed.CALLER_ID, effective=effective)
    if reader:
        assign(world, MONITORING_DATA_READER, WORKSPACE_ID, GRAFANA_PRINCIPAL)
    return world


@contextmanager
def serving(home: Path, world: World, *, faults: Sequence[JsonObject] = ()) -> Generator[Grafana]:
    """The simulator on a planted world, seen through its Grafana."""
    home.mkdir(parents=True, exist_ok=True)
    world.save(home / "world.json")
    with azure_client(home, faults=faults) as azure:
        yield Grafana(azure)


def age(home: Path, seconds: float) -> None:
    """Move everything recorded in a stopped simulator's world into the past; what goes on begins
    earlier."""
    file = home / "world.json"
    world = as_object(json.loads(file.read_text()))
    make_older(world, seconds)
    file.write_text(json.dumps(world))


def make_older(world: JsonObject, seconds: float) -> None:
    """The same for a world as the simulator keeps it (``GET /simulator/world``)."""
    recorded = as_object(dig(world, "settings", "recordings")).values()
    begun = [interval for intervals in recorded for interval in as_objects(intervals)]
    begun += map(as_object, as_object(dig(world, "settings", "pyroscopePods")).values())
    for one in begun:
        for key in ("origin", "start", "since", "end"):
            if one.get(key) is not None:
                one[key] = as_number(one[key]) - seconds
