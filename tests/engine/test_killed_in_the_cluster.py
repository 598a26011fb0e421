"""Killed between Kubernetes' answer and the engine's note of it: the next command heals it."""

import os
import signal
import time
from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.changes import touched
from tests.engine.recorded_stacks import contents
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

HELD_SECONDS = 30
"""Longer than until the engine is killed, which is when the object is there."""


@dataclass(frozen=True)
class Killed:
    """Killed at the device plugin and destroyed; killed at both, and gone on with each time."""

    before: JsonObject
    destroyed: Outcome
    left: JsonObject
    left_in_state: list[JsonObject]
    preview: Outcome
    finished: Outcome
    quiet: Outcome
    unanswered: Outcome
    """``destroy``, while the release is deleted and the answer does not come."""
    again: Outcome
    refreshed: Outcome
    """``destroy --refresh``."""
    ended: JsonObject


def kill_at(sim: Simulation, path: str, name: str, known: frozenset[str] = frozenset()) -> None:
    """Run ``up`` and kill everything of it once the cluster has made ``name``.

    ``known``: resources that are made meanwhile, and that the engine has noted before.
    """
    held = {"method": "PATCH", "path": path, "then": {"hold": HELD_SECONDS}}
    sim.faults({"service": "kubernetes", **held})
    process = sim.start(
        *("pulumi", "up", "--yes", "--skip-preview", "--stack", "dev", "--non-interactive")
    )
    while process.poll() is None and not (name in made(sim) and known <= in_state(sim)):
        time.sleep(0.05)
    assert process.poll() is None, f"it ended before {name} was made"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    sim.faults()
    assert sim.pulumi("cancel", "--yes", "--stack", "dev").ok


def in_state(sim: Simulation) -> set[str]:
    """The names of the resources that the engine has noted."""
    return {as_text(one["urn"]).rpartition("::")[2] for one in sim.state()}


def made(sim: Simulation) -> set[str]:
    """What is in the stack's cluster, by kind and name."""
    (cluster,) = [
        as_object(one)
        for key, one in as_object(sim.inspect()["kubernetes"]).items()
        if key.endswith("/aks-dev")
    ]
    objects = as_objects(cluster["objects"])
    return {f"{as_text(one['kind'])}/{as_text(dig(one, 'metadata', 'name'))}" for one in objects}


@pytest.fixture(scope="module")
def killed(sim: Simulation) -> Killed:
    before = contents(sim)
    plugin = ".*/daemonsets/nvidia-device-plugin-gpu"
    kill_at(sim, plugin, "DaemonSet/nvidia-device-plugin-gpu")
    destroyed = sim.destroy(check=False)
    left, left_in_state = contents(sim), sim.state()
    kill_at(sim, plugin, "DaemonSet/nvidia-device-plugin-gpu")
    sim.stack_file("dev", {"gpuPool.devicePluginTag": "v0.18.0"})
    kill_at(sim, ".*/namespaces/gadget", "Namespace/gadget")
    preview = sim.preview(check=False)
    finished = sim.up(check=False)
    quiet = sim.up(check=False)
    lost = {"method": "DELETE", "path": ".*/releases/.*", "then": {"drop": "after"}}
    sim.faults({"service": "kubernetes", **lost})
    unanswered = sim.destroy(check=False)
    sim.faults()
    again = sim.destroy(check=False)
    refreshed = sim.destroy("dev", "--refresh", check=False)
    return Killed(
        before=before,
        destroyed=destroyed,
        left=left,
        left_in_state=left_in_state,
        preview=preview,
        finished=finished,
        quiet=quiet,
        unanswered=unanswered,
        again=again,
        refreshed=refreshed,
        ended=contents(sim),
    )


def test_destroy_removes_what_the_engine_never_knew(killed: Killed) -> None:
    assert killed.destroyed.ok, killed.destroyed.output
    assert killed.left == killed.before
    assert killed.left_in_state == []


def test_a_preview_shows_that_it_will_be_cleared_away(killed: Killed) -> None:
    assert killed.preview.ok, killed.preview.output
    assert killed.preview.ops()["cluster-leftovers"] == "update"
    assert killed.preview.ops()["inspektor-gadget-namespace"] == "create"


def test_the_next_up_clears_it_away_and_makes_it_with_the_settings_of_today(
    killed: Killed,
) -> None:
    assert killed.finished.ok, killed.finished.output
    assert "which an earlier run has left in the cluster" in killed.finished.output
    assert touched(killed.quiet) == {}


def test_a_release_that_was_deleted_without_an_answer_is_forgotten_by_the_line_of_the_page(
    killed: Killed,
) -> None:
    assert not killed.unanswered.ok
    assert "release: not found" in killed.again.output
    assert killed.refreshed.ok, killed.refreshed.output


def test_after_that_destroy_leaves_nothing_either(killed: Killed) -> None:
    assert killed.ended == killed.before
