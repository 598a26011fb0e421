"""What is scraped of the simulated workloads: counters of the agent, figures of exporters.

The agent's are counters of bytes by process: ``mem_alloc_bytes_total``, ``mem_free_bytes_total`` (a
process that never freed has no such series) and ``mem_implicit_free_bytes_total`` (what the driver
takes back from a process). The gadget reports each allocation twice, distinguished by
``otel_scope_name``: as the driver sees it (``libcuda_mem_stats``) and as the runtime, which calls
the driver, sees it (``libcudart_mem_stats``).

A process that exits keeps its series: the gadget deletes none of its counters then, and adds what
was still held to the implicit frees (``gadgets/top_cuda_memory/program.bpf.c``,
``trace_sched_process_exit``: "the per-process counters must survive process exit").

The exporters' are in :mod:`simulator.prometheus.exporters`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simulator.prometheus.selectors import METRIC_NAME
from simulator.pyroscope import profile
from simulator.pyroscope.profile import ALLOCATIONS, Process

SCOPES = ("libcuda_mem_stats", "libcudart_mem_stats")


@dataclass(frozen=True)
class Series:
    """One series; times are seconds after observation began."""

    labels: dict[str, str]
    begins: float
    """When it first has a sample."""
    read: Callable[[float], float]
    """Its value at a time from then on."""

    def value(self, at: float) -> float | None:
        """The value at ``at``; None before the first sample."""
        return self.read(at) if at >= self.begins else None


def series_of(cluster_name: str) -> Iterator[Series]:
    """The agent's series of a cluster, whose name is the value of the label ``cluster``."""
    for process in profile.processes():
        own = [one for one in ALLOCATIONS if one.process == process]
        frees = [one.first + (one.every or 0.0) for one in own if one.freed]
        began = min(one.first for one in own)
        for scope in SCOPES:
            labels = _labels(cluster_name, process, scope)
            yield _counter("alloc", labels, began, process, profile.allocated)
            if frees:
                yield _counter("free", labels, min(frees), process, profile.freed)
            if frees or process.ends is not None:
                first = 0.0 if process.ends is None else process.ends
                yield _counter("implicit_free", labels, first, process, profile.freed_implicitly)


def _counter(
    kind: str,
    labels: dict[str, str],
    begins: float,
    process: Process,
    count: Callable[[Process, float], int],
) -> Series:
    name = {METRIC_NAME: f"mem_{kind}_bytes_total"}
    return Series({**name, **labels}, begins, lambda at: count(process, at))


def _labels(cluster_name: str, process: Process, scope: str) -> dict[str, str]:
    return {
        "cluster": cluster_name,
        "k8s_namespace": process.namespace,
        "k8s_podname": process.pod,
        "pid": str(process.pid),
        "host_raw": "0",
        "otel_scope_name": scope,
    }
