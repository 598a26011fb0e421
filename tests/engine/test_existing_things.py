"""What exists already and is not the stack's: never adopted, changed or deleted."""

from dataclasses import dataclass

import pytest

from simulator.demo import differences, stable
from simulator.values import as_list, dig
from tests.engine.changes import order
from tests.engine.portal import portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, Kubernetes

pytestmark = pytest.mark.engine

STACK = "dev"
SOMEBODYS_SOURCE = {
    "name": "somebody's",
    "uid": "somebodys",
    "type": "prometheus",
    "access": "proxy",
    "url": "https://prometheus.example.org",
}


@dataclass(frozen=True)
class Life:
    """A stack on a cluster that has the namespace already."""

    missing: Outcome
    """Before somebody made the namespace that the stack was configured to use."""
    refused: Outcome
    up: Outcome
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
    before = stable(sim.inspect())
    sim.stack_file(STACK, {"cluster.createNamespace": None})
    refused = sim.up(STACK, check=False)
    sim.stack_file(STACK, {"cluster.createNamespace": False})
    up = sim.up(STACK)
    destroy = sim.destroy(STACK)
    after = sim.inspect()
    return Life(
        missing=missing,
        refused=refused,
        up=up,
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


def test_what_the_stack_did_not_make_stays_as_it_was(life: Life) -> None:
    assert life.destroy.ok
    assert "gadget" in life.namespaces
    assert life.changed == []
