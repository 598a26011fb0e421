"""Alerts on the real engine: made for somebody to be told, changed, and gone when nobody is."""

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.changes import STACK, Change, check
from tests.engine.portal import portal_of
from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

MADE = ("alerts-rule-group", "alerts-action-group", "alerts-pod-monitor")


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> Simulation:
    """The stack, deployed without alerts."""
    sim.up(STACK)
    return sim


def test_a_stack_has_no_alerts_unless_it_asks_for_them(dev: Simulation) -> None:
    assert not [one for one in dev.resources() if "alerts" in one.lower()]


CHANGES = {
    "an address makes rules, an action group and what collects Pyroscope's metrics": Change(
        {"alerts.email": ["oncall@example.com"]}, dict.fromkeys(MADE, "create")
    ),
    "the same again changes nothing": Change({}, {}),
    "a threshold updates the rules": Change(
        {"alerts.rules": {"leak": {"threshold": 2}}}, {"alerts-rule-group": "update"}
    ),
    "an alert that is turned on updates the rules": Change(
        {"alerts.rules": {"nearCapacity": {"enabled": True}}}, {"alerts-rule-group": "update"}
    ),
    "another address updates the action group": Change(
        {"alerts.email": ["night@example.com"]}, {"alerts-action-group": "update"}
    ),
}


@pytest.mark.parametrize("change", [pytest.param(row, id=name) for name, row in CHANGES.items()])
def test_a_change_touches_what_depends_on_it_and_nothing_else(
    dev: Simulation, change: Change
) -> None:
    check(dev, change)


def test_the_rules_look_at_this_cluster_and_link_to_the_dashboard_and_the_pod(
    dev: Simulation,
) -> None:
    group = _one(dev, "/prometheusRuleGroups/")
    assert dig(group, "properties", "clusterName") == "aks-dev"
    recorded, *alerts = as_objects(dig(group, "properties", "rules"))
    assert recorded["record"] == "gpuobs:gpu_memory_live_bytes"
    told = _one(dev, "/actionGroups/")
    url = as_text(dev.outputs()["dashboardUrl"])
    for alert in alerts:
        assert [one["actionGroupId"] for one in as_objects(alert["actions"])] == [told["id"]]
        annotations = as_object(alert["annotations"])
        assert as_text(annotations["dashboard"]).startswith(f"{url}?from=now-2h&to=now")
        assert as_text(annotations["command"]).startswith(("python -m gpuobs ", "kubectl "))
    (leak,) = [one for one in alerts if one["alert"] == "GpuMemoryLeak"]
    assert "var-pod={{ $labels.k8s_podname }}" in as_text(dig(leak, "annotations", "dashboard"))
    assert f"--stack {STACK} " in as_text(dig(leak, "annotations", "command"))
    assert "GpuMemoryNearCapacity" in [one["alert"] for one in alerts]


def test_an_action_group_that_does_not_exist_is_said_before_anything_changes(
    dev: Simulation,
) -> None:
    wrong = as_text(_one(dev, "/actionGroups/")["id"]).rpartition("/")[0] + "/nobody"
    dev.stack_file(STACK, {"alerts.actionGroups": [wrong]})
    refused = dev.up(STACK, check=False)
    assert not refused.ok
    assert refused.changes == []
    assert "gpuobs:alerts.actionGroups[0] (action group nobody in group rg-dev)" in refused.output
    assert "must exist" in refused.output


def test_an_action_group_that_exists_is_told_too_and_stays(dev: Simulation) -> None:
    own = as_text(_one(dev, "/actionGroups/")["id"])
    theirs = own.rpartition("/")[0] + "/theirs"
    body = {"location": "Global", "properties": {"groupShortName": "theirs", "enabled": True}}
    with portal_of(dev) as person:
        person.arm("PUT", theirs, "2023-01-01", body)
    check(dev, Change({"alerts.actionGroups": [theirs]}, {"alerts-rule-group": "update"}))
    rule = as_objects(dig(_one(dev, "/prometheusRuleGroups/"), "properties", "rules"))[1]
    assert [one["actionGroupId"] for one in as_objects(rule["actions"])] == [theirs, own]


def test_when_nobody_is_to_be_told_all_of_it_goes(dev: Simulation) -> None:
    check(dev, Change({"alerts": None}, dict.fromkeys(MADE, "delete")))


def _one(sim: Simulation, part: str) -> JsonObject:
    (found,) = [
        body
        for key, body in sim.resources().items()
        if part.lower() in key.lower() and not key.endswith("/theirs")
    ]
    return found
