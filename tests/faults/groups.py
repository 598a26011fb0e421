"""``groups``: one transient fault on every call of a phase at once; the run ends well all the same.

Calls of which it is expected that the run ends with an error (:mod:`tests.faults.expected`) are
struck in a second round, where as many runs may fail as there are of them, each with a clear error,
until one ends well; between them what the documentation says is typed.
"""

from collections.abc import Iterator, Sequence

from tests.faults import calls, cures, kinds, worlds
from tests.faults.calls import Call, Table
from tests.faults.expected import Outcome, expected
from tests.faults.kinds import Kind
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, Phase, Stage

VERB = "groups"
ONE_RUN, MORE_RUNS = "one run", "more runs"


def cases(table: Table) -> Iterator[str]:
    """``phase / kind / round`` for each phase and kind."""
    for phase in PHASES:
        for kind in kinds.TRANSIENT:
            for rounds, outcome in ((ONE_RUN, Outcome.OUTLIVED), (MORE_RUNS, Outcome.NEXT_RUN)):
                if struck_by(table, phase, kind, outcome):
                    yield f"{phase} / {kind} / {rounds}"


def struck_by(table: Table, phase: str, kind: str, outcome: Outcome) -> list[Call]:
    """The calls of the phase of which this outcome is expected."""
    return [call for call in calls.of_phase(table, phase) if expected(call, kind) is outcome]


def run(stage: Stage, case: str, table: Table) -> Result:
    """Run one case."""
    phase_name, kind_name, rounds = case.split(" / ")
    phase, kind = PHASES[phase_name], kinds.TRANSIENT[kind_name]
    outcome = Outcome.OUTLIVED if rounds == ONE_RUN else Outcome.NEXT_RUN
    struck = struck_by(table, phase_name, kind_name, outcome)
    why, saw = _run(stage, phase, kind, struck, 0 if outcome is Outcome.OUTLIVED else len(struck))
    return judged(VERB, case, why, saw)


def _run(
    stage: Stage, phase: Phase, kind: Kind, struck: Sequence[Call], may_fail: int
) -> tuple[list[str], list[str]]:
    golden = stage.good_end(phase)
    stage.begin(phase)
    stage.sim.faults(*(kind.rule(call) for call in struck))
    why: list[str] = []
    saw: list[str] = []
    for number in range(may_fail + 1 + bool(may_fail)):
        before = stage.struck()
        done = stage.run(phase.command, phase.stack)
        if done.ok:
            break
        saw.append(f"run {number + 1}: {done.error}")
        if done.hung or done.is_a_defect:
            why.append(f"run {number + 1} {'hung' if done.hung else 'showed a defect'}")
            break
        if stage.struck() == before:
            typed, failed = cures.cure(stage, done)
            saw += [f"typed: {one}" for one in typed]
            # A command that meets a fault is one run more that fails.
            why += failed if stage.struck() == before else ()
            if not typed:
                why.append(f"run {number + 1} failed without a new fault: {done.error}")
            if why:
                break
    else:
        why.append(f"after {may_fail + 1} runs it still fails")
    stage.sim.faults()
    return why or worlds.differences(golden, stage.world()), saw
