"""What Azure Monitor takes as a Prometheus rule group, and what it would refuse.

Source: the published specification of Azure's Prometheus rule groups (2023-03-01: 1 to 20 rules, 10
labels a rule, severity 1 to 4, interval of 1 to 15 minutes, annotations and labels of at most 1024
characters) and Azure Monitor's service limits (20 rules a group, which nobody can raise).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from alerts.catalogue import Severity
from alerts.rules import Rule

MOST_RULES: Final = 20
MOST_LABELS: Final = 10
MOST_CHARACTERS: Final = 1024
"""Of the value of an annotation or a label."""

SEVERITIES: Final[Mapping[Severity, int]] = {
    Severity.CRITICAL: 1,
    Severity.WARNING: 2,
    Severity.INFO: 3,
}
"""Azure's numbers; 0 is left out, as not every version of the service takes it."""


def azure_violations(rules: Sequence[Rule]) -> Iterator[str]:
    """A sentence for each limit of a rule group that ``rules`` exceed."""
    if not 1 <= len(rules) <= MOST_RULES:
        yield f"a rule group of Azure has 1 to {MOST_RULES} rules, not {len(rules)}"
    for rule in rules:
        name = rule.alert or rule.record
        if len(rule.labels) > MOST_LABELS:
            yield f"{name} has {len(rule.labels)} labels; Azure takes {MOST_LABELS}"
        lowered = [label.lower() for label in rule.labels]
        if len(set(lowered)) < len(lowered):
            yield f"{name} has labels that differ in case alone, which Azure takes for one"
        for key, value in (*rule.labels.items(), *rule.annotations.items()):
            if len(value) > MOST_CHARACTERS:
                yield (f"{name}: {key} has {len(value)} characters; Azure takes {MOST_CHARACTERS}")
