"""Microsoft.Compute as far as the product asks it: VM sizes with their families, and quotas."""

from dataclasses import dataclass

from simulator.values import JsonObject, as_integer, as_object, as_text
from simulator.world import World


@dataclass(frozen=True)
class VmSize:
    """A VM size."""

    name: str
    family: str
    cores: int
    memory: int
    """GiB, as published."""
    gpus: int = 0


SIZES = {
    size.name.lower(): size
    for size in (
        VmSize("Standard_D2s_v5", "standardDSv5Family", 2, 8),
        VmSize("Standard_D4s_v5", "standardDSv5Family", 4, 16),
        VmSize("Standard_D8s_v5", "standardDSv5Family", 8, 32),
        VmSize("Standard_D2s_v3", "standardDSv3Family", 2, 8),
        VmSize("Standard_D4s_v3", "standardDSv3Family", 4, 16),
        VmSize("Standard_DS2_v2", "standardDSv2Family", 2, 7),
        VmSize("Standard_D4ds_v5", "standardDDSv5Family", 4, 16),
        VmSize("Standard_NC4as_T4_v3", "Standard NCASv3_T4 Family", 4, 28, 1),
        VmSize("Standard_NC8as_T4_v3", "Standard NCASv3_T4 Family", 8, 56, 1),
        VmSize("Standard_NC16as_T4_v3", "Standard NCASv3_T4 Family", 16, 110, 1),
        VmSize("Standard_NC64as_T4_v3", "Standard NCASv3_T4 Family", 64, 440, 4),
        VmSize("Standard_NC24ads_A100_v4", "StandardNCADSA100v4Family", 24, 220, 1),
        VmSize("Standard_NC48ads_A100_v4", "StandardNCADSA100v4Family", 48, 440, 2),
        VmSize("Standard_NC96ads_A100_v4", "StandardNCADSA100v4Family", 96, 880, 4),
        VmSize("Standard_NC40ads_H100_v5", "StandardNCadsH100v5Family", 40, 320, 1),
        VmSize("Standard_NC80adis_H100_v5", "StandardNCadsH100v5Family", 80, 640, 2),
        VmSize("Standard_ND96isr_H100_v5", "standardNDSH100v5Family", 96, 1900, 8),
        VmSize("Standard_NV6ads_A10_v5", "StandardNVADSA10v5Family", 6, 55, 1),
        VmSize("Standard_NV36ads_A10_v5", "StandardNVADSA10v5Family", 36, 440, 1),
    )
}
DEFAULT_LIMIT = 350
"""Cores a family may have in a region, unless the world's settings say otherwise."""


def size_of(name: str) -> VmSize | None:
    """The VM size of this name."""
    return SIZES.get(name.lower())


def limit_of(world: World, location: str, family: str) -> int:
    """The quota of a family in a region, in cores."""
    return as_integer(_setting(world, location, family).get("limit"), DEFAULT_LIMIT)


def used(world: World, location: str, family: str, leave_out: str = "") -> int:
    """The cores of a family that node pools use in a region; ``leave_out``: one pool's id."""
    total = as_integer(_setting(world, location, family).get("used"))
    for pool in world.of_type("Microsoft.ContainerService/managedClusters/agentPools"):
        cluster = world.get(pool.id.rsplit("/", 2)[0])
        size = size_of(as_text(pool.properties.get("vmSize")))
        if cluster is None or size is None or pool.key == leave_out.lower():
            continue
        if size.family == family and cluster.body.get("location") == location:
            total += size.cores * as_integer(pool.properties.get("count"))
    return total


def _setting(world: World, location: str, family: str) -> JsonObject:
    return as_object(as_object(world.settings.get("quota")).get(f"{location}/{family}"))


def usages(world: World, location: str) -> list[JsonObject]:
    """The answer of ``.../locations/<location>/usages``."""
    families = sorted({size.family for size in SIZES.values()})
    return [
        {
            "name": {"value": family, "localizedValue": f"{family} vCPUs"},
            "currentValue": used(world, location, family),
            "limit": limit_of(world, location, family),
            "unit": "Count",
        }
        for family in families
    ]


def skus(location: str) -> list[JsonObject]:
    """The answer of ``.../skus`` for a region."""
    return [
        {
            "resourceType": "virtualMachines",
            "name": size.name,
            "family": size.family,
            "locations": [location],
            "capabilities": [
                {"name": "vCPUs", "value": str(size.cores)},
                {"name": "MemoryGB", "value": str(size.memory)},
                {"name": "GPUs", "value": str(size.gpus)},
            ],
            "restrictions": [],
        }
        for size in SIZES.values()
    ]
