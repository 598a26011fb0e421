"""Prometheus rule groups and action groups; both synchronous.

``Microsoft.AlertsManagement/prometheusRuleGroups``: the published specification of 2023-03-01
(``PrometheusRuleGroups.json`` and ``definitions/prometheusRuleGroupProperties.json``): one scope, 1
to 20 rules, each with an expression and exactly one of ``alert`` and ``record``, names of labels
and annotations, texts of at most 1024 characters, 10 labels, severity 1 to 4 (a later edition says
0 to 4; the narrower one is held), an interval of 1 to 15 minutes, a time to resolve where alerts
resolve themselves. Azure Monitor's page on rule groups: the group is in its workspace's region.

``Microsoft.Insights/actionGroups``: ``actionGroups_API.json`` of 2023-01-01 and
2024-10-01-preview: short names of at most 12 characters, names of receivers distinct in a group,
a receiver's status the service's.

Codes and sentences of the refusals are not published; these are this simulator's.
"""

import re
from collections.abc import Iterator

from simulator.arm import schema
from simulator.arm.errors import bad_request
from simulator.arm.ids import parse_text
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.values import JsonObject, as_list, as_number, as_object, as_objects, as_text, texts
from simulator.world import Resource

WORKSPACE = "Microsoft.Monitor/accounts"
MOST_RULES = 20
MOST_LABELS = 10
MOST_CHARACTERS = 1024
MOST_SHORT_NAME = 12
QUARTER_HOUR = 900
EVERYWHERE = "global"
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]{0,1023}")
_ANNOTATION = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,1023}")
_ALERT = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_DURATION = re.compile(r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?")


class PrometheusRuleGroups(ResourceType):
    """``Microsoft.AlertsManagement/prometheusRuleGroups``."""

    type = "Microsoft.AlertsManagement/prometheusRuleGroups"
    versions = ("2023-03-01",)
    name_pattern = r"[^:@/#{}%&+*<>?\\]{1,260}"
    synchronous = AT_ONCE
    schema = schema.envelope(
        schema.record(
            {
                "description": schema.text(),
                "enabled": schema.flag(),
                "clusterName": schema.text(),
                "scopes": schema.items(schema.text(), required=True),
                "interval": schema.text(),
                "rules": schema.items(
                    schema.record(
                        {
                            "record": schema.text(),
                            "alert": schema.text(),
                            "enabled": schema.flag(),
                            "expression": schema.text(required=True),
                            "labels": schema.mapping(),
                            "severity": schema.integer(),
                            "for": schema.text(),
                            "annotations": schema.mapping(),
                            "actions": schema.items(
                                schema.record(
                                    {
                                        "actionGroupId": schema.text(),
                                        "actionProperties": schema.mapping(),
                                    }
                                )
                            ),
                            "resolveConfiguration": schema.record(
                                {"autoResolved": schema.flag(), "timeToResolve": schema.text()}
                            ),
                        }
                    ),
                    required=True,
                ),
            },
            required=True,
        )
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """The specification's limits, and a workspace that exists in the same region."""
        found = next(self._problems(new), None)
        if found is not None:
            raise bad_request(found, "BadRequest")

    def _problems(self, new: Resource) -> Iterator[str]:
        properties = new.properties
        scopes = texts(properties.get("scopes"))
        # One workspace, and beside it the cluster that the rules are about, as the Azure CLI sends
        # them (azure-cli 2.91, azuremonitormetrics/recordingrules/create.py).
        clusters = [one for one in scopes[1:] if _is_cluster(one)]
        if len(scopes) - len(clusters) != 1 or len(clusters) > 1:
            yield f"scopes must have exactly 1 workspace, and at most 1 cluster: {scopes}."
            return
        workspace = self.world.get(scopes[0])
        if workspace is None or workspace.type.lower() != WORKSPACE.lower():
            yield f"The scope '{scopes[0]}' is not an Azure Monitor workspace that exists."
            return
        here, there = (as_text(one.body.get("location")) for one in (new, workspace))
        if here.replace(" ", "").lower() != there.replace(" ", "").lower():
            yield f"The rule group's location '{here}' differs from its workspace's, '{there}'."
        yield from _not_between(properties.get("interval"), "interval", 60, QUARTER_HOUR)
        rules = as_objects(properties.get("rules"))
        if not 1 <= len(rules) <= MOST_RULES:
            yield f"rules must have 1 to {MOST_RULES} items, not {len(rules)}."
        for index, rule in enumerate(rules):
            yield from _rule_problems(rule, f"rules[{index}]")


def _rule_problems(rule: JsonObject, where: str) -> Iterator[str]:
    if ("alert" in rule) == ("record" in rule):
        yield f"{where} must have exactly one of alert and record."
    for name in ("alert", "record"):
        if name in rule and not _ALERT.fullmatch(as_text(rule[name])):
            yield f"{where}.{name} must be a valid metric name."
    if not as_text(rule.get("expression")).strip():
        yield f"{where}.expression must not be empty."
    labels = as_object(rule.get("labels"))
    if len(labels) > MOST_LABELS:
        yield f"{where}.labels must have at most {MOST_LABELS} properties, not {len(labels)}."
    yield from _texts_problems(labels, _LABEL, f"{where}.labels")
    yield from _texts_problems(
        as_object(rule.get("annotations")), _ANNOTATION, f"{where}.annotations"
    )
    if "severity" in rule and not 1 <= as_number(rule["severity"]) <= 4:
        yield f"{where}.severity must be between 1 and 4."
    yield from _not_between(rule.get("for"), f"{where}.for", 0, None)
    resolve = as_object(rule.get("resolveConfiguration"))
    if resolve.get("autoResolved") is True and "timeToResolve" not in resolve:
        yield f"{where}.resolveConfiguration.timeToResolve is required with autoResolved."
    at = f"{where}.resolveConfiguration.timeToResolve"
    yield from _not_between(resolve.get("timeToResolve"), at, 60, QUARTER_HOUR)


def _texts_problems(given: JsonObject, name: re.Pattern[str], where: str) -> Iterator[str]:
    for key, value in given.items():
        if not name.fullmatch(key):
            yield f"{where} has the name '{key}', which does not match {name.pattern}."
        if len(as_text(value)) > MOST_CHARACTERS:
            yield f"{where}.{key} must have at most {MOST_CHARACTERS} characters."


def _is_cluster(scope: str) -> bool:
    found = parse_text(scope)
    return found is not None and found.type.lower() == "microsoft.containerservice/managedclusters"


def _not_between(value: object, where: str, least: int, most: int | None) -> Iterator[str]:
    """What is wrong with an ISO 8601 duration; seconds are the unit of the limits."""
    if value is None:
        return
    match = _DURATION.fullmatch(as_text(value))
    if match is None:
        yield f"{where} must be an ISO 8601 duration, not '{value}'."
        return
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if total < least or (most is not None and total > most):
        limits = f"between {least} and {most}" if most is not None else f"at least {least}"
        yield f"{where} must be {limits} seconds, not {total}."


_RECEIVERS = (
    "armRoleReceivers",
    "automationRunbookReceivers",
    "azureAppPushReceivers",
    "azureFunctionReceivers",
    "emailReceivers",
    "eventHubReceivers",
    "incidentReceivers",
    "itsmReceivers",
    "logicAppReceivers",
    "smsReceivers",
    "voiceReceivers",
    "webhookReceivers",
)


class ActionGroups(ResourceType):
    """``Microsoft.Insights/actionGroups``."""

    type = "Microsoft.Insights/actionGroups"
    versions = ("2023-01-01", "2024-10-01-preview")
    synchronous = AT_ONCE
    schema = schema.envelope(
        schema.record(
            {
                "groupShortName": schema.text(required=True),
                "enabled": schema.Field("flag", required=True),
                **{name: schema.items(schema.anything()) for name in _RECEIVERS},
                "emailReceivers": schema.items(
                    schema.record(
                        {
                            "name": schema.text(required=True),
                            "emailAddress": schema.text(required=True),
                            "useCommonAlertSchema": schema.flag(default=False),
                            **schema.computed("status"),
                        }
                    )
                ),
            },
            required=True,
        ),
        identity=schema.anything(),
    )

    def check_location(self, call: Call, wanted: str, old: Resource | None) -> None:
        """``Global`` is one of its locations (the specification's own examples have it)."""
        before = as_text(old.body.get("location")) if old else wanted
        if {wanted.lower(), before.lower()} != {EVERYWHERE}:
            super().check_location(call, wanted, old)

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """A short name, and receivers that can be told apart."""
        short = as_text(new.properties.get("groupShortName"))
        if not 1 <= len(short) <= MOST_SHORT_NAME:
            raise bad_request(
                f"groupShortName must have 1 to {MOST_SHORT_NAME} characters, not {len(short)}.",
                "InvalidActionGroup",
            )
        names = [
            as_text(receiver.get("name")).lower()
            for kind in _RECEIVERS
            for receiver in as_objects(new.properties.get(kind))
        ]
        if len(set(names)) < len(names):
            raise bad_request(
                "Names of receivers must be unique within an action group.", "InvalidActionGroup"
            )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Every kind of receiver is answered, and each receiver is enabled."""
        for kind in _RECEIVERS:
            new.properties.setdefault(kind, [])
        for receiver in as_list(new.properties["emailReceivers"]):
            as_object(receiver)["status"] = "Enabled"
