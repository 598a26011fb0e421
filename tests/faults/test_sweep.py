"""A fixed sample of the sweep of faults, in which every call and every kind of fault occurs."""

from typing import Final

import pytest

from contract.messages.base import Verb
from tests.faults import calls, hostile, kinds, two
from tests.faults.calls import Call
from tests.faults.cures import cures
from tests.faults.expected import NoExpectationError, expected
from tests.faults.jobs import SILENT
from tests.faults.mutations import MUTATIONS
from tests.faults.sample import SAMPLE, strike
from tests.faults.stage import PHASES, Run, Stage

pytestmark = pytest.mark.engine

Runs = dict[str, tuple[Run, list[str]]]
EXAMPLES: Final = 3
"""Answers that are changed, for each mutation."""


@pytest.fixture(scope="module")
def runs(stage: Stage) -> Runs:
    """Each phase, with its kind of fault on every call that outlives it; and what is left."""
    struck = {name: strike(stage, name, calls.read()) for name in SAMPLE}
    # A look that a fault cuts short ends there: what it asks next is seen without one.
    for name in ("up", "dashboard"):
        stage.good_end(PHASES[name])
    return struck


def test_every_kind_of_fault_is_in_the_sample_and_every_phase() -> None:
    assert set(SAMPLE.values()) == set(kinds.TRANSIENT)
    assert set(SAMPLE) == set(PHASES)


@pytest.mark.parametrize("phase", SAMPLE)
def test_a_phase_in_which_every_call_meets_a_fault_ends_well(runs: Runs, phase: str) -> None:
    run, left = runs[phase]
    assert run.ok, run.output[-3000:]
    assert left == []


def test_every_call_that_is_sent_is_in_the_table_with_what_is_expected_of_it(
    stage: Stage, runs: Runs
) -> None:
    del runs
    unknown = [str(call) for call in calls.counted(stage.requests()) if call not in calls.read()]
    assert unknown == [], "scripts/faults record writes the table; then say what is expected"
    for call in calls.read():
        for kind in kinds.TRANSIENT:
            expected(call, kind)


def test_every_call_of_the_table_occurs_in_the_sample(stage: Stage, runs: Runs) -> None:
    del runs
    sent = {calls.call_of(one) for one in stage.requests()}
    usual = {call for call, phases in calls.read().items() if any(phases.values())}
    assert sorted(map(str, usual - sent)) == []


def test_nothing_is_expected_of_a_call_that_nobody_has_thought_of() -> None:
    with pytest.raises(NoExpectationError):
        expected(Call("somebody", "GET", "arm", "/x"), "500")


@pytest.fixture(scope="module")
def operations(stage: Stage, runs: Runs) -> hostile.Operations:
    del runs
    return hostile.Operations(stage)


def test_every_verb_that_asks_somebody_has_work_to_do_in_the_sweep(
    operations: hostile.Operations,
) -> None:
    found = {job.verb for job in operations.jobs.values()}
    assert {verb for verb in Verb if verb not in SILENT} - found == set()


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_no_answer_is_believed_that_was_not_understood(
    operations: hostile.Operations, mutation: str
) -> None:
    found = hostile.drawn(operations, list(operations.jobs.values()), mutation, EXAMPLES)
    assert found == []


@pytest.mark.parametrize("case", list(two.cases()))
def test_two_runs_at_once_do_not_meet(stage: Stage, runs: Runs, case: str) -> None:
    del runs
    result = two.run(stage, case, calls.read())
    assert result.ok, result.why


def test_the_page_on_operating_has_commands_for_each_error_it_shows() -> None:
    found = cures()
    assert len(found) > 2
    assert [cure.error for cure in found if not cure.commands] == []
