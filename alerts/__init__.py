"""Alerts as code: what is worth telling somebody, as Prometheus rules. No network, no Pulumi.

:data:`~alerts.catalogue.CATALOGUE` is the list; :func:`rules` makes rules of it for one stack;
:mod:`alerts.prometheus` writes them for a Prometheus of one's own, and :func:`azure_violations`
says what Azure Monitor would refuse. ``python -m alerts.page`` writes the runbook,
``docs/users/alerts.md``.
"""

from alerts.azure import azure_violations
from alerts.catalogue import CATALOGUE, AlertKey
from alerts.rules import AlertOptions, Rule, rules

__all__ = [
    "CATALOGUE",
    "AlertKey",
    "AlertOptions",
    "Rule",
    "azure_violations",
    "rules",
]
