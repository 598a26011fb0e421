"""A management lock in the way of `up`, of a deletion by `up`, and of `destroy`.

Resource Manager refuses what a lock forbids to everybody, an Owner too; whoever set it takes it
away with the line that is printed, and the same command goes on.
"""

from dataclasses import dataclass

import pytest

from simulator.values import JsonObject
from tests.engine.changes import STACK, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import GROUP

pytestmark = pytest.mark.engine

LOCK = f"{GROUP}/providers/Microsoft.Authorization/locks/keep"
REMOVE = f"az lock delete --ids {LOCK}"
POOL = "gpu-pool-pool"


@dataclass(frozen=True)
class Life:
    """A stack whose resource group is locked again and again."""

    read_only: Outcome
    """The first `up`, under a ReadOnly lock."""
    untouched: bool
    """Whether Azure was as before then."""
    up: Outcome
    """The next, under a CanNotDelete lock."""
    quiet: Outcome
    kept: Outcome
    """An `up` that would delete the pool."""
    deleted: Outcome
    """The same without the lock."""
    held: Outcome
    """`destroy` under the lock."""
    held_state: list[JsonObject]
    destroyed: Outcome
    left: list[str]


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal) -> Life:
    def lock(level: str) -> None:
        person.arm("PUT", LOCK, "2020-05-01", {"properties": {"level": level}})

    def unlock() -> None:
        person.arm("DELETE", LOCK, "2020-05-01")

    before = sorted(sim.resources())
    lock("ReadOnly")
    read_only = sim.up(STACK, check=False)
    unlock()
    untouched = sorted(sim.resources()) == before
    lock("CanNotDelete")
    up, quiet = sim.up(STACK), sim.up(STACK)
    sim.stack_file(STACK, {"gpuPool.enabled": False})
    kept = sim.up(STACK, check=False)
    unlock()
    deleted = sim.up(STACK)
    lock("CanNotDelete")
    held = sim.destroy(STACK, check=False)
    held_state = sim.state(STACK)
    unlock()
    destroyed = sim.destroy(STACK, check=False)
    left = sorted(set(sim.resources()) - set(before))
    return Life(read_only, untouched, up, quiet, kept, deleted, held, held_state, destroyed, left)


@pytest.mark.handles("management-lock")
def test_a_read_only_lock_stops_up_before_anything_is_changed(life: Life) -> None:
    assert not life.read_only.ok
    assert "Nothing was changed" in life.read_only.output
    assert REMOVE in life.read_only.output
    assert life.untouched


@pytest.mark.handles("management-lock")
def test_under_a_lock_on_deletions_up_deploys_and_says_what_destroy_will_meet(life: Life) -> None:
    (warning,) = [text for text in life.up.diagnostics if "CanNotDelete" in text]
    assert REMOVE in warning
    assert touched(life.quiet) == {}


@pytest.mark.handles("management-lock")
def test_what_up_may_not_delete_it_deletes_once_the_lock_is_gone(life: Life) -> None:
    assert not life.kept.ok
    assert "ScopeLocked" in life.kept.output
    assert touched(life.deleted) == {POOL: "delete"}


@pytest.mark.handles("management-lock")
def test_destroy_under_a_lock_names_it_and_ends_once_it_is_gone(life: Life) -> None:
    assert not life.held.ok
    assert "ScopeLocked" in life.held.output
    assert GROUP.rpartition("/")[2] in life.held.output
    assert life.held_state
    assert life.destroyed.ok, life.destroyed.output
    assert life.left == []
