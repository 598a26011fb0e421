"""What exists already and is not the stack's: never adopted, changed or deleted."""

from dataclasses import dataclass

import pytest

from simulator.demo import differences, stable
from simulator.values import JsonObject, as_list, dig
from tests.engine.changes import order
from tests.engine.portal import portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, GRAFANA, Kubernetes

pytestmark = pytest.mark.engine

STACK = "dev"
SOMEBODYS_SOURCE = {
    "name": "somebody's",
    "uid": "somebodys",
    "type": "prometheus",
    "access": "proxy",
    "url": "https://prometheus.example.org",
}


ASSIGNMENTS = "Microsoft.Authorization/roleAssignments"
BY_HAND = "bbbbbbbb-0000-4000-8000-000000000001"
TEAM: JsonObject = {"kind": "Group", "name": "a team"}
ASSIGNED = "99999999-0000-4000-8000-000000000001"
"""Has the role on Grafana already."""
WANTED = "99999999-0000-4000-8000-000000000002"


def viewer(principal: str) -> JsonObject:
    """Grafana Viewer, as `az role assignment create` asks for it."""
    role = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
    subscription = GRAFANA.partition("/resourceGroups/")[0]
    definition = f"{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    return {"principalId": principal, "principalType": "Group", "roleDefinitionId": definition}


@dataclass(frozen=True)
class Life:
    """A stack on a cluster that has the namespace already."""

    missing: Outcome
    """Before somebody made the namespace that the stack was configured to use."""
    refused: Outcome
    up: Outcome
    again: Outcome
    destroy: Outcome
    namespaces: list[object]
    """Of the cluster, after the end."""
    changed: list[str]
    """The paths at which Azure differs from what it was, after the end."""


@pytest.fixture(scope="module")
def life(sim: Simulation) -> Life:
    sim.stack_file(STACK, {"cluster.createNamespace": False})
    missing = sim.preview(STACK, check=False)
    with portal_of(sim) as portal:
        Kubernetes(portal).make_namespace("gadget")
        assert portal.grafana("POST", "/api/datasources", SOMEBODYS_SOURCE).status_code == 200
        portal.settings(principals=[{**TEAM, "id": one} for one in (ASSIGNED, WANTED)])
        portal.put(f"{GRAFANA}/providers/{ASSIGNMENTS}/{BY_HAND}", {"properties": viewer(ASSIGNED)})
    before = stable(sim.inspect())
    sim.stack_file(STACK, {"cluster.createNamespace": None})
    refused = sim.up(STACK, check=False)
    roles = [
        {"principalId": one, "principalType": "Group", "role": "Viewer"}
        for one in (ASSIGNED, WANTED)
    ]
    sim.stack_file(STACK, {"cluster.createNamespace": False, "grafana.roleAssignments": roles})
    up, again = sim.up(STACK), sim.up(STACK)
    destroy = sim.destroy(STACK)
    after = sim.inspect()
    return Life(
        missing=missing,
        refused=refused,
        up=up,
        again=again,
        destroy=destroy,
        namespaces=as_list(dig(after, "kubernetes", CLUSTER.lower(), "namespaces")),
        changed=differences(before, stable(after)),
    )


def test_a_namespace_that_is_said_to_exist_and_does_not_is_reported_by_the_preview(
    life: Life,
) -> None:
    assert not life.missing.ok
    assert "inspektor-gadget-namespace" in life.missing.output
    assert "gadget" in " ".join(life.missing.diagnostics)


def test_a_namespace_that_exists_is_refused_by_name(life: Life) -> None:
    assert not life.refused.ok
    message = life.refused.diagnostics[0]
    assert "namespace gadget of cluster aks-dev" in message
    assert "exists already" in message
    assert "createNamespace: false" in message
    assert "+ inspektor-gadget-extension" not in order(life.refused)


def test_with_the_setting_it_is_used_and_not_made(life: Life) -> None:
    assert "+ inspektor-gadget-extension" in order(life.up)
    assert "+ inspektor-gadget-namespace" not in order(life.up)


def test_a_role_that_somebody_assigned_counts_as_assigned_and_the_stacks_own_stays_its_own(
    life: Life,
) -> None:
    assert f"+ grafana-viewer-{WANTED}" in order(life.up)
    # Azure would refuse a second one: 409 RoleAssignmentExists.
    assert f"+ grafana-viewer-{ASSIGNED}" not in order(life.up)
    assert life.again.ops() == {}


def test_what_the_stack_did_not_make_stays_as_it_was(life: Life) -> None:
    assert life.destroy.ok
    assert "gadget" in life.namespaces
    assert life.changed == []
