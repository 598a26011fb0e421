"""The routes of the Grafana API; what is not listed does not exist.

What a data source in use does (health, proxy, query, resources) is its plugin's business:
:mod:`simulator.grafana.sources`.
"""

import re

from simulator.grafana import accounts, dashboards, data_sources, folders, own
from simulator.grafana.errors import GrafanaError
from simulator.grafana.prometheus_source import PrometheusSource
from simulator.grafana.pyroscope_source import PyroscopeSource
from simulator.grafana.route import Call, Handler, Role, Route
from simulator.grafana.sources import Source, SourceError, TimeRange
from simulator.grafana.time_range import milliseconds
from simulator.grafana.workspace import Workspace
from simulator.http import Response
from simulator.values import JsonObject, as_object, as_objects, as_text, dig


def _frontend_settings(call: Call) -> object:
    return {"buildInfo": {"version": call.workspace.version, "edition": "Enterprise"}}


def _organisation(_: Call) -> object:
    return {"id": 1, "name": "Main Org."}


def _actions(call: Call) -> object:
    """What the caller may do: what the routes want of its role, and what has no route of its own.

    Shape and path are those of Grafana's ``pkg/services/accesscontrol/api``.
    """
    allowed = {one.permission for one in ROUTES if one.permission and call.role >= one.role}
    if call.role >= Role.EDITOR:
        allowed.add("dashboards:create")
    return dict.fromkeys(sorted(allowed), True)


def _plugin_settings(call: Call) -> object:
    wanted = call.captured["plugin"]
    if wanted not in own.plugins(call.workspace.state):
        raise GrafanaError(404, "Plugin not found, no installed plugin with that id")
    return {"id": wanted, "type": "datasource", "enabled": False}


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
    window = TimeRange(milliseconds(body.get("from")), milliseconds(body.get("to"), end=True))
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
    _route("GET", "/user", Role.VIEWER, lambda call: accounts.user(call.workspace, call.caller)),
    _route("GET", "/user/orgs", Role.VIEWER, lambda call: [accounts.membership(call.role)]),
    _route("GET", "/access-control/user/actions", Role.VIEWER, _actions),
    _route("GET", "/plugins/(?P<plugin>[^/]+)/settings", Role.VIEWER, _plugin_settings),
    _route(
        "GET",
        "/org/users",
        Role.ADMIN,
        lambda call: accounts.users(call.workspace),
        "org.users:read",
    ),
    _route(
        "GET",
        "/serviceaccounts/search",
        Role.ADMIN,
        lambda call: accounts.search(
            call.workspace,
            call.request.query.get("query", ""),
            call.number("perpage"),
            call.number("page"),
        ),
        "serviceaccounts:read",
    ),
    _route(
        "POST",
        "/serviceaccounts",
        Role.ADMIN,
        lambda call: accounts.create(call.workspace, call.body()),
        "serviceaccounts:create",
    ),
    _route(
        "GET",
        f"/serviceaccounts{_ID}",
        Role.ADMIN,
        lambda call: accounts.by_id(call.workspace, int(call.captured["id"])),
        "serviceaccounts:read",
    ),
    _route(
        "DELETE",
        f"/serviceaccounts{_ID}",
        Role.ADMIN,
        lambda call: accounts.remove(call.workspace, int(call.captured["id"])),
        "serviceaccounts:delete",
    ),
    _route(
        "GET",
        f"/serviceaccounts{_ID}/tokens",
        Role.ADMIN,
        lambda call: accounts.tokens(call.workspace, int(call.captured["id"])),
        "serviceaccounts:read",
    ),
    _route(
        "POST",
        f"/serviceaccounts{_ID}/tokens",
        Role.ADMIN,
        lambda call: accounts.create_token(call.workspace, int(call.captured["id"]), call.body()),
        "serviceaccounts:write",
    ),
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
