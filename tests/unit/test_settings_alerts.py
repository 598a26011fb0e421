"""Section ``alerts``: off where nobody is named, and what is refused of it."""

from typing import Any

import pytest

from alerts import CATALOGUE, AlertKey
from alerts.catalogue import Threshold
from infra.settings import Settings
from tests.unit.stack_files import faults, settings

WORKSPACE: dict[str, Any] = {
    "prometheus": {
        "azureMonitorWorkspace": {"existing": {"name": "amw-dev", "resourceGroup": "rg-dev"}}
    }
}
GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Insights/actionGroups/oncall"


def of(**alerts: Any) -> Settings:
    return settings(**WORKSPACE, alerts=alerts)


def test_alerts_are_off_where_nobody_is_named() -> None:
    assert not settings().alerts.on
    assert not of().alerts.on
    assert of(email=["a@example.com"]).alerts.on
    assert of(actionGroups=[GROUP]).alerts.on


def test_every_alert_of_the_catalogue_has_its_setting_and_no_other_has() -> None:
    assert set(settings().alerts.choices) == set(AlertKey)
    assert {alert.key for alert in CATALOGUE} == set(AlertKey)
    assert faults(
        **WORKSPACE, alerts={"email": ["a@b.example"], "rules": {"leaks": {}}}
    ).keys() == {"alerts.rules.leaks"}


@pytest.mark.parametrize("key", list(AlertKey))
def test_what_is_said_of_an_alert_reaches_it(key: AlertKey) -> None:
    rules = {key.value: {"enabled": False, "minutes": 7}}
    choice = of(email=["a@example.com"], rules=rules).alerts.choices[key]
    assert (choice.on, choice.threshold, choice.minutes) == (False, None, 7)


@pytest.mark.parametrize("alert", CATALOGUE, ids=lambda alert: alert.key.value)
def test_a_threshold_outside_its_range_is_refused_and_so_is_one_where_there_is_none(
    alert: Any,
) -> None:
    limits: Threshold | None = alert.threshold
    wrong = [1] if limits is None else [limits.least - 0.01, limits.most + 1, True]
    for value in wrong:
        rules = {alert.key.value: {"threshold": value}}
        found = faults(**WORKSPACE, alerts={"email": ["a@example.com"], "rules": rules})
        assert found.keys() == {f"alerts.rules.{alert.key}.threshold"}, value
    for value in [] if limits is None else [limits.least, limits.most]:
        rules = {alert.key.value: {"threshold": value}}
        assert of(email=["a@example.com"], rules=rules)


@pytest.mark.parametrize(
    ("alerts", "path"),
    [
        ({"email": ["oncall"]}, "alerts.email[0]"),
        ({"email": ["a@example.com; b@example.com"]}, "alerts.email[0]"),
        ({"email": ["a@example.com", "A@example.com"]}, "alerts.email"),
        ({"actionGroups": ["oncall"]}, "alerts.actionGroups[0]"),
        ({"actionGroups": [f"{GROUP}{n}" for n in range(6)]}, "alerts"),
        ({"actionGroups": [f"{GROUP}{n}" for n in range(5)], "email": ["a@b.example"]}, "alerts"),
        ({"rules": {"leak": {"enabled": False}}}, "alerts.rules"),
    ],
)
def test_what_azure_would_refuse_or_nobody_would_get_is_said(
    alerts: dict[str, Any], path: str
) -> None:
    assert faults(**WORKSPACE, alerts=alerts).keys() == {path}


@pytest.mark.parametrize("prometheus", [{}, {"url": "https://prometheus.example.com"}])
def test_without_a_workspace_of_azure_the_file_is_pointed_at(prometheus: dict[str, str]) -> None:
    (fault,) = faults(prometheus=prometheus, alerts={"email": ["a@example.com"]}).values()
    assert "gpuobs alerts --format prometheus" in fault.fix
