"""``two``: two runs at once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.faults import worlds
from tests.faults.calls import Table
from tests.faults.holds import writes
from tests.faults.interruptions import hold
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, SEED, Stage

VERB = "two"
LATENCY: Final = 0.01
"""Wall seconds of a simulated second: Azure is busy for a while, as it is."""
OTHER: Final[Mapping[str, object]] = {
    "cluster.existing": {"name": "aks-prod", "resourceGroup": "rg-prod"},
    "grafana.dataSources": None,
    "grafana.dashboard": None,
}
"""The settings of a second stack, on another cluster and the same Grafana."""


def one_stack(stage: Stage, table: Table) -> tuple[list[str], list[str]]:
    """The second run says that the stack is locked, and the first goes on."""
    phase = PHASES["up"]
    stage.good_end(phase)
    first = hold(stage, phase, writes(table, phase.name)[0])
    second = stage.run("up")
    stage.sim.faults()
    ended = stage.ended(first)
    why = [] if not second.ok and "locked" in second.output else ["the second run was not stopped"]
    why += [] if ended.ok else [f"the first run: {ended.error}"]
    return why or worlds.differences(stage.ends[phase.name], stage.world()), [second.error]


def one_grafana(stage: Stage, table: Table) -> tuple[list[str], list[str]]:
    """Both end well, as the second waits for the first; and so do both ``destroy``."""
    del table
    stage.go_back(SEED)
    stage.sim.stack_file("prod", OTHER, like="dev")
    stage.sim.latency(LATENCY)
    why: list[str] = []
    try:
        for command in ("up", "destroy"):
            runs = {stack: stage.start(command, stack) for stack in ("dev", "prod")}
            for stack, process in runs.items():
                done = stage.ended(process)
                why += [] if done.ok else [f"{command} of {stack}: {done.error}"]
    finally:
        stage.sim.latency(0)
    return why or worlds.differences(stage.seed, stage.world()), []


CASES: Final[Mapping[str, Callable[[Stage, Table], tuple[list[str], list[str]]]]] = {
    "two runs on one stack": one_stack,
    "two stacks on one Grafana": one_grafana,
}


def cases() -> Iterator[str]:
    """Their names."""
    yield from CASES


def run(stage: Stage, case: str, table: Table) -> Result:
    """Run one case."""
    why, saw = CASES[case](stage, table)
    return judged(VERB, case, why, saw)
