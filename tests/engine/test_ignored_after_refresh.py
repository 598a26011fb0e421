"""What the program leaves to others, after a refresh: an ignored input is sent as it is in state.

Node pools and the agent have files of their own; ``tests/unit/test_ignored_inputs.py`` lists all.
"""

from collections.abc import Iterator

import pytest

from simulator.seed import CALLER_ID
from simulator.values import as_object, dig
from tests.engine.changes import STACK, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

OWN = "sandbox"
COLLEAGUE = "88888888-8888-4888-8888-888888888888"
SOURCE = "local-pyroscope"


@pytest.fixture(scope="module")
def own(sim: Simulation, person: Portal) -> Iterator[Simulation]:
    sim.up(OWN)
    yield sim
    person.settings(caller=CALLER_ID)
    sim.destroy(OWN)


def deployers(sim: Simulation) -> dict[str, str]:
    """Role assignments of people on the stack's own Grafana: principal by id."""
    return {
        key: str(dig(body, "properties", "principalId"))
        for key, body in sim.resources().items()
        if "/grafana/" in key and "/roleAssignments/" in key and "sandbox" in key
    }


def test_a_colleague_who_deploys_next_leaves_the_first_ones_role(
    own: Simulation, person: Portal
) -> None:
    before = deployers(own)
    assert set(before.values()) == {CALLER_ID}
    person.settings(principals=[{"id": COLLEAGUE, "kind": "User", "name": "c@example.invalid"}])
    subscription = "/subscriptions/11111111-1111-4111-8111-111111111111"
    for number, role in enumerate(
        ("8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "22926164-76b3-42b3-bc55-97df8dab3e41")
    ):
        name = f"99999999-9999-4999-8999-99999999999{number}"
        definition = f"{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        properties = {
            "principalId": COLLEAGUE,
            "principalType": "User",
            "roleDefinitionId": definition,
        }
        path = f"{subscription}/providers/Microsoft.Authorization/roleAssignments/{name}"
        assert person.call("PUT", path, {"properties": properties}).status_code == 201
    person.settings(caller=COLLEAGUE)
    own.refresh(OWN)
    own.stack_file(OWN, {"azure.tags": {"team": "ml"}})
    assert "grafana-deployer" not in touched(own.up(OWN))
    assert deployers(own) == before
    assert touched(own.up(OWN)) == {}


def test_without_drift_detection_a_change_is_applied_with_what_is_wanted(
    sim: Simulation, person: Portal
) -> None:
    person.settings(caller=CALLER_ID)
    sim.up(STACK)
    sim.stack_file(STACK, {"grafana.driftDetection": False})
    sim.refresh(STACK)
    assert touched(sim.up(STACK)) == {}
    person.edit_source(SOURCE, url="http://somewhere.else:4040")
    sim.stack_file(STACK, {"grafana.dataSources.pyroscope.name": "profiles"})
    sim.up(STACK)
    assert person.source(SOURCE)["name"] == "profiles"
    assert as_object(person.source(SOURCE))["url"] != "http://somewhere.else:4040"
    sim.stack_file(STACK, {"grafana.driftDetection": None})
    # What was applied meanwhile is told apart once, by a revision of its own.
    assert touched(sim.up(STACK)) == {"data-sources-pyroscope": "update"}
    assert touched(sim.up(STACK)) == {}
    sim.destroy(STACK)
