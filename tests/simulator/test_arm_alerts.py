"""Rule groups and action groups: what the published specification takes, and what it refuses.

Requests and answers are made from the examples of the specification
(``createOrUpdatePrometheusRuleGroup.json``, ``createOrUpdateActionGroup.json``), with this
simulator's ids.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from simulator.values import JsonObject, as_object
from tests.simulator.azure import CLUSTER, GROUP, WORKSPACE, Azure

RULE_GROUP = f"{GROUP}/providers/Microsoft.AlertsManagement/prometheusRuleGroups/alerts"
ACTION_GROUP = f"{GROUP}/providers/Microsoft.Insights/actionGroups/oncall"
WITH_RULES: JsonObject = {
    "location": "westeurope",
    "tags": {"team": "ml"},
    "properties": {
        "description": "This is the description of the following rule group",
        "enabled": True,
        "clusterName": "aks-dev",
        "interval": "PT10M",
        "scopes": [WORKSPACE],
        "rules": [
            {
                "record": "job_type:billing_jobs_duration_seconds:99p5m",
                "expression": "histogram_quantile(0.99, sum by (job_type) (rate(a_bucket[5m])))",
                "labels": {"team": "prod"},
            },
            {
                "alert": "Billing_Processing_Very_Slow",
                "expression": "job_type:billing_jobs_duration_seconds:99p5m > 30",
                "enabled": True,
                "severity": 2,
                "for": "PT5M",
                "labels": {"team": "prod"},
                "annotations": {"annotationName1": "annotationValue1"},
                "resolveConfiguration": {"autoResolved": True, "timeToResolve": "PT10M"},
                "actions": [
                    {"actionGroupId": ACTION_GROUP, "actionProperties": {"key11": "value11"}}
                ],
            },
        ],
    },
}
WITH_RECEIVERS: JsonObject = {
    "location": "Global",
    "properties": {
        "groupShortName": "sample",
        "enabled": True,
        "emailReceivers": [
            {
                "name": "John Doe's email",
                "emailAddress": "johndoe@email.com",
                "useCommonAlertSchema": False,
            }
        ],
    },
}


def test_a_rule_group_is_made_at_once_and_answered_as_it_was_asked_for(azure: Azure) -> None:
    made = azure.call("PUT", RULE_GROUP, WITH_RULES)
    assert made.status_code == 201
    answer = as_object(made.json())
    assert answer["type"] == "Microsoft.AlertsManagement/prometheusRuleGroups"
    assert answer["id"] == RULE_GROUP
    assert answer["properties"] == WITH_RULES["properties"]
    assert "Azure-AsyncOperation" not in made.headers
    assert azure.call("PUT", RULE_GROUP, WITH_RULES).status_code == 200
    assert azure.get(RULE_GROUP)["properties"] == WITH_RULES["properties"]
    assert azure.call("DELETE", RULE_GROUP).status_code == 200
    assert azure.call("DELETE", RULE_GROUP).status_code == 204


def _rule(body: Any) -> Any:
    return body["properties"]["rules"][1]


def _set(path: str, value: object) -> Callable[[Any], None]:
    def change(body: Any) -> None:
        *above, last = path.split(".")
        for part in above:
            body = body["rules"][1] if part == "rule" else body[part]
        if value is None:
            body.pop(last)
        else:
            body[last] = value

    return change


REFUSED = {
    "no scope": _set("properties.scopes", []),
    "two workspaces": _set("properties.scopes", [WORKSPACE, WORKSPACE]),
    "a cluster alone": _set("properties.scopes", [CLUSTER]),
    "two clusters": _set("properties.scopes", [WORKSPACE, CLUSTER, CLUSTER]),
    "a scope that is no workspace": _set("properties.scopes", [GROUP]),
    "a workspace that does not exist": _set("properties.scopes", [f"{WORKSPACE}x"]),
    "another region than its workspace's": _set("location", "northeurope"),
    "an interval below a minute": _set("properties.interval", "PT30S"),
    "an interval above a quarter of an hour": _set("properties.interval", "PT16M"),
    "an interval in Prometheus' words": _set("properties.interval", "1m"),
    "no rules": _set("properties.rules", []),
    "21 rules": _set("properties.rules", [{"alert": "A", "expression": "1"}] * 21),
    "a rule without expression": _set("properties.rule.expression", None),
    "an empty expression": _set("properties.rule.expression", " "),
    "a rule that alerts and records": _set("properties.rule.record", "a"),
    "a rule that does neither": _set("properties.rule.alert", None),
    "an alert with spaces in its name": _set("properties.rule.alert", "Very slow"),
    "severity 0": _set("properties.rule.severity", 0),
    "severity 5": _set("properties.rule.severity", 5),
    "a severity in words": _set("properties.rule.severity", "warning"),
    "11 labels": _set("properties.rule.labels", {f"l{n}": "" for n in range(11)}),
    "a label with a hyphen": _set("properties.rule.labels", {"a-b": ""}),
    "a label of Prometheus' own": _set("properties.rule.labels", {"__name__": ""}),
    "an annotation of 1025 characters": _set("properties.rule.annotations", {"a": "x" * 1025}),
    "an annotation with a hyphen": _set("properties.rule.annotations", {"a-b": ""}),
    "for in Prometheus' words": _set("properties.rule.for", "5m"),
    "resolved by itself, never": _set(
        "properties.rule.resolveConfiguration", {"autoResolved": True}
    ),
    "resolved after an hour": _set(
        "properties.rule.resolveConfiguration", {"autoResolved": True, "timeToResolve": "PT1H"}
    ),
    "action groups as an earlier edition had them": _set(
        "properties.rule.actions", {"actionGroups": []}
    ),
    "an unknown property": _set("properties.query", "up"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_rule_group_beyond_the_specification_is_refused(azure: Azure, wrong: str) -> None:
    body = deepcopy(WITH_RULES)
    REFUSED[wrong](body)
    if wrong.startswith("a rule that does"):
        assert "alert" not in _rule(body)
    refused = azure.call("PUT", RULE_GROUP, body)
    assert refused.status_code == 400, refused.text
    assert azure.call("GET", RULE_GROUP).status_code == 404


def test_a_rule_group_does_not_move(azure: Azure) -> None:
    azure.put(RULE_GROUP, WITH_RULES)
    refused = azure.call("PUT", RULE_GROUP, {**WITH_RULES, "location": "northeurope"})
    assert azure.error(refused) == (409, "InvalidResourceLocation")


@pytest.mark.parametrize("version", ["2023-01-01", "2024-10-01-preview"])
def test_an_action_group_answers_every_kind_of_receiver_and_their_status(
    azure: Azure, version: str
) -> None:
    made = azure.call("PUT", ACTION_GROUP, WITH_RECEIVERS, **{"api-version": version})
    assert made.status_code == 201
    properties = made.json()["properties"]
    (receiver,) = properties["emailReceivers"]
    assert receiver == {
        "name": "John Doe's email",
        "emailAddress": "johndoe@email.com",
        "useCommonAlertSchema": False,
        "status": "Enabled",
    }
    assert properties["smsReceivers"] == properties["webhookReceivers"] == []
    assert made.json()["location"] == "Global"
    gone = [azure.call("DELETE", ACTION_GROUP, **{"api-version": version}) for _ in range(2)]
    assert [answer.status_code for answer in gone] == [200, 204]


TWICE = [{"name": name, "emailAddress": "a@example.com"} for name in ("Me", "me")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"groupShortName": "thirteen chars"}, id="a long short name"),
        pytest.param({"groupShortName": None}, id="no short name"),
        pytest.param({"enabled": None}, id="neither on nor off"),
        pytest.param({"emailReceivers": TWICE}, id="two receivers of a name"),
        pytest.param({"emailReceivers": [{"name": "me"}]}, id="a receiver without address"),
        pytest.param({"pagers": []}, id="an unknown kind"),
    ],
)
def test_an_action_group_beyond_the_specification_is_refused(
    azure: Azure, change: JsonObject
) -> None:
    properties = {**as_object(WITH_RECEIVERS["properties"]), **change}
    body = {**WITH_RECEIVERS, "properties": properties}
    refused = azure.call("PUT", ACTION_GROUP, body, **{"api-version": "2023-01-01"})
    assert refused.status_code == 400, refused.text
