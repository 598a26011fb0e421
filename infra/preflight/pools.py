"""Which of a cluster's node pools are this stack's, and whether they are as the settings say.

Also which version of Kubernetes the cluster is asked for.

An autoscaled pool that is as the settings say is left alone, whatever its number of nodes. One that
is not gets the present number with its next update. So what differs must be found exactly: too
much costs an update that says what is so already, too little one that AKS refuses.
"""

from collections.abc import Iterable

from contract.azure import STACK_TAG
from contract.choices import SPOT_LABEL, SPOT_TAINT, SYSTEM_POOL
from contract.messages.survey import PoolFacts
from infra.settings import GpuPoolSettings, Settings


def system_pool(pools: Iterable[PoolFacts]) -> PoolFacts | None:
    """The system pool of a cluster that this stack made: its first one, or what replaced it."""
    systems = sorted(
        (pool for pool in pools if pool.mode.lower() == "system"),
        key=lambda pool: (pool.name != SYSTEM_POOL, pool.name),
    )
    return systems[0] if systems else None


def autoscaled_pool_changes(settings: Settings, pools: Iterable[PoolFacts]) -> bool:
    """Whether the GPU pool is there, is to be autoscaled, and is to be changed in place."""
    wanted = settings.gpu_pool
    if not wanted.enabled or wanted.autoscaling is None:
        return False
    found = next((pool for pool in pools if pool.name == wanted.name), None)
    return (
        found is not None
        # One that is made again begins with the smallest number of nodes.
        and is_as_fixed(found, wanted)
        and _changeable(found) != _wanted_changeable(settings)
    )


def is_as_fixed(pool: PoolFacts, wanted: GpuPoolSettings) -> bool:
    """Whether the pool is one that ``wanted`` does not make anew, as far as the survey shows."""
    return _fixed(pool) == _wanted_fixed(wanted)


def _fixed(pool: PoolFacts) -> tuple[object, ...]:
    return pool.vm_size.lower(), pool.mig_profile, pool.spot


def _wanted_fixed(wanted: GpuPoolSettings) -> tuple[object, ...]:
    profile = wanted.mig_profile.value if wanted.mig_profile else ""
    return wanted.vm_size.lower(), profile, wanted.spot is not None


def _changeable(pool: PoolFacts) -> tuple[object, ...]:
    return (
        (pool.min_count, pool.max_count),
        pool.os_sku.lower(),
        sorted(pool.taints),
        dict(pool.labels),
        {key: value for key, value in pool.tags.items() if key != STACK_TAG},
        STACK_TAG in pool.tags,
    )


def _wanted_changeable(settings: Settings) -> tuple[object, ...]:
    wanted, limits = settings.gpu_pool, settings.gpu_pool.autoscaling
    spot = wanted.spot is not None
    return (
        (limits.min, limits.max) if limits else (None, None),
        wanted.os_sku.value.lower(),
        sorted([*wanted.taints, *([SPOT_TAINT] if spot else [])]),
        {**wanted.labels, **({SPOT_LABEL: "spot"} if spot else {})},
        dict(settings.azure.tags),
        True,
    )


# --- versions ------------------------------------------------------------------------------------


def is_newer(running: str, wanted: str | None) -> bool:
    """Whether a cluster runs a later version than ``wanted``, by as much of it as is said."""
    if not wanted or not running:
        return False
    said = _numbers(wanted)
    return _numbers(running)[: len(said)] > said


def version_to_send(running: str, wanted: str | None) -> str | None:
    """``kubernetesVersion`` of the cluster: an upgrade that somebody made is not undone.

    AKS refuses to go back. Of a later version the minor one is named, which stays the same while
    AKS moves on to newer patches.
    """
    return ".".join(running.split(".")[:2]) if is_newer(running, wanted) else wanted


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]
