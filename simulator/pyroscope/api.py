"""Pyroscope over HTTP: the Connect methods of the querier, the render route and readiness.

Reached at ``/<cluster name>/...``, as if its port were forwarded out of the cluster, or through a
Grafana data source (:func:`answer`, once the private link leads there). No authentication, like the
real one.
Non-goals: ingestion, and every other service of Pyroscope (they answer 404).
"""

import json
import re
import time

from simulator import signals
from simulator.http import Request, Response
from simulator.pyroscope import pprof, wire
from simulator.pyroscope.limits import TENANT, ServerLimits, limits_of
from simulator.pyroscope.querier import Querier, QueryError
from simulator.pyroscope.recordings import Recorder
from simulator.pyroscope.store import ProfileStore, ProfileType
from simulator.values import JsonObject
from simulator.world import World

_QUERIER = "querier.v1.QuerierService"
_JSON = "application/json"
_PROTO = "application/proto"
_CONFIGURATION = "/api/v1/status/config"
_STATUS = {"invalid_argument": 400, "unimplemented": 501}
_SELECT_FIELDS = {1: "profileTypeID", 2: "labelSelector", 3: "start", 4: "end", 5: "maxNodes"}
"""Field numbers of ``querier.v1.SelectMergeProfileRequest``."""
_RELATIVE = re.compile(r"now(?:-(?P<count>\d+)(?P<unit>ms|s|m|h|d|w))?")
_UNIT_MS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}


class PyroscopeService:
    """The Pyroscope servers of all clusters."""

    name = "pyroscope"

    def __init__(self, world: World) -> None:
        self._world = world
        Recorder(world).watch()

    def handle(self, request: Request) -> Response:
        """Answer a request at ``/<cluster name>/<Pyroscope's own path>``."""
        cluster_name, _, path = request.path.lstrip("/").partition("/")
        found = self._world.cluster_named(cluster_name)
        if found is None:
            return _text(404, f"no cluster {cluster_name!r} is simulated")
        cluster_id, _ = found
        if signals.ready_pyroscope(self._world, cluster_id) is None:
            return _text(503, f"no Pyroscope is ready in cluster {cluster_name!r}")
        return answer(self._world, cluster_id, f"/{path}", request)


def answer(world: World, cluster_id: str, path: str, request: Request) -> Response:
    """What the Pyroscope of a cluster answers to ``request`` at ``path``."""
    if path == "/api/v1/status/buildinfo" and request.method == "GET":
        return _build(signals.server_version(world, cluster_id))
    server = signals.ready_pyroscope(world, cluster_id)
    limits = limits_of(server.config, server.overrides) if server is not None else ServerLimits()
    store = ProfileStore(Recorder(world).profiles(cluster_id), limits=limits)
    return answer_from(store, path, request)


def answer_from(store: ProfileStore, path: str, request: Request) -> Response:
    """What a Pyroscope with these profiles answers to ``request`` at ``path``."""
    querier = Querier(store)
    service, _, method = path.strip("/").partition("/")
    if service == _QUERIER and method in querier.methods:
        return _connect(querier, method, request)
    if path == "/ready" and request.method == "GET":
        return _text(200, "ready")
    if path == "/pyroscope/render" and request.method == "GET":
        return _render(querier, request)
    if path in (_CONFIGURATION, "/runtime_config") and request.method == "GET":
        return _text(200, json.dumps(_page(store.limits, path)))
    return _text(404, "404 page not found")


def _page(limits: ServerLimits, path: str) -> JsonObject:
    """The server's pages for its configuration and its overrides, which are YAML, as JSON is."""
    if path == _CONFIGURATION:
        return {"limits": limits.configured.document()}
    tenant = limits.overridden
    return {"overrides": {TENANT: tenant.document()} if tenant is not None else {}}


def _build(version: str) -> Response:
    """``status.v1.StatusService/GetBuildInfo`` through its HTTP gateway (api/status/v1)."""
    data = {"version": version, "revision": "", "branch": "", "goVersion": "go1.24"}
    return Response(200, {"status": "success", "data": data}, {"Content-Type": _JSON})


def _connect(querier: Querier, method: str, request: Request) -> Response:
    if request.method != "POST":
        return Response(405, b"", {"Allow": "POST"})
    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if content_type not in (_JSON, _PROTO):
        return Response(415, b"", {"Accept-Post": f"{_JSON}, {_PROTO}"})
    try:
        if content_type == _PROTO:
            return _proto(querier, method, request)
        return Response(200, querier.methods[method](_body(request)), {"Content-Type": _JSON})
    except QueryError as refusal:
        body = {"code": refusal.code, "message": str(refusal)}
        return Response(_STATUS[refusal.code], body, {"Content-Type": _JSON})


def _body(request: Request) -> object:
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise QueryError("invalid_argument", f"unmarshal message: {error}") from error


def _proto(querier: Querier, method: str, request: Request) -> Response:
    if method != "SelectMergeProfile":
        raise QueryError("unimplemented", f"{method} is simulated with {_JSON} only")
    profile = querier.merged_profile(_select_request(request.body))
    return Response(
        200, b"" if profile is None else pprof.to_bytes(profile), {"Content-Type": _PROTO}
    )


def _select_request(encoded: bytes) -> dict[str, object]:
    """A ``SelectMergeProfileRequest`` as its JSON mapping."""
    try:
        fields = wire.read(encoded)
        return {
            name: value.decode() if isinstance(value, bytes) else value
            for number, value in fields.items()
            if (name := _SELECT_FIELDS.get(number)) is not None
        }
    except ValueError as error:
        raise QueryError("invalid_argument", f"unmarshal message: {error}") from error


def _render(querier: Querier, request: Request) -> Response:
    query = request.query.get("query", "")
    profile_type, brace, rest = query.partition("{")
    if request.query.get("format", "json") not in ("", "json"):
        return _text(400, "only format=json is simulated")
    try:
        kind = ProfileType.parse(profile_type)
        encoded = querier.render(
            kind.id,
            brace + rest or "{}",
            _time_ms(request.query.get("from", "now-1h")),
            _time_ms(request.query.get("until", "now")),
            int(request.query.get("maxNodes") or request.query.get("max-nodes") or 0),
        )
    except (ValueError, QueryError) as error:
        body = {"code": "invalid_argument", "message": str(error)}
        return Response(400, body, {"Content-Type": _JSON})
    return Response(
        200,
        {
            "version": 1,
            "flamebearer": {
                "names": encoded.names,
                "levels": encoded.levels,
                "numTicks": encoded.total,
                "maxSelf": encoded.max_self,
            },
            "metadata": {
                "format": "single",
                "spyName": "",
                "sampleRate": 100,
                "units": kind.sample_unit,
                "name": kind.sample_type,
            },
            "timeline": None,
            "groups": None,
            "heatmap": None,
        },
    )


def _time_ms(text: str) -> int:
    """Read ``now``, ``now-1h``, or seconds or milliseconds of the Unix epoch."""
    if relative := _RELATIVE.fullmatch(text):
        now = int(time.time() * 1000)
        return now - int(relative["count"] or 0) * _UNIT_MS[relative["unit"] or "s"]
    number = int(text)
    return number if number > 10**11 else number * 1000


def _text(status: int, text: str) -> Response:
    return Response(status, f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"})
