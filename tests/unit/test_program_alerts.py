"""Alerts in the whole program: absent unless asked for, in place where they are."""

from typing import Any

import pulumi
import pytest

from tests.unit import answers
from tests.unit.recording import Recorded
from tests.unit.test_program import run, sections

GROUP = "azure-native:alertsmanagement:PrometheusRuleGroup"
POD_MONITOR = "kubernetes:azmonitoring.coreos.com/v1:PodMonitor"


def deployed(stack: str, **alerts: Any) -> Recorded:
    config = sections(stack)
    if alerts:
        config["alerts"] = alerts
    survey = answers.EXISTING if stack == "dev" else answers.NOTHING
    return run(config, answers.Azure(survey), stack=stack)


@pytest.mark.parametrize("stack", ["dev", "sandbox"])
def test_a_shipped_stack_has_no_alerts(stack: str) -> None:
    assert deployed(stack).of_type(GROUP) == []
    assert deployed(stack).of_type(POD_MONITOR) == []


@pytest.mark.parametrize("stack", ["dev", "sandbox"])
def test_rules_link_to_the_stacks_own_dashboard_and_name_the_stack(stack: str) -> None:
    recorded = deployed(stack, email=["oncall@example.com"])
    group = recorded.only(GROUP)
    leak = next(rule for rule in group.inputs["rules"] if rule.get("alert") == "GpuMemoryLeak")
    assert "/d/" in leak["annotations"]["dashboard"]
    assert f"--stack {stack} " in leak["annotations"]["command"]


def test_the_pod_monitor_is_the_clusters_and_waits_for_the_server() -> None:
    recorded = deployed("sandbox", email=["oncall@example.com"])
    monitor = recorded.only(POD_MONITOR)
    assert monitor.provider
    assert monitor.parent == "alerts"
    assert "pyroscope-private-link-ready" in recorded.named("alerts").depends_on
    assert monitor.deleted_with == "cluster-cluster"


def test_without_the_add_on_nothing_is_collected_in_the_cluster() -> None:
    config = sections("dev") | {"alerts": {"email": ["oncall@example.com"]}}
    without = answers.EXISTING.model_copy(
        update={"cluster": answers.EXISTING.cluster.model_copy(update={"metrics_enabled": False})}
    )
    recorded = run(config, answers.Azure(without))
    assert recorded.of_type(POD_MONITOR) == []
    assert recorded.only(GROUP)


def test_rules_that_azure_would_refuse_are_said_before_anything_is_made() -> None:
    with pytest.raises(pulumi.RunError, match="Azure takes 1024"):
        deployed("dev", email=["a@example.com"], documentationUrl="https://x/" + "y" * 1100)
