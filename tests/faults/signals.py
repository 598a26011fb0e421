"""``signals``: a run that is interrupted, told to end, or killed; the engine alone or all of it."""

import signal
from collections.abc import Iterator
from typing import Final

from tests.faults.calls import Call, Table
from tests.faults.holds import writes
from tests.faults.interruptions import ended, hold, recover, send
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, Stage

VERB = "signals"
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
WHOM: Final = {"the engine": False, "every process": True}
PHASE_NAMES: Final = ("up", "destroy")


def moments(table: Table, phase: str) -> dict[str, Call]:
    """Three writes of a phase: one of each sender of requests where there are so many."""
    found: dict[str, Call] = {}
    for call in writes(table, phase):
        sender = call.caller if call.caller in ("azure-native", "kubernetes") else "an operation"
        found.setdefault(sender, call)
    return found


def cases(table: Table) -> Iterator[str]:
    """``phase / signal / whom / during``."""
    for phase in PHASE_NAMES:
        for number in SIGNALS:
            for whom in WHOM:
                for during in moments(table, phase):
                    yield f"{phase} / {number.name} / {whom} / {during}"


def run(stage: Stage, case: str, table: Table) -> Result:
    """Run one case."""
    phase_name, number, whom, during = case.split(" / ")
    phase = PHASES[phase_name]
    stage.good_end(phase)
    process = hold(stage, phase, moments(table, phase_name)[during])
    send(process, signal.Signals[number], to_all=WHOM[whom])
    first, why = ended(stage, process)
    saw = [f"ended with {first.status}"]
    if why:
        return judged(VERB, case, why, saw)
    why, more = recover(stage, phase)
    return judged(VERB, case, why, [*saw, *more])
