"""Section ``prometheus``: where the agent's metrics are read from; may be left out."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from contract.azure import MONITOR_WORKSPACE
from infra.settings.existing import ExistingResource
from infra.settings.section import (
    Described,
    RuleViolation,
    Section,
    exactly_one,
    one_required,
    refuse,
)
from infra.settings.types import MonitorWorkspaceName


def _plain_url(value: object) -> object:
    if isinstance(value, str) and "@" in value.partition("://")[2].partition("/")[0]:
        raise refuse(
            "no user name or password in the URL",
            "the URL is kept in plain text in the stack's state and in Grafana.",
            "leave them out; give Grafana its credentials in Grafana",
        )
    if isinstance(value, str) and not re.fullmatch(
        r"https?://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?"
        r"(/[^\s?#]*)?",
        value,
    ):
        raise refuse(
            "a URL that starts with http:// or https://, with a host, no query and no space",
            "Grafana could not ask Prometheus, and every metrics panel would be empty.",
            "write e.g. https://prometheus.example.com",
        )
    return value


PlainUrl = Annotated[
    str,
    BeforeValidator(_plain_url),
    Described("an http(s) URL without user name, query or space"),
]


class ExistingAzureMonitorWorkspace(ExistingResource):
    """An Azure Monitor workspace this stack uses and never changes or deletes."""

    TYPE = MONITOR_WORKSPACE

    name: MonitorWorkspaceName | None = None
    """Name of the workspace."""


class NewAzureMonitorWorkspace(Section):
    """An Azure Monitor workspace that the stack creates and deletes."""

    name: MonitorWorkspaceName | None = None
    """Name of the workspace; default: derived from the stack."""


class Collect(StrEnum):
    """Whether the stack collects the cluster's metrics."""

    AUTO = "auto"
    YES = "true"
    NO = "false"


def _switch(value: object) -> object:
    """YAML reads ``true`` and ``false`` as booleans."""
    if isinstance(value, bool):
        return Collect.YES if value else Collect.NO
    return value


_COLLECT_SCHEMA = WithJsonSchema({"enum": ["auto", True, False]})


class AzureMonitorWorkspaceSettings(Section):
    """Azure Monitor's managed Prometheus."""

    model_config = one_required("existing", "create")

    existing: ExistingAzureMonitorWorkspace | None = None
    """A workspace that is there already; it stays when the stack goes."""
    create: NewAzureMonitorWorkspace | None = None
    """A workspace that the stack creates, and deletes with its metrics; `{}` for the defaults."""
    collect: Annotated[Collect, BeforeValidator(_switch), _COLLECT_SCHEMA] = Collect.AUTO
    """Whether the stack makes the collection rule (endpoint, rule, associations) that brings the
    cluster's metrics to the workspace. `auto`: it does unless a rule of somebody else's brings them
    there already, for example that of `az aks update --enable-azure-monitor-metrics`; a rule that
    the stack has made stays. `true`: in any case. `false`: never."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Either an existing workspace or a new one."""
        yield from exactly_one(
            self,
            "existing",
            "create",
            why="the stack must know where the metrics are, and whether destroying it deletes "
            "them.",
            fix="write `existing: { name: NAME, resourceGroup: GROUP }` or `create: {}`, or leave "
            "section gpuobs:prometheus out for no metrics",
        )


class PrometheusSettings(Section):
    """One of an Azure Monitor workspace or a plain Prometheus URL; neither: no metrics."""

    azure_monitor_workspace: AzureMonitorWorkspaceSettings | None = None
    """Azure Monitor's managed Prometheus."""
    url: PlainUrl | None = None
    """A Prometheus of your own that Grafana can reach and that needs no credentials."""

    @property
    def has_metrics(self) -> bool:
        """Whether there is any Prometheus to show."""
        return self.azure_monitor_workspace is not None or self.url is not None

    def rule_violations(self) -> Iterable[RuleViolation]:
        """At most one source of metrics."""
        if self.azure_monitor_workspace is not None and self.url is not None:
            yield RuleViolation(
                fields=("azureMonitorWorkspace", "url"),
                rule="at most one of `azureMonitorWorkspace` and `url`; both are set",
                why="the dashboard reads its metrics from one source.",
                fix="leave one of them out",
            )
