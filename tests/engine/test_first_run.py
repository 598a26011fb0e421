"""A first run beside what is there already, and what an update does for it later."""

from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_text, dig
from tests.engine.changes import touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, GROUP, WORKSPACE, Kubernetes

pytestmark = pytest.mark.engine

INSIGHTS = "providers/Microsoft.Insights"
BY_HAND = f"{GROUP}/{INSIGHTS}/dataCollectionRules/MSProm-westeurope-aks-dev"
ASSOCIATION = f"{CLUSTER}/{INSIGHTS}/dataCollectionRuleAssociations/MSProm-westeurope-aks-dev"
OWN_RULE = ["prometheus-endpoint", "prometheus-rule", "prometheus-rule-association"]
DAEMON_SET = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
DEBUG = {"inspektor-gadget.config.daemonLogLevel": "debug"}


def enable_metrics(person: Portal) -> None:
    """What ``az aks update --enable-azure-monitor-metrics`` makes of rules."""
    stream = ["Microsoft-PrometheusMetrics"]
    account = {"name": "MonitoringAccount1", "accountResourceId": WORKSPACE}
    properties: JsonObject = {
        "dataSources": {"prometheusForwarder": [{"name": "p", "streams": stream}]},
        "destinations": {"monitoringAccounts": [account]},
        "dataFlows": [{"streams": stream, "destinations": ["MonitoringAccount1"]}],
    }
    body = {"location": "westeurope", "kind": "Linux", "properties": properties}
    person.put(BY_HAND, body)
    person.put(ASSOCIATION, {"properties": {"dataCollectionRuleId": BY_HAND}})


def restarted_at(person: Portal) -> str:
    """When somebody restarted the agent; empty: nobody did."""
    found = Kubernetes(person).call("GET", DAEMON_SET).json()
    template = dig(found, "spec", "template", "metadata", "annotations")
    return as_text(dig(template, "kubectl.kubernetes.io/restartedAt"))


@dataclass(frozen=True)
class Life:
    beside: Outcome
    """``up`` on a cluster whose metrics go to the workspace already."""
    alone: Outcome
    """``up`` after that rule was deleted."""
    later: list[Outcome]
    """``up``, ``up``, ``refresh``, ``up`` after it was made again."""
    preview_while_upgrading: Outcome
    up_while_upgrading: Outcome
    before: str
    """When the agent was restarted, before its settings changed."""
    foreseen: Outcome
    changed: Outcome
    after: str
    another: Outcome
    """``up`` with another setting, which is none of the agent's."""
    in_the_end: str
    reached_otherwise: Outcome
    """``up`` with other credentials."""
    still: str


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal) -> Life:
    enable_metrics(person)
    beside = sim.up()
    person.delete(ASSOCIATION)
    person.delete(BY_HAND)
    alone = sim.up()
    enable_metrics(person)
    later = [sim.up(), sim.up(), sim.refresh(), sim.up()]

    upgrading: JsonObject = {
        "service": "arm",
        "method": "GET",
        "path": ".*/managedClusters/aks-dev",
        "count": 4,
        "then": {"patch": {"properties": {"provisioningState": "Upgrading"}}},
    }
    sim.faults({**upgrading, "count": None})
    preview = sim.preview()
    sim.faults(upgrading)
    up = sim.up()
    sim.faults()

    before = restarted_at(person)
    sim.stack_file("dev", {"inspektorGadget.settings": DEBUG})
    foreseen, changed = sim.preview(), sim.up()
    after = restarted_at(person)
    pinned = {"inspektorGadget.version": "0.54.1", "inspektorGadget.autoUpgrade": False}
    sim.stack_file("dev", pinned)
    another = sim.up()
    in_the_end = restarted_at(person)
    sim.stack_file("dev", {"cluster.credentials": "admin"})
    reached_otherwise = sim.up()
    return Life(
        beside=beside,
        alone=alone,
        later=later,
        preview_while_upgrading=preview,
        up_while_upgrading=up,
        before=before,
        foreseen=foreseen,
        changed=changed,
        after=after,
        another=another,
        in_the_end=in_the_end,
        reached_otherwise=reached_otherwise,
        still=restarted_at(person),
    )


def test_no_second_rule_is_made_where_the_metrics_go_to_the_workspace_already(life: Life) -> None:
    assert not set(OWN_RULE) & set(touched(life.beside))


def test_the_stacks_own_rule_is_made_once_there_is_no_other(life: Life) -> None:
    assert {name: touched(life.alone).get(name) for name in OWN_RULE} == dict.fromkeys(
        OWN_RULE, "create"
    )


def test_what_the_stack_made_stays_when_another_rule_comes(life: Life) -> None:
    first, second, refreshed, last = life.later
    assert [touched(one) for one in (first, second, last)] == [{}, {}, {}]
    # The mark on the namespace, which a command made, comes into the state.
    assert touched(refreshed) == {"inspektor-gadget-namespace": "update"}
    assert "collect: false" in " ".join(life.later[-1].diagnostics)


def test_a_preview_warns_of_an_upgrade_and_goes_on(life: Life) -> None:
    assert life.preview_while_upgrading.ok
    (warning,) = [one for one in life.preview_while_upgrading.diagnostics if "Upgrading" in one]
    assert "`pulumi up` waits" in warning


def test_an_update_waits_for_an_upgrade_and_says_so(life: Life) -> None:
    assert life.up_while_upgrading.ok
    assert "waiting for cluster aks-dev, which is Upgrading" in life.up_while_upgrading.output


def test_changed_settings_of_the_agent_restart_it_and_the_preview_says_so(life: Life) -> None:
    expected = {"inspektor-gadget-extension": "update", "inspektor-gadget-settings": "update"}
    assert touched(life.foreseen) == expected
    assert touched(life.changed) == expected
    assert life.before == ""
    assert life.after != ""


def test_another_change_of_the_extension_does_not_restart_it(life: Life) -> None:
    assert touched(life.another) == {"inspektor-gadget-extension": "update"}
    assert life.in_the_end == life.after


def test_another_way_to_reach_the_cluster_does_not_restart_the_agent(life: Life) -> None:
    assert touched(life.reached_otherwise)["inspektor-gadget-settings"] == "update"
    assert life.still == life.after
