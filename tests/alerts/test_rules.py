"""What every rule carries: links, commands, thresholds, and the limits of Azure."""

import re
from dataclasses import replace

import pytest
import yaml

from alerts import CATALOGUE, AlertOptions, Rule, azure_violations, rules
from alerts.catalogue import AlertKey
from alerts.page import PAGE, page
from alerts.prometheus import prometheus_file
from alerts.rules import AlertChoice
from tests.alerts.twins import EVERYTHING

OPTIONS = AlertOptions(stack="dev", cluster="aks-dev", choices=EVERYTHING)
ALERTS = [rule for rule in rules(OPTIONS) if rule.alert is not None]


def test_what_is_off_by_default_is_near_capacity_alone() -> None:
    standing = {rule.alert for rule in rules(AlertOptions(stack="dev"))}
    assert {alert.name for alert in CATALOGUE} - standing == {"GpuMemoryNearCapacity"}


@pytest.mark.parametrize("on", [True, False])
def test_each_alert_can_be_turned_on_and_off(on: bool) -> None:
    for one in CATALOGUE:
        chosen = rules(AlertOptions(stack="dev", choices={one.key: AlertChoice(on=on)}))
        assert (one.name in {rule.alert for rule in chosen}) is on


def test_a_threshold_and_a_duration_of_ones_own_are_in_the_rule() -> None:
    choices = {AlertKey.LEAK: AlertChoice(threshold=3.5, minutes=20)}
    (rule,) = [
        one
        for one in rules(AlertOptions(stack="dev", choices=choices))
        if one.alert == "GpuMemoryLeak"
    ]
    assert rule.minutes == 20
    assert ">= 3.5" in rule.expression


def test_without_a_cluster_every_series_of_the_prometheus_is_looked_at() -> None:
    for rule in rules(AlertOptions(stack="dev", choices=EVERYTHING)):
        assert 'cluster="' not in rule.expression


def test_with_a_cluster_every_selector_names_it() -> None:
    for rule in rules(replace(OPTIONS, cluster='a"b')):
        selectors = re.findall(
            r"\b(?:mem_|kube_|pyroscope_|DCGM_|process_start|gpubs:|gpuobs:)"
            r"[A-Za-z_:]*(\{[^}]*\})?",
            rule.expression,
        )
        assert selectors
        assert all('cluster="a\\"b"' in selector for selector in selectors), rule.expression


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule.alert))
def test_an_alert_carries_summary_command_and_runbook(rule: Rule) -> None:
    assert rule.annotations["summary"]
    shown = rule.annotations["command"]
    assert not re.search(r"\b(STACK|NAMESPACE|POD)\b", shown), shown
    assert shown.startswith("kubectl ") or " --stack dev" in shown
    assert rule.annotations["runbook_url"].endswith(f"users/alerts.md#{str(rule.alert).lower()}")
    assert rule.dashboard is not None
    assert rule.dashboard.startswith("?from=now-2h&to=now")


def test_a_stack_with_a_space_in_its_name_is_quoted_in_the_command() -> None:
    named = [rule.annotations["command"] for rule in rules(AlertOptions(stack="my stack"))[1:]]
    of_stack = [one for one in named if "--stack" in one]
    assert of_stack
    assert all("--stack 'my stack'" in one for one in of_stack)


def test_the_command_of_a_leak_explains_its_own_pod_and_that_of_a_server_shows_its_log() -> None:
    commands = {str(rule.alert): rule.annotations["command"] for rule in ALERTS}
    assert commands["GpuMemoryLeak"].endswith("--window 2h --pod {{ $labels.k8s_podname }}")
    assert (
        " logs --selector app.kubernetes.io/instance=pyroscope "
        in (commands["PyroscopeUploadFailing"])
    )


def test_labels_that_a_summary_names_are_those_of_its_expression() -> None:
    for alert in CATALOGUE:
        (rule,) = [one for one in ALERTS if one.alert == alert.name]
        text = " ".join((*rule.annotations.values(), rule.dashboard or ""))
        for label in set(re.findall(r"\$labels\.(\w+)", text)):
            known = label in rule.expression or label in ("gpu", "Hostname", "pid")
            assert known or "gpuobs:" in rule.expression, (alert.name, label)


# --- Azure -------------------------------------------------------------------------------------


def test_all_alerts_together_fit_into_one_rule_group_of_azure() -> None:
    url = "https://docs.example.com/" + "x" * 100
    assert list(azure_violations(rules(replace(OPTIONS, documentation_url=url)))) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([Rule(expression="1", alert="A")] * 21, "20 rules, not 21"),
        ([], "not 0"),
        ([Rule(expression="1", alert="A", labels={f"l{n}": "" for n in range(11)})], "11 labels"),
        ([Rule(expression="1", alert="A", labels={"a": "", "A": ""})], "differ in case"),
        ([Rule(expression="1", alert="A", annotations={"a": "x" * 1025})], "1025 characters"),
    ],
)
def test_what_azure_refuses_is_said_before_it_is_asked(made: list[Rule], said: str) -> None:
    (violation,) = azure_violations(made)
    assert said in violation


# --- the file and the page ---------------------------------------------------------------------


def test_the_file_holds_every_rule_and_reads_well() -> None:
    text = prometheus_file(rules(OPTIONS), "https://grafana/d/gpu")
    (group,) = yaml.safe_load(text)["groups"]
    assert [rule.get("alert") for rule in group["rules"]] == [None, *(one.alert for one in ALERTS)]
    assert all(rule["annotations"]["dashboard"] for rule in group["rules"][1:])
    assert "expr: |" in text
    assert "dashboard" not in prometheus_file(rules(OPTIONS))


def test_the_runbook_is_in_step_and_has_a_section_for_every_alert() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page()
    sections = dict(part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    assert list(sections) == [alert.name for alert in CATALOGUE]
    for name, section in sections.items():
        assert all(f"**{what}.**" in section for what in ("Not this", "Look", "Fix")), name
        commands = re.findall(r"```sh\n(.*?)\n```", section, re.DOTALL)
        assert commands
        for line in "\n".join(commands).splitlines():
            assert re.match(r"python -m gpuobs [a-z]+ --stack STACK|kubectl ", line), line


def test_uploads_are_missed_sooner_where_blocks_are_shorter() -> None:
    """Twice as long as a profile takes to the bucket, whatever `storage.lossWindow` makes it."""

    def expression(minutes: int) -> str:
        options = AlertOptions(stack="dev", choices=EVERYTHING, upload_minutes=minutes)
        (found,) = [one for one in rules(options) if one.alert == "PyroscopeUploadsMissing"]
        return found.expression

    assert "[3h]" in expression(85)
    assert "[90m] offset 90m" in expression(85)
    assert "[80m]" in expression(40)
    assert "[40m] offset 40m" in expression(40)
    assert expression(40).count("80m") == 2
