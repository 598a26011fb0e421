"""The rules as a file for a Prometheus of one's own (``rule_files``)."""

from collections.abc import Iterable

import yaml

from alerts.rules import Rule

GROUP = "gpuobs"
_INTERVAL = "1m"


def prometheus_file(rules: Iterable[Rule], dashboard_url: str | None = None) -> str:
    """The text of a rules file with one group, evaluated every minute.

    ``dashboard_url`` is ``https://.../d/<uid>``; without it the alerts link to no dashboard.
    """
    group = {
        "name": GROUP,
        "interval": _INTERVAL,
        "rules": [_rule(rule, dashboard_url) for rule in rules],
    }
    return yaml.dump({"groups": [group]}, Dumper=_Dumper, sort_keys=False, width=1000)


def _rule(rule: Rule, dashboard_url: str | None) -> dict[str, object]:
    if rule.record is not None:
        return {"record": rule.record, "expr": rule.expression}
    written: dict[str, object] = {"alert": rule.alert, "expr": rule.expression}
    if rule.minutes:
        written["for"] = f"{rule.minutes}m"
    annotations = {**rule.annotations}
    if dashboard_url is not None and rule.dashboard is not None:
        annotations["dashboard"] = f"{dashboard_url}{rule.dashboard}"
    return {**written, "labels": {**rule.labels}, "annotations": annotations}


class _Dumper(yaml.SafeDumper):
    """Expressions over several lines as blocks, to be read."""


def _text(_: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
