"""The metrics that the agent exports of the simulated workloads.

Counters of bytes by process: ``mem_alloc_bytes_total``, ``mem_free_bytes_total`` (a process that
never freed has no such series) and ``mem_implicit_free_bytes_total`` (what the driver takes back
from a process; 0 for one that runs on). The gadget reports each allocation twice, distinguished by
``otel_scope_name``: as the driver sees it (``libcuda_mem_stats``) and as the runtime, which calls
the driver, sees it (``libcudart_mem_stats``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from simulator.prometheus.selectors import METRIC_NAME
from simulator.pyroscope.profile import ALLOCATIONS, Allocation, Process

SCOPES = ("libcuda_mem_stats", "libcudart_mem_stats")


@dataclass(frozen=True)
class Series:
    """One counter; times are seconds after observation began."""

    labels: dict[str, str]
    allocations: tuple[Allocation, ...]
    is_free: bool = False

    @cached_property
    def begins(self) -> float:
        """When the series first has a sample, in seconds after observation began."""
        if self.is_free:
            return min(_freed_at(allocation) for allocation in self.allocations)
        return min((allocation.first for allocation in self.allocations), default=0.0)

    def value(self, at: float) -> int | None:
        """Bytes counted until ``at``; None before the first sample."""
        if at < self.begins:
            return None
        total = 0
        for allocation in self.allocations:
            happened = sum(1 for _ in allocation.times(at))
            # What is freed goes just before it is allocated anew: one free less than allocations.
            total += allocation.bytes * (happened - 1 if self.is_free else happened)
        return total


def _freed_at(allocation: Allocation) -> float:
    return allocation.first + (allocation.every or 0.0)


def series_of(cluster_name: str) -> Iterator[Series]:
    """Every series of a cluster; ``cluster_name`` is the value of the label ``cluster``."""
    processes = dict.fromkeys(allocation.process for allocation in ALLOCATIONS)
    for process in processes:
        own = tuple(allocation for allocation in ALLOCATIONS if allocation.process == process)
        freed = tuple(allocation for allocation in own if allocation.freed)
        for scope in SCOPES:
            labels = _labels(cluster_name, process, scope)
            yield Series({METRIC_NAME: "mem_alloc_bytes_total", **labels}, own)
            if freed:
                yield Series({METRIC_NAME: "mem_free_bytes_total", **labels}, freed, is_free=True)
                yield Series({METRIC_NAME: "mem_implicit_free_bytes_total", **labels}, ())


def _labels(cluster_name: str, process: Process, scope: str) -> dict[str, str]:
    return {
        "cluster": cluster_name,
        "k8s_namespace": process.namespace,
        "k8s_podname": process.pod,
        "pid": str(process.pid),
        "host_raw": "0",
        "otel_scope_name": scope,
    }
