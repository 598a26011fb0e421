"""The Grafana HTTP API of all workspaces, at ``/<workspace name>/api/...``.

A caller needs a token for Azure Managed Grafana and a Grafana role on the workspace, which no ARM
role implies. Routes with numeric ids are gone in major 13. Everything else that Grafana offers and
that is not listed here answers 404, like a route that does not exist.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from simulator.arm.roles import GRAFANA_ADMIN, GRAFANA_EDITOR, GRAFANA_VIEWER
from simulator.grafana import dashboards, data_sources, folders
from simulator.grafana.errors import GrafanaError, bad_request
from simulator.grafana.prometheus_source import PrometheusSource
from simulator.grafana.pyroscope_source import PyroscopeSource
from simulator.grafana.sources import Source, SourceError, TimeRange
from simulator.grafana.time_range import milliseconds
from simulator.grafana.workspace import Workspace
from simulator.http import MalformedBody, Request, Response
from simulator.identity import GRAFANA_AUDIENCES, principal_of
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from simulator.world import World


class Role(IntEnum):
    """What a caller may do; each role includes those before it."""

    NONE = 0
    VIEWER = 1
    EDITOR = 2
    ADMIN = 3


_ROLES = {
    Role.ADMIN: GRAFANA_ADMIN,
    Role.EDITOR: GRAFANA_EDITOR,
    Role.VIEWER: GRAFANA_VIEWER,
}


@dataclass(frozen=True)
class Call:
    """A request to a workspace, with the parts of the path that its route captured."""

    workspace: Workspace
    request: Request
    captured: dict[str, str]

    def source(self) -> JsonObject:
        """The data source that the path names by uid, name or numeric id."""
        if "uid" in self.captured:
            return data_sources.by_uid(self.workspace, self.captured["uid"])
        if "name" in self.captured:
            return data_sources.by_name(self.workspace, self.captured["name"])
        return data_sources.by_id(self.workspace, int(self.captured["id"]))

    def dashboard(self) -> JsonObject:
        """The stored dashboard that the path names by uid or numeric id."""
        if "uid" in self.captured:
            return dashboards.by_uid(self.workspace, self.captured["uid"])
        return dashboards.by_id(self.workspace, int(self.captured["id"]))

    def number(self, name: str) -> int:
        """A number of the query; 0 if it is none."""
        text = self.request.query.get(name, "")
        return int(text) if text.isdigit() else 0

    def body(self) -> object:
        """The body as JSON.

        Raises:
            GrafanaError: 400, it is not JSON.
        """
        try:
            return self.request.json()
        except MalformedBody as error:
            raise bad_request() from error


Handler = Callable[[Call], object]
"""Answers the body of a 200, or a whole response."""


@dataclass(frozen=True)
class Route:
    """A method and path with what it needs."""

    method: str
    path: re.Pattern[str]
    role: Role
    handler: Handler
    permission: str = ""
    until_major: int = 99
    """The last major that has it."""


class GrafanaService:
    """All Grafana workspaces."""

    name = "grafana"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Answer a request at ``/<workspace name>/<path of the HTTP API>``."""
        name, *parts = request.segments or ("",)
        found = self._world.grafana_named(name)
        resource = self._world.get(found[0]) if found else None
        if found is None or resource is None:
            return Response(404, {"message": f"no Grafana workspace {name!r} answers here"})
        workspace = Workspace(self._world, resource, found[1])
        if as_text(resource.properties.get("publicNetworkAccess")).lower() == "disabled":
            page = b"<html><head><title>403 Forbidden</title></head></html>"
            return Response(403, page, {"Content-Type": "text/html"})
        if not workspace.version:
            return Response(503, {"message": f"the Grafana workspace {name!r} is still being made"})
        data_sources.integrate(workspace)
        data_sources.migrate(workspace)
        try:
            return self._answer(workspace, request, parts)
        except GrafanaError as error:
            return error.response()

    def _answer(self, workspace: Workspace, request: Request, parts: list[str]) -> Response:
        # An encoded slash belongs to a name, not to the path.
        path = "/" + "/".join(part.replace("/", "\x00") for part in parts)
        if path == "/api/health" and request.method == "GET":
            return Response(200, _health(workspace))
        principal = principal_of(self._world, request, GRAFANA_AUDIENCES)
        if principal is None:
            return Response(401, {"message": "Unauthorized", "statusCode": 401})
        role = self._role(principal, workspace)
        if role is Role.NONE:
            return _denied("any")
        for route in ROUTES:
            match = route.path.fullmatch(path)
            if match is None or route.method not in (request.method, "*"):
                continue
            if workspace.major > route.until_major:
                continue
            if role < route.role:
                return _denied(route.permission)
            captured = {
                key: value.replace("\x00", "/")
                for key, value in match.groupdict().items()
                if value is not None
            }
            answer = route.handler(Call(workspace, request, captured))
            return answer if isinstance(answer, Response) else Response(200, answer)
        return Response(404, {"message": "Not found"})

    def _role(self, principal: str, workspace: Workspace) -> Role:
        for role, definition in _ROLES.items():
            if self._world.has_data_role(principal, workspace.resource.id, {definition}):
                return role
        return Role.NONE


def _denied(permission: str) -> Response:
    message = (
        "You'll need additional permissions to perform this action."
        f" Permissions needed: {permission}"
    )
    body = {"accessErrorId": "ACE0000000000", "message": message, "title": "Access denied"}
    return Response(403, body)


def _health(workspace: Workspace) -> JsonObject:
    return {"database": "ok", "version": workspace.version, "commit": "simulated"}


def _frontend_settings(call: Call) -> object:
    return {"buildInfo": {"version": call.workspace.version, "edition": "Enterprise"}}


def _organisation(_: Call) -> object:
    return {"id": 1, "name": "Main Org."}


# --- data sources in use ---------------------------------------------------------------------


def _in_use(workspace: Workspace, source: JsonObject) -> Source:
    match source["type"]:
        case data_sources.PYROSCOPE:
            return PyroscopeSource(workspace, source)
        case data_sources.PROMETHEUS | data_sources.AZURE_PROMETHEUS:
            return PrometheusSource(workspace, source)
        case other:
            raise GrafanaError(500, f"the plugin {other} is not simulated")


def _check_health(call: Call) -> object:
    try:
        message = _in_use(call.workspace, call.source()).check()
    except SourceError as error:
        return Response(400, {"message": str(error), "status": "ERROR"})
    return {"message": message, "status": "OK"}


def _proxy(call: Call) -> object:
    path = "/" + call.captured.get("rest", "")
    return _in_use(call.workspace, call.source()).forward(call.request, path)


def _resource(call: Call) -> object:
    path = "/" + call.captured.get("rest", "")
    return _in_use(call.workspace, call.source()).resource(call.request, path)


def _query(call: Call) -> object:
    body = as_object(call.body())
    queries = as_objects(body.get("queries"))
    if not queries:
        raise GrafanaError(400, "Query data error: no queries found")
    window = TimeRange(milliseconds(body.get("from")), milliseconds(body.get("to")))
    results: JsonObject = {}
    failed = False
    for query in queries:
        uid = as_text(dig(query, "datasource", "uid"))
        if not uid:
            raise GrafanaError(400, "Query data error: missing data source uid")
        source = data_sources.by_uid(call.workspace, uid)
        reference = as_text(query.get("refId"), "A")
        try:
            frames = _in_use(call.workspace, source).query(query, window)
        except SourceError as error:
            failed = True
            results[reference] = {
                "error": str(error),
                "errorSource": "downstream",
                "status": error.status,
            }
            continue
        for frame in frames:
            as_object(frame["schema"])["refId"] = reference
        results[reference] = {"status": 200, "frames": frames}
    return Response(400 if failed else 200, {"results": results})


# --- routes ----------------------------------------------------------------------------------

_UID = r"/uid/(?P<uid>[^/]+)"
_ID = r"/(?P<id>\d+)"
_LAST_MAJOR_WITH_IDS = 12


def _route(
    method: str, path: str, role: Role, handler: Handler, permission: str = "", until: int = 99
) -> Route:
    return Route(method, re.compile(f"/api{path}"), role, handler, permission, until)


def _data_source_routes(which: str, until: int = 99) -> list[Route]:
    """The routes of one data source, which is named by uid or by numeric id."""
    base = f"/datasources{which}"
    write, query = "datasources:write", "datasources:query"
    return [
        _route("GET", base, Role.VIEWER, lambda call: call.source(), "datasources:read", until),
        _route(
            "PUT",
            base,
            Role.ADMIN,
            lambda call: data_sources.update(call.workspace, call.source(), call.body()),
            write,
            until,
        ),
        _route(
            "DELETE",
            base,
            Role.ADMIN,
            lambda call: data_sources.remove(call.workspace, call.source()),
            "datasources:delete",
            until,
        ),
        _route("GET", f"{base}/health", Role.VIEWER, _check_health, query, until),
        _route("*", f"{base}/resources/(?P<rest>.*)", Role.VIEWER, _resource, query, until),
        _route(
            "*", f"/datasources/proxy{which}(?:/(?P<rest>.*))?", Role.VIEWER, _proxy, query, until
        ),
    ]


def _dashboard_routes(which: str, until: int = 99) -> list[Route]:
    """The routes of one dashboard's versions; they need the right to write it."""
    base = f"/dashboards{which}/versions"
    write = "dashboards:write"
    return [
        _route(
            "GET",
            base,
            Role.EDITOR,
            lambda call: dashboards.versions(
                call.workspace, call.dashboard(), call.number("limit"), call.number("start")
            ),
            write,
            until,
        ),
        _route(
            "GET",
            rf"{base}/(?P<version>\d+)",
            Role.EDITOR,
            lambda call: dashboards.version(
                call.workspace, call.dashboard(), int(call.captured["version"])
            ),
            write,
            until,
        ),
    ]


ROUTES: tuple[Route, ...] = (
    _route("GET", "/frontend/settings", Role.VIEWER, _frontend_settings),
    _route("GET", "/org", Role.VIEWER, _organisation),
    _route("POST", "/ds/query", Role.VIEWER, _query, "datasources:query"),
    _route(
        "GET",
        "/datasources",
        Role.VIEWER,
        lambda call: data_sources.list_all(call.workspace),
        "datasources:read",
    ),
    _route(
        "POST",
        "/datasources",
        Role.ADMIN,
        lambda call: data_sources.add(call.workspace, call.body()),
        "datasources:create",
    ),
    _route(
        "GET",
        "/datasources/name/(?P<name>[^/]+)",
        Role.VIEWER,
        lambda call: call.source(),
        "datasources:read",
    ),
    *_data_source_routes(_UID),
    *_data_source_routes(_ID, _LAST_MAJOR_WITH_IDS),
    _route(
        "GET",
        "/folders",
        Role.VIEWER,
        lambda call: folders.list_all(call.workspace, call.request.query.get("parentUid", "")),
        "folders:read",
    ),
    _route(
        "POST",
        "/folders",
        Role.EDITOR,
        lambda call: folders.create(call.workspace, call.body()),
        "folders:create",
    ),
    _route(
        "GET",
        "/folders/(?P<uid>[^/]+)",
        Role.VIEWER,
        lambda call: folders.by_uid(call.workspace, call.captured["uid"]),
        "folders:read",
    ),
    _route(
        "GET",
        "/folders/(?P<uid>[^/]+)/counts",
        Role.VIEWER,
        lambda call: folders.counts(call.workspace, call.captured["uid"]),
        "folders:read",
    ),
    _route(
        "PUT",
        "/folders/(?P<uid>[^/]+)",
        Role.EDITOR,
        lambda call: folders.update(call.workspace, call.captured["uid"], call.body()),
        "folders:write",
    ),
    _route(
        "DELETE",
        "/folders/(?P<uid>[^/]+)",
        Role.EDITOR,
        lambda call: folders.remove(call.workspace, call.captured["uid"]),
        "folders:delete",
    ),
    _route(
        "POST",
        "/dashboards/db",
        Role.EDITOR,
        lambda call: dashboards.save(call.workspace, call.body()),
        "dashboards:write",
    ),
    _route(
        "GET",
        f"/dashboards{_UID}",
        Role.VIEWER,
        lambda call: dashboards.full(call.workspace, call.dashboard()),
        "dashboards:read",
    ),
    _route(
        "DELETE",
        f"/dashboards{_UID}",
        Role.EDITOR,
        lambda call: dashboards.remove(call.workspace, call.dashboard()),
        "dashboards:delete",
    ),
    *_dashboard_routes(_UID),
    *_dashboard_routes(r"/id/(?P<id>\d+)", _LAST_MAJOR_WITH_IDS),
    _route(
        "GET",
        "/search",
        Role.VIEWER,
        lambda call: dashboards.search(
            call.workspace, call.request.pairs or tuple(call.request.query.items())
        ),
        "dashboards:read",
    ),
)
