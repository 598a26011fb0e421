"""The Grafana HTTP API of all workspaces, at ``/<workspace name>/api/...``.

A caller needs a token for Azure Managed Grafana and a Grafana role on the workspace, which no ARM
role implies, or a token of a service account of the workspace's. Routes with numeric ids are gone
in major 13. Everything that Grafana offers and that :mod:`simulator.grafana.routes` does not list
answers 404, like a route that does not exist.
"""

from simulator.arm import roles
from simulator.arm.roles import GRAFANA_ADMIN, GRAFANA_EDITOR, GRAFANA_VIEWER
from simulator.grafana import accounts, data_sources, own
from simulator.grafana.errors import GrafanaError
from simulator.grafana.route import Call, Role
from simulator.grafana.routes import ROUTES
from simulator.grafana.workspace import Workspace
from simulator.http import Request, Response
from simulator.identity import GRAFANA_AUDIENCES, principal_of
from simulator.values import JsonObject, as_text
from simulator.world import World

_ROLES = {
    Role.ADMIN: GRAFANA_ADMIN,
    Role.EDITOR: GRAFANA_EDITOR,
    Role.VIEWER: GRAFANA_VIEWER,
}


class GrafanaService:
    """All Grafana workspaces."""

    name = "grafana"

    def __init__(self, world: World) -> None:
        self._world = world
        world.control(self._keep_up)

    def _keep_up(self) -> None:
        """What Azure and Grafana do to data sources by themselves, after every change."""
        for workspace_id, state in self._world.grafanas.items():
            resource = self._world.get(workspace_id)
            if resource is not None:
                workspace = Workspace(self._world, resource, state)
                data_sources.integrate(workspace)
                data_sources.migrate(workspace)

    def handle(self, request: Request) -> Response:
        """Answer a request at ``/<workspace name>/<path of the HTTP API>``."""
        name, *parts = request.segments or ("",)
        found = self._world.grafana_named(name)
        resource = self._world.get(found[0]) or own.resource(*found) if found is not None else None
        if found is None or resource is None:
            return Response(404, {"message": f"no Grafana workspace {name!r} answers here"})
        workspace = Workspace(self._world, resource, found[1])
        is_private = as_text(resource.properties.get("publicNetworkAccess")).lower() == "disabled"
        if is_private and self._world.settings.get("privateNetwork") is not True:
            page = b"<html><head><title>403 Forbidden</title></head></html>"
            return Response(403, page, {"Content-Type": "text/html"})
        if not workspace.version:
            return Response(503, {"message": f"the Grafana workspace {name!r} is still being made"})
        try:
            return self._answer(workspace, request, parts)
        except GrafanaError as error:
            return error.response()

    def _answer(self, workspace: Workspace, request: Request, parts: list[str]) -> Response:
        # An encoded slash belongs to a name, not to the path.
        path = "/" + "/".join(part.replace("/", "\x00") for part in parts)
        if path == "/api/health" and request.method == "GET":
            return Response(200, _health(workspace))
        account = accounts.of_token(workspace, request.bearer)
        is_own = workspace.resource.type == own.TYPE
        principal = None if is_own else principal_of(self._world, request, GRAFANA_AUDIENCES)
        if account is not None:
            principal, role = as_text(account["login"]), Role[as_text(account["role"]).upper()]
        elif principal is None:
            return Response(401, {"message": "Unauthorized", "statusCode": 401})
        else:
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
            answer = route.handler(Call(workspace, request, captured, principal, role))
            return answer if isinstance(answer, Response) else Response(200, answer)
        return Response(404, {"message": "Not found"})

    def _role(self, principal: str, workspace: Workspace) -> Role:
        for role, definition in _ROLES.items():
            if roles.holds(self._world, principal, workspace.resource.id, {definition}):
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
