"""The plugin ``grafana-pyroscope-datasource``: flame graphs and series from a Pyroscope server.

The server is reached only through an approved and refreshed managed private endpoint of the
workspace whose private address is the host of the source's URL
(:func:`simulator.signals.reachable_pyroscope`); from a Grafana that runs in a cluster, by the name
of a Service there.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator import signals
from simulator.grafana import own
from simulator.grafana.frames import Column, frame
from simulator.grafana.sources import SourceError, TimeRange, dial_error, source_url
from simulator.grafana.workspace import Workspace
from simulator.http import Request, Response
from simulator.prometheus.selectors import parse_selector
from simulator.pyroscope import api as pyroscope
from simulator.values import JsonObject, as_object, as_objects, as_text, texts

_QUERIER = "/querier.v1.QuerierService"
_UNITS = {"nanoseconds": "ns", "count": "short"}


class _Query(BaseModel):
    """A query of the plugin; unknown fields are ignored, like by it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    query_type: str = Field(default="", alias="queryType")
    profile_type: str = Field(default="", alias="profileTypeId")
    label_selector: str = Field(default="", alias="labelSelector")
    group_by: tuple[str, ...] = Field(default=(), alias="groupBy")
    max_nodes: int | None = Field(default=None, alias="maxNodes")
    interval_ms: float = Field(default=0, alias="intervalMs")


class _Number(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Level(_Number):
    values: list[int]


class _FlameGraph(_Number):
    names: list[str] = Field(default_factory=list[str])
    levels: list[_Level] = Field(default_factory=list[_Level])


class _Merged(_Number):
    flamegraph: _FlameGraph = _FlameGraph()


class _Label(_Number):
    name: str
    value: str


class _Point(_Number):
    value: float = 0
    timestamp: int = 0


class _OneSeries(_Number):
    labels: list[_Label] = Field(default_factory=list[_Label])
    points: list[_Point] = Field(default_factory=list[_Point])


class _AllSeries(_Number):
    series: list[_OneSeries] = Field(default_factory=list[_OneSeries])


_Answer = TypeVar("_Answer", bound=BaseModel)


class PyroscopeSource:
    """A Pyroscope source in use."""

    def __init__(self, workspace: Workspace, source: JsonObject) -> None:
        self._workspace = workspace
        self._url = source_url(source)

    def forward(self, request: Request, path: str) -> Response:
        """Answer through the proxy."""
        cluster_id = self._reach()
        if cluster_id is None:
            return Response(502, b"", {"Content-Type": "text/plain; charset=utf-8"})
        return pyroscope.answer(self._workspace.world, cluster_id, path, request)

    def check(self) -> str:
        """Only that ProfileTypes answers; never that data exists."""
        self._call("ProfileTypes", _last_hour())
        return "Data source is working"

    def query(self, query: JsonObject, window: TimeRange) -> list[JsonObject]:
        """Frames by query type: ``metrics``, ``profile`` or ``both``."""
        try:
            asked = _Query.model_validate(query)
        except ValidationError as error:
            raise SourceError(400, f"error unmarshaling query model: {error}") from error
        frames: list[JsonObject] = []
        if asked.query_type in ("metrics", "both"):
            frames.extend(self._series(asked, window))
        if asked.query_type in ("profile", "both"):
            frames.append(self._flame_graph(asked, window))
        return frames

    def resource(self, request: Request, path: str) -> Response:
        """``profileTypes``, ``labelNames`` and ``labelValues``."""
        window: JsonObject = {
            "start": request.query.get("start") or "0",
            "end": request.query.get("end") or "0",
        }
        selector = request.query.get("query") or "{}"
        try:
            match path.strip("/"):
                case "profileTypes":
                    start = window if window["start"] != "0" else _last_hour()
                    kinds = as_objects(self._call("ProfileTypes", start).get("profileTypes"))
                    return Response(200, [_kind(kind) for kind in kinds])
                case "labelNames":
                    answer = self._call("LabelNames", {**window, "matchers": [selector]})
                    # The editor offers only labels that the selector does not name yet.
                    named = {matcher.name for matcher in parse_selector(selector)}
                    names = texts(answer.get("names"))
                    return Response(200, [name for name in names if name not in named])
                case "labelValues":
                    body = {
                        **window,
                        "matchers": [selector],
                        "name": request.query.get("label", ""),
                    }
                    return Response(200, texts(self._call("LabelValues", body).get("names")))
                case _:
                    return Response(404, b"")
        except SourceError as error:
            return Response(
                500, {"message": "An error occurred within the plugin", "error": str(error)}
            )

    def _reach(self) -> str | None:
        workspace = self._workspace
        inside = own.cluster(workspace.world, workspace.state)
        found = (
            signals.pyroscope_inside(workspace.world, inside, self._url)
            if inside
            else signals.reachable_pyroscope(workspace.world, workspace.resource.key, self._url)
        )
        return None if isinstance(found, str) else found[0]

    def _call(self, method: str, body: JsonObject) -> JsonObject:
        path = f"{_QUERIER}/{method}"
        cluster_id = self._reach()
        if cluster_id is None:
            message = f'unavailable: Post "{self._url}{path}": {dial_error(self._url)}'
            raise SourceError(500, message)
        headers = {"content-type": "application/json"}
        request = Request("POST", path, headers=headers, body=json.dumps(body).encode())
        response = pyroscope.answer(self._workspace.world, cluster_id, path, request)
        answer = as_object(response.body)
        if response.status != 200:
            raise SourceError(
                500, f"{as_text(answer.get('code'))}: {as_text(answer.get('message'))}"
            )
        return answer

    def _flame_graph(self, asked: _Query, window: TimeRange) -> JsonObject:
        body: JsonObject = {
            "profileTypeID": asked.profile_type,
            "labelSelector": asked.label_selector,
            "start": window.start,
            "end": window.end,
            "maxNodes": asked.max_nodes or 0,
        }
        merged = _read(_Merged, self._call("SelectMergeStacktraces", body))
        rows = list(_depth_first(merged.flamegraph))
        names = list(dict.fromkeys(row.name for row in rows))
        unit = {"unit": _unit(asked.profile_type)}
        text = {"type": {"enum": {"text": names}}}
        columns = [
            Column("level", "int64", [row.level for row in rows]),
            Column("value", "int64", [row.value for row in rows], config=unit),
            Column("self", "int64", [row.self_value for row in rows], config=unit),
            Column("label", "enum", [names.index(row.name) for row in rows], config=text),
        ]
        return frame("response", {"preferredVisualisationType": "flamegraph"}, columns)

    def _series(self, asked: _Query, window: TimeRange) -> Iterator[JsonObject]:
        body: JsonObject = {
            "profileTypeID": asked.profile_type,
            "labelSelector": asked.label_selector,
            "start": window.start,
            "end": window.end,
            "step": max(asked.interval_ms / 1000, 15.0),
            "groupBy": list(asked.group_by),
        }
        label = _part(asked.profile_type, 1)
        unit = {"unit": _unit(asked.profile_type)}
        for series in _read(_AllSeries, self._call("SelectSeries", body)).series:
            labels = {pair.name: pair.value for pair in series.labels}
            values = [point.value for point in series.points]
            yield frame(
                "series",
                {"preferredVisualisationType": "graph"},
                [
                    Column("time", "time.Time", [point.timestamp for point in series.points]),
                    Column(label, "float64", values, labels=labels, config=unit),
                ],
            )


@dataclass(frozen=True)
class _Row:
    level: int
    value: int
    self_value: int
    name: str


@dataclass(frozen=True)
class _Bar:
    x: int
    row: _Row


def _depth_first(graph: _FlameGraph) -> Iterator[_Row]:
    """The nodes of an encoded flame graph, each followed by what is below it."""
    levels = [_bars(number, level.values, graph.names) for number, level in enumerate(graph.levels)]

    def below(number: int, start: int, end: int) -> Iterator[_Row]:
        if number == len(levels):
            return
        for bar in levels[number]:
            if start <= bar.x and bar.x + bar.row.value <= end:
                yield bar.row
                yield from below(number + 1, bar.x, bar.x + bar.row.value)

    yield from below(0, 0, levels[0][0].row.value if levels else 0)


def _bars(number: int, values: list[int], names: list[str]) -> list[_Bar]:
    bars: list[_Bar] = []
    end = 0
    for at in range(0, len(values), 4):
        delta, total, self_value, name = values[at : at + 4]
        bars.append(_Bar(end + delta, _Row(number, total, self_value, names[name])))
        end += delta + total
    return bars


def _read(model: type[_Answer], answer: JsonObject) -> _Answer:
    return model.model_validate(answer)


def _kind(kind: JsonObject) -> JsonObject:
    return {"id": kind["ID"], "label": f"{kind.get('name', '')} - {kind.get('sampleType', '')}"}


def _unit(profile_type: str) -> str:
    unit = _part(profile_type, 2)
    return _UNITS.get(unit, unit)


def _part(profile_type: str, position: int) -> str:
    parts = profile_type.split(":")
    return parts[position] if position < len(parts) else ""


def _last_hour() -> JsonObject:
    now = int(time.time() * 1000)
    return {"start": now - 3_600_000, "end": now}
