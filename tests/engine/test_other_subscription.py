"""A cluster and a Grafana in another subscription of the same tenant, and one in another tenant."""

from dataclasses import dataclass

import pytest

from simulator.arm.roles import GRAFANA_ADMIN
from simulator.seed import CALLER_ID, LOCATION
from simulator.values import JsonObject
from simulator.world import TENANT_ID
from tests.engine.changes import touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

OTHER, FOREIGN = (f"{digit * 8}-9999-4999-8999-999999999999" for digit in "89")
FOREIGN_TENANT = "77777777-7777-4777-8777-777777777777"
GROUP = f"/subscriptions/{OTHER}/resourceGroups/rg-shared"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-shared"
GRAFANA = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-shared"


def make(person: Portal) -> None:
    """The cluster and the Grafana, in a group of their own."""
    person.put(GROUP, {"location": LOCATION})
    pool = {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 2}
    properties: JsonObject = {
        "dnsPrefix": "shared",
        "azureMonitorProfile": {"metrics": {"enabled": True}},
        "agentPoolProfiles": [pool],
    }
    identity = {"type": "SystemAssigned"}
    person.put(CLUSTER, {"location": LOCATION, "identity": identity, "properties": properties})
    grafana: JsonObject = {
        "location": LOCATION,
        "sku": {"name": "Standard"},
        "identity": identity,
        "properties": {"grafanaMajorVersion": "12"},
    }
    person.put(GRAFANA, grafana)
    definitions = f"/subscriptions/{OTHER}/providers/Microsoft.Authorization/roleDefinitions"
    role = {
        "roleDefinitionId": f"{definitions}/{GRAFANA_ADMIN}",
        "principalId": CALLER_ID,
        "principalType": "ServicePrincipal",
    }
    assignment = "providers/Microsoft.Authorization/roleAssignments"
    person.put(f"{GRAFANA}/{assignment}/00000000-0000-4000-8000-000000000001", {"properties": role})


@dataclass(frozen=True)
class Life:
    foreign: Outcome
    """A preview with a Grafana in another tenant."""
    up: Outcome
    there: list[str]
    """What is in the other subscription then, and was not before."""
    quiet: Outcome
    destroy: Outcome
    left: list[str]


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal) -> Life:
    sim.control("POST", "settings", {"subscriptions": {OTHER: TENANT_ID, FOREIGN: FOREIGN_TENANT}})
    make(person)
    before = set(sim.resources())
    foreign = GRAFANA.replace(OTHER, FOREIGN)
    sim.stack_file("dev", {"grafana.existing": {"id": foreign}, "prometheus": None})
    refused = sim.preview(check=False)
    sim.stack_file(
        "dev", {"grafana.existing": {"id": GRAFANA}, "cluster.existing": {"id": CLUSTER}}
    )
    up = sim.up()
    there = sorted(key for key in set(sim.resources()) - before if f"/{OTHER}/" in key)
    quiet = sim.up()
    destroy = sim.destroy()
    return Life(refused, up, there, quiet, destroy, sorted(set(sim.resources()) - before))


def test_what_the_stack_makes_goes_where_cluster_and_grafana_are(life: Life) -> None:
    kinds = {key.rsplit("/", 2)[-2].lower() for key in life.there}
    assert {"agentpools", "extensions", "managedprivateendpoints", "privatelinkservices"} <= kinds
    assert touched(life.quiet) == {}


def test_destroy_takes_it_away_again(life: Life) -> None:
    assert life.destroy.ok
    assert life.left == []


def test_a_grafana_of_another_tenant_is_refused_at_the_preview_with_the_reason(
    life: Life,
) -> None:
    assert not life.foreign.ok
    assert f"is in another ({FOREIGN_TENANT})" in life.foreign.output
    assert "of the same tenant" in life.foreign.output
