"""GPU memory that a process holds, from the agent's counters, in PromQL: one formula for all.

Dashboard and alerts ask the same of Prometheus, each with a selector of its own.
docs/users/dashboard.md ("How live memory is computed") explains the choices. Nothing here knows a
dashboard's variables or a cluster's name.
"""

from typing import Final

from contract.agent import ALLOCATED, FREED, FREED_IMPLICITLY, METRICS_POD, NAMESPACE_LABEL

POD: Final = ("cluster", NAMESPACE_LABEL, METRICS_POD)
PROCESS: Final = (*POD, "pid")

# One allocation can be reported more than once: by the driver's and by the runtime's probe
# (otel_scope_name), and by two scrape jobs of one agent (job, instance). Each report is complete
# in itself, so a process holds what its largest report says, never the sum of them. Other labels
# (the thread's name, for one) split a report and are summed away.
REPORT: Final = (*PROCESS, "job", "instance", "otel_scope_name")

GPU_MEMORY: Final = 'host_raw="0"'
"""The matcher for memory of a GPU; ``"1"`` is pinned host memory."""


def by(labels: tuple[str, ...]) -> str:
    """The grouping clause of an aggregation."""
    return f"by ({', '.join(labels)})"


def reports(metric: str, selector: str, over: str = "{}") -> str:
    """The metric summed to whole reports.

    ``selector`` is what stands between the braces; ``over`` wraps it, e.g. in ``rate``.
    """
    return f"sum {by(REPORT)} ({over.format(f'{metric}{{{selector}}}')})"


def live_by_process(selector: str, over: str = "{}") -> str:
    """Allocated - freed - implicitly freed, in bytes, by process.

    - A process that has never freed may have no such series: ``or ... * 0`` stands in for it,
      as a plain subtraction would drop exactly the process that leaks.
    - All counters of an agent restart together, so their difference stays what the agent has
      seen since *its* start. The clamp only covers the minutes in which a stale old series
      outlives its restarted neighbour.
    """
    allocated = reports(ALLOCATED, selector, over)
    released = "".join(
        f"\n  - ({reports(metric, selector, over)} or {allocated} * 0)"
        for metric in (FREED, FREED_IMPLICITLY)
    )
    return f"max {by(PROCESS)} (clamp_min(\n  {allocated}{released},\n0))"
