"""Section ``alerts``: who is notified of what; off where nobody is named."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BeforeValidator

from alerts import CATALOGUE, AlertKey
from alerts.rules import AlertChoice
from infra.settings.section import Described, RuleViolation, Section, Text, Whole, refuse

MOST_ACTION_GROUPS = 5
MOST_ADDRESSES = 1000
"""Azure's limits: action groups of an alert rule, e-mail receivers of an action group."""

ActionGroupId = Annotated[
    str,
    Text(
        pattern=r"/subscriptions/[^/\s]+/resource[gG]roups/[^/\s]+/providers"
        r"/[mM]icrosoft\.[iI]nsights/action[gG]roups/[^/\s]+",
        rule="the ARM id of an action group",
        why="Azure would fire the alert and notify nobody.",
        fix="write what `az monitor action-group show --name NAME --resource-group GROUP "
        "--query id --output tsv` prints",
    ),
]
EmailAddress = Annotated[
    str,
    Text(
        pattern=r"[^@\s,;<>]+@[^@\s,;<>]+\.[^@\s,;<>]+",
        rule="one e-mail address",
        why="Azure sends it nothing.",
        fix="write it as in oncall@example.com, each in an entry of its own",
    ),
]
AlertMinutes = Annotated[
    int,
    Whole(
        minimum=0,
        maximum=1440,
        why="an alert that needs more than a day to fire notifies nobody in time.",
        fix="leave it out for the alert's own",
    ),
]


def _no_flag(value: object) -> object:
    if isinstance(value, bool):
        raise refuse(
            "a number",
            "YAML read it as true or false, which is no threshold.",
            "write a number, or `enabled: false` to turn the alert off",
        )
    return value


AlertThreshold = Annotated[float, BeforeValidator(_no_flag), Described("in the alert's own unit")]


class AlertRuleSettings(Section):
    """One alert; what is left out is the alert's own (`docs/users/alerts.md`)."""

    enabled: bool | None = None
    """Whether it is on."""
    threshold: AlertThreshold | None = None
    """From which value on it fires, for alerts that have a threshold."""
    minutes: AlertMinutes | None = None
    """How long it must hold before it fires."""


class AlertRulesSettings(Section):
    """The alerts, each with what is to differ from its defaults."""

    leak: AlertRuleSettings = AlertRuleSettings()
    """GPU memory of a process grows steadily; threshold in GB per hour."""
    full_soon: AlertRuleSettings = AlertRuleSettings()
    """A GPU is full soon; threshold in hours."""
    node_without_agent: AlertRuleSettings = AlertRuleSettings()
    """A node with GPUs has no running agent."""
    metrics_absent: AlertRuleSettings = AlertRuleSettings()
    """GPU pods run, and nothing is measured."""
    profiles_missing: AlertRuleSettings = AlertRuleSettings()
    """Metrics move, and no profile arrives."""
    profiles_discarded: AlertRuleSettings = AlertRuleSettings()
    """Pyroscope discards profiles; threshold in samples in 15 minutes."""
    upload_failing: AlertRuleSettings = AlertRuleSettings()
    """Pyroscope cannot store profiles in its bucket."""
    uploads_missing: AlertRuleSettings = AlertRuleSettings()
    """Pyroscope has stored nothing for twice as long as profiles take to its bucket (3 hours)."""
    compactor_failing: AlertRuleSettings = AlertRuleSettings()
    """Pyroscope's compactor never succeeds."""
    restarted: AlertRuleSettings = AlertRuleSettings()
    """Pyroscope crashed with profiles in memory."""
    near_capacity: AlertRuleSettings = AlertRuleSettings()
    """A GPU is nearly full; threshold in percent. Off where nothing is said."""

    def of(self, key: AlertKey) -> AlertRuleSettings:
        """What is said of one alert."""
        found = {
            field.alias: getattr(self, name) for name, field in type(self).model_fields.items()
        }
        return found[key.value]

    def rule_violations(self) -> Iterable[RuleViolation]:
        """A threshold where there is none, or one outside its range."""
        for alert in CATALOGUE:
            given = self.of(alert.key).threshold
            if given is None:
                continue
            at = f"{alert.key}.threshold"
            limits = alert.threshold
            if limits is None:
                yield RuleViolation(
                    fields=(at,),
                    value=given,
                    rule=f"`{alert.key}` has no threshold",
                    why="it fires where something is so, not from a value on.",
                    fix="leave it out; `minutes` says how long it must be so",
                )
            elif not limits.least <= given <= limits.most:
                yield RuleViolation(
                    fields=(at,),
                    value=given,
                    rule=f"a number from {limits.least:g} to {limits.most:g} ({limits.unit})",
                    why="the alert would fire always, or never.",
                    fix=f"leave it out for {limits.default:g}",
                )


class AlertsSettings(Section):
    """Whom Azure Monitor notifies, and of what. Off where neither group nor address is given."""

    action_groups: Sequence[ActionGroupId] = ()
    """ARM ids of action groups that exist and stay."""
    email: Sequence[EmailAddress] = ()
    """Addresses for an action group that the stack creates, and deletes."""
    cluster_label: str | None = None
    """Value of the metrics' label `cluster`, where the add-on's `cluster_alias` sets one; default:
    the cluster's name."""
    documentation_url: str | None = None
    """Where your people read this project's `docs/` folder: alerts link to their section in it."""
    rules: AlertRulesSettings = AlertRulesSettings()
    """Thresholds, and which alerts are on."""

    @property
    def on(self) -> bool:
        """Whether anybody is to be notified."""
        return bool(self.action_groups or self.email)

    @property
    def choices(self) -> dict[AlertKey, AlertChoice]:
        """What differs from the catalogue, by alert."""
        chosen = {key: self.rules.of(key) for key in AlertKey}
        return {
            key: AlertChoice(on=one.enabled, threshold=one.threshold, minutes=one.minutes)
            for key, one in chosen.items()
        }

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Azure's limits, and rules that would notify nobody."""
        groups = len(self.action_groups) + bool(self.email)
        if groups > MOST_ACTION_GROUPS:
            yield RuleViolation(
                fields=("actionGroups", "email"),
                rule=f"at most {MOST_ACTION_GROUPS} action groups, that of `email` counted; "
                f"not {groups}",
                why="Azure refuses an alert rule with more.",
                fix="name one action group with all receivers",
            )
        if len(self.email) > MOST_ADDRESSES:
            yield RuleViolation(
                fields=("email",),
                rule=f"at most {MOST_ADDRESSES} addresses",
                why="Azure refuses an action group with more e-mail receivers.",
                fix="write the address of a distribution list",
            )
        lowered = [address.lower() for address in self.email]
        if len(set(lowered)) < len(lowered):
            yield RuleViolation(
                fields=("email",),
                rule="each address once",
                why="Azure refuses an action group with two receivers of a name.",
                fix="leave the second out",
            )
        if not self.on and self.rules != AlertRulesSettings():
            yield RuleViolation(
                fields=("rules", "actionGroups", "email"),
                at="rules",
                rule="only with `actionGroups` or `email`",
                why="alerts are off where nobody is named, and these rules would notify nobody.",
                fix="write `email: [you@example.com]`, or leave `rules` out",
            )
