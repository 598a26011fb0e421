"""From the settings of a stack to the arguments of its alerts.

Apart from :mod:`infra.arguments`, as the SDK's module of rule groups is loaded where alerts are on
and nowhere else.
"""

import pulumi

from alerts import Rule
from alerts.azure import SEVERITIES
from components.alerts import AlertsArgs, RuleArgs
from components.grafana_dashboard import GrafanaDashboard
from components.managed_prometheus import ManagedPrometheus
from infra.stack import Stack


def arguments(
    stack: Stack,
    group: pulumi.Input[str],
    metrics: ManagedPrometheus,
    on_grafana: GrafanaDashboard,
) -> AlertsArgs:
    """The alerts on the workspace's metrics, for this stack's cluster."""
    settings, workspace = stack.settings.alerts, stack.existing.workspace
    return AlertsArgs(
        resource_group_name=group,
        location=workspace.location if workspace else stack.existing.location,
        workspace_id=metrics.workspace_id,
        cluster_label=stack.cluster_label,
        rule_group_name=stack.names.rule_group,
        action_group_name=stack.names.action_group,
        rules=[_rule(rule, on_grafana.url) for rule in stack.alert_rules],
        action_group_ids=settings.action_groups,
        email=settings.email,
        collect_pyroscope=stack.has_metrics_add_on and stack.settings.pyroscope.existing is None,
        stack_mark=stack.names.request_message,
        tags=stack.tags,
    )


def _rule(rule: Rule, dashboard_url: pulumi.Output[str]) -> RuleArgs:
    link = rule.dashboard
    annotations: dict[str, pulumi.Input[str]] = {**rule.annotations}
    if link is not None:
        annotations["dashboard"] = dashboard_url.apply(lambda url: f"{url}{link}")
    return RuleArgs(
        alert=rule.alert,
        record=rule.record,
        expression=rule.expression,
        minutes=rule.minutes,
        severity=SEVERITIES[rule.severity] if rule.severity is not None else None,
        labels=rule.labels,
        annotations=annotations or None,
    )
