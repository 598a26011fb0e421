"""What each alert asks of Prometheus, in PromQL.

Metrics of Pyroscope are those of the servers 1.15.0 to 1.19.2, read in their source
(``pkg/distributor/metrics.go``, ``pkg/phlaredb/shipper``, ``pkg/compactor``, ``pkg/validation``);
those of devices are NVIDIA's DCGM exporter's, in MiB; those of nodes and pods kube-state-metrics'.
An expression whose metrics nobody collects answers nothing, so its alert stays silent.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from contract import live_memory
from contract.agent import ALLOCATED, METRICS_POD, NAMESPACE, NAMESPACE_LABEL

RECORDED_LIVE: Final = "gpuobs:gpu_memory_live_bytes"
"""Bytes of GPU memory that a process holds, as a rule records them: alerts look back over it."""

GPU_RESOURCE: Final = "nvidia_com_gpu"
"""The resource of the device plugin, as kube-state-metrics spells it."""
DEVICE_USED: Final = "DCGM_FI_DEV_FB_USED"
DEVICE_FREE: Final = "DCGM_FI_DEV_FB_FREE"

_RECEIVED: Final = "pyroscope_distributor_received_samples_sum"
_DISCARDED: Final = "pyroscope_discarded_samples_total"
_SERVER: Final = "pyroscope_build_info"
_UPLOADS: Final = "pyroscope_shipper_uploads_total"
_UPLOAD_FAILURES: Final = "pyroscope_shipper_upload_failures_total"
_UPLOAD_ROUNDS: Final = "pyroscope_shipper_dir_syncs_total"

GB: Final = 1e9
_QUARTERS: Final = ("", " offset 15m", " offset 30m", " offset 45m")
_DEVICE_STEP_MIB: Final = 32
"""Least growth of a device's use in a quarter of an hour that counts: less is noise."""


LATEST_UPLOAD_MINUTES = 85
"""With blocks of an hour, as a server comes."""
_ROUNDED_TO = 10


@dataclass(frozen=True)
class Scope:
    """Whose series are looked at, and what is usual there."""

    cluster: str | None
    """The value of label ``cluster``; None: all that the Prometheus has."""
    upload_minutes: int = LATEST_UPLOAD_MINUTES
    """How old a profile is, at most, when it reaches the bucket: with shorter blocks, less."""

    def of(self, metric: str, *matchers: str) -> str:
        """The selector of a metric."""
        return f"{metric}{{{self.inner(*matchers)}}}" if self.inner(*matchers) else metric

    def inner(self, *matchers: str) -> str:
        """What stands between a selector's braces."""
        cluster = () if self.cluster is None else (f'cluster="{_escaped(self.cluster)}"',)
        return ",".join((*cluster, *matchers))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# --- memory of processes and devices -----------------------------------------------------------


def live_memory_of_processes(scope: Scope) -> str:
    """Recorded as :data:`RECORDED_LIVE`: bytes held, by process."""
    return live_memory.live_by_process(scope.inner(live_memory.GPU_MEMORY))


def leak(scope: Scope, gb_per_hour: float) -> str:
    """GB per hour, of a process at least an hour old that grew in every quarter of the hour.

    Compared is the least that it held in each quarter: a cache that fills and empties does not
    grow, one reservation at the start grows once, and a restarted agent begins below.
    """
    live = scope.of(RECORDED_LIVE)
    step = gb_per_hour * GB / 8
    return (
        f"round(deriv({live}[1h]) * 3600 / {GB:.0f}, 0.1) >= {gb_per_hour:g}"
        # Also now: what has ended is still in the windows that are looked back over.
        f"\nand {live} > 0\nand {live} offset 1h >= 0\n{_grew(live, step)}"
    )


def full_soon(scope: Scope, hours: float) -> str:
    """Hours until a device that fills steadily is full."""
    used, free = scope.of(DEVICE_USED), scope.of(DEVICE_FREE)
    return _with_pod(
        f"round({free} / (deriv({used}[1h]) * 3600 > 0), 0.1) <= {hours:g}"
        f"\nand {used} offset 1h >= 0\n{_grew(used, _DEVICE_STEP_MIB)}"
    )


def near_capacity(scope: Scope, percent: float) -> str:
    """Percent of a device's memory in use."""
    used, free = scope.of(DEVICE_USED), scope.of(DEVICE_FREE)
    return _with_pod(f"round(100 * {used} / ({used} + {free}), 0.1) >= {percent:g}")


def _grew(series: str, step: float) -> str:
    floors = [f"min_over_time({series}[15m]{offset})" for offset in _QUARTERS]
    return "\n".join(
        f"and ({later} - {earlier}) >= {step:.0f}" for later, earlier in pairwise(floors)
    )


def _with_pod(expression: str) -> str:
    """Give a device's series the labels by which the other alerts know pods.

    An exporter names the pod that uses the device; where the scrape sets these labels itself, the
    exporter's own are called ``exported_...``.
    """
    for label, names in (
        (NAMESPACE_LABEL, ("namespace", "exported_namespace")),
        (METRICS_POD, ("pod", "exported_pod")),
    ):
        for name in names:
            expression = f'label_replace(\n{expression},\n"{label}", "$1", "{name}", "(.+)")'
    return expression


# --- is it measured at all? --------------------------------------------------------------------


def node_without_agent(scope: Scope, _: float) -> str:
    """GPUs of a node on which no pod of the agent runs."""
    gpus = scope.of("kube_node_status_allocatable", f'resource="{GPU_RESOURCE}"')
    agents = (f'namespace="{NAMESPACE}"', 'created_by_kind="DaemonSet"')
    placed = scope.of("kube_pod_info", *agents)
    running = scope.of("kube_pod_status_phase", f'namespace="{NAMESPACE}"', 'phase="Running"')
    return (
        f"max by (cluster, node) ({gpus}) > 0\n"
        "unless on (cluster, node) max by (cluster, node) (\n"
        f"  {placed}\n"
        "  * on (cluster, namespace, pod) group_left ()\n"
        f"  max by (cluster, namespace, pod) ({running} == 1)\n)"
    )


def metrics_absent(scope: Scope, _: float) -> str:
    """GPUs that running pods have, in a cluster without one counter of the agent."""
    wanted = scope.of("kube_pod_container_resource_requests", f'resource="{GPU_RESOURCE}"')
    running = scope.of("kube_pod_status_phase", 'phase="Running"')
    return (
        "sum by (cluster) (\n"
        f"  {wanted}\n"
        "  * on (cluster, namespace, pod) group_left ()\n"
        f"  max by (cluster, namespace, pod) ({running} == 1)\n) > 0\n"
        f"unless on (cluster) count by (cluster) ({scope.of(ALLOCATED)})"
    )


def profiles_missing(scope: Scope, _: float) -> str:
    """Bytes per second that processes allocate, while the server receives no sample.

    The server is one that was seen in the last day, so that a stack whose Pyroscope is not
    collected stays silent. Samples and not pushes are counted: an agent of another encoding pushes
    profiles without any.
    """
    moving = f"rate({scope.of(ALLOCATED, live_memory.GPU_MEMORY)}[15m])"
    return (
        f"round(sum by (cluster) ({moving})) > 0\n"
        f"and on (cluster) max by (cluster) (last_over_time({scope.of(_SERVER)}[1d]))\n"
        f"unless on (cluster) {_grown(scope, _RECEIVED, 'cluster', '15m')}"
    )


# --- the server --------------------------------------------------------------------------------


def profiles_discarded(scope: Scope, samples: float) -> str:
    """Samples that the server discarded in 15 minutes, by its reason."""
    grown = _grown(scope, _DISCARDED, "cluster, reason", "15m")
    return f"round({grown}) > {samples:g}"


def upload_failing(scope: Scope, _: float) -> str:
    """Rounds of uploads that ended in half an hour: 0, where every fifth minute should have one.

    As the server configures its shipper, the first error ends the round before the counter of
    failures is touched, so an unfinished round is the signal. The counter is asked all the same.
    """
    rounds = scope.of(_UPLOAD_ROUNDS)
    ended = f"max by (cluster) (increase({rounds}[30m])) == 0"
    return (
        f"{ended} and on (cluster) max by (cluster) ({rounds} offset 30m) >= 0\n"
        f"or on (cluster) sum by (cluster) (increase({scope.of(_UPLOAD_FAILURES)}[30m])) > 0"
    )


def uploads_missing(scope: Scope, _: float) -> str:
    """Blocks uploaded in twice the usual time (3 hours): 0, though profiles came before it."""
    uploads = scope.of(_UPLOADS)
    # Rounded up: late by a look at the heads or a round is not late.
    half = -(-scope.upload_minutes // _ROUNDED_TO) * _ROUNDED_TO
    return (
        f"max by (cluster) (increase({uploads}[{_range(2 * half)}])) == 0\n"
        f"and on (cluster) max by (cluster) ({uploads} offset {_range(2 * half)}) >= 0\n"
        f"and on (cluster) sum by (cluster) (increase({scope.of(_RECEIVED)}[{_range(half)}] "
        f"offset {_range(half)})) > 0"
    )


def _range(minutes: int) -> str:
    """A range as Prometheus writes it."""
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def compactor_failing(scope: Scope, _: float) -> str:
    """Compactions that failed in 3 hours in which none succeeded; a shutdown is no failure."""
    failed = scope.of("pyroscope_compactor_runs_failed_total", 'reason!="shutdown"')
    completed = scope.of("pyroscope_compactor_runs_completed_total")
    return (
        f"round(sum by (cluster) (increase({failed}[3h]))) > 0\n"
        f"unless on (cluster) sum by (cluster) (increase({completed}[3h])) > 0"
    )


def restarted(scope: Scope, _: float) -> str:
    """Restarts of the server's container in its pod, with profiles that were not yet stored.

    A new pod (an update, a drained node) is another instance and stops gracefully, which stores
    what it holds; a container that starts again in its pod had crashed or was killed.
    """
    started = scope.of("process_start_time_seconds")
    return (
        f"sum by (cluster) (changes({started}[15m])\n"
        f"  and on (cluster, job, instance) {scope.of(_SERVER)}) > 0\n"
        f"and on (cluster) sum by (cluster) (increase({scope.of(_RECEIVED)}"
        f"[{scope.upload_minutes}m] offset 15m)) > 0"
    )


def _grown(scope: Scope, metric: str, labels: str, window: str) -> str:
    """By how much a counter of the server's grew.

    Also one that only just appeared, which ``increase`` misses: on a server that was there before.
    """
    counter, server = scope.of(metric), scope.of(_SERVER)
    return (
        f"((sum by ({labels}) (increase({counter}[{window}])) > 0)\n"
        f"  or (sum by ({labels}) ({counter})"
        f" unless on ({labels}) sum by ({labels}) ({counter} offset {window})"
        f" and on (cluster) {server} offset {window}) > 0)"
    )
