"""Every query of the dashboard is one that a running Prometheus accepts and answers."""

import re
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.dashboards import prometheus
from tests.dashboards.grafana import (
    ALL,
    EVERYTHING,
    Choice,
    expressions,
    mapping,
    promql,
    variables,
)
from tests.dashboards.prometheus import counter
from tests.dashboards.scenarios import DASHBOARD
from tools.provide import PROMTOOL, ToolError, provide

pytestmark = pytest.mark.prometheus

EXPRESSIONS = dict(expressions(DASHBOARD))
NOTHING_IN_A_QUIET_HOUR = (
    "Agent restarted: memory lost from sight",
    "Processes that ended in this range",
)
NOW = int(time.time()) // 60 * 60
BEGIN = NOW - 3600


def samples() -> list[str]:
    """An hour of counters in OpenMetrics, a sample a minute, family by family."""
    processes = {
        ("aks-dev", "inference", "vllm-0"): 1,
        ("aks-dev", "batch", "trainer-0"): 2,
        ("aks-prod", "inference", "llama-3.1-0"): 4,
    }
    lines: list[str] = []
    for kind, share in (("alloc", 8), ("free", 2), ("implicit_free", 1)):
        lines.append(f"# TYPE mem_{kind}_bytes counter")
        for (cluster, namespace, pod), weight in processes.items():
            name = counter(kind, cluster=cluster, k8s_namespace=namespace, k8s_podname=pod)
            lines += [
                f"{name} {share * weight * minute} {BEGIN + 60 * minute}" for minute in range(61)
            ]
    for figure, mib in (("USED", 9000), ("FREE", 71_000)):
        lines.append(f"# TYPE DCGM_FI_DEV_FB_{figure} gauge")
        for cluster, namespace, pod in processes:
            device = f'cluster="{cluster}",Hostname="node-1",gpu="0",UUID="{cluster}"'
            labels = f'{device},modelName="A100",exported_namespace="{namespace}"'
            lines += [
                f'DCGM_FI_DEV_FB_{figure}{{{labels},exported_pod="{pod}"}} {mib} '
                f"{BEGIN + 60 * minute}"
                for minute in range(61)
            ]
    for metric, first, last in (
        ("status_restarts_total", 0, 2),
        ("status_last_terminated_reason", 1, 1),
        ("state_started", BEGIN - 60, BEGIN + 1800),
    ):
        # The total is a gauge here, as OpenMetrics wants a counter's name without it.
        lines.append(f"# TYPE kube_pod_container_{metric} gauge")
        for cluster, namespace, pod in processes:
            labels = f'cluster="{cluster}",namespace="{namespace}",pod="{pod}",container="main"'
            if metric.endswith("reason"):
                labels += ',reason="OOMKilled"'
            lines += [
                f"kube_pod_container_{metric}{{{labels}}} {first if minute < 30 else last} "
                f"{BEGIN + 60 * minute}"
                for minute in range(30 if metric.endswith("reason") else 0, 61)
            ]
    return lines


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[prometheus.Server]:
    with prometheus.serving(tmp_path_factory.mktemp("prometheus"), samples()) as running:
        yield running


@pytest.fixture(scope="module")
def empty_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[prometheus.Server]:
    with prometheus.serving(tmp_path_factory.mktemp("empty"), []) as running:
        yield running


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(EVERYTHING, id="all"),
        pytest.param({"cluster": "aks-dev", "namespace": "batch", "pod": "trainer-0"}, id="one"),
        pytest.param(
            {
                "cluster": ["aks-dev", "aks-prod"],
                "namespace": ["batch", "inference"],
                "pod": ["llama-3.1-0", "vllm-0"],
            },
            id="several",
        ),
    ],
)
def test_every_expression_is_answered_over_time_and_at_once(
    server: prometheus.Server,
    empty_server: prometheus.Server,
    name: str,
    chosen: dict[str, Choice],
) -> None:
    expression = promql(EXPRESSIONS[name], chosen)
    found = server.range(expression, BEGIN, NOW)
    assert server.instant(expression, NOW) or name.startswith(NOTHING_IN_A_QUIET_HOUR)
    assert all(value >= 0 for value in prometheus.values(found)), f"{name} is negative"
    # Without data counts are 0 and everything else is empty; neither is an error.
    empty = prometheus.values(empty_server.range(expression, BEGIN, NOW))
    assert set(empty) == ({0.0} if "vector(0)" in expression else set())


def offered(server: prometheus.Server, variable: str, **chosen: Choice) -> list[str]:
    """The values that Grafana offers for a variable, given what is chosen before it."""
    query = mapping(variables(DASHBOARD)[variable]["query"])["query"]
    parsed = re.fullmatch(r"label_values\((.*), (\w+)\)", str(query))
    assert parsed, f"{variable} is not a label query: {query}"
    selector = promql(parsed[1], dict(EVERYTHING) | chosen)
    return server.label_values(parsed[2], selector, BEGIN, NOW)


def test_the_variables_offer_what_the_choices_before_them_leave(
    server: prometheus.Server,
) -> None:
    assert offered(server, "cluster") == ["aks-dev", "aks-prod"]
    assert offered(server, "namespace", cluster=ALL) == ["batch", "inference"]
    assert offered(server, "namespace", cluster="aks-prod") == ["inference"]
    assert offered(server, "pod") == ["llama-3.1-0", "trainer-0", "vllm-0"]
    assert offered(server, "pod", cluster="aks-dev") == ["trainer-0", "vllm-0"]
    assert offered(server, "pod", cluster="aks-dev", namespace="batch") == ["trainer-0"]
    assert offered(server, "pod", namespace=["batch", "inference"]) == [
        "llama-3.1-0",
        "trainer-0",
        "vllm-0",
    ]


def test_the_variables_offer_nothing_where_there_is_no_data(
    empty_server: prometheus.Server,
) -> None:
    for variable in ("cluster", "namespace", "pod"):
        assert offered(empty_server, variable) == []


def test_where_there_is_no_prometheus_and_none_can_be_built_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ToolError, match="apt-get install prometheus"):
        provide(PROMTOOL)
