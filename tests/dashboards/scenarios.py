"""Scenarios with a known truth: a panel's query on synthetic series, on a real Prometheus."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from dashboards import DashboardOptions, build
from dashboards.panels import PanelId
from tests.dashboards.grafana import EVERYTHING, Choice, promql, target
from tests.dashboards.prometheus import Series, assert_samples

DASHBOARD: Final = build(
    DashboardOptions(
        uid="gpu", title="GPU memory", pyroscope_uid="pyroscope", prometheus_uid="prometheus"
    )
)


class Check(Protocol):
    """Evaluates a panel's query on series and compares everything that it answers."""

    def __call__(
        self,
        panel: PanelId,
        series: Series,
        at: str,
        expected: Mapping[str, float],
        *,
        ref_id: str = "A",
        chosen: Mapping[str, Choice] = EVERYTHING,
        time_range: str = "1h",
    ) -> None: ...


def check_in(folder: Path) -> Check:
    """Such a check, with its files in ``folder``."""

    def check(
        panel: PanelId,
        series: Series,
        at: str,
        expected: Mapping[str, float],
        *,
        ref_id: str = "A",
        chosen: Mapping[str, Choice] = EVERYTHING,
        time_range: str = "1h",
    ) -> None:
        expression = str(target(DASHBOARD, panel, ref_id)["expr"])
        sent = promql(expression, chosen, time_range=time_range)
        assert_samples(folder, series, sent, at, expected)

    return check
