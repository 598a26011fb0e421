"""The verdict: is it growth, or the size that somebody configured? And the next step.

Growth is what a history of held memory shows (:mod:`memory.growth`); a configured size is what the
parts of the profile say (weights, KV cache, CUDA graphs are taken once, as settings and model
decide), a history that reached its height at its start, or a process that holds the share of its
GPU that vLLM's ``gpu_memory_utilization`` names. Where neither history nor profile has enough, the
verdict says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from contract.json import Document, as_objects
from contract.lines import line
from memory.growth import Growth, growth
from memory.parts import Allocated
from memory.reading import Pod, Process
from memory.vocabulary import CONFIGURED, Part

MOSTLY: Final = 0.5
"""From this share on, parts of configured size make a profile a configured one."""
LEAST_ALLOCATED: Final = 64 * 10**6
"""Bytes below which a profile says nothing about the memory of a GPU."""
_STARTED_FULL: Final = 0.9
_FILLED: Final = (0.85, 1.05)
"""What a server holds, as a share of what it is set to take: the agent sees no CUDA context, and
activations are freed again."""
VLLM_DEFAULT: Final = 0.9
"""``gpu_memory_utilization`` of a vLLM server that is not set otherwise (its documentation)."""


class Kind(StrEnum):
    """What it is."""

    CONFIGURED = "the configured size"
    GROWTH = "growth"
    BOTH = "the configured size, and growth on top"
    NEITHER = "neither growth nor a configured size"
    TOO_LITTLE = "too little data to say"


@dataclass(frozen=True, kw_only=True)
class Utilization:
    """vLLM's ``gpu_memory_utilization``, and where it was read."""

    value: float | None
    where: str


def not_given(pod: Pod | None = None) -> Utilization:
    """Nobody gave the pod's specification; with the line that prints it."""
    known = pod is not None and pod.name
    name, namespace = (pod.name, pod.namespace) if known and pod else ("POD", "NAMESPACE")
    shown = line("kubectl", "get", "pod", name, "--namespace", namespace, "--output", "json")
    return Utilization(
        value=None,
        where=f"not known: give the pod's specification with --pod-spec FILE ({shown} > FILE)",
    )


UNKNOWN: Final = not_given()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Of one process, or of a profile alone."""

    kind: Kind
    growth: Growth
    reasons: Sequence[str]
    next_step: str


def verdict(
    process: Process | None,
    allocated: Allocated | None,
    utilization: Utilization = UNKNOWN,
    capacity: float = 0,
) -> Verdict:
    """What ``process`` and the profile of its window come to; None: there is none.

    ``capacity`` is what its GPU has, in bytes; 0: not known.
    """
    history = growth(process.held) if process is not None else Growth(enough=False)
    known = allocated is not None and allocated.total >= LEAST_ALLOCATED
    configured_share = allocated.share(*CONFIGURED) if allocated is not None and known else 0.0
    budget = _budget(process, utilization, capacity)
    configured = configured_share >= MOSTLY or _filled_at_start(process, history) or bool(budget)
    if not known and not history.enough and not budget:
        kind = Kind.TOO_LITTLE
    elif history.steady:
        kind = Kind.BOTH if configured else Kind.GROWTH
    else:
        kind = Kind.CONFIGURED if configured else Kind.NEITHER
    return Verdict(
        kind=kind,
        growth=history,
        reasons=[*_reasons(history, allocated if known else None, configured_share), *budget],
        next_step=_next_step(kind, allocated if known else None, utilization),
    )


def _filled_at_start(process: Process | None, history: Growth) -> bool:
    """Whether it began in the window and took nearly all at once."""
    return (
        process is not None
        and process.began
        and history.enough
        and history.at_start >= _STARTED_FULL
        and process.held[-1][1] >= LEAST_ALLOCATED
    )


def _budget(process: Process | None, utilization: Utilization, capacity: float) -> list[str]:
    """That it holds the share of its GPU which vLLM is set to take; empty where it does not."""
    if process is None or utilization.value is None or not capacity:
        return []
    wanted = utilization.value * capacity
    if not _FILLED[0] <= process.peak / wanted <= _FILLED[1]:
        return []
    return [
        f"gpu_memory_utilization {utilization.value:g} of the GPU's {capacity / 1e9:.1f} GB is "
        f"{wanted / 1e9:.1f} GB, and it holds {process.peak / 1e9:.1f} GB"
    ]


def _reasons(history: Growth, allocated: Allocated | None, configured_share: float) -> list[str]:
    reasons: list[str] = []
    if not history.enough:
        reasons.append("held memory has no history of 15 minutes, so growth is not known")
    elif history.steady:
        reasons.append(
            "held memory rose in every quarter of the window, by "
            f"{history.bytes_per_hour / 1e9:.2f} GB an hour"
        )
    else:
        reasons.append("held memory did not rise in every quarter of the window")
    if allocated is None:
        reasons.append("too little was allocated in the window for its profile to say anything")
    else:
        reasons.append(
            f"{100 * configured_share:.0f} % of what was allocated in the window is of configured "
            "size (weights, KV cache, CUDA graphs)"
        )
    return reasons


def _next_step(kind: Kind, allocated: Allocated | None, utilization: Utilization) -> str:
    largest = allocated.parts[0] if allocated is not None and allocated.parts else None
    if kind is Kind.TOO_LITTLE:
        return "widen the window, or restart the workload while the agent runs"
    if kind is Kind.NEITHER:
        return (
            f"look at {largest.function}, which allocated most"
            if largest
            else "compare with an earlier window"
        )
    if kind is Kind.CONFIGURED:
        return _configured_step(largest.part if largest else "", utilization)
    growing = _not_configured(allocated)
    where = f"; of what is not of configured size, {growing} allocated most" if growing else ""
    return f"find what is never released, and restart the pod before its GPU is full{where}"


def _configured_step(part: str, utilization: Utilization) -> str:
    if part == Part.KV_CACHE:
        size = f" (now {utilization.value:g})" if utilization.value is not None else ""
        return (
            "nothing leaks. For a smaller cache lower the engine's setting: vLLM "
            f"--gpu-memory-utilization{size}, SGLang --mem-fraction-static, TGI "
            "--cuda-memory-fraction"
        )
    if part == Part.WEIGHTS:
        return "nothing leaks: this is the model. A smaller one needs quantization or more GPUs"
    return "nothing leaks: this is what the engine is set to take"


def _not_configured(allocated: Allocated | None) -> str:
    if allocated is None:
        return ""
    known = {part.value for part in CONFIGURED}
    return next((one.function for one in allocated.parts if one.part not in known), "")


# --- what the pod was given ---------------------------------------------------------------------


_FLAG: Final = re.compile(r"--gpu[-_]memory[-_]utilization(?:[= ]+|$)([0-9.]+)?")


def utilization_of(pod: Document) -> Utilization:
    """``gpu_memory_utilization`` from a pod's specification, as Kubernetes has it in JSON."""
    for container in as_objects(pod.value("spec", "containers")):
        document = Document(container)
        words = [*document.texts("command"), *document.texts("args")]
        said = " ".join(words)
        where = f"the arguments of container {document.text('name')}"
        if (found := _FLAG.search(said)) and found[1]:
            return Utilization(value=float(found[1]), where=where)
        if "vllm" in said.lower() or "vllm" in document.text("image").lower():
            return Utilization(
                value=VLLM_DEFAULT, where=f"not in {where}: vLLM's own default, {VLLM_DEFAULT:g}"
            )
    return Utilization(value=None, where="no container of the pod runs vLLM")
