"""``holds``: the service has acted, and everything of the run is killed before it can know.

Then the commands that docs/users/operating.md gives are typed, and the stack is whole again.
"""

import signal
from collections.abc import Iterator

from tests.faults import calls
from tests.faults.calls import Call, Table
from tests.faults.interruptions import KNOWN_PHASES, ended, hold, recover, send
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, Stage

VERB = "holds"


def writes(table: Table, phase: str) -> list[Call]:
    """The calls of a phase with which something is made, changed or deleted."""
    return [call for call in calls.of_phase(table, phase) if call.writes]


def cases(table: Table) -> Iterator[str]:
    """``phase / call``."""
    for phase in KNOWN_PHASES:
        for call in writes(table, phase):
            yield f"{phase} / {call}"


def run(stage: Stage, case: str, table: Table) -> Result:
    """Run one case."""
    phase_name, name = case.split(" / ")
    phase = PHASES[phase_name]
    (call,) = [one for one in writes(table, phase_name) if str(one) == name]
    stage.good_end(phase)
    process = hold(stage, phase, call)
    send(process, signal.SIGKILL, to_all=True)
    _, why = ended(stage, process)
    if why:
        return judged(VERB, case, why)
    why, saw = recover(stage, phase)
    return judged(VERB, case, why, saw)
