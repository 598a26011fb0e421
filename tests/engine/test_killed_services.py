"""Killed at what a stack makes only with some settings: the agents' own Service, a PodMonitor."""

from dataclasses import dataclass

import pytest

from tests.engine.changes import touched
from tests.engine.recorded_stacks import contents
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_killed_in_the_cluster import kill_at

pytestmark = pytest.mark.engine

CASES = {
    "the agents' own Service": (
        {"pyroscope.existing": {"url": "http://pyroscope.monitoring.svc.cluster.local:4040"}},
        ".*/services/pyroscope",
        "Service/pyroscope",
        frozenset[str](),
    ),
    "the alerts' PodMonitor": (
        {"alerts.email": ["oncall@example.com"]},
        ".*/podmonitors/[^/]+",
        "PodMonitor/pyroscope",
        frozenset({"alerts-rule-group", "alerts-action-group", "dashboard-dashboard"}),
    ),
}


@dataclass(frozen=True)
class Killed:
    """Killed and destroyed; killed again and gone on with."""

    destroyed: Outcome
    left: bool
    finished: Outcome
    quiet: Outcome


@pytest.fixture(scope="module", params=CASES)
def killed(sim: Simulation, request: pytest.FixtureRequest) -> Killed:
    edits, path, name, known = CASES[request.param]
    sim.stack_file("dev", edits, like="dev")
    before = contents(sim)
    kill_at(sim, path, name, known)
    destroyed = sim.destroy(check=False)
    left = contents(sim) != before
    kill_at(sim, path, name, known)
    found = Killed(destroyed, left, finished=sim.up(check=False), quiet=sim.up(check=False))
    assert sim.destroy(check=False).ok
    return found


def test_destroy_removes_what_the_engine_never_knew(killed: Killed) -> None:
    assert killed.destroyed.ok, killed.destroyed.output
    assert not killed.left


def test_the_next_up_clears_it_away_and_makes_it_again(killed: Killed) -> None:
    assert killed.finished.ok, killed.finished.output
    assert "which an earlier run has left in the cluster" in killed.finished.output
    assert touched(killed.quiet) == {}
