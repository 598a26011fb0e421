"""``explain``: growth or configured size, what changed, what to do next. See :mod:`memory`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flamegraphs import terminal
from flamegraphs.errors import UsageError
from gpuobs.memory_arguments import add_arguments
from gpuobs.statuses import Status
from gpuobs.verb import Verb

if TYPE_CHECKING:
    from memory.parts import Allocated
    from memory.text import Explanation
    from memory.verdict import Utilization

_MOST = 5
"""Processes that are explained, unless one pod is asked for."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a profile, in place of a source; - is stdin"
    )
    add_arguments(parser)
    parser.add_argument(
        "--pod-spec",
        metavar="FILE",
        help="the pod as `kubectl get pod POD --output json` prints it, for vLLM's "
        "gpu_memory_utilization; - is stdin",
    )
    parser.add_argument(
        "--fail-on-growth",
        action="store_true",
        help="end with the status for growth where memory grows, and with that for no samples "
        "where there is too little data to say",
    )


def _run(options: argparse.Namespace) -> Status:
    import json

    from memory.text import explanation_text

    found = list(_of_file(options) if options.file is not None else _of_source(options))
    if options.json:
        terminal.write(json.dumps([_document(one) for one in found]) + "\n")
    else:
        lines = [
            line for one in found for line in (*explanation_text(one, binary=options.binary), "")
        ] or ["No agent counts any process, and nothing was allocated in this window."]
        terminal.write(terminal.text(lines))
    return _status(found) if options.fail_on_growth else Status.DONE


def _status(found: "Sequence[Explanation]") -> Status:
    from memory.verdict import Kind

    kinds = {one.verdict.kind for one in found}
    if kinds & {Kind.GROWTH, Kind.BOTH}:
        return Status.GROWTH
    return Status.NO_SAMPLES if not kinds or kinds == {Kind.TOO_LITTLE} else Status.DONE


def _of_file(options: argparse.Namespace) -> "Iterator[Explanation]":
    from flamegraphs.files import read_file
    from memory.parts import allocated
    from memory.sources import words_of
    from memory.text import Explanation
    from memory.verdict import verdict

    if options.stack or options.prometheus or options.pyroscope:
        raise UsageError("Name a file or a source, not both.")
    given = _utilization(options.pod_spec)
    sizes = allocated(read_file(options.file, None, None, None), words_of(options.vocabulary))
    yield Explanation(
        name=f"Profile {options.file}",
        process=None,
        allocated=sizes,
        before=None,
        verdict=verdict(None, sizes, given),
        utilization=given,
    )


def _of_source(options: argparse.Namespace) -> "Iterator[Explanation]":
    from memory import sources
    from memory.reading import Pod, Process, read
    from memory.text import Explanation
    from memory.verdict import not_given, verdict

    of, words = sources.window_of(options), sources.words_of(options.vocabulary)
    given = _utilization(options.pod_spec)
    with sources.sources(options) as found:
        processes: list[Process] = []
        reading = None
        if found.metrics is not None:
            reading = read(found.metrics, of.start.timestamp(), of.end.timestamp(), found.cluster)
            processes = [
                one
                for one in sorted(reading.processes, key=lambda one: -one.peak)
                # Not what had ended before the window.
                if (one.peak or not one.ended) and options.pod in (None, one.pod.name)
            ][:_MOST]
        asked: dict[Pod | None, tuple[Allocated | None, Allocated | None]] = {}
        for process in processes or [None]:
            pod = process.pod if process is not None else None
            if pod not in asked:
                asked[pod] = (
                    sources.profile_of(found, pod, of, words),
                    sources.profile_of(found, pod, sources.before(of), words),
                )
            now, earlier = asked[pod]
            capacity = reading.capacity_of(pod) if reading is not None and pod is not None else 0.0
            utilization = given if options.pod_spec is not None else not_given(pod)
            yield Explanation(
                name=f"Process {process.pid} of {pod}" if process is not None else "All profiles",
                process=process,
                allocated=now,
                before=earlier,
                verdict=verdict(process, now, utilization, capacity),
                utilization=utilization,
            )


def _utilization(path: str | None) -> "Utilization":
    from pathlib import Path

    from contract.json import Document
    from memory.verdict import UNKNOWN, utilization_of

    if path is None:
        return UNKNOWN
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    pod = Document.parse(text)
    if not pod.child("spec"):
        raise UsageError(f"{path} is no pod: it has no spec. Print one with kubectl get pod.")
    return utilization_of(pod)


def _document(one: "Explanation") -> dict[str, object]:
    return {
        "name": one.name,
        "verdict": one.verdict.kind.name.lower(),
        "heldBytes": one.process.now if one.process else None,
        "peakBytes": one.process.peak if one.process else None,
        "growthBytesPerHour": one.verdict.growth.bytes_per_hour,
        "parts": [
            {"part": part.part, "bytes": part.bytes, "function": part.function}
            for part in (one.allocated.parts if one.allocated else ())
        ],
        "gpuMemoryUtilization": one.utilization.value,
        "gpuMemoryUtilizationFrom": one.utilization.where,
        "reasons": [*one.verdict.reasons],
        "next": one.verdict.next_step,
    }


EXPLAIN = Verb(
    name="explain",
    summary="say in plain words what holds the memory, whether it grows, and what to do",
    usage="[options] [FILE]",
    add_arguments=_add_arguments,
    run=_run,
    examples=(
        "--stack dev --window 2h",
        "--stack dev --pod vllm-0 --pod-spec pod.json",
        "profile.pb.gz --json",
        "--stack dev --fail-on-growth",
    ),
)
