"""A fixed sample of ``groups``: each phase once, with another kind of fault on every call of it."""

from typing import Final

from tests.faults import calls, kinds, worlds
from tests.faults.calls import Table
from tests.faults.expected import Outcome, expected
from tests.faults.stage import PHASES, SEED, Run, Stage

SAMPLE: Final = {
    # What the kubernetes provider repeats by itself, where it sends all of its requests.
    "up": "429",
    "image": "acted 500",
    "link": "dropped",
    "pool": "unanswered",
    "agent": "cut",
    "sources": "500",
    "dashboard": "200 page",
    "refresh": "bad gzip",
    "destroy": "503",
    "sandbox up": "502 page",
    "sandbox refresh": "200 empty",
    "sandbox destroy": "500",
}
"""The kind that strikes the calls of a phase, in the order in which the phases are run."""


def strike(stage: Stage, name: str, table: Table) -> tuple[Run, list[str]]:
    """Run a phase with its kind on every call that is expected to outlive it.

    A stack that this deploys is kept for the phases that begin with it. The answer says also what
    a ``destroy`` left.
    """
    phase, kind = PHASES[name], SAMPLE[name]
    outlived = [
        call for call in calls.of_phase(table, name) if expected(call, kind) is Outcome.OUTLIVED
    ]
    stage.begin(phase)
    stage.sim.faults(*(kinds.TRANSIENT[kind].rule(call) for call in outlived))
    done = stage.run(phase.command, phase.stack)
    stage.sim.faults()
    if phase.begins == SEED and done.ok:
        stage.keep(f"{phase.stack} up")
    left = worlds.differences(stage.seed, stage.world()) if phase.command == "destroy" else []
    return done, left
