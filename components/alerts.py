"""Alerts on an Azure Monitor workspace: a Prometheus rule group, and whom it tells.

What the rules are is the caller's. Pyroscope's own metrics, which some of them ask for, are
collected by a PodMonitor of the metrics add-on; the chart's ServiceMonitor is of an API group that
the add-on does not read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import alertsmanagement, monitor
from pulumi_kubernetes.apiextensions import CustomResource

from components.cluster_leftovers import marked
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from contract.agent import NAMESPACE, PYROSCOPE_SERVICE

INTERVAL = "PT1M"
"""How often the rules are evaluated; Azure takes 1 to 15 minutes."""
RESOLVED_AFTER = "PT15M"
"""How long a fired alert's condition must be gone; at most 15 minutes."""
SHORT_NAME = "gpuobs"
"""Of the action group, in e-mails; at most 12 characters."""
EVERYWHERE = "Global"
"""Where an action group is."""
POD_MONITOR_API = "azmonitoring.coreos.com/v1"
METRICS_PORT = "http2"
"""The name of the server's port, as its chart has it."""


@dataclass(frozen=True, kw_only=True)
class RuleArgs:
    """A rule: exactly one of ``alert`` and ``record``."""

    expression: str
    """PromQL."""
    alert: str | None = None
    """Name of the alert."""
    record: str | None = None
    """Name of the metric that is recorded."""
    minutes: int = 0
    """How long the condition must hold."""
    severity: int | None = None
    """1 (critical) to 4."""
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, pulumi.Input[str]] | None = None


@dataclass(frozen=True, kw_only=True)
class AlertsArgs:
    """Which rules, on which metrics, and who is notified."""

    resource_group_name: pulumi.Input[str]
    location: str
    """Region of the workspace: Azure wants the rule group there."""
    workspace_id: pulumi.Input[str]
    """ARM id of the Azure Monitor workspace."""
    cluster_label: str
    """Only metrics with this value of label ``cluster`` are looked at."""
    rule_group_name: str
    action_group_name: str
    """Of the action group that is made for ``email``."""
    rules: Sequence[RuleArgs]
    action_group_ids: Sequence[str] = ()
    """ARM ids of action groups that exist."""
    email: Sequence[str] = ()
    """Addresses that an action group of its own tells."""
    collect_pyroscope: bool = False
    """Whether the cluster's metrics add-on is to collect Pyroscope's own metrics."""
    stack_mark: str | None = None
    """Of the stack that the PodMonitor is of; None: it is not marked."""
    tags: Mapping[str, str] | None = None
    rule_group_args: FurtherArgs | None = None
    """Further arguments of the ``alertsmanagement.PrometheusRuleGroup``."""
    action_group_args: FurtherArgs | None = None
    """Further arguments of the ``monitor.ActionGroup``."""


class Alerts(pulumi.ComponentResource):
    """The rule group. Needs the cluster's kubernetes provider for the PodMonitor."""

    TYPE = "gpuobs:index:Alerts"

    rule_group_id: pulumi.Output[str]
    """ARM id of the rule group."""

    def __init__(
        self, name: str, args: AlertsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(
            self.TYPE, name, component_inputs(args, leave_out={"rules", "stack_mark"}), opts
        )
        groups: list[pulumi.Input[str]] = [*args.action_group_ids]
        if args.email:
            groups.append(_action_group(self, name, args).id)
        group = alertsmanagement.PrometheusRuleGroup(
            f"{name}-rule-group",
            rule_group_name=args.rule_group_name,
            resource_group_name=args.resource_group_name,
            location=args.location,
            description="GPU memory, and whether it is measured.",
            # The workspace alone: the published specification takes one scope. The cluster is
            # chosen by its name, which every version of the service takes.
            scopes=[args.workspace_id],
            cluster_name=args.cluster_label,
            enabled=True,
            interval=INTERVAL,
            rules=[_rule(rule, groups) for rule in args.rules],
            tags=args.tags,
            opts=pulumi.ResourceOptions(
                parent=self, transformations=adding("rule_group_args", args.rule_group_args)
            ),
        )
        if args.collect_pyroscope:
            _pod_monitor(self, name, args, deleted_with(opts))
        self.rule_group_id = group.id
        self.register_outputs({"ruleGroupId": self.rule_group_id})


def _rule(
    rule: RuleArgs, groups: Sequence[pulumi.Input[str]]
) -> alertsmanagement.PrometheusRuleArgs:
    if rule.record is not None:
        return alertsmanagement.PrometheusRuleArgs(record=rule.record, expression=rule.expression)
    return alertsmanagement.PrometheusRuleArgs(
        alert=rule.alert,
        expression=rule.expression,
        enabled=True,
        for_=f"PT{rule.minutes}M" if rule.minutes else None,
        severity=rule.severity,
        labels=dict(rule.labels or {}),
        annotations=dict(rule.annotations or {}),
        actions=[
            alertsmanagement.PrometheusRuleGroupActionArgs(action_group_id=group)
            for group in groups
        ],
        resolve_configuration=alertsmanagement.PrometheusRuleResolveConfigurationArgs(
            auto_resolved=True, time_to_resolve=RESOLVED_AFTER
        ),
    )


def _action_group(parent: Alerts, name: str, args: AlertsArgs) -> monitor.ActionGroup:
    receivers = [
        monitor.MicrosoftCommonEmailReceiverArgs(
            # Distinct within a group.
            name=address,
            email_address=address,
            use_common_alert_schema=True,
        )
        for address in args.email
    ]
    return monitor.ActionGroup(
        f"{name}-action-group",
        action_group_name=args.action_group_name,
        resource_group_name=args.resource_group_name,
        location=EVERYWHERE,
        group_short_name=SHORT_NAME,
        enabled=True,
        email_receivers=receivers,
        tags=args.tags,
        opts=pulumi.ResourceOptions(
            parent=parent, transformations=adding("action_group_args", args.action_group_args)
        ),
    )


def _pod_monitor(
    parent: Alerts, name: str, args: AlertsArgs, cluster: pulumi.Resource | None
) -> None:
    labels = {
        "app.kubernetes.io/name": PYROSCOPE_SERVICE,
        "app.kubernetes.io/instance": PYROSCOPE_SERVICE,
    }
    CustomResource(
        f"{name}-pod-monitor",
        api_version=POD_MONITOR_API,
        kind="PodMonitor",
        metadata={
            "name": PYROSCOPE_SERVICE,
            "namespace": NAMESPACE,
            **marked(args.stack_mark),
        },
        spec={
            "selector": {"matchLabels": labels},
            "podMetricsEndpoints": [
                {"port": METRICS_PORT, "path": "/metrics", "interval": "30s"},
            ],
        },
        opts=pulumi.ResourceOptions(
            parent=parent,
            # Its name is fixed: a second one beside it is not possible.
            delete_before_replace=True,
            deleted_with=cluster,
        ),
    )
