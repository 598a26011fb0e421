"""What happened between midnight and three: simulated workloads, and one that runs out of memory.

``vllm-0``, ``vllm-1``, ``notebook-0`` and ``sweep-0`` are the simulator's. ``trainer-0``, on a GPU
of its own, is added here: it grows until its GPU is full, dies with what it held, is started again,
and grows again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from simulator.prometheus.exporters import CONTEXT_MIB, MIB, Node, series_of_exporters
from simulator.prometheus.series import series_of
from simulator.pyroscope.recordings import Recording, profile_type
from simulator.pyroscope.store import ProfileStore

CLUSTER: Final = "aks-dev"
END: Final = int(datetime(2026, 11, 30, 3, tzinfo=UTC).timestamp())
BEGIN: Final = END - 3 * 3600
STARTED: Final = BEGIN + 20 * 60
"""When the simulated workloads started."""
NODES: Final = (Node("aks-gpu-45601483-vmss000000", 1, "gadget-kx2v9", "dcgm-exporter-7wqtn"),)

_GB: Final = 10**9
_LIMIT_MIB: Final = 81_236
_FIRST, _DIED, _AGAIN = BEGIN + 40 * 60, BEGIN + 130 * 60, BEGIN + 132 * 60
_POD: Final = {"namespace": "research", "pod": "trainer-0"}
_Read = Callable[[int], float | None]


def store() -> ProfileStore:
    """What Pyroscope has of the night."""
    recording = Recording(
        STARTED, STARTED, None, profile_type((0, 54), (1, 19)), "inspektor-gadget"
    )
    return ProfileStore([recording], now=lambda: END)


def lines() -> Iterator[str]:
    """Every sample, one a minute, in OpenMetrics' form, family by family."""
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, labels, read in _series():
        # A counter is known by its name, but kube-state-metrics' total is taken as it is.
        counter = name.startswith("mem_")
        inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
        family = (name.removesuffix("_total"), "counter") if counter else (name, "gauge")
        families[family] += [
            f"{name}{{{inner}}} {value} {at}"
            for at in range(BEGIN, END + 1, 60)
            if (value := read(at)) is not None
        ]
    for (family, kind), samples in families.items():
        yield f"# TYPE {family} {kind}"
        yield from samples


def _series() -> Iterator[tuple[str, dict[str, str], _Read]]:
    agent = {"job": "gadget", "instance": "10.0.0.4:2224"}
    for one in series_of(CLUSTER):
        labels = {key: value for key, value in one.labels.items() if key != "__name__"} | agent
        yield one.labels["__name__"], labels, _shifted(one.value)
    for one in series_of_exporters(CLUSTER, NODES, STARTED):
        labels = {key: value for key, value in one.labels.items() if key != "__name__"}
        yield one.labels["__name__"], labels, _shifted(one.value)
    yield from _trainer()


def _shifted(value: Callable[[float], float | None]) -> _Read:
    return lambda at: value(at - STARTED)


# --- the one that runs out of memory -------------------------------------------------------------


def _allocated(since: int, at: int) -> int:
    """0.87 GB a minute on top of 6: full after an hour and a half."""
    return 6 * _GB + (at - since) // 60 * 870_000_000


def _trainer() -> Iterator[tuple[str, dict[str, str], _Read]]:
    def first(at: int) -> float | None:
        return _allocated(_FIRST, min(at, _DIED - 60)) if at >= _FIRST else None

    def freed(at: int) -> float | None:
        return _allocated(_FIRST, _DIED - 60) if at >= _DIED else None

    def second(at: int) -> float | None:
        return _allocated(_AGAIN, at) if at >= _AGAIN else None

    agent = {"job": "gadget", "instance": "10.0.0.5:2224", "host_raw": "0", "cluster": CLUSTER}
    of = {"k8s_namespace": _POD["namespace"], "k8s_podname": _POD["pod"], **agent}
    for scope in ("libcuda_mem_stats", "libcudart_mem_stats"):
        labels = {**of, "otel_scope_name": scope}
        yield "mem_alloc_bytes_total", {**labels, "pid": "1337"}, first
        yield "mem_implicit_free_bytes_total", {**labels, "pid": "1337"}, freed
        yield "mem_alloc_bytes_total", {**labels, "pid": "1402"}, second
    yield from _its_gpu()
    yield from _its_container()


def _its_gpu() -> Iterator[tuple[str, dict[str, str], _Read]]:
    def used(at: int) -> int:
        since = _FIRST if _FIRST <= at < _DIED else _AGAIN if at >= _AGAIN else None
        if since is None:
            return 4
        return min(_allocated(since, at) // MIB + CONTEXT_MIB, _LIMIT_MIB)

    labels = {
        "cluster": CLUSTER,
        "gpu": "0",
        "UUID": "GPU-0d8e1c55-1b0a-4f4e-9d0e-6a7c5f1b2a90",
        "modelName": "NVIDIA A100 80GB PCIe",
        "Hostname": "aks-gpu-45601483-vmss000001",
        "exported_namespace": _POD["namespace"],
        "exported_pod": _POD["pod"],
    }
    yield "DCGM_FI_DEV_FB_USED", labels, used
    yield "DCGM_FI_DEV_FB_FREE", labels, lambda at: _LIMIT_MIB - used(at)


def _its_container() -> Iterator[tuple[str, dict[str, str], _Read]]:
    labels = {"cluster": CLUSTER, **_POD, "container": "trainer", "uid": "5c1f"}
    name = "kube_pod_container_status"
    yield f"{name}_restarts_total", labels, lambda at: int(at >= _AGAIN) if at >= _FIRST else None
    reason = {**labels, "reason": "Error"}
    yield f"{name}_last_terminated_reason", reason, lambda at: 1 if at >= _AGAIN else None
    yield (
        "kube_pod_container_state_started",
        labels,
        lambda at: _AGAIN if at >= _AGAIN else _FIRST if at >= _FIRST else None,
    )
    yield (
        "kube_pod_container_resource_requests",
        {**labels, "resource": "nvidia_com_gpu"},
        lambda at: 1 if at >= _FIRST else None,
    )
