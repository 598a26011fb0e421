"""Metrics through Grafana: what a range and its end answer, as one."""

import json

import httpx
import pytest

from memory.metrics import GrafanaSource
from operations.session import Session
from simulator.values import JsonObject, as_object, as_objects

LABELS = {"pid": "41"}


def frame(*points: tuple[float, float]) -> dict[str, object]:
    times, values = [1000 * at for at, _ in points], [value for _, value in points]
    fields = [{"name": "Time"}, {"name": "Value", "labels": LABELS}]
    return {"schema": {"fields": fields}, "data": {"values": [times, values]}}


def find(*_: object) -> None:
    """No data source to look up."""


def test_a_series_that_is_younger_than_a_step_is_there_with_its_last_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[JsonObject] = []

    def request(_: object, method: str, path: str, *__: object, **given: object) -> httpx.Response:
        assert (method, path) == ("POST", "/api/ds/query")
        asked.append(as_object(given["body"]))
        answer = {"results": {"A": {"frames": [frame((60, 1), (120, 2)), frame((150, 3))]}}}
        return httpx.Response(200, content=json.dumps(answer))

    monkeypatch.setattr("operations.grafana.Grafana.request", request)
    monkeypatch.setattr("operations.grafana.Grafana.find", find)
    with Session() as session:
        source = GrafanaSource(session, "https://grafana.example.com", "metrics")
        (series,) = source.range("sum by (pid) (up)", 60, 150)
    assert series.labels == LABELS
    assert series.points == [(60, 1), (120, 2), (150, 3)]
    (query,) = as_objects(asked[0]["queries"])
    assert query["range"] is query["instant"] is True
