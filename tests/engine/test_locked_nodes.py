"""A cluster whose node resource group is locked: the private link goes into another group."""

import pytest

from simulator.arm.roles import NETWORK_CONTRIBUTOR
from simulator.values import JsonObject, as_text, dig
from tests.engine.changes import order, touched
from tests.engine.portal import Portal, resource_group
from tests.engine.simulation import Simulation
from tests.simulator.azure import GROUP

pytestmark = pytest.mark.engine

LOCKED = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-locked"
CLUSTER: JsonObject = {
    "location": "westeurope",
    "identity": {"type": "SystemAssigned"},
    "properties": {
        "dnsPrefix": "locked",
        "azureMonitorProfile": {"metrics": {"enabled": True}},
        "nodeResourceGroupProfile": {"restrictionLevel": "ReadOnly"},
        "agentPoolProfiles": [
            {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 2}
        ],
    },
}
STACK, ROLE = "locked", "private-link-role-assignment"


def test_the_stack_lets_the_clusters_identity_make_the_link_and_takes_it_back(
    sim: Simulation, person: Portal
) -> None:
    cluster = person.put(LOCKED, CLUSTER)
    links = resource_group("rg-links")
    person.arm("PUT", links, "2024-11-01", {"location": "westeurope"})
    changes = {
        "cluster.existing.name": "aks-locked",
        "pyroscope.privateLink.resourceGroup": "rg-links",
    }
    sim.stack_file(STACK, changes, like="dev")
    made = sim.up(STACK)
    done = order(made)
    assert done.index(f"+ {ROLE}") < done.index("+ pyroscope-release")
    granted = [
        one
        for key in person.kind("roleAssignments")
        if dig(one := person.get(key), "properties", "principalId")
        == dig(cluster, "identity", "principalId")
        and as_text(dig(one, "properties", "scope")).lower() == links.lower()
    ]
    assert [
        as_text(dig(one, "properties", "roleDefinitionId")).endswith(NETWORK_CONTRIBUTOR)
        for one in granted
    ] == [True]
    assert touched(sim.up(STACK)) == {}
    gone = order(sim.destroy(STACK))
    assert gone.index("- pyroscope-release") < gone.index(f"- {ROLE}")
    assert person.kind("privateLinkServices") == []
