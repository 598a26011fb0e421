"""What the agent, Inspektor Gadget, fixes: where it runs and pushes, and what it calls things.

Found in its sources and tried; nothing here is a choice of this program.
"""

from typing import Final

EXTENSION_TYPE: Final = "microsoft.inspektorgadget"
NAMESPACE: Final = "gadget"
"""Fixed by the cluster extension."""
AGENT_DAEMON_SET: Final = "gadget"
"""However it was installed."""
POD_SELECTOR: Final = "k8s-app=gadget"

PYROSCOPE_SERVICE: Final = "pyroscope"
"""The Service that the agent looks for in its own namespace."""
PYROSCOPE_PORT: Final = 4040
LONGEST_QUERY_HOURS: Final = 24
"""``limits.max_query_length`` of Pyroscope, as it comes."""
LONGEST_RANGE_DAYS: Final = 32
"""What Azure Monitor answers in one query, and the servers of this program as well."""

METRICS_PORT: Final = 2224
"""Where the agent serves ``/metrics`` from 0.55 on; before, nothing listens on the port that its
pods' annotation names."""

# --- metrics: counters in bytes, by process ----------------------------------------------------

ALLOCATED: Final = "mem_alloc_bytes_total"
FREED: Final = "mem_free_bytes_total"
FREED_IMPLICITLY: Final = "mem_implicit_free_bytes_total"
"""By the end of a context or process."""

# --- profiles ----------------------------------------------------------------------------------

SAMPLE_TYPE: Final = "malloc"
SAMPLE_UNIT: Final = "bytes"


def measures_allocations(sample_type: str, unit: str) -> bool:
    """Whether a profile of this type and unit is of GPU memory allocations.

    The only part of a profile type's id that all versions of agent and server agree on.
    """
    return (sample_type, unit) == (SAMPLE_TYPE, SAMPLE_UNIT)


# --- labels: the same pod, spelled by two exporters of the same agent --------------------------

METRICS_POD: Final = "k8s_podname"
PROFILES_POD: Final = "k8s_podName"
NAMESPACE_LABEL: Final = "k8s_namespace"
PROFILES_PROCESS: Final = "proc_comm"
