"""A run that is ended from outside while the answer to one of its writes is on the way."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Final

from tests.faults import cures, worlds
from tests.faults.calls import Call
from tests.faults.stage import (
    Phase,
    Run,
    Stage,
    end_session,
    processes_of,
)

HOLD_SECONDS: Final = 600.0
"""The service has acted, and its answer is not there yet: until the plan of faults is cleared."""
SIGNALLED_SECONDS: Final = 0.3
"""For a signal to arrive while the answer is held."""
GONE_SECONDS: Final = 60.0
"""By then every process of a run has ended."""
REACHED_SECONDS: Final = 240.0
KNOWN_PHASES: Final = ("up", "link", "destroy")
"""What is interrupted: between them they have every kind of write."""
MOST_RUNS: Final = 6
"""Runs with what the documentation says between them, until a stack is whole again."""


def hold(stage: Stage, phase: Phase, call: Call) -> "subprocess.Popen[str]":
    """Start the phase, and come back when the service has acted on ``call``.

    Raises:
        AssertionError: the call was not sent.
    """
    stage.begin(phase)
    stage.sim.faults({**call.rule(), "then": {"hold": HOLD_SECONDS}})
    process = stage.start(phase.command, phase.stack)
    deadline = time.monotonic() + REACHED_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if stage.struck():
            return process
        time.sleep(0.05)
    stage.ended(process)
    raise AssertionError(f"{call} was not sent")


def send(process: "subprocess.Popen[str]", number: signal.Signals, *, to_all: bool) -> None:
    """Send a signal to the engine alone, or to every process of the run."""
    if to_all:
        end_session(process.pid, number)
        return
    with suppress(ProcessLookupError):
        os.kill(process.pid, number)


def ended(stage: Stage, process: "subprocess.Popen[str]") -> tuple[Run, list[str]]:
    """Let the answer come, and wait for the end of the run and of all its processes.

    The run, and what was wrong about its end.
    """
    time.sleep(SIGNALLED_SECONDS)
    stage.sim.faults()
    run = stage.ended(process)
    deadline = time.monotonic() + GONE_SECONDS
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = processes_of(process.pid)
    end_session(process.pid)
    why = [f"{len(left)} of its processes go on"] if left else []
    if run.hung:
        why.append("it did not end")
    if "Traceback" in run.output:
        why.append("it showed a traceback")
    return run, why


def recover(stage: Stage, phase: Phase) -> tuple[list[str], list[str]]:
    """Run the phase again, with what the documentation says, until it ends well.

    What was wrong, and what a person saw and typed.
    """
    saw: list[str] = []
    for number in range(MOST_RUNS):
        run = stage.run(phase.command, phase.stack)
        if run.ok:
            differs = worlds.differences(stage.ends[phase.name], stage.world())
            return [*differs, *_afterwards(stage, phase)], saw
        saw.append(f"then: {run.error}")
        if run.is_a_defect or run.hung:
            return [f"the next run {'hung' if run.hung else 'showed a defect'}"], saw
        typed, failed = cures.cure(stage, run)
        saw += [f"typed: {one}" for one in typed]
        if failed:
            return failed, saw
        if number and not typed:
            return [f"nothing in the documentation helps against: {run.error}"], saw
    return [f"{MOST_RUNS} runs, and it still fails"], saw


def _afterwards(stage: Stage, phase: Phase) -> list[str]:
    """What is left of a stack that was made whole, after its ``destroy``."""
    if phase.command == "destroy":
        return []
    gone = stage.run("destroy", phase.stack)
    if not gone.ok:
        return [f"destroy afterwards: {gone.error}"]
    return [f"after destroy {one}" for one in worlds.differences(stage.seed, stage.world())]
