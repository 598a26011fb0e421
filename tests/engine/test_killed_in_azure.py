"""Killed while Azure makes something, and a setting changed: the next `up` goes on with it."""

import signal
from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_object, dig
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_recovery import up_until

pytestmark = pytest.mark.engine

POOL, EXTENSION = "gpu-pool-pool", "inspektor-gadget-extension"
ENDPOINT = "private-endpoint-endpoint"
DEBUG = {"inspektor-gadget.config.daemonLogLevel": "debug"}
LATENCY = 0.03
"""So that the object is being made when its run is killed, and when the next one begins."""


def kill_at(sim: Simulation, being_made: str, *, goes_on: bool) -> None:
    """Kill an `up` while Azure makes such a thing; the next one begins before it is made."""
    sim.latency(LATENCY)
    up_until(sim, being_made, signal.SIGKILL)
    if not goes_on:
        sim.latency(0)
        sim.resources()
    assert sim.pulumi("cancel", "--yes", "--stack", "dev").ok


@dataclass(frozen=True)
class Killed:
    """Killed at each of the three with another setting after each, and gone on with."""

    foreseen: dict[str, Outcome]
    finished: Outcome
    pool: JsonObject
    extension: JsonObject
    after: Outcome
    destroyed: Outcome


@pytest.fixture(scope="module")
def killed(sim: Simulation, person: Portal) -> Killed:
    foreseen: dict[str, Outcome] = {}
    kill_at(sim, "/agentPools/gpu", goes_on=True)
    sim.stack_file("dev", {"gpuPool.count": 2, "azure.tags": {"team": "gpu"}})
    foreseen[POOL] = sim.preview()
    kill_at(sim, "/extensions/", goes_on=True)
    sim.stack_file("dev", {"inspektorGadget.settings": DEBUG})
    foreseen[EXTENSION] = sim.preview()
    kill_at(sim, "/managedPrivateEndpoints/", goes_on=True)
    sim.stack_file("dev", {"pyroscope.imageTag": "1.15.1"})
    foreseen[ENDPOINT] = sim.preview()
    finished = sim.up(check=False)
    sim.latency(0)
    resources = sim.resources()
    return Killed(
        foreseen,
        finished,
        pool=resources[person.find("/agentPools/gpu")],
        extension=resources[person.find("/extensions/inspektor-gadget")],
        after=sim.preview(),
        destroyed=sim.destroy(check=False),
    )


@pytest.mark.parametrize("name", [POOL, EXTENSION, ENDPOINT])
def test_a_preview_shows_that_it_is_taken_over(killed: Killed, name: str) -> None:
    assert f"import {name}" in map(str, killed.foreseen[name].steps)


def test_up_takes_all_of_it_over_with_the_settings_of_today(killed: Killed) -> None:
    assert killed.finished.ok, killed.finished.output
    assert dig(killed.pool, "properties", "count") == 2
    assert dig(killed.pool, "properties", "tags", "team") == "gpu"
    settings = as_object(dig(killed.extension, "properties", "configurationSettings"))
    assert settings.items() >= DEBUG.items()


def test_afterwards_nothing_is_left_to_do_and_destroy_takes_it_away(killed: Killed) -> None:
    assert killed.after.ops() == {}
    assert killed.destroyed.ok, killed.destroyed.output


# --- what Azure has failed to make, or what the settings do not ask for any more -----------------


@dataclass(frozen=True)
class Unfit:
    """Refused by a preview with the line that deletes it; and after that line."""

    refused: Outcome
    finished: Outcome


PLACES = {
    "pool": ("/agentPools/gpu", {"gpuPool.vmSize": "Standard_NC48ads_A100_v4"}),
    "endpoint": ("/managedPrivateEndpoints/", {"grafana.privateEndpoint.name": "another"}),
}


@pytest.mark.parametrize("why", ["failed", "other settings"])
@pytest.mark.parametrize("what", PLACES)
def test_one_that_does_not_fit_is_named_with_the_line_after_which_up_goes_on(
    sim: Simulation, person: Portal, killed: Killed, what: str, why: str
) -> None:
    del killed
    being_made, edits = PLACES[what]
    sim.stack_file("dev", like="dev")
    if why == "failed":
        failed = {"operation": {"status": "Failed", "error": {"code": "X", "message": "no room"}}}
        path = f".*{being_made}[^/]*"
        sim.faults({"service": "arm", "method": "PUT", "path": path, "then": failed})
    kill_at(sim, being_made, goes_on=False)
    sim.faults()
    if why != "failed":
        sim.stack_file("dev", edits)
    refused = sim.preview(check=False)
    assert not refused.ok
    assert "is from an interrupted run of this stack" in refused.output
    assert "az resource delete --ids" in refused.output
    (left,) = [key for key in sim.resources() if being_made in key]
    assert left in refused.output
    person.delete(left)
    finished = sim.up(check=False)
    assert finished.ok, finished.output
    assert sim.preview().ops() == {}
    assert sim.destroy(check=False).ok
