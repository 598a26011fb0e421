"""From the catalogue to the rules of one stack: thresholds filled in, links and commands whole."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from alerts import expressions
from alerts.catalogue import CATALOGUE, About, Alert, AlertKey, Severity
from alerts.expressions import Scope
from contract.agent import METRICS_POD, NAMESPACE_LABEL
from contract.lines import line

PAGE: Final = "users/alerts.md"
"""The runbook, below the folder of the documentation."""
WINDOW: Final = "2h"
"""How far back links and commands look: an alert's hour, and one before it to compare."""


@dataclass(frozen=True, kw_only=True)
class AlertChoice:
    """What a stack says of one alert; None: the catalogue's own."""

    on: bool | None = None
    threshold: float | None = None
    minutes: int | None = None


@dataclass(frozen=True, kw_only=True)
class AlertOptions:
    """Whose alerts they are, and where their links lead."""

    stack: str
    """Name of the Pulumi stack, for commands."""
    cluster: str | None = None
    """The value of label ``cluster``; None: every cluster that the Prometheus has."""
    documentation_url: str | None = None
    """Where this project's ``docs/`` folder can be read; None: the file is named."""
    choices: Mapping[AlertKey, AlertChoice] = field(default_factory=dict[AlertKey, AlertChoice])
    upload_minutes: int = expressions.LATEST_UPLOAD_MINUTES
    """How old a profile is, at most, when it reaches the bucket."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule as Prometheus knows it: one that alerts, or one that records."""

    expression: str
    alert: str | None = None
    record: str | None = None
    minutes: int = 0
    severity: Severity | None = None
    """Of a rule that alerts."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    dashboard: str | None = None
    """What follows the dashboard's URL: its time range, and the pod of the alert's labels."""


def rules(options: AlertOptions) -> tuple[Rule, ...]:
    """What is recorded, then the alerts that are on, in the catalogue's order."""
    scope = Scope(options.cluster, options.upload_minutes)
    recorded = Rule(
        record=expressions.RECORDED_LIVE, expression=expressions.live_memory_of_processes(scope)
    )
    return (recorded, *(_rule(alert, options, scope) for alert in chosen(options)))


def chosen(options: AlertOptions) -> list[Alert]:
    """The alerts that are on."""
    return [
        alert
        for alert in CATALOGUE
        if (alert.on if (on := _choice(alert, options).on) is None else on)
    ]


def _choice(alert: Alert, options: AlertOptions) -> AlertChoice:
    return options.choices.get(alert.key, AlertChoice())


def _rule(alert: Alert, options: AlertOptions, scope: Scope) -> Rule:
    choice = _choice(alert, options)
    threshold = alert.threshold.default if alert.threshold is not None else 0
    if choice.threshold is not None:
        threshold = choice.threshold
    return Rule(
        alert=alert.name,
        expression=alert.expression(scope, threshold),
        minutes=alert.minutes if choice.minutes is None else choice.minutes,
        severity=alert.severity,
        labels={"severity": alert.severity.value},
        annotations={
            "summary": alert.summary,
            "description": alert.runbook.meaning,
            "command": command(alert, options.stack),
            "runbook_url": runbook(alert, options.documentation_url),
        },
        dashboard=_dashboard(alert),
    )


def command(alert: Alert, stack: str) -> str:
    """The command that shows the cause, as it runs in the project's folder: the runbook's first."""
    names = {
        "STACK": line(stack),
        "NAMESPACE": f"{{{{ $labels.{NAMESPACE_LABEL} }}}}",
        "POD": f"{{{{ $labels.{METRICS_POD} }}}}",
    }
    return re.sub(r"\b(STACK|NAMESPACE|POD)\b", lambda word: names[word[1]], alert.runbook.look[0])


def runbook(alert: Alert, documentation_url: str | None) -> str:
    """Where it is written what to do."""
    folder = "docs" if documentation_url is None else documentation_url.rstrip("/")
    return f"{folder}/{PAGE}#{alert.name.lower()}"


def _dashboard(alert: Alert) -> str:
    link = f"?from=now-{WINDOW}&to=now"
    if alert.about is About.POD:
        for variable, label in (("namespace", NAMESPACE_LABEL), ("pod", METRICS_POD)):
            link += f"&var-{variable}={{{{ $labels.{label} }}}}"
    return link
