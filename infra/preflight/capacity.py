"""Whether the nodes that take Pyroscope's micro-services can hold what they request.

What Kubernetes would say of it only by pods that stay pending, and Helm by its timeout. Counted is
what can be known from Azure: sizes and numbers of the nodes, less what AKS reserves on each ("Node
resource reservations" in its documentation). What other pods request is not known, so that what is
refused here would never fit, and what is not may still be short of room.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from contract.choices import SYSTEM_POOL
from contract.lines import line, pools_of
from contract.messages.survey import ClusterFacts, NodeSize, PoolFacts, Presence, Survey
from contract.microservices import ServerComponent, ServerMode
from contract.quantity import amount
from infra.preflight.finding import Finding, Place
from infra.preflight.tolerations import tolerates
from infra.settings import Settings

_RESERVED_CORES: Final = {1: 0.06, 2: 0.1, 4: 0.14, 8: 0.18, 16: 0.26, 32: 0.42, 64: 0.74}
"""By the cores of a node; of one in between, those of the next smaller."""
_RESERVED_GIB: Final = 0.75
"""At least: 20 MB for each of 30 pods, 50 MB, and 100 MiB that stay free (AKS 1.29 and later)."""
SUGGESTED_SIZE: Final = "Standard_D8s_v5"
_SUGGESTED: Final = NodeSize(cores=8, memory_gib=32)
_MOST_SUGGESTED: Final = 100


@dataclass(frozen=True, kw_only=True)
class Room:
    """Cores and memory, of a pod's requests or of a node."""

    cores: float
    gib: float

    def holds(self, other: "Room") -> bool:
        """Whether ``other`` fits."""
        return self.cores >= other.cores - 1e-9 and self.gib >= other.gib - 1e-9

    def __str__(self) -> str:
        """For a person."""
        return f"{self.cores:.1f} vCPUs and {self.gib:.1f} GiB"


def check_capacity(settings: Settings, place: Place, survey: Survey) -> Iterator[Finding]:
    """Whether all of them fit on nodes of the cluster at ``place``, there or yet to be made."""
    cluster, wanted = survey.cluster, settings.pyroscope
    if wanted.mode is not ServerMode.DISTRIBUTED or cluster.provisions_nodes:
        return
    is_there = cluster.presence is Presence.FOUND
    if not is_there and settings.cluster.create is None:
        return
    pods, pools = requests(settings), _pools(settings, cluster)
    nodes = [room for pool in pools for room in _nodes(pool, survey.node_sizes)]
    if None in nodes or not survey.node_sizes:
        return  # a size that Azure does not tell
    rooms = [room for room in nodes if room is not None]
    needed, there = total(pods), total(rooms)
    too_large = [pod for pod in pods if not any(room.holds(pod) for room in rooms)]
    of = ", ".join(f"{_most(pool)} of {pool.vm_size} in {pool.name}" for pool in pools) or "none"
    fix = _fix(settings, place, pods, rooms, is_there=is_there)
    if not there.holds(needed) or too_large:
        largest = ""
        if too_large:
            largest = f", the largest pod {max(too_large, key=lambda one: one.gib)}"
        yield place.fault(
            rule=f"`pyroscope.mode: distributed` requests {needed}{largest}; the nodes that take "
            f"it ({of}) have {there} that AKS does not reserve",
            why="pods that find no room stay pending, and the release fails when its time is over.",
            fix=fix,
        )
    elif left := unplaced(pods, rooms):
        yield (
            f"`pyroscope.mode: distributed` requests {needed}, and the nodes of cluster "
            f"{place.name} that take it ({of}) have {there}, but {len(left)} of {len(pods)} pods "
            f"may find no node with room enough: {fix}"
        )
    if len(rooms) < wanted.components.wanted[ServerComponent.INGESTER].replicas:
        yield (
            f"Pyroscope's ingesters share the {len(rooms)} nodes of cluster {place.name} that take "
            "them: a node that fails takes several along, and profiles that are on them alone."
        )


def requests(settings: Settings) -> list[Room]:
    """What each pod requests."""
    return [
        _request(one.resources)
        for one in settings.pyroscope.components.wanted.values()
        for _ in range(one.replicas)
    ]


def _request(resources: Mapping[str, object]) -> Room:
    # Kubernetes takes a limit for a request that is not said.
    said: dict[str, object] = {}
    for kind in ("limits", "requests"):
        said |= cast("Mapping[str, object]", resources.get(kind) or {})
    return Room(cores=amount(said.get("cpu", 0)), gib=amount(said.get("memory", 0)) / 2**30)


def total(rooms: Sequence[Room]) -> Room:
    """All of them together."""
    return Room(cores=sum(one.cores for one in rooms), gib=sum(one.gib for one in rooms))


def unplaced(pods: Sequence[Room], nodes: Sequence[Room]) -> list[Room]:
    """The pods that find no node, the largest placed first, each on the first that has room."""
    free, left = list(nodes), list[Room]()
    for pod in sorted(pods, key=lambda one: (one.gib, one.cores), reverse=True):
        for number, room in enumerate(free):
            if room.holds(pod):
                free[number] = Room(cores=room.cores - pod.cores, gib=room.gib - pod.gib)
                break
        else:
            left.append(pod)
    return left


def _pools(settings: Settings, cluster: ClusterFacts) -> list[PoolFacts]:
    """The pools whose nodes take Pyroscope's pods."""
    create = settings.cluster.create
    if cluster.presence is not Presence.FOUND:
        if create is None:
            return []
        pool = create.system_pool
        return [PoolFacts(name=SYSTEM_POOL, vm_size=pool.vm_size, count=pool.count)]
    tolerations = settings.pyroscope.tolerations
    return [
        pool
        for pool in cluster.pools
        if (
            pool.name in cluster.untainted_pools
            or (
                not pool.os_sku.startswith("Windows")
                and all(tolerates(tolerations, taint) for taint in pool.taints)
            )
        )
        and _selected(pool, settings.pyroscope.node_selector)
    ]


def _selected(pool: PoolFacts, selector: Mapping[str, str]) -> bool:
    """Whether its nodes have these labels; those that Kubernetes and AKS give are not all known."""
    labels = {
        **pool.labels,
        "agentpool": pool.name,
        "kubernetes.azure.com/agentpool": pool.name,
        "kubernetes.azure.com/mode": pool.mode.lower(),
    }
    return all(
        labels[key] == value if key in labels else "kubernetes.io/" in key or "azure.com/" in key
        for key, value in selector.items()
    )


def _most(pool: PoolFacts) -> int:
    """How many nodes it has, or may have."""
    return max(pool.count, pool.max_count or 0)


def _nodes(pool: PoolFacts, sizes: Mapping[str, NodeSize]) -> list[Room | None]:
    size = sizes.get(pool.vm_size.lower())
    return [_room(size) if size is not None else None] * _most(pool)


def _room(size: NodeSize) -> Room:
    steps = [cores for cores in _RESERVED_CORES if cores <= size.cores]
    reserved = _RESERVED_CORES[max(steps)] if steps else 0.0
    return Room(cores=size.cores - reserved, gib=size.memory_gib - _RESERVED_GIB)


def _fix(
    settings: Settings,
    place: Place,
    pods: Sequence[Room],
    rooms: Sequence[Room],
    *,
    is_there: bool,
) -> str:
    smaller = "or make components smaller: gpuobs:pyroscope: { components: { ingester: { ... } } }"
    made = settings.cluster.create is None or is_there
    # Of a cluster that is yet to be made, all nodes are.
    present = rooms if made else ()
    more = next(
        (
            count
            for count in range(1, _MOST_SUGGESTED)
            if not unplaced(pods, [*present, *[_room(_SUGGESTED)] * count])
        ),
        0,
    )
    if not more:
        return smaller.removeprefix("or ")
    if not made:
        pool = f"{{ systemPool: {{ vmSize: {SUGGESTED_SIZE}, count: {more} }} }}"
        return f"write gpuobs:cluster: {{ create: {pool} }}, {smaller}"
    add = line(
        *("az", "aks", "nodepool", "add", *pools_of(place.id), "--name", "profiles"),
        *("--node-vm-size", SUGGESTED_SIZE, "--node-count", str(more)),
    )
    return f"add nodes: {add}; {smaller}"
