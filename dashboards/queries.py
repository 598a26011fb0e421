"""Selectors and queries, apart from layout: what is asked of Prometheus and of Pyroscope.

Every expression is plain text for Grafana, with its ``$variables`` and macros in place.
docs/users/dashboard.md ("How live memory is computed") explains the choices; the tests run every
expression on a real Prometheus.

Not here: titles, units and positions (:mod:`dashboards.panels`), and alerts.
"""

from typing import Final

from contract import live_memory
from contract.agent import (
    ALLOCATED,
    FREED_IMPLICITLY,
    METRICS_POD,
    NAMESPACE_LABEL,
    PROFILES_POD,
    SAMPLE_TYPE,
    SAMPLE_UNIT,
)
from contract.live_memory import GPU_MEMORY, POD, PROCESS, by, reports

SELECTED: Final = (
    f'cluster=~"$cluster",{NAMESPACE_LABEL}=~"$namespace",{METRICS_POD}=~"$pod",{GPU_MEMORY}'
)

# How far the agent's silence is bridged before it counts as lost: Prometheus' own look-back.
_LOOK_BACK: Final = "5m"


def _reports(metric: str, over: str = "{}") -> str:
    return reports(metric, SELECTED, over)


def _live(over: str = "{}") -> str:
    return live_memory.live_by_process(SELECTED, over)


def live_by_process() -> str:
    """Bytes of GPU memory held, one series a process."""
    return _live()


def live_by_pod() -> str:
    """Bytes of GPU memory held, one series a pod."""
    return f"sum {by(POD)} ({live_by_process()})"


def live_total() -> str:
    """Bytes of GPU memory held by everything that is selected; one series."""
    return f"sum({live_by_process()})"


def peak_in_range(expression: str) -> str:
    """The largest value in the dashboard's time range, looked at in steps of ``$__interval``.

    The steps grow with the range, so that a long one stays cheap: what is shorter than a step may
    lie between two of them.
    """
    return f"max_over_time(({expression})[$__range:$__interval])"


def top_processes(count: int) -> str:
    """The processes that hold most."""
    return f"topk({count}, {live_by_process()})"


def counted_of_top_processes(metric: str, count: int) -> str:
    """A counter's value, in bytes since the agent's start, for exactly the top processes."""
    return f"max {by(PROCESS)} ({_reports(metric)}) and {top_processes(count)}"


def peak_of_top_processes(count: int) -> str:
    """The most that each of the top processes held in the range, in bytes."""
    return f"{peak_in_range(live_by_process())} and {top_processes(count)}"


def begin_of_top_processes(count: int) -> str:
    """When to begin so as to see each from its start, in milliseconds since the Unix epoch.

    Its first allocations come before its first sample. Of one that began in the last day: ten
    minutes before it was first seen, in steps of five minutes; else two hours before, in steps of
    an hour. It looks back 31 days, as Azure Monitor answers 32 days at once, and the server of this
    stack as many (``components.pyroscope_values``).
    """
    live = live_by_process()
    since, start = (
        f"min_over_time(timestamp({live})[{back}:{step}])"
        for back, step in (("1d", "5m"), ("31d", "1h"))
    )
    # One that was there when the day began may have begun long before.
    young = f"({since} > time() - 85800) - 600"
    return f"(({young} or {start} - 7200) and {top_processes(count)}) * 1000"


def rate_by_pod(metric: str) -> str:
    """Bytes per second, one series a pod; ``rate`` allows for restarted counters."""
    rate = _reports(metric, "rate({}[$__rate_interval])")
    return f"sum {by(POD)} (max {by(PROCESS)} ({rate}))"


def implicitly_freed_by_pod() -> str:
    """Bytes freed by the end of a context or process, since the agent's start.

    Not a rate: most processes free so once, as the first value of their series, and ``rate`` and
    ``increase`` see no growth in a first value.
    """
    return f"sum {by(POD)} (max {by(PROCESS)} ({_reports(FREED_IMPLICITLY)}))"


def pods_holding_memory() -> str:
    """How many pods hold more than 0 bytes; 0 without any data."""
    return f"count({live_by_pod()} > 0) or vector(0)"


def processes_reported() -> str:
    """How many processes the agents report at all; 0 means that nothing is measured."""
    return f"count({live_by_process()}) or vector(0)"


_NOW: Final = f"last_over_time({{}}[{_LOOK_BACK}])"
_BEFORE: Final = f"last_over_time({{}}[{_LOOK_BACK}] offset {_LOOK_BACK})"
_AGENT: Final = ("cluster", "job", "instance")
_ANY_PROCESS: Final = 'cluster=~"$cluster",instance!=""'


def _known(over: str) -> str:
    """Bytes allocated, by process, five minutes ago or since."""
    return f"max {by(PROCESS)} ({_reports(ALLOCATED, over)})"


def _gone_from_a_running_agent() -> str:
    """Processes that their agent no longer reports, though it still counts others from before.

    An agent that restarts forgets all of its processes at once. The others may be of any pod, and
    prove it by a counter that was there before and is the largest of the whole time now.
    """
    others, ever, earlier = (
        live_memory.reports(ALLOCATED, _ANY_PROCESS, over)
        for over in (_NOW, "max_over_time({}[10m])", "{} offset 10m")
    )
    running = f"{others} >= {ever} and {earlier}"
    gone = f"{_reports(ALLOCATED, _BEFORE)} unless {_reports(ALLOCATED, _NOW)}"
    of_running = f"max {by(PROCESS)} (({gone}) and on ({', '.join(_AGENT)}) ({running}))"
    return f"({of_running} unless {_known(_NOW)})"


def lost_from_sight() -> str:
    """Bytes held, by process, at the moment when their agent stopped reporting them.

    An agent that restarts forgets all earlier allocations, and never counts their frees. Seen as
    a process whose allocation counter is gone or smaller than five minutes ago, except where its
    agent runs on: that process ended.
    """
    followed = f"({_known(_NOW)} >= {_known(_BEFORE)})"
    return f"({_live(_BEFORE)} unless {followed} unless {_gone_from_a_running_agent()}) > 0"


def lost_from_sight_in_range() -> str:
    """The sum of what was lost from sight in the dashboard's time range; an upper bound."""
    lost = f"({lost_from_sight()})[$__range:{_LOOK_BACK}]"
    return f"sum(sum_over_time({lost})) or vector(0)"


# --- what ended: an agent counts what a process still held as freed implicitly when its main thread
# exits or its CUDA context is destroyed (gadgets/top_cuda_memory/program.bpf.c, handle_ctx_destroy,
# called from the probes of cuCtxDestroy and of the process's exit). A restart never adds to it.


def _ended_in_range() -> str:
    """Bytes, by process, of those that ended in the range with memory in hand.

    Known by what was freed implicitly, or by a process that went away under an agent that ran on.
    """
    counted = _reports(FREED_IMPLICITLY, "max_over_time({}[$__range])")
    earlier = _reports(FREED_IMPLICITLY, "last_over_time({}[1h] offset $__range)")
    freed = f"max {by(PROCESS)} ({counted} - ({earlier} or {counted} * 0)) > 0"
    gone = f"(({_live(_BEFORE)} and {_gone_from_a_running_agent()}) > 0)"
    went = f"max_over_time({gone}[$__range:{_LOOK_BACK}])"
    return f"((({freed}) or {went}) unless ({live_by_process()} > 0))"


def held_by_ended() -> str:
    """Bytes that each process held when it was last seen to hold any; else what its end freed."""
    last = f"last_over_time(({live_by_process()} > 0)[$__range:$__interval])"
    return f"({last} and {_ended_in_range()}) or {_ended_in_range()}"


def end_of_ended() -> str:
    """When each was last seen to hold memory, in milliseconds since the Unix epoch.

    Of one that lived between two scrapes: when it was first seen, ended.
    """
    last = f"max_over_time(timestamp({live_by_process()} > 0)[$__range:$__interval])"
    first = f"min_over_time(timestamp({live_by_process()})[$__range:$__interval])"
    return f"(({last} or {first}) and {_ended_in_range()}) * 1000"


# --- the ledger: of whole clusters, as a device does not tell one pod's memory from another's ----

_CLUSTERS: Final = 'cluster=~"$cluster"'
_DEVICE: Final = ("cluster", "Hostname", "gpu", "UUID", "GPU_I_ID")
_MIB: Final = 1 << 20
"""The unit of NVIDIA's DCGM exporter."""


def _devices(metric: str) -> str:
    """A figure of all devices; one that several pods share is reported for each of them."""
    return f"sum by (cluster) (max {by(_DEVICE)} ({metric}{{{_CLUSTERS}}})) * {_MIB}"


def used_by_devices() -> str:
    """Bytes in use, as the devices say; nothing without a DCGM exporter."""
    return _devices("DCGM_FI_DEV_FB_USED")


def capacity_of_devices() -> str:
    """Bytes that the devices have."""
    return f"{used_by_devices()} + {_devices('DCGM_FI_DEV_FB_FREE')}"


def counted_of_clusters() -> str:
    """Bytes that the agents count as held, one series a cluster, whatever pods are chosen."""
    held = live_memory.live_by_process(f"{_CLUSTERS},{GPU_MEMORY}")
    return f"sum by (cluster) ({held})"


def not_counted() -> str:
    """Bytes in use beyond what is counted; below 0 where frees were missed."""
    return f"{used_by_devices()} - {counted_of_clusters()}"


# --- devices, one by one -------------------------------------------------------------------------

DEVICE: Final = ("cluster", "Hostname", "gpu", "GPU_I_ID", "modelName")
"""What names a GPU, or a slice of one."""


def _of_devices(figure: str) -> str:
    """Bytes by device and pod: of the chosen pods where the exporter names pods, else of all.

    Where the scrape sets ``pod`` itself, to the exporter's own pod, the exporter's labels are
    called ``exported_...``, and a device that nobody uses has the exporter's pod alone.
    """
    metric = f"DCGM_FI_DEV_FB_{figure}"
    theirs = 'exported_namespace=~"$namespace",exported_pod=~"$pod",exported_pod!=""'
    own = 'exported_pod="",namespace=~"$namespace",pod=~"$pod"'
    named, plain = f"{metric}{{{_CLUSTERS},{theirs}}}", f"{metric}{{{_CLUSTERS},{own}}}"
    for label, name in ((NAMESPACE_LABEL, "namespace"), (METRICS_POD, "pod")):
        named = f'label_replace({named}, "{label}", "$1", "exported_{name}", "(.*)")'
        plain = f'label_replace({plain}, "{label}", "$1", "{name}", "(.*)")'
        plain = f'label_replace({plain}, "{label}", "", "pod", ".*exporter.*")'
    of = (*DEVICE, NAMESPACE_LABEL, METRICS_POD)
    return f"max {by(of)} (\n  {named}\n  or {plain}\n) * {_MIB}"


def used_of_gpus() -> str:
    """Bytes in use of each GPU, one series for each of its pods."""
    return _of_devices("USED")


def capacity_of_gpus() -> str:
    """Bytes that each GPU can give: used and free, without what the driver keeps for itself."""
    return f"{used_of_gpus()} + {_of_devices('FREE')}"


def share_of_gpus() -> str:
    """Percent of each GPU's memory in use."""
    return f"100 * {used_of_gpus()} / ({capacity_of_gpus()})"


def used_by_gpu() -> str:
    """Bytes in use, one series a GPU."""
    return f"max {by(DEVICE)} ({used_of_gpus()})"


def capacity_by_model() -> str:
    """Bytes that one GPU of a kind can give: the line that its use cannot cross."""
    return f"max by (cluster, modelName) ({capacity_of_gpus()})"


# --- what Kubernetes did: kube-state-metrics. All but the reason of a container that is not started
# again are in the list that Azure's metrics add-on keeps (minimal ingestion profile:
# Azure/prometheus-collector, otelcollector/shared/configmap/mp).

CONTAINER: Final = ("cluster", "namespace", "pod", "container")
_PODS: Final = 'cluster=~"$cluster",namespace=~"$namespace",pod=~"$pod"'
_LAST_REASON: Final = f"kube_pod_container_status_last_terminated_reason{{{_PODS}}}"
_REASON: Final = f'kube_pod_container_status_terminated_reason{{{_PODS},reason!="Completed"}}'


def _pods_with_gpus() -> str:
    """The pods that asked for a GPU in the range, or that the agents reported in it."""
    asked = f'kube_pod_container_resource_requests{{{_PODS},resource="nvidia_com_gpu"}}'
    reported = f"max_over_time({ALLOCATED}{{{SELECTED}}}[$__range])"
    for label, name in ((NAMESPACE_LABEL, "namespace"), (METRICS_POD, "pod")):
        reported = f'label_replace({reported}, "{name}", "$1", "{label}", "(.*)")'
    pods = "count by (cluster, namespace, pod)"
    return f"({pods} (max_over_time({asked}[$__range])) or {pods} ({reported}))"


def _restarted() -> str:
    """How often each container of such a pod was started again in the range, where it was."""
    count = f"kube_pod_container_status_restarts_total{{{_PODS}}}"
    most = f"max_over_time({count}[$__range])"
    # A pod made again under its name is another one, whose count begins at 0.
    grown = f"{most} - ({count} offset $__range or {most} * 0)"
    return f"(sum {by(CONTAINER)} (max {by((*CONTAINER, 'uid'))} ({grown})) > 0)"


def restarts_in_range() -> str:
    """Restarts of containers in pods with GPUs, with the reason (``OOMKilled``) where it is known.

    A container that is not started again, and did not complete, is there with 0 restarts.
    """
    on = f"on ({', '.join(CONTAINER)})"
    # Not one that was there before and has given way to another.
    before = f"({_LAST_REASON} offset $__range unless {_LAST_REASON})"
    reasons = f"max_over_time({_LAST_REASON}[$__range]) > 0 unless {before}"
    known = f"max {by((*CONTAINER, 'reason'))} ({reasons}) * {on} group_left () {_restarted()}"
    ended = f"max_over_time({_REASON}[$__range]) > 0 unless {_REASON} offset $__range"
    ended = f"max {by((*CONTAINER, 'reason'))} ({ended}) * 0"
    found = f"({known} or {on} {_restarted()} or {on} {ended})"
    return f"{found} and on (cluster, namespace, pod) {_pods_with_gpus()}"


def last_start_of_restarted() -> str:
    """When each was last started, in milliseconds since the Unix epoch."""
    started = f"max_over_time(kube_pod_container_state_started{{{_PODS}}}[$__range])"
    restarted = f"on ({', '.join(CONTAINER)}) ({restarts_in_range()})"
    return f"max {by(CONTAINER)} ({started}) * 1000 and {restarted}"


# --- variables -----------------------------------------------------------------------------------


def clusters() -> str:
    """Every cluster with GPU processes."""
    return f"label_values({ALLOCATED}, cluster)"


def namespaces() -> str:
    """The namespaces of the chosen clusters."""
    return f'label_values({ALLOCATED}{{cluster=~"$cluster"}}, {NAMESPACE_LABEL})'


def pods() -> str:
    """The pods of the chosen clusters and namespaces."""
    selector = f'cluster=~"$cluster",{NAMESPACE_LABEL}=~"$namespace"'
    return f"label_values({ALLOCATED}{{{selector}}}, {METRICS_POD})"


# --- profiles ------------------------------------------------------------------------------------

# Ids are name:sample type:sample unit:period type:period unit. Agents from 0.54 fill in the period
# and servers from 1.16 may rename the first part; what is measured, and its unit, stay. The
# group makes Grafana show and sort the whole id instead of a label that both ids share.
GPU_MEMORY_PROFILE_TYPE: Final = f"/^([^:]+:{SAMPLE_TYPE}:{SAMPLE_UNIT}:.*)$/"

PROFILE_TYPE: Final = "$profile_type"

# "pipe", not "regex": a selector is a double-quoted string, in which the latter's "\." (from a pod
# such as llama-3.1-0) is a syntax error. There is no cluster matcher: profiles carry no cluster.
PROFILES: Final = f'{{{NAMESPACE_LABEL}=~"${{namespace:pipe}}",{PROFILES_POD}=~"${{pod:pipe}}"}}'
