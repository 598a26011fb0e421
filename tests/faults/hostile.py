"""``hostile``: every answer of every operation, changed into what no service answers.

They run as processes, on a deployed world. Whatever is answered, the exit status is
never the one of a defect of ours, nobody reads a traceback, the run ends, and it says that it did
its work only where the work is done: with status 0 the world is as after a run without the fault.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from contract.messages.base import OBSERVED_VARIABLE, Verb
from operations.errors import ExitCode
from simulator.home import CHECKOUT
from simulator.requests import Entry
from simulator.values import as_text, is_object
from tests.faults import worlds
from tests.faults.calls import Call, call_of
from tests.faults.jobs import SILENT, Job, jobs
from tests.faults.matrix import Result, judged
from tests.faults.mutations import AS_SENT, MUTATIONS, Json, effect
from tests.faults.stage import Stage

VERB = "hostile"
EXAMPLES: Final = 6
"""Answers that are drawn for each verb and mutation in the whole sweep."""
HANGS_SECONDS: Final = 180.0
"""All waits are none in this world, so that it never ends by itself; no machine is that slow."""
MOST_CALLS: Final = 400
"""More requests than any operation needs: it would go on for ever."""
READ_ONLY: Final = frozenset({Verb.SURVEY, Verb.OBSERVE, Verb.CHECK_SIGNAL, Verb.KUBE_TOKEN})
NOTE: Final = "note: "
"""How an operation begins a line that says what it has not done, and why that is no failure."""
DEFECTS: Final = ("Traceback", "report it")
UNKNOWN: Final = ("forbidden", "unauthenticated", "refused", "unreachable", "not-asked")
"""What a survey says of what it could not see (:class:`contract.messages.survey.Presence`)."""
PROBLEM: Final = "problem"
"""Where a survey says why it could not look."""


@dataclass(frozen=True)
class Usual:
    """What a job does without a fault."""

    said: "Said"
    world: object
    answers: tuple[tuple[Entry, int], ...]
    """Each with its number among those to calls of its kind, from 1."""


@dataclass(frozen=True)
class Said:
    """What one run of an operation left."""

    status: int
    """-1 where it does not end."""
    answer: str
    """Standard output."""
    progress: str
    """Standard error."""

    @property
    def facts(self) -> Json:
        """The answer as JSON; None if it has none."""
        try:
            return json.loads(self.answer)
        except ValueError:
            return None


class Operations:
    """Runs the operations of a stage's stack in this process."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._usual: dict[str, Usual] = {}
        self.jobs = {job.name: job for job in jobs(stage)}

    def usual(self, job: Job) -> Usual:
        """See :class:`Usual`; found out once."""
        if job.name not in self._usual:
            self.stage.go_back(job.state)
            self._settings(phase=job.name, answers=True)
            said = self.call(job)
            assert said.status in (ExitCode.OK, ExitCode.NO_SIGNAL), f"{job.name}: {said}"
            sent = [one for one in self.stage.requests() if one.phase == job.name]
            # Some are asked for side by side: the same draw is the same answer in every run.
            answers = sorted(
                _numbered(sent),
                key=lambda one: (one[0].service, one[0].path, one[0].method, one[0].query, one[1]),
            )
            self._settings(phase="", answers=False)
            self._usual[job.name] = Usual(said, self.stage.world(), tuple(answers))
        return self._usual[job.name]

    def call(self, job: Job) -> Said:
        """Run it."""
        command = ["sh", "operations/run", job.verb.value]
        try:
            done = subprocess.run(
                command,
                cwd=CHECKOUT,
                env={**self.stage.sim.environment, OBSERVED_VARIABLE: job.observed},
                input=job.request,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=HANGS_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Said(-1, "", f"it goes on after {HANGS_SECONDS:.0f} s")
        return Said(done.returncode, done.stdout, done.stderr)

    def _settings(self, **settings: object) -> None:
        self.stage.sim.control("POST", "settings", settings)


def _numbered(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    counts: Counter[Call] = Counter()
    for entry in entries:
        call = call_of(entry)
        counts[call] += 1
        yield entry, counts[call]


# --- cases ------------------------------------------------------------------------------------


def complaint(operations: Operations, job: Job, nth: int, mutation: str, number: int) -> str:
    """What is wrong where the nth answer of ``job`` is mutated; empty if nothing is.

    What it asks before is answered as usual, and all of that kind that it asks then like this one.
    """
    usual = operations.usual(job)
    if not usual.answers:
        return ""  # it asks nobody
    entry, first = usual.answers[nth % len(usual.answers)]
    stage = operations.stage
    stage.go_back(job.state)
    then = effect(mutation, entry.answer, number)
    rule = {**call_of(entry).rule(), "from": first, "count": None, "then": then}
    stage.sim.faults({key: value for key, value in rule.items() if key != "caller"})
    calls = stage.calls()
    said = operations.call(job)
    calls = stage.calls() - calls
    stage.sim.faults()
    where = f"{entry.method} {call_of(entry).path} #{number}"
    if said.status == -1:
        return f"{where}: {said.progress}"
    if said.status == ExitCode.UNEXPECTED or any(one in said.progress for one in DEFECTS):
        return f"{where}: a defect: {_gist(said.progress)}"
    if calls > MOST_CALLS:
        return f"{where}: {calls} requests"
    wrong: list[str] = []
    if said.status == ExitCode.OK and job.verb is Verb.SURVEY and mutation in AS_SENT:
        wrong = list(invented(usual.said.facts, said.facts))
    elif said.status == ExitCode.OK and job.verb not in READ_ONLY and NOTE not in said.progress:
        wrong = worlds.differences(usual.world, stage.world(), 2)
    return f"{where}: status 0, and {'; '.join(wrong[:2])}" if wrong else ""


def invented(usual: Json, now: Json, path: str = "") -> Iterator[str]:
    """What a survey says that is so, and is not, though nothing was answered that says it."""
    if is_object(usual) and is_object(now):
        if as_text(now.get("presence"), "found") in UNKNOWN:
            return
        for key, value in now.items():
            if key != PROBLEM:
                yield from invented(usual.get(key), value, f"{path}/{key}")
    elif now != usual and now not in (None, "", [], {}, *UNKNOWN):
        yield f"{path} is {json.dumps(now)[:60]}"


def _gist(said: str) -> str:
    """The line that says what happened: of a traceback the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if "unexpected" in line or "Error" in line]
    return " / ".join(named[:1] or lines[-1:])[:200]


def cases() -> Iterator[str]:
    """``verb / mutation``."""
    for verb in Verb:
        if verb not in SILENT:
            for mutation in MUTATIONS:
                yield f"{verb.value} / {mutation}"


def run(operations: Operations, case: str) -> Result:
    """Run one case."""
    verb, mutation = case.split(" / ")
    found = [job for job in operations.jobs.values() if job.verb.value == verb]
    assert found, f"no {verb} in the stack"
    return judged(VERB, case, drawn(operations, found, mutation, EXAMPLES))


def drawn(operations: Operations, among: Sequence[Job], mutation: str, examples: int) -> list[str]:
    """The complaints of so many jobs, answers and places in them, as Hypothesis draws them."""
    found: list[str] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 1000))
    def draw(which: int, nth: int, number: int) -> None:
        said = complaint(operations, among[which % len(among)], nth, mutation, number)
        if said and said not in found:
            found.append(said)

    draw()
    return found
