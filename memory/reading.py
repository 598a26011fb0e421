"""What Prometheus says of a cluster's GPU memory: processes, devices, nodes, and their ages.

Processes are the agent's (its three counters, each report complete in itself: a process holds what
its largest report says); devices a DCGM exporter's (in MiB) or, without one, an nvidia-smi
exporter's (in bytes); nodes and ages kube-state-metrics'. What nobody collects is empty.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from contract.agent import (
    ALLOCATED,
    FREED,
    FREED_IMPLICITLY,
    METRICS_POD,
    NAMESPACE,
    NAMESPACE_LABEL,
)
from contract.live_memory import GPU_MEMORY, REPORT, by
from memory.metrics import Metrics, Series, step_of

MIB: Final = 1 << 20
DCGM: Final = "a DCGM exporter"
NVIDIA_SMI: Final = "an nvidia-smi exporter"
_SILENT_STEPS: Final = 5
"""Points without a sample after which a series has ended: Prometheus bridges five minutes."""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, order=True)
class Pod:
    """A pod; both empty for a process outside of any."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.name else "processes outside of pods"


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process that the agent has counted, and what it held over the window."""

    pod: Pod
    pid: str
    held: Points
    """Bytes by time, oldest first; never empty. Of one that has ended, until it last held any."""
    ended: bool
    """Whether it is no longer reported at the window's end, or has exited (or destroyed its CUDA
    context) before: what it held was freed implicitly, and its counters stay as they are."""
    began: bool = False
    """Whether it was first reported after the window's start."""
    forgotten: float = 0
    """Bytes that it held when its agent restarted and forgot them, at most."""

    @property
    def now(self) -> float:
        """Bytes that it holds; 0 of one that has ended."""
        return 0.0 if self.ended else self.held[-1][1]

    @property
    def peak(self) -> float:
        """The most that it held in the window, in bytes."""
        return max(value for _, value in self.held)

    @property
    def last_seen(self) -> float:
        """When it was last reported, or seen to hold any."""
        return self.held[-1][0]


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU, or a slice of one."""

    id: str
    """UUID, with the slice's number where it is one."""
    index: str
    node: str
    pod: Pod | None
    """The pod that the exporter names; None: none, or more than one."""
    shared: bool = False
    """Whether it names more than one."""
    used: float
    """Bytes."""
    capacity: float
    """Bytes; 0 where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """All of it, at the end of a window."""

    at: float
    processes: Sequence[Process]
    devices: Sequence[Device] = ()
    device_source: str = ""
    """Which exporter reported the devices; empty without one."""
    nodes: Mapping[Pod, str] = field(default_factory=dict[Pod, str])
    started: Mapping[Pod, float] = field(default_factory=dict[Pod, float])
    """When a pod started, in seconds of the Unix epoch."""

    def capacity_of(self, pod: Pod) -> float:
        """Bytes of one GPU of a pod, or of its node where no GPU is said to be its; 0: unknown."""
        own = [one.capacity for one in self.devices if one.pod == pod]
        node = self.nodes.get(pod)
        return max(own or [one.capacity for one in self.devices if one.node == node], default=0.0)

    def agent_started(self, node: str) -> float | None:
        """When the agent of a node started; None where it is not known."""
        return max(
            (
                self.started[pod]
                for pod, where in self.nodes.items()
                if where == node and _is_agent(pod) and pod in self.started
            ),
            default=None,
        )


def read(metrics: Metrics, start: float, end: float, cluster: str | None = None) -> Reading:
    """Ask ``metrics`` for the window from ``start`` to ``end`` (seconds of the Unix epoch).

    ``cluster`` is the value of label ``cluster``; None: whatever is there.

    Raises:
        OperationError: it does not answer.
    """
    scope = [] if cluster is None else [f'cluster="{_escaped(cluster)}"']
    counters = [
        metrics.range(f"sum {by(REPORT)} ({_selector(name, *scope, GPU_MEMORY)})", start, end)
        for name in (ALLOCATED, FREED, FREED_IMPLICITLY)
    ]
    processes = list(_processes(*counters, start=start, end=end))
    source, devices = _devices(metrics, scope, end)
    pods = {one.pod for one in processes} | {one.pod for one in devices if one.pod is not None}
    nodes = _nodes(metrics, scope, end, pods) if pods else {}
    return Reading(
        at=end,
        processes=processes,
        devices=devices,
        device_source=source,
        nodes=nodes,
        started=_started(metrics, scope, end, nodes) if nodes else {},
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _selector(metric: str, *matchers: str) -> str:
    return f"{metric}{{{','.join(matchers)}}}" if matchers else metric


def _now(metrics: Metrics, query: str, at: float) -> Iterator[tuple[Series, float]]:
    """The series of ``query`` with their last values, none older than five minutes."""
    for series in metrics.range(query, at - 300, at):
        if series.points:
            yield series, series.points[-1][1]


# --- processes ---------------------------------------------------------------------------------


def _processes(
    allocated: Sequence[Series],
    freed: Sequence[Series],
    implicitly: Sequence[Series],
    *,
    start: float,
    end: float,
) -> Iterator[Process]:
    step = step_of(start, end)
    released: dict[tuple[str, ...], dict[float, float]] = defaultdict(lambda: defaultdict(float))
    taken_back: dict[tuple[Pod, str], dict[float, float]] = defaultdict(dict)
    for series in implicitly:
        by_time = taken_back[_pod(series), series.label("pid")]
        for at, value in series.points:
            by_time[at] = max(value, by_time.get(at, 0.0))
    for series in (*freed, *implicitly):
        for at, value in series.points:
            released[_report(series)][at] += value
    held: dict[tuple[Pod, str], dict[float, float]] = defaultdict(dict)
    counted: dict[tuple[Pod, str], dict[float, float]] = defaultdict(dict)
    for series in allocated:
        process = (_pod(series), series.label("pid"))
        back = released[_report(series)]
        for at, value in series.points:
            # What was freed may be sampled a moment after what was allocated.
            live = max(0.0, value - back.get(at, 0.0))
            held[process][at] = max(live, held[process].get(at, 0.0))
            counted[process][at] = max(value, counted[process].get(at, 0.0))
    latest = max((max(points) for points in held.values()), default=end)
    for (pod, pid), points in sorted(held.items()):
        ordered = sorted(points.items())
        began = ordered[0][0] - start > 2 * step
        until = _until_the_end(ordered, sorted(taken_back[pod, pid].items()), began=began)
        yield Process(
            pod=pod,
            pid=pid,
            held=until or ordered,
            began=began,
            ended=bool(until) or latest - ordered[-1][0] > _SILENT_STEPS * step,
            forgotten=_forgotten(ordered, counted[pod, pid]),
        )


def _until_the_end(held: Points, taken_back: Points, *, began: bool) -> Points:
    """The history until a process last held any; empty of one that runs on.

    It ended where what it still held was freed implicitly. One that lived between two samples held
    that when it was first seen; one that had ended before the window holds nothing in it.
    """
    if held[-1][1] or not taken_back or not taken_back[-1][1]:
        return []
    last = max((number for number, (_, value) in enumerate(held) if value), default=None)
    first = held[0][0]
    moment = held[last][0] if last is not None else first
    before = max((value for at, value in taken_back if at <= moment), default=0.0)
    if last is None:
        return [(first, taken_back[-1][1] - (0.0 if began else before))]
    return held[: last + 1] if taken_back[-1][1] > before else []


def _forgotten(held: Points, counted: Mapping[float, float]) -> float:
    """What was held each time that the counter of allocations began again."""
    lost = 0.0
    for (before, value), (after, _) in itertools.pairwise(held):
        if counted[after] < counted[before]:
            lost += value
    return lost


def _report(series: Series) -> tuple[str, ...]:
    return tuple(series.label(name) for name in REPORT)


def _pod(series: Series) -> Pod:
    return Pod(series.label(NAMESPACE_LABEL), series.label(METRICS_POD))


# --- devices -----------------------------------------------------------------------------------


def _devices(metrics: Metrics, scope: Sequence[str], at: float) -> tuple[str, list[Device]]:
    used = list(_now(metrics, _selector("DCGM_FI_DEV_FB_USED", *scope), at))
    if used:
        free = dict(_by_device(_now(metrics, _selector("DCGM_FI_DEV_FB_FREE", *scope), at)))
        return DCGM, list(_merged(used, free, MIB))
    used = list(_now(metrics, _selector("nvidia_smi_memory_used_bytes", *scope), at))
    if not used:
        return "", []
    total = dict(_by_device(_now(metrics, _selector("nvidia_smi_memory_total_bytes", *scope), at)))
    usage = dict(_by_device(used))
    return NVIDIA_SMI, list(_merged(used, {key: total[key] - usage[key] for key in total}, 1))


def _merged(
    used: Sequence[tuple[Series, float]], free: Mapping[str, float], unit: int
) -> Iterator[Device]:
    """One device for each id; a device that several pods share belongs to none."""
    first: dict[str, tuple[Series, float]] = {}
    pods: dict[str, set[Pod]] = defaultdict(set)
    for series, value in used:
        first.setdefault(_device_id(series), (series, value))
        if (pod := _user(series)) is not None:
            pods[_device_id(series)].add(pod)
    for key, (series, value) in sorted(first.items()):
        users = pods[key]
        yield Device(
            id=key,
            index=series.label("gpu", "index"),
            node=series.label("Hostname", "node", "hostname", "instance"),
            pod=next(iter(users)) if len(users) == 1 else None,
            shared=len(users) > 1,
            used=value * unit,
            capacity=(value + free[key]) * unit if key in free else 0.0,
        )


def _by_device(found: Iterable[tuple[Series, float]]) -> Iterator[tuple[str, float]]:
    for series, value in found:
        yield _device_id(series), value


def _device_id(series: Series) -> str:
    slice_ = series.label("GPU_I_ID")
    name = series.label("UUID", "uuid") or "/".join(
        (series.label("Hostname", "node", "instance"), series.label("gpu", "index"))
    )
    return f"{name}/{slice_}" if slice_ else name


def _user(series: Series) -> Pod | None:
    """The pod that uses the device; the exporter's own where the scrape sets the labels."""
    name = series.label("exported_pod", "pod")
    if not name or ("exported_pod" not in series.labels and "exporter" in name):
        return None
    return Pod(series.label("exported_namespace", "namespace"), name)


# --- nodes and ages ----------------------------------------------------------------------------


def _names(pods: Iterable[Pod]) -> list[str]:
    """The pods' names, each as a regular expression in a query's text."""
    return sorted({_escaped(re.escape(pod.name)) for pod in pods if pod.name})


def _nodes(metrics: Metrics, scope: Sequence[str], at: float, pods: "set[Pod]") -> dict[Pod, str]:
    either = "|".join([*_names(pods), f"{NAMESPACE}-.+"])
    query = _selector("kube_pod_info", *scope, f'pod=~"{either}"')
    return {
        Pod(series.label("namespace"), series.label("pod")): series.label("node")
        for series, _ in _now(metrics, query, at)
    }


def _started(
    metrics: Metrics, scope: Sequence[str], at: float, nodes: Mapping[Pod, str]
) -> dict[Pod, float]:
    names = "|".join(_names(nodes))
    found: dict[Pod, float] = {}
    for metric in ("kube_pod_created", "kube_pod_start_time"):
        for series, value in _now(metrics, _selector(metric, *scope, f'pod=~"{names}"'), at):
            found[Pod(series.label("namespace"), series.label("pod"))] = value
    return found


def _is_agent(pod: Pod) -> bool:
    return pod.namespace == NAMESPACE and pod.name.startswith(f"{NAMESPACE}-")
