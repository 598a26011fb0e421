"""AKS Automatic from end to end: locked nodes, guarded namespaces, and no device plugin."""

import pytest

from simulator.values import JsonObject
from tests.engine.changes import order, touched
from tests.engine.portal import Portal, resource_group
from tests.engine.simulation import Simulation
from tests.engine.test_locked_nodes import CLUSTER, ROLE
from tests.simulator.azure import GROUP

pytestmark = pytest.mark.engine

STACK = "automatic"
AUTOMATIC = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-automatic"


def test_with_the_link_in_a_group_of_ones_own_and_no_device_plugin_it_is_made_and_removed(
    sim: Simulation, person: Portal
) -> None:
    sku: JsonObject = {"name": "Automatic", "tier": "Standard"}
    person.put(AUTOMATIC, {**CLUSTER, "sku": sku})
    person.arm("PUT", resource_group("rg-links"), "2024-11-01", {"location": "westeurope"})
    changes = {
        "cluster.existing.name": "aks-automatic",
        "pyroscope.privateLink.resourceGroup": "rg-links",
        "gpuPool.devicePlugin": False,
    }
    sim.stack_file(STACK, changes, like="dev")
    foreseen = sim.preview(STACK)
    assert "is an AKS Automatic one" in " ".join(foreseen.diagnostics)
    made = sim.up(STACK)
    done = order(made)
    assert done.index(f"+ {ROLE}") < done.index("+ pyroscope-release")
    assert not any("device-plugin" in step for step in done)
    assert touched(sim.up(STACK)) == {}
    sim.destroy(STACK)
    assert person.kind("privateLinkServices") == []
