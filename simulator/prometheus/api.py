"""The Prometheus HTTP API of Azure Monitor workspaces, at ``/<workspace name>/api/v1/...``.

Needs a bearer token for Azure Monitor and, on the workspace, the role Monitoring Data Reader; both
failures answer 401, as is reported of the real one. What a workspace knows is what the agents of
the clusters with associated collection rules export. Queries that
:mod:`simulator.prometheus.promql` does not understand answer 400.
"""

import math
import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import parse_qsl

from simulator.arm import roles
from simulator.arm.roles import MONITORING_DATA_READER
from simulator.http import Request, Response
from simulator.identity import PROMETHEUS_AUDIENCES, principal_of
from simulator.prometheus.exporters import series_of_exporters
from simulator.prometheus.promql import QueryError, Vector, evaluate, parse
from simulator.prometheus.selectors import Selector, SelectorError, parse_selector, selects
from simulator.prometheus.series import Series, series_of
from simulator.pyroscope.recordings import Recorder, Recording
from simulator.values import JsonObject
from simulator.world import Resource, World

LOOKBACK_SECONDS = 300.0
"""How long after its last sample a series is still found by an instant query."""
MAX_POINTS = 11_000
"""Points a series that a range query may ask for."""

_DURATION = re.compile(r"(?:\d+(?:ms|[smhdwy]))+")
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800, "y": 31_536_000}


class PrometheusService:
    """The query endpoints of all Azure Monitor workspaces."""

    name = "prometheus"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Answer a request at ``/<workspace name>/<path of the HTTP API>``."""
        principal = principal_of(self._world, request, PROMETHEUS_AUDIENCES)
        if principal is None:
            return refused(401, "unauthorized", "the request carries no valid token")
        name, _, path = request.path.lstrip("/").partition("/")
        workspace = workspace_named(self._world, name)
        if workspace is None:
            return refused(404, "not_found", f"no Azure Monitor workspace {name!r} answers here")
        return answer(self._world, workspace, principal, f"/{path}", request)


def workspace_named(world: World, name: str) -> Resource | None:
    """The Azure Monitor workspace of this name."""
    for workspace in world.of_type("Microsoft.Monitor/accounts"):
        if workspace.name.lower() == name.lower():
            return workspace
    return None


def query_endpoint(world: World, workspace: Resource) -> str:
    """Where a workspace answers: ``metrics.prometheusQueryEndpoint`` of its ARM resource."""
    return f"{world.arm_url}/prometheus/{workspace.name}"


def answer(
    world: World, workspace: Resource, principal: str, path: str, request: Request
) -> Response:
    """What a workspace answers ``principal``, whose token is good, at a path of the HTTP API."""
    if not roles.holds(world, principal, workspace.id, {MONITORING_DATA_READER}):
        return refused(
            401, "unauthorized", f"{principal} is not a Monitoring Data Reader on {workspace.id}"
        )
    try:
        return _Api(world, workspace).handle(path, request)
    except (QueryError, SelectorError) as error:
        return refused(400, "bad_data", str(error))


def refused(status: int, kind: str, message: str) -> Response:
    """An error in the form of the HTTP API."""
    return Response(status, {"status": "error", "errorType": kind, "error": message})


class _Api:
    """The HTTP API over the series of one workspace."""

    def __init__(self, world: World, workspace: Resource) -> None:
        self._stored = list(_stored_series(world, workspace))
        self._now = time.time()

    def handle(self, path: str, request: Request) -> Response:
        parameters = _parameters(request)
        parts = path.strip("/").split("/")
        match request.method, parts:
            case (("GET" | "POST"), ["api", "v1", "query"]):
                return self._query(parameters)
            case (("GET" | "POST"), ["api", "v1", "query_range"]):
                return self._query_range(parameters)
            case (("GET" | "POST"), ["api", "v1", "series"]):
                return _success(self._series(parameters, required=True))
            case (("GET" | "POST"), ["api", "v1", "labels"]):
                found = {name for labels in self._series(parameters) for name in labels}
                return _success(sorted(found))
            case "GET", ["api", "v1", "label", name, "values"]:
                labels = self._series(parameters)
                return _success(sorted({found[name] for found in labels if name in found}))
            case _:
                return Response(404, b"404 page not found\n", {"Content-Type": "text/plain"})

    def _query(self, parameters: list[tuple[str, str]]) -> Response:
        at = _instant(_one(parameters, "time"), self._now)
        result = evaluate(parse(_one(parameters, "query") or ""), self._selector_at(at))
        if not isinstance(result, list):
            return _success({"resultType": "scalar", "result": [at, _number(result)]})
        elements = [
            {"metric": labels, "value": [at, _number(value)]}
            for labels, value in sorted(result, key=lambda element: sorted(element[0].items()))
        ]
        return _success({"resultType": "vector", "result": elements})

    def _query_range(self, parameters: list[tuple[str, str]]) -> Response:
        start = _instant(_required(parameters, "start"), self._now)
        end = _instant(_required(parameters, "end"), self._now)
        step = _duration(_required(parameters, "step"))
        if end < start:
            raise QueryError('invalid parameter "end": end timestamp must not be before start time')
        if (end - start) / step > MAX_POINTS:
            raise QueryError(f"exceeded maximum resolution of {MAX_POINTS} points per timeseries")
        query = parse(_one(parameters, "query") or "")
        rows: dict[tuple[tuple[str, str], ...], list[list[object]]] = {}
        for number in range(math.floor((end - start) / step) + 1):
            at = start + number * step
            result = evaluate(query, self._selector_at(at))
            vector: Vector = result if isinstance(result, list) else [({}, result)]
            for labels, value in vector:
                row = rows.setdefault(tuple(sorted(labels.items())), [])
                row.append([at, _number(value)])
        matrix = [{"metric": dict(labels), "values": row} for labels, row in sorted(rows.items())]
        return _success({"resultType": "matrix", "result": matrix})

    def _selector_at(self, at: float) -> "_SelectAt":
        return _SelectAt(self._stored, at, self._now)

    def _series(
        self, parameters: list[tuple[str, str]], *, required: bool = False
    ) -> list[dict[str, str]]:
        """The label sets with samples in the window, of the selectors under ``match[]``."""
        texts = [value for key, value in parameters if key == "match[]"]
        if required and not texts:
            raise QueryError("no match[] parameter provided")
        selectors = [parse_selector(text) for text in texts] or [()]
        start = _instant(_one(parameters, "start"), 0.0)
        end = _instant(_one(parameters, "end"), self._now)
        return [
            series.labels
            for recording, series in self._stored
            if recording.origin + series.begins <= end
            and recording.until(self._now) >= start
            and any(selects(selector, series.labels) for selector in selectors)
        ]


class _SelectAt:
    """Evaluates selectors at one instant."""

    def __init__(self, stored: Sequence[tuple[Recording, Series]], at: float, now: float) -> None:
        self._stored, self._at, self._now = stored, at, now

    def __call__(self, selector: Selector) -> Vector:
        found: dict[tuple[tuple[str, str], ...], Vector] = {}
        for recording, series in self._stored:
            last_sample = min(self._at, recording.until(self._now))
            if self._at > last_sample + LOOKBACK_SECONDS or not selects(selector, series.labels):
                continue
            value = series.value(last_sample - recording.origin)
            if value is not None and last_sample >= recording.start:
                # A later recording of the same series replaces the earlier one's last samples.
                found[tuple(sorted(series.labels.items()))] = [(series.labels, float(value))]
        return [element for elements in found.values() for element in elements]


def _stored_series(world: World, workspace: Resource) -> Iterator[tuple[Recording, Series]]:
    for cluster_id, recording in Recorder(world).metrics(workspace.id):
        name = cluster_id.rsplit("/", 1)[-1]
        for series in series_of(name):
            yield recording, series
        for series in series_of_exporters(name, recording.nodes, recording.origin):
            yield recording, series


def _parameters(request: Request) -> list[tuple[str, str]]:
    form: list[tuple[str, str]] = []
    if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        form = parse_qsl(request.body.decode(), keep_blank_values=True)
    return [*(request.pairs or tuple(request.query.items())), *form]


def _one(parameters: Sequence[tuple[str, str]], key: str) -> str | None:
    return next((value for name, value in parameters if name == key), None)


def _required(parameters: Sequence[tuple[str, str]], key: str) -> str:
    value = _one(parameters, key)
    if value is None:
        raise QueryError(f'invalid parameter "{key}": it is missing')
    return value


def _instant(text: str | None, default: float) -> float:
    """Seconds of the Unix epoch, or a date of RFC 3339."""
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise QueryError(f'cannot parse "{text}" to a valid timestamp') from error


def _duration(text: str) -> float:
    """Seconds, or a duration such as ``1m30s``; positive."""
    if _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text)
        seconds = sum(int(count) * _SECONDS[unit] for count, unit in parts)
    else:
        try:
            seconds = float(text)
        except ValueError as error:
            raise QueryError(f'cannot parse "{text}" to a valid duration') from error
    if not seconds > 0:
        raise QueryError("zero or negative query resolution step widths are not accepted")
    return seconds


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)


def _success(data: object) -> Response:
    body: JsonObject = {"status": "success", "data": data}
    return Response(200, body)
