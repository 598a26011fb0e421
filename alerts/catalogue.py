"""The alerts: what each is called, when it fires, what it says, and what to do about it.

Texts are for a person who was woken by them: what happened, then what to do. A command in a
runbook is complete; ``STACK``, ``NAMESPACE`` and ``POD`` stand for one's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from alerts import expressions
from alerts.expressions import Scope
from contract.agent import NAMESPACE, POD_SELECTOR, PYROSCOPE_SERVICE
from contract.lines import line


class AlertKey(StrEnum):
    """An alert, as settings spell it."""

    LEAK = "leak"
    FULL_SOON = "fullSoon"
    NODE_WITHOUT_AGENT = "nodeWithoutAgent"
    METRICS_ABSENT = "metricsAbsent"
    PROFILES_MISSING = "profilesMissing"
    PROFILES_DISCARDED = "profilesDiscarded"
    UPLOAD_FAILING = "uploadFailing"
    UPLOADS_MISSING = "uploadsMissing"
    COMPACTOR_FAILING = "compactorFailing"
    RESTARTED = "restarted"
    NEAR_CAPACITY = "nearCapacity"


class About(StrEnum):
    """What an alert's labels name."""

    POD = "pod"
    CLUSTER = "cluster"


class Severity(StrEnum):
    """How much it matters, in the words of Prometheus' own alerts."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """From which value on an alert fires."""

    default: float
    unit: str
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """What to know and to do, section by section."""

    meaning: str
    not_this: str
    """What looks like it and does not fire."""
    look: tuple[str, ...]
    """Complete commands, in the order in which to try them."""
    fix: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Alert:
    """One alert."""

    key: AlertKey
    name: str
    """Prometheus' name of it."""
    expression: Callable[[Scope, float], str]
    """From scope and threshold to PromQL."""
    minutes: int
    """How long it must hold before it fires."""
    severity: Severity
    about: About
    summary: str
    """One sentence; ``{{ $value }}`` and ``{{ $labels... }}`` are Prometheus'."""
    needs: str
    """Whose metrics it asks for."""
    runbook: Runbook
    threshold: Threshold | None = None
    on: bool = True
    """Whether it is on where nothing is said of it."""


_POD_OF = "pod {{ $labels.k8s_namespace }}/{{ $labels.k8s_podname }}"
_IN_CLUSTER = "in cluster {{ $labels.cluster }}"
_AGENT = "the agent's counters"
_SERVER = "Pyroscope's own metrics"
_STATE = "kube-state-metrics"
_DEVICE = "a DCGM exporter"

_CHECK: Final = "python -m gpuobs check --stack STACK"
_EXPLAIN: Final = "python -m gpuobs explain --stack STACK --window 2h"
_LEDGER: Final = "python -m gpuobs ledger --stack STACK"
_AGENTS: Final = line(
    *("kubectl", "--namespace", NAMESPACE, "get", "pods", "--selector", POD_SELECTOR),
    *("-o", "wide"),
)
_AGENT_LOG: Final = line(
    *("kubectl", "--namespace", NAMESPACE, "logs", "--selector", POD_SELECTOR, "--tail", "100")
)
_SERVER_PODS: Final = f"app.kubernetes.io/instance={PYROSCOPE_SERVICE}"
"""One server's, or those of all its micro-services."""
_SERVER_LOG: Final = line(
    *("kubectl", "--namespace", NAMESPACE, "logs", "--selector", _SERVER_PODS),
    *("--prefix", "--tail", "200"),
)
_POD_LOG: Final = line("kubectl", "--namespace", "NAMESPACE", "logs", "POD", "--tail", "100")
_SERVER_POD: Final = line(
    "kubectl", "--namespace", NAMESPACE, "describe", "pods", "--selector", _SERVER_PODS
)

CATALOGUE: Final[tuple[Alert, ...]] = (
    Alert(
        key=AlertKey.LEAK,
        name="GpuMemoryLeak",
        expression=expressions.leak,
        threshold=Threshold(default=1, unit="GB per hour", least=0.05, most=1000),
        minutes=5,
        severity=Severity.WARNING,
        about=About.POD,
        needs=_AGENT,
        summary=f"Process {{{{ $labels.pid }}}} of {_POD_OF} holds {{{{ $value }}}} GB of GPU "
        "memory more with every hour, and gave nothing back in the last one.",
        runbook=Runbook(
            meaning="The process grew in each quarter of the last hour. If it goes on, its next "
            "allocation fails when the GPU is full.",
            not_this="A server that reserves its memory at its start, a cache that fills and "
            "empties, a restarted agent and a new pod do not fire: none of them grows in every "
            "quarter of an hour.",
            look=(f"{_EXPLAIN} --pod POD", f"{_LEDGER} --pod POD"),
            fix=(
                "The widest function that is not part of the start is what grows; look for a list "
                "or cache of tensors that is never emptied.",
                "Until it is fixed, restart the pod before it is full.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.FULL_SOON,
        name="GpuMemoryFullSoon",
        expression=expressions.full_soon,
        threshold=Threshold(default=6, unit="hours", least=0.5, most=168),
        minutes=5,
        severity=Severity.CRITICAL,
        about=About.POD,
        needs=_DEVICE,
        summary="GPU {{ $labels.gpu }} of {{ $labels.Hostname }} is full in {{ $value }} hours if "
        f"it goes on filling as in the last one ({_POD_OF}).",
        runbook=Runbook(
            meaning="The device's own figure grew in each quarter of the last hour. It counts what "
            "no agent sees, too.",
            not_this="A device that is nearly full and stays so, as under vLLM, does not fire, nor "
            "one that was filled in a minute.",
            look=(_EXPLAIN, _LEDGER, _POD_LOG),
            fix=(
                "Restart the pod at a time of your choice: a full GPU does it at another.",
                "Then find what grows, as for GpuMemoryLeak.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.NODE_WITHOUT_AGENT,
        name="GpuNodeWithoutAgent",
        expression=expressions.node_without_agent,
        minutes=15,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=_STATE,
        summary="Node {{ $labels.node }} has {{ $value }} GPUs and no running agent: nothing on it "
        "is recorded.",
        runbook=Runbook(
            meaning="A pod of the agent runs on every node; on this one it does not, or its node "
            "has a taint that it does not tolerate.",
            not_this="A new node has 15 minutes. A node whose GPUs the device plugin does not "
            "offer is none with GPUs.",
            look=(_AGENTS, line("kubectl", "describe", "node", "NODE"), _AGENT_LOG),
            fix=(
                "Pending: the node has no room, or a taint; free it.",
                "Crashing: see its log; `pulumi up` installs the extension again where it failed.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.METRICS_ABSENT,
        name="GpuMetricsAbsent",
        expression=expressions.metrics_absent,
        minutes=30,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=_STATE,
        summary=f"Pods {_IN_CLUSTER} have {{{{ $value }}}} GPUs, and there is not one counter of "
        "an agent: their memory is not measured.",
        runbook=Runbook(
            meaning="Either the agents' metrics do not arrive, or every GPU pod took its memory "
            "before the agent started and has allocated nothing since.",
            not_this="A cluster whose GPU jobs have finished has no counters and needs none.",
            look=(_CHECK, _AGENTS, _AGENT_LOG),
            fix=(
                "Pods older than the agent: restart them once.",
                "Otherwise follow what `check` names as the first broken link.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.PROFILES_MISSING,
        name="GpuProfilesMissing",
        expression=expressions.profiles_missing,
        minutes=15,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=f"{_AGENT} and {_SERVER}",
        summary=f"Processes {_IN_CLUSTER} allocate {{{{ $value }}}} bytes of GPU memory a second, "
        "and Pyroscope receives not one sample: the flame graph stays empty.",
        runbook=Runbook(
            meaning="The agent counts and its profiles do not arrive. After an upgrade of agent or "
            "server this is what an unreadable encoding looks like: every push succeeds, and none "
            "holds a sample. Otherwise the server is down or out of reach.",
            not_this="A server that allocated at its start and is quiet since moves no counter. "
            "A stack whose Pyroscope is not collected stays silent. One case fires without a "
            "fault: workloads that allocate with cuMemAllocAsync alone are counted and never "
            "profiled; turn the alert off for them.",
            look=(_CHECK, _AGENT_LOG, _SERVER_LOG),
            fix=(
                "Compare the versions of agent and server with the table in "
                "[Configuration](configuration.md#versions-that-work-together); "
                "pin the one that moved, then `pulumi up`.",
                "Log of the agent says `produced zero addresses`: the Service `pyroscope` is gone; "
                "`pulumi up --refresh`.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.PROFILES_DISCARDED,
        name="PyroscopeDiscardsProfiles",
        expression=expressions.profiles_discarded,
        threshold=Threshold(default=0, unit="samples in 15 minutes", least=0, most=1e9),
        minutes=0,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=_SERVER,
        summary="Pyroscope discarded {{ $value }} samples in 15 minutes, for the reason "
        "{{ $labels.reason }}: the flame graph shows less than there was.",
        runbook=Runbook(
            meaning="A limit of the server, or profiles that it cannot name. `invalid_labels` "
            "with an agent before 0.54 and a server from 1.16 on means every push.",
            not_this="A server that discarded some once and takes all since is quiet again after "
            "15 minutes.",
            look=(_SERVER_LOG, _CHECK),
            fix=(
                "`rate_limited`, `..._limit`: raise that limit in `gpuobs:pyroscope.values`, below "
                "`pyroscope.structuredConfig.limits`.",
                "`invalid_labels`: choose versions that work together "
                "([Configuration](configuration.md#versions-that-work-together)).",
            ),
        ),
    ),
    Alert(
        key=AlertKey.UPLOAD_FAILING,
        name="PyroscopeUploadFailing",
        expression=expressions.upload_failing,
        minutes=10,
        severity=Severity.CRITICAL,
        about=About.CLUSTER,
        needs=_SERVER,
        summary=f"Pyroscope {_IN_CLUSTER} cannot store finished profiles in its bucket: what it "
        "holds is lost with its pod.",
        runbook=Runbook(
            meaning="Every 5 minutes the server brings finished blocks to the bucket; for half an "
            "hour no such round has ended, which is what an error does to it.",
            not_this="A server without a bucket has no rounds. A restarted one has half an hour.",
            look=(_SERVER_LOG, _SERVER_POD),
            fix=(
                "403 or 404 in the log: the identity's role on the storage account, the container, "
                "or the account's firewall.",
                "No space left: the disk is full; raise `gpuobs:pyroscope.storage.disk.size`.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.UPLOADS_MISSING,
        name="PyroscopeUploadsMissing",
        expression=expressions.uploads_missing,
        minutes=0,
        severity=Severity.CRITICAL,
        about=About.CLUSTER,
        needs=_SERVER,
        summary=f"Pyroscope {_IN_CLUSTER} has stored no profiles in its bucket for twice as "
        "long as they take to get there, though it received some.",
        runbook=Runbook(
            meaning="Profiles reach the bucket 65 to 85 minutes after their first sample, with "
            "`storage.lossWindow` sooner; these are twice as old. Rounds may end and still bring "
            "nothing: blocks are not cut.",
            not_this="A cluster without profiles in these hours has nothing to store.",
            look=(_SERVER_LOG, _SERVER_POD),
            fix=(
                "See PyroscopeUploadFailing if that fires as well; otherwise the log says why no "
                "block was cut (disk full, memory short).",
            ),
        ),
    ),
    Alert(
        key=AlertKey.COMPACTOR_FAILING,
        name="PyroscopeCompactorFailing",
        expression=expressions.compactor_failing,
        minutes=0,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=_SERVER,
        summary=f"Pyroscope {_IN_CLUSTER} failed to compact {{{{ $value }}}} times in 3 hours and "
        "never succeeded: queries slow down, and old profiles are not deleted.",
        runbook=Runbook(
            meaning="Compaction also applies the retention: without it the bucket only grows.",
            not_this="One failure between successes, and a run that a shutdown ended.",
            look=(_SERVER_LOG, _SERVER_POD),
            fix=("The log names the block and the reason; short memory and a full disk lead.",),
        ),
    ),
    Alert(
        key=AlertKey.RESTARTED,
        name="PyroscopeRestartedWithProfilesInMemory",
        expression=expressions.restarted,
        minutes=0,
        severity=Severity.WARNING,
        about=About.CLUSTER,
        needs=_SERVER,
        summary=f"Pyroscope {_IN_CLUSTER} crashed or was killed: profiles that it had not stored "
        "yet are lost, of up to 85 minutes, or what `storage.lossWindow` says.",
        runbook=Runbook(
            meaning="Profiles of the running hour are in the server's memory only. Its container "
            "started again in the same pod, so it did not stop gracefully.",
            not_this="An update, a drained node and a deleted pod stop the server gracefully, "
            "which stores what it holds; they make a new pod. A restart with nothing received "
            "loses nothing. A node that dies is not seen.",
            look=(_SERVER_POD, f"{_SERVER_LOG} --previous"),
            fix=(
                "`OOMKilled`: raise `gpuobs:pyroscope.resources.limits.memory`.",
                "The hole stays: compare with a window before it.",
            ),
        ),
    ),
    Alert(
        key=AlertKey.NEAR_CAPACITY,
        name="GpuMemoryNearCapacity",
        expression=expressions.near_capacity,
        threshold=Threshold(default=95, unit="percent", least=1, most=100),
        minutes=15,
        severity=Severity.INFO,
        about=About.POD,
        needs=_DEVICE,
        on=False,
        summary="GPU {{ $labels.gpu }} of {{ $labels.Hostname }} is {{ $value }} percent full "
        f"({_POD_OF}).",
        runbook=Runbook(
            meaning="Little is left for the next allocation. Off unless it is asked for: vLLM "
            "fills 90 percent by design.",
            not_this="A peak shorter than 15 minutes.",
            look=(_LEDGER, _EXPLAIN),
            fix=(
                "vLLM: lower `--gpu-memory-utilization`, or leave this alert off.",
                "Otherwise find the largest holder in the dashboard's table.",
            ),
        ),
    ),
)
"""In the order of the page: memory, measurement, server."""
