"""What helps is said beside a provider's failure; `destroy` goes on without the program."""

import pytest

from simulator.values import JsonObject
from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

CURE = "The table of rights in README.md names the role for each action"


def refused(method: str) -> JsonObject:
    message = "The client '2' does not have authorization to perform action 'x' over scope 'y'"
    body: JsonObject = {"error": {"code": "AuthorizationFailed", "message": message}}
    return {
        "service": "arm",
        "method": method,
        "path": ".*/agentPools/gpu",
        "count": None,
        "then": {"status": 403, "body": body},
    }


def test_a_refusal_of_azure_is_followed_by_what_helps(sim: Simulation) -> None:
    sim.faults(refused("PUT"))
    outcome = sim.up(check=False)
    sim.faults()
    assert outcome.status != 0
    assert "AuthorizationFailed" in outcome.output
    assert [one for one in outcome.diagnostics if CURE in one]
    assert sim.up().ok


def test_destroy_without_the_program_shows_azures_own_words_and_goes_on_afterwards(
    sim: Simulation,
) -> None:
    sim.faults(refused("DELETE"))
    outcome = sim.destroy(check=False)
    sim.faults()
    assert outcome.status != 0
    assert "AuthorizationFailed" in outcome.output
    assert "hook" not in outcome.output
    again = sim.destroy(check=False)
    assert again.ok, again.output
    assert sim.state() == []


def busy(method: str, path: str) -> JsonObject:
    """Another operation runs on Grafana when this one is asked for, the first two times."""
    error = {"code": "ConflictInProcessing", "message": "Operation conflict occurred"}
    then = {"status": 409, "body": {"error": error}}
    return {"service": "arm", "method": method, "path": path, "count": 2, "then": then}


def test_an_endpoint_is_made_and_deleted_when_grafana_has_ended_anothers_operation(
    sim: Simulation,
) -> None:
    endpoint = ".*/managedPrivateEndpoints/[^/]+"
    sim.faults(busy("PUT", endpoint))
    made = sim.up(check=False)
    assert made.ok, made.output
    assert "another operation is in progress on Grafana" in made.output
    assert sim.preview().ops() == {}
    sim.faults(busy("DELETE", endpoint))
    gone = sim.destroy(check=False)
    sim.faults()
    assert gone.ok, gone.output
    assert sim.state() == []
