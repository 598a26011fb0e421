"""In which order things are made and deleted, on a simulated Azure where each takes its time.

With bring-your-own parts wherever there are some: what waits for a component that makes nothing
itself must still wait for what that component waits for. The first ``up`` fails at the refresh of
Grafana's endpoints, after the approval; the second one goes on from there.
"""

from dataclasses import dataclass
from itertools import pairwise

import pytest

from simulator.demo import differences, stable
from simulator.timeline import Step, steps
from simulator.values import JsonObject, as_objects, dig
from tests.engine.changes import order
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

STACK = "dev"
LATENCY = 0.01
"""A step that does not wait for another overtakes it: the agent takes less than the pool."""

REFRESH_FAILS: JsonObject = {
    "service": "arm",
    "method": "POST",
    "path": ".*/refreshManagedPrivateEndpoints",
    "count": None,
    "then": {
        "operation": {
            "status": "Failed",
            "error": {"code": "InternalServerError", "message": "The refresh did not work."},
        }
    },
}
RULES_ARE_SLOW: JsonObject = {
    "service": "arm",
    "method": "PUT",
    "path": ".*/dataCollectionRuleAssociations/.*",
    "count": 2,
    # Longer than the GPU pool and the agent together.
    "then": {"delay": 400},
}


@dataclass(frozen=True)
class Life:
    """What happened."""

    interrupted: Outcome
    sources_then: list[JsonObject]
    """On Grafana after the interrupted ``up``."""
    up: Outcome
    making: list[Step]
    """Of Azure, in simulated time."""
    destroy: Outcome
    deleting: list[Step]
    left: list[str]


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> Life:
    sim.latency(LATENCY)
    before = stable(sim.inspect())
    sim.faults(REFRESH_FAILS, RULES_ARE_SLOW)
    interrupted = sim.up(STACK, check=False)
    sources = as_objects(dig(sim.inspect(), "grafana", "grafana-dev", "dataSources"))
    sim.faults()
    up = sim.up(STACK)
    making = _timeline(sim)
    destroy = sim.destroy(STACK, check=False)
    deleting = _timeline(sim)[len(making) :]
    return Life(
        interrupted=interrupted,
        sources_then=sources,
        up=up,
        making=making,
        destroy=destroy,
        deleting=deleting,
        left=differences(before, stable(sim.inspect())),
    )


def _timeline(sim: Simulation) -> list[Step]:
    return steps(as_objects(sim.control("GET", "timeline")))


def _one(found: list[Step], what: str) -> Step:
    (step,) = [step for step in found if step.what == what]
    return step


def _before(names: list[str], first: str, then: str) -> bool:
    return names.index(first) < names.index(then)


# --- making ------------------------------------------------------------------------------------


@pytest.mark.handles("empty-component-dropped")
def test_the_agent_is_installed_after_the_nodes_and_the_rules(dev: Life) -> None:
    pool = _one(dev.making, "GPU node pool")
    agent = _one(dev.making, "agent (cluster extension)")
    assert agent.started >= pool.ended
    made = order(dev.interrupted)
    assert _before(made, "+ prometheus-rule-association", "+ inspektor-gadget-extension")
    assert _before(made, "+ inspektor-gadget-namespace", "+ inspektor-gadget-extension")


def test_each_part_of_the_private_link_waits_for_the_one_before(dev: Life) -> None:
    chain = [
        _one(dev.making, "agent (cluster extension)"),
        _one(dev.making, "Pyroscope's load balancer"),
        _one(dev.making, "Private Link Service"),
        _one(dev.making, "managed private endpoint"),
        _one(dev.making, "approval"),
    ]
    for earlier, later in pairwise(chain):
        assert later.started >= earlier.ended, f"{later.what} did not wait for {earlier.what}"


@pytest.mark.handles("address-read-before-refresh")
def test_no_source_is_made_while_the_endpoint_has_no_address(dev: Life) -> None:
    assert not dev.interrupted.ok
    assert [source for source in dev.sources_then if "4040" in str(source["url"])] == []


def test_a_failed_refresh_is_reported_in_the_services_words(dev: Life) -> None:
    assert "The refresh did not work." in dev.interrupted.output


@pytest.mark.handles("rerun-finds-nothing-pending")
@pytest.mark.handles("approve-approved")
def test_the_next_up_goes_on_with_the_connection_approved_already(dev: Life) -> None:
    made = order(dev.up)
    assert "+ private-endpoint-endpoint" not in made
    assert _before(made, "+ private-endpoint-approval", "+ data-sources-pyroscope")
    assert _before(made, "+ data-sources-pyroscope", "+ dashboard-dashboard")
    assert len([step for step in dev.making if step.what == "approval"]) == 1


# --- deleting ----------------------------------------------------------------------------------


@pytest.mark.handles("cluster-before-endpoint")
def test_the_endpoint_goes_before_the_release_and_the_link_before_the_agent(dev: Life) -> None:
    endpoint = _one(dev.deleting, "delete managedPrivateEndpoints")
    link = _one(dev.deleting, "delete privateLinkServices")
    agent = _one(dev.deleting, "delete extensions")
    pool = _one(dev.deleting, "delete agentPools")
    assert endpoint.ended <= link.started
    assert link.ended <= agent.started
    assert agent.ended <= pool.started


@pytest.mark.handles("namespace-before-extension")
def test_the_namespace_goes_after_everything_in_it(dev: Life) -> None:
    gone = order(dev.destroy)
    wanted = [
        "- dashboard-dashboard",
        "- data-sources-pyroscope",
        "- private-endpoint-approval",
        "- private-endpoint-endpoint",
        "- pyroscope-private-link-ready",
        "- pyroscope-release",
        "- pyroscope-private-link-guard",
        "- inspektor-gadget-extension",
        "- inspektor-gadget-namespace",
    ]
    assert [name for name in gone if name in wanted] == wanted


@pytest.mark.handles("things-left-behind")
def test_nothing_is_left_of_either_up(dev: Life) -> None:
    assert dev.destroy.ok, dev.destroy.output
    assert dev.left == []
