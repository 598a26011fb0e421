"""`destroy` where what the stack relies on is gone already: it completes, or says what ends it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_text
from tests.engine.portal import (
    Portal,
    deploy_and_delete_the_cluster,
    portal_of,
    resource_group,
)
from tests.engine.recorded_stacks import contents
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

FORGET = "PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy --refresh --stack STACK"


@pytest.fixture(scope="module")
def person(sim: Simulation) -> Iterator[Portal]:
    with portal_of(sim) as found:
        yield found


@dataclass(frozen=True)
class Ended:
    """What became of a stack that was destroyed after something had gone."""

    first: Outcome
    last: Outcome
    state: list[JsonObject]


def destroyed(sim: Simulation, stack: str = "dev") -> Ended:
    outcome = sim.destroy(stack, check=False)
    return Ended(outcome, outcome, sim.state(stack))


# --- the rights --------------------------------------------------------------------------------


def test_without_the_right_to_delete_destroy_says_so_and_goes_on_once_it_is_there_again(
    sim: Simulation,
) -> None:
    before = contents(sim)
    sim.up()
    refused = {
        "status": 403,
        "body": {
            "error": {
                "code": "AuthorizationFailed",
                "message": "The client '2222' does not have authorization to perform action "
                "'Microsoft.ContainerService/managedClusters/agentPools/delete' over scope 'x'",
            }
        },
    }
    sim.faults({"method": "DELETE", "path": ".*/agentPools/.*", "count": None, "then": refused})
    first = sim.destroy(check=False)
    sim.faults()
    assert first.status != 0
    assert "agentPools/delete" in first.output
    assert [one for one in sim.state() if as_text(one["urn"]).endswith("::gpu-pool-pool")]
    last = sim.destroy(check=False)
    assert last.ok, last.output
    assert contents(sim) == before


# --- the group that the stack's own resources are in -------------------------------------------


def test_a_group_of_the_stacks_own_that_was_deleted_with_all_in_it_is_no_obstacle(
    sim: Simulation, person: Portal
) -> None:
    before = contents(sim)
    sim.stack_file("dev", {"azure.resourceGroup": {"name": "rg-own", "create": True}})
    sim.up()
    # Azure deletes no collection endpoint, and so no group, that a cluster is associated with.
    for association in person.kind("dataCollectionRuleAssociations"):
        person.delete(association)
    person.delete(resource_group("rg-own"))
    ended = destroyed(sim)
    sim.stack_file("dev", {"azure.resourceGroup": None})
    assert ended.last.ok, ended.last.output
    assert ended.state == []
    assert contents(sim) == before


# --- the cluster -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_cluster(sim: Simulation, person: Portal) -> Ended:
    deploy_and_delete_the_cluster(sim, person)
    first = sim.destroy("prod", check=False)
    sim.set_variables(PULUMI_K8S_DELETE_UNREACHABLE="true")
    last = sim.destroy("prod", "--refresh", check=False)
    sim.set_variables(PULUMI_K8S_DELETE_UNREACHABLE="false")
    return Ended(first, last, sim.state("prod"))


def test_a_cluster_that_is_gone_is_said_with_the_one_command_that_ends_the_stack(
    without_cluster: Ended,
) -> None:
    assert without_cluster.first.status != 0
    assert "Traceback" not in without_cluster.first.output
    assert FORGET in re.sub(r"\s+", " ", without_cluster.first.output)


def test_that_command_forgets_what_was_in_the_cluster_and_destroys_the_rest(
    without_cluster: Ended,
) -> None:
    assert without_cluster.last.ok, without_cluster.last.output
    assert without_cluster.state == []


# --- Grafana, and the operator -----------------------------------------------------------------


def test_without_grafana_and_the_agent_destroy_deletes_what_is_elsewhere(
    sim: Simulation, person: Portal
) -> None:
    sim.up()
    person.delete(person.find("/extensions/inspektor-gadget"))
    person.delete(person.find("/grafana/grafana-dev"))
    ended = destroyed(sim)
    assert ended.last.ok, ended.last.output
    assert ended.state == []
