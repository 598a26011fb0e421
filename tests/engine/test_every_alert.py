"""Every setting of every alert is seen in the rules that Azure then has.

One stack is changed three times; each alert's settings are read off the catalogue, so those of a
new one are tried without a row here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from alerts import CATALOGUE
from alerts.catalogue import Alert
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig
from tests.engine.changes import STACK
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

MINUTES = 17
THRESHOLD = 77
LAST = CATALOGUE[-2]
"""The one that is off at first and alone on at last; all others are the other way round."""
FIRST = [alert for alert in CATALOGUE if alert is not LAST]
each = pytest.mark.parametrize("alert", [pytest.param(one, id=one.key.value) for one in CATALOGUE])


@dataclass(frozen=True)
class Lives:
    """The alert rules and action groups, by their names, with one set of settings and the next."""

    before: dict[str, JsonObject]
    tuned: dict[str, JsonObject]
    last: dict[str, JsonObject]
    cluster: str
    address: object
    refused: Outcome
    """A preview with a threshold for each alert that has none."""


@pytest.fixture(scope="module")
def lives(sim: Simulation) -> Lives:
    first = {**_switched(FIRST, on=True), **_switched([LAST], on=False)}
    _set(sim, first, email=["oncall@example.com"])
    sim.up(STACK)
    before = _rules(sim)
    tuned = {
        alert.key.value: {
            "enabled": True,
            "minutes": MINUTES,
            **({"threshold": THRESHOLD} if alert.threshold else {}),
        }
        for alert in CATALOGUE
    }
    _set(
        sim,
        tuned,
        email=["night@example.com"],
        clusterLabel="alias",
        documentationUrl="https://example.com/docs",
    )
    sim.up(STACK)
    found, cluster, address = _rules(sim), _cluster(sim), _address(sim)
    _set(sim, {**_switched(FIRST, on=False), **_switched([LAST], on=True)}, email=["a@b.example"])
    sim.up(STACK)
    last = _rules(sim)
    bare = [alert for alert in CATALOGUE if alert.threshold is None]
    _set(sim, {one.key.value: {"threshold": 1} for one in bare}, email=["a@b.example"])
    return Lives(before, found, last, cluster, address, sim.preview(STACK, check=False))


def _switched(alerts: list[Alert], *, on: bool) -> dict[str, object]:
    return {alert.key.value: {"enabled": on} for alert in alerts}


def _set(sim: Simulation, rules: Mapping[str, object], **others: object) -> None:
    sim.stack_file(STACK, {"alerts": {"rules": rules, **others}})


def _group(sim: Simulation, kind: str) -> JsonObject:
    (found,) = [one for key, one in sim.resources().items() if f"/{kind}/" in key.lower()]
    return as_object(found["properties"])


def _rules(sim: Simulation) -> dict[str, JsonObject]:
    listed = as_objects(_group(sim, "prometheusrulegroups")["rules"])
    return {as_text(one["alert"]): one for one in listed if "alert" in one}


def _cluster(sim: Simulation) -> str:
    recorded, *_ = as_objects(_group(sim, "prometheusrulegroups")["rules"])
    return as_text(recorded["expression"])


def _address(sim: Simulation) -> object:
    receivers = as_list(_group(sim, "actiongroups")["emailReceivers"])
    return [as_object(one)["emailAddress"] for one in receivers]


@each
def test_an_alert_is_there_where_it_is_enabled_and_only_there(lives: Lives, alert: Alert) -> None:
    there = [alert.name in rules for rules in (lives.before, lives.last)]
    assert there == ([False, True] if alert is LAST else [True, False])


@each
def test_an_alert_must_hold_for_the_minutes_that_are_set(lives: Lives, alert: Alert) -> None:
    assert alert.minutes != MINUTES
    assert lives.tuned[alert.name]["for"] == f"PT{MINUTES}M"


@each
def test_a_threshold_is_what_the_rule_compares_with_and_refused_where_there_is_none(
    lives: Lives, alert: Alert
) -> None:
    if alert.threshold is None:
        assert not lives.refused.ok
        assert f"gpuobs:alerts.rules.{alert.key.value}.threshold" in lives.refused.output
    else:
        compared = re.compile(rf"[<>]=? {THRESHOLD}\b")
        assert compared.search(as_text(lives.tuned[alert.name]["expression"]))
        if alert is not LAST:
            assert not compared.search(as_text(lives.before[alert.name]["expression"]))


def test_the_rules_look_at_the_cluster_by_the_label_that_is_set(lives: Lives) -> None:
    assert 'cluster="alias"' in lives.cluster


def test_the_rules_link_to_the_documentation_that_is_set(lives: Lives) -> None:
    before, tuned = (
        as_text(dig(rules[FIRST[0].name], "annotations", "runbook_url"))
        for rules in (lives.before, lives.tuned)
    )
    assert before.startswith("docs/")
    assert tuned.startswith("https://example.com/docs/")


def test_the_action_group_writes_to_the_address_that_is_set(lives: Lives) -> None:
    assert lives.address == ["night@example.com"]
