"""Data sources: ``/api/datasources``.

Stored as a GET of one answers them. Values under ``secureJsonData`` are not kept at all, only their
names, which is all that the API ever tells about them.
"""

import re
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.grafana.errors import GrafanaError, bad_request
from simulator.grafana.workspace import Workspace, generated_uid
from simulator.prometheus.api import query_endpoint
from simulator.values import JsonObject, as_integer, as_object, as_objects, as_text, dig

PYROSCOPE = "grafana-pyroscope-datasource"
PROMETHEUS = "prometheus"
AZURE_PROMETHEUS = "grafana-azureprometheus-datasource"
"""Where Grafana 13 moves Prometheus sources that sign in with Entra ID."""
FIRST_MAJOR_WITHOUT_AZURE = 13
"""From here on the core Prometheus plugin knows no Azure credentials (grafana 123089)."""
PLUGINS = {
    PYROSCOPE: "Grafana Pyroscope",
    PROMETHEUS: "Prometheus",
    AZURE_PROMETHEUS: "Azure Monitor Managed Service for Prometheus",
    "grafana-azure-monitor-datasource": "Azure Monitor",
}
"""The installed data source plugins, by id."""
VALID_UID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


class _Command(BaseModel):
    """The body of a POST or PUT; fields that Grafana does not know are ignored, like by it."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    type: str = Field(min_length=1)
    access: str = Field(min_length=1)
    name: str = ""
    uid: str = ""
    url: str = ""
    user: str = ""
    database: str = ""
    basic_auth: bool = Field(default=False, alias="basicAuth")
    basic_auth_user: str = Field(default="", alias="basicAuthUser")
    with_credentials: bool = Field(default=False, alias="withCredentials")
    is_default: bool = Field(default=False, alias="isDefault")
    json_data: dict[str, object] | None = Field(default=None, alias="jsonData")
    secure_json_data: dict[str, str] | None = Field(default=None, alias="secureJsonData")
    version: int = 0


def list_all(workspace: Workspace) -> list[JsonObject]:
    """What a GET of all sources answers, by name."""
    hidden = ("version", "secureJsonFields", "basicAuthUser", "withCredentials", "apiVersion")
    return [
        {
            **{key: value for key, value in source.items() if key not in hidden},
            "typeName": PLUGINS.get(as_text(source["type"]), source["type"]),
        }
        for source in sorted(
            workspace.state.data_sources, key=lambda source: as_text(source["name"]).lower()
        )
    ]


def by_uid(workspace: Workspace, uid: str) -> JsonObject:
    """The source with this uid.

    Raises:
        GrafanaError: 404.
    """
    return _find(workspace, "uid", uid)


def by_name(workspace: Workspace, name: str) -> JsonObject:
    """The source with this name, compared exactly.

    Raises:
        GrafanaError: 404.
    """
    return _find(workspace, "name", name)


def by_id(workspace: Workspace, number: int) -> JsonObject:
    """The source with this numeric id.

    Raises:
        GrafanaError: 404.
    """
    return _find(workspace, "id", number)


def add(workspace: Workspace, body: object) -> JsonObject:
    """Create a source.

    Raises:
        GrafanaError: 400 for a body, uid, url or type that is not valid; 409 for a name or uid that
            is taken.
    """
    command = _command(body)
    uid = command.uid or generated_uid()
    _check_uid(uid)
    name = command.name or command.type
    _check_free(workspace, "name", name)
    _check_free(workspace, "uid", uid)
    source: JsonObject = {"id": workspace.next_id(), "uid": uid, "orgId": 1, "readOnly": False}
    _fill(source, command, version=1)
    source["name"] = name
    if command.is_default:
        _clear_default(workspace)
    workspace.state.data_sources.append(source)
    return _answer("Datasource added", source)


def update(workspace: Workspace, source: JsonObject, body: object) -> JsonObject:
    """Replace a source; the type stays.

    Raises:
        GrafanaError: as :func:`add`; 403 for a read-only source; 409 also for a stale version.
    """
    command = _command(body)
    if not command.name:
        raise bad_request()
    if source["readOnly"]:
        raise GrafanaError(403, "Cannot update read-only data source")
    if command.type != source["type"]:
        raise GrafanaError(
            400, f"Failed to update datasource: the type {source['type']} cannot be changed"
        )
    # A version of 0 means: whatever is stored. Otherwise it must be the one that was read.
    if command.version and command.version < as_integer(source["version"]):
        message = "Datasource has already been updated by someone else. Please reload and try again"
        raise GrafanaError(409, message)
    uid = command.uid or as_text(source["uid"])
    _check_uid(uid)
    for key, value in (("name", command.name), ("uid", uid)):
        if value != source[key]:
            _check_free(workspace, key, value, prefix="Failed to update datasource: ")
    if command.is_default:
        _clear_default(workspace)
    source["uid"] = uid
    _fill(source, command, version=command.version + 1)
    return _answer("Datasource updated", source)


def remove(workspace: Workspace, source: JsonObject) -> JsonObject:
    """Delete a source.

    Raises:
        GrafanaError: 403 for a read-only source.
    """
    if source["readOnly"]:
        raise GrafanaError(403, "Cannot delete read-only data source")
    workspace.state.data_sources.remove(source)
    return {"message": "Data source deleted", "id": source["id"]}


def integrate(workspace: Workspace) -> None:
    """Keep a source for each Azure Monitor workspace that the ARM resource names as integrated.

    Azure makes them itself, as ``Managed_Prometheus_<name>``, and removes them with it.
    """
    integrations = dig(workspace.resource.properties, "grafanaIntegrations")
    wanted = {
        as_text(item.get("azureMonitorWorkspaceResourceId")).lower(): item
        for item in as_objects(dig(integrations, "azureMonitorWorkspaceIntegrations"))
    }
    made = workspace.drawer("integrations")
    for key in [key for key in made if key not in wanted]:
        uid = made.pop(key)
        kept = [source for source in workspace.state.data_sources if source["uid"] != uid]
        workspace.state.data_sources[:] = kept
    for key in wanted:
        target = workspace.world.get(key)
        if key in made or target is None:
            continue
        name = f"Managed_Prometheus_{target.name}"
        if any(source["name"] == name for source in workspace.state.data_sources):
            continue
        command = _Command(
            name=name,
            type=PROMETHEUS if workspace.major < FIRST_MAJOR_WITHOUT_AZURE else AZURE_PROMETHEUS,
            access="proxy",
            url=query_endpoint(workspace.world, target),
            jsonData={"httpMethod": "POST", "azureCredentials": {"authType": "msi"}},
        )
        uid = generated_uid()
        source: JsonObject = {"id": workspace.next_id(), "uid": uid, "orgId": 1, "readOnly": False}
        _fill(source, command, version=1)
        workspace.state.data_sources.append(source)
        made[key] = uid


def migrate(workspace: Workspace) -> None:
    """Move Prometheus sources with Azure credentials to their own plugin, as Grafana 13 does.

    Only when it starts: a source that is made later, with the old type, stays and cannot sign in.
    """
    running = workspace.drawer("running")
    if running.get("major") == workspace.major:
        return
    running["major"] = workspace.major
    if workspace.major < FIRST_MAJOR_WITHOUT_AZURE:
        return
    for source in workspace.state.data_sources:
        json_data = as_object(source["jsonData"])
        if source["type"] == PROMETHEUS and "azureCredentials" in json_data:
            source["type"] = AZURE_PROMETHEUS
            json_data["prometheus-type-migration"] = True


def _find(workspace: Workspace, key: str, value: object) -> JsonObject:
    for source in workspace.state.data_sources:
        if source[key] == value:
            return source
    raise GrafanaError(404, "Data source not found")


def _command(body: object) -> _Command:
    try:
        command = _Command.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    if command.type not in PLUGINS:
        raise GrafanaError(400, f"Failed to add datasource: no plugin {command.type!r} is known")
    if command.access not in ("proxy", "direct"):
        raise bad_request()
    try:
        # Like Grafana, which parses the url and accepts an empty host ("http://:4040").
        _ = urlsplit(command.url).port
    except ValueError as error:
        raise GrafanaError(400, "Validation error, invalid URL") from error
    return command


def _check_uid(uid: str) -> None:
    if VALID_UID.fullmatch(uid) is None:
        raise GrafanaError(
            400,
            f"Invalid datasource UID {uid!r}: at most 40 letters, digits, dashes and underscores",
        )


def _check_free(workspace: Workspace, key: str, value: str, *, prefix: str = "") -> None:
    if any(source[key] == value for source in workspace.state.data_sources):
        raise GrafanaError(409, f"{prefix}data source with the same {key} already exists")


def _clear_default(workspace: Workspace) -> None:
    for source in workspace.state.data_sources:
        source["isDefault"] = False


def _fill(source: JsonObject, command: _Command, *, version: int) -> None:
    kept = as_object(source.get("secureJsonFields"))
    secrets = {key: True for key, value in (command.secure_json_data or {}).items() if value}
    source.update(
        {
            "name": command.name,
            "type": command.type,
            "typeLogoUrl": f"public/app/plugins/datasource/{command.type}/img/logo.svg",
            "access": command.access,
            "url": command.url,
            "user": command.user,
            "database": command.database,
            "basicAuth": command.basic_auth,
            "basicAuthUser": command.basic_auth_user,
            "withCredentials": command.with_credentials,
            "isDefault": command.is_default,
            "jsonData": dict(command.json_data or {}),
            "secureJsonFields": {**kept, **secrets},
            "version": version,
            "apiVersion": "",
        }
    )


def _answer(message: str, source: JsonObject) -> JsonObject:
    return {
        "message": message,
        "id": source["id"],
        "name": source["name"],
        "datasource": source,
    }
