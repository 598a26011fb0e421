"""The component of the alerts, and how a stack's settings become its arguments."""

from dataclasses import replace
from typing import Any

from components.alerts import Alerts, AlertsArgs, RuleArgs
from tests.unit import answers
from tests.unit.recording import Recorded, record

GROUP = "azure-native:alertsmanagement:PrometheusRuleGroup"
ACTIONS = "azure-native:monitor:ActionGroup"
POD_MONITOR = "kubernetes:azmonitoring.coreos.com/v1:PodMonitor"
THEIRS = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Insights/actionGroups/oncall"
ARGS = AlertsArgs(
    resource_group_name="rg-dev",
    location="westeurope",
    workspace_id=answers.WORKSPACE_ID,
    cluster_label="aks-dev",
    rule_group_name="alerts-dev",
    action_group_name="alerts-dev",
    rules=[
        RuleArgs(record="a:b", expression="1"),
        RuleArgs(
            alert="Leak",
            expression="2",
            minutes=5,
            severity=2,
            labels={"severity": "warning"},
            annotations={"summary": "It leaks."},
        ),
    ],
    action_group_ids=[THEIRS],
    tags={"a": "b"},
)


def deploy(**changes: Any) -> Recorded:
    args = replace(ARGS, **changes)
    return record(lambda: Alerts("alerts", args), answer_resource=answers.Azure().resource)


def test_the_rule_group_looks_at_one_cluster_of_one_workspace_in_its_region() -> None:
    inputs = deploy().only(GROUP).inputs
    assert inputs["scopes"] == [answers.WORKSPACE_ID]
    assert inputs["clusterName"] == "aks-dev"
    assert inputs["location"] == "westeurope"
    assert inputs["interval"] == "PT1M"
    assert inputs["tags"] == {"a": "b"}


def test_a_rule_records_or_alerts_and_an_alert_tells_everybody_and_resolves_itself() -> None:
    recorded = deploy(email=["a@example.com"])
    recording, alerting = recorded.only(GROUP).inputs["rules"]
    assert recording == {"record": "a:b", "expression": "1"}
    assert alerting == {
        "alert": "Leak",
        "expression": "2",
        "enabled": True,
        "for": "PT5M",
        "severity": 2,
        "labels": {"severity": "warning"},
        "annotations": {"summary": "It leaks."},
        "actions": [{"actionGroupId": THEIRS}, {"actionGroupId": "alerts-action-group-id"}],
        "resolveConfiguration": {"autoResolved": True, "timeToResolve": "PT15M"},
    }


def test_addresses_become_an_action_group_and_without_any_none_is_made() -> None:
    assert deploy().of_type(ACTIONS) == []
    group = deploy(email=["a@example.com", "b@example.com"]).only(ACTIONS)
    inputs = group.inputs
    assert group.parent == "alerts"
    assert inputs["actionGroupName"] == "alerts-dev"
    assert inputs["location"] == "Global"
    assert inputs["groupShortName"] == "gpuobs"
    assert inputs["enabled"] is True
    assert [one["emailAddress"] for one in inputs["emailReceivers"]] == [
        "a@example.com",
        "b@example.com",
    ]
    assert len({one["name"] for one in inputs["emailReceivers"]}) == 2


def test_pyroscopes_metrics_are_collected_by_the_add_ons_own_kind_where_it_is_on() -> None:
    assert deploy().of_type(POD_MONITOR) == []
    monitor = deploy(collect_pyroscope=True, stack_mark="gpuobs gpuobs dev 1").only(POD_MONITOR)
    assert monitor.inputs["metadata"] == {
        "name": "pyroscope",
        "namespace": "gadget",
        "annotations": {"gpuobs/stack": "gpuobs gpuobs dev 1"},
    }
    (endpoint,) = monitor.inputs["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("http2", "/metrics")
    assert monitor.inputs["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"] == (
        "pyroscope"
    )
