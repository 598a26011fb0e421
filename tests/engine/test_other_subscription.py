"""A cluster and a Grafana in another subscription of the same tenant, and one in another tenant."""

from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

import pytest

from simulator.arm.roles import GRAFANA_ADMIN, MONITORING_DATA_READER
from simulator.seed import CALLER_ID, LOCATION
from simulator.values import JsonObject, as_objects, as_text, dig
from simulator.world import TENANT_ID
from tests.engine.changes import touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

OTHER, FOREIGN = (f"{digit * 8}-9999-4999-8999-999999999999" for digit in "89")
FOREIGN_TENANT = "77777777-7777-4777-8777-777777777777"
GROUP = f"/subscriptions/{OTHER}/resourceGroups/rg-shared"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-shared"
WORKSPACE = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-shared"
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
    reader = as_text(dig(person.get(GRAFANA), "identity", "principalId"))
    person.put(WORKSPACE, {"location": LOCATION})
    give(person, GRAFANA, GRAFANA_ADMIN, CALLER_ID)
    give(person, WORKSPACE, MONITORING_DATA_READER, reader)


def give(person: Portal, scope: str, role: str, principal: str) -> None:
    """Assign a role."""
    definitions = f"/subscriptions/{OTHER}/providers/Microsoft.Authorization/roleDefinitions"
    properties = {
        "roleDefinitionId": f"{definitions}/{role}",
        "principalId": principal,
        "principalType": "ServicePrincipal",
    }
    assignments = f"{scope}/providers/Microsoft.Authorization/roleAssignments"
    person.put(f"{assignments}/{uuid5(NAMESPACE_URL, scope)}", {"properties": properties})


@dataclass(frozen=True)
class Life:
    foreign: Outcome
    """A preview with a Grafana in another tenant."""
    up: Outcome
    there: list[str]
    """What is in the other subscription then, and was not before."""
    sources: list[JsonObject]
    """The data sources on the Grafana there."""
    quiet: Outcome
    destroy: Outcome
    left: list[str]
    own: list[str]
    """What a stack makes whose own subscription is the other one."""


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal) -> Life:
    sim.control("POST", "settings", {"subscriptions": {OTHER: TENANT_ID, FOREIGN: FOREIGN_TENANT}})
    make(person)
    before = set(sim.resources())
    foreign = GRAFANA.replace(OTHER, FOREIGN)
    sim.stack_file("dev", {"grafana.existing": {"id": foreign}, "prometheus": None})
    refused = sim.preview(check=False)
    metrics = {"azureMonitorWorkspace": {"existing": {"id": WORKSPACE}}}
    by_id = {"grafana.existing": {"id": GRAFANA}, "cluster.existing": {"id": CLUSTER}}
    sim.stack_file("dev", {**by_id, "prometheus": metrics})
    up = sim.up()
    sources = as_objects(dig(sim.inspect(), "grafana", "grafana-shared", "dataSources"))
    there = sorted(key for key in set(sim.resources()) - before if f"/{OTHER}/" in key)
    quiet = sim.up()
    destroy = sim.destroy()
    left = sorted(set(sim.resources()) - before)
    by_name = {"resourceGroup": "rg-shared"}
    sim.stack_file(
        "dev",
        {
            "azure.subscriptionId": OTHER,
            "cluster.existing": {"name": "aks-shared", **by_name},
            "grafana.existing": {"name": "grafana-shared", **by_name},
            "prometheus": None,
        },
    )
    sim.up()
    own = sorted(set(sim.resources()) - before)
    return Life(refused, up, there, sources, quiet, destroy, left, own)


def test_what_the_stack_makes_goes_where_cluster_and_grafana_are(life: Life) -> None:
    kinds = {key.rsplit("/", 2)[-2].lower() for key in life.there}
    assert {"agentpools", "extensions", "managedprivateendpoints", "privatelinkservices"} <= kinds
    assert touched(life.quiet) == {}


def test_a_workspace_of_another_subscription_is_what_the_metrics_source_asks(life: Life) -> None:
    (metrics,) = [one for one in life.sources if one["type"] == "prometheus"]
    assert as_text(metrics["url"]).endswith("/prometheus/amw-shared")


def test_a_stack_of_another_subscription_is_made_in_it(life: Life) -> None:
    kinds = {key.rsplit("/", 2)[-2].lower() for key in life.own}
    assert {"agentpools", "extensions", "managedprivateendpoints", "privatelinkservices"} <= kinds
    assert [key for key in life.own if f"/{OTHER}/" not in key] == []


def test_destroy_takes_it_away_again(life: Life) -> None:
    assert life.destroy.ok
    assert life.left == []


def test_a_grafana_of_another_tenant_is_refused_at_the_preview_with_the_reason(
    life: Life,
) -> None:
    assert not life.foreign.ok
    assert f"is in another ({FOREIGN_TENANT})" in life.foreign.output
    assert "of the same tenant" in life.foreign.output
