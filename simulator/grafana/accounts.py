"""Users and service accounts: ``/api/user``, ``/api/org/users``, ``/api/serviceaccounts``.

Everybody with a Grafana role on the workspace is a user. Service accounts, as ``az grafana
service-account`` makes them, need ``apiKey: Enabled`` on the workspace; a token of theirs is good
in place of one of Entra ID's. The shapes are those of Grafana's HTTP API reference.
"""

import secrets

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.arm import roles
from simulator.clock import timestamp
from simulator.grafana.errors import GrafanaError, bad_request
from simulator.grafana.workspace import Workspace
from simulator.http import Response
from simulator.values import JsonObject, as_integer, as_object, as_objects, as_text
from simulator.world import Principal

ORGANISATION = {"orgId": 1, "name": "Main Org."}
GRAFANA_ROLES = {
    roles.GRAFANA_ADMIN: "Admin",
    roles.GRAFANA_EDITOR: "Editor",
    roles.GRAFANA_VIEWER: "Viewer",
}
PAGE = 1000


class _Account(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    name: str = Field(min_length=1)
    role: str = "Viewer"
    is_disabled: bool = Field(default=False, alias="isDisabled")


class _Token(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    name: str = Field(min_length=1)
    seconds_to_live: int = Field(default=0, alias="secondsToLive")


def user(workspace: Workspace, caller: str) -> JsonObject:
    """Who asks."""
    principal = workspace.world.principals.get(caller) or Principal(caller, "User", caller)
    name = principal.name or caller
    return {
        "id": _number(workspace, caller),
        "uid": caller.replace("-", "")[:14],
        "email": name,
        "name": name,
        "login": name,
        "orgId": 1,
        "isGrafanaAdmin": False,
        "isDisabled": False,
        "isExternal": True,
        "authLabels": ["Azure AD"],
        "theme": "",
    }


def membership(role: object) -> JsonObject:
    """The one organisation, with the role of who asks."""
    return {**ORGANISATION, "role": as_text(getattr(role, "name", "")).capitalize()}


def users(workspace: Workspace) -> list[JsonObject]:
    """Everybody who holds a Grafana role on the workspace."""
    found: dict[str, JsonObject] = {}
    for item in workspace.world.of_type(roles.ROLE_ASSIGNMENTS):
        role = GRAFANA_ROLES.get(roles.role_of(item))
        holder = as_text(item.properties.get("principalId"))
        if role and roles.covers(roles.scope_of(item), workspace.resource.id):
            shown = user(workspace, holder)
            found[holder] = {
                "orgId": 1,
                "userId": shown["id"],
                **{name: shown[name] for name in ("email", "name", "login", "authLabels")},
                "role": role,
            }
    return [found[key] for key in sorted(found)]


def search(workspace: Workspace, query: str, size: int, page: int) -> JsonObject:
    """The service accounts whose name has ``query`` in it, one page of them."""
    found = [
        item for item in _accounts(workspace) if query.lower() in as_text(item["name"]).lower()
    ]
    size, page = size or PAGE, page or 1
    return {
        "totalCount": len(found),
        "serviceAccounts": [_shown(item) for item in found[(page - 1) * size : page * size]],
        "page": page,
        "perPage": size,
    }


def create(workspace: Workspace, body: object) -> Response:
    """A new service account.

    Raises:
        GrafanaError: 400 for a body without a name, or a name that is taken; 403 where the
            workspace has no service accounts.
    """
    _check_enabled(workspace)
    try:
        wanted = _Account.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    if any(item["name"] == wanted.name for item in _accounts(workspace)):
        raise GrafanaError(400, "service account already exists")
    account: JsonObject = {
        "id": workspace.next_id(),
        "uid": secrets.token_hex(7),
        "name": wanted.name,
        "login": f"sa-1-{wanted.name.lower().replace(' ', '-')}",
        "role": wanted.role,
        "isDisabled": wanted.is_disabled,
        "createdAt": timestamp(),
        "tokens": list[object](),
    }
    drawer = workspace.drawer("serviceAccounts")
    drawer[str(account["id"])] = account
    return Response(201, _shown(account))


def by_id(workspace: Workspace, number: int) -> JsonObject:
    """One service account."""
    return _shown(_account(workspace, number))


def remove(workspace: Workspace, number: int) -> JsonObject:
    """Delete a service account, and its tokens with it."""
    _account(workspace, number)
    workspace.drawer("serviceAccounts").pop(str(number))
    return {"message": "Service account deleted"}


def tokens(workspace: Workspace, number: int) -> list[JsonObject]:
    """The tokens of a service account, without what is secret in them."""
    listed = as_objects(_account(workspace, number)["tokens"])
    return [{name: item[name] for name in ("id", "name", "created")} for item in listed]


def create_token(workspace: Workspace, number: int, body: object) -> JsonObject:
    """A new token of a service account; the answer alone tells the key.

    Raises:
        GrafanaError: 400 for a body without a name, or a name that is taken.
    """
    _check_enabled(workspace)
    account = _account(workspace, number)
    try:
        wanted = _Token.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    listed = as_objects(account["tokens"])
    if any(item["name"] == wanted.name for item in listed):
        raise GrafanaError(409, "service account token with given name already exists")
    key = f"glsa_{secrets.token_hex(16)}_{secrets.token_hex(4)}"
    made: JsonObject = {
        "id": workspace.next_id(),
        "name": wanted.name,
        "key": key,
        "created": timestamp(),
    }
    account["tokens"] = [*listed, made]
    return {name: made[name] for name in ("id", "name", "key")}


def of_token(workspace: Workspace, key: str) -> JsonObject | None:
    """The enabled service account whose token ``key`` is."""
    for account in _accounts(workspace):
        keys = [item.get("key") for item in as_objects(account["tokens"])]
        if key and key in keys and account["isDisabled"] is not True and _enabled(workspace):
            return account
    return None


def _accounts(workspace: Workspace) -> list[JsonObject]:
    kept = workspace.drawer("serviceAccounts")
    return [as_object(item) for _, item in sorted(kept.items())]


def _account(workspace: Workspace, number: int) -> JsonObject:
    for account in _accounts(workspace):
        if account["id"] == number:
            return account
    raise GrafanaError(404, "service account not found")


def _shown(account: JsonObject) -> JsonObject:
    shown = {name: value for name, value in account.items() if name != "tokens"}
    return {**shown, "orgId": 1, "tokens": len(as_objects(account["tokens"])), "avatarUrl": ""}


def _enabled(workspace: Workspace) -> bool:
    return as_text(workspace.resource.properties.get("apiKey")) == "Enabled"


def _check_enabled(workspace: Workspace) -> None:
    if not _enabled(workspace):
        raise GrafanaError(403, "API keys and service accounts are disabled for this workspace")


def _number(workspace: Workspace, caller: str) -> int:
    """The numeric id that Grafana gives a user when it first meets them."""
    kept = workspace.drawer("users")
    if caller not in kept:
        kept[caller] = workspace.next_id()
    return as_integer(kept[caller])
