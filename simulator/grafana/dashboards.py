"""Dashboards, their versions and search: ``/api/dashboards``, ``/api/search``.

A stored dashboard: ``id, uid, title, slug, folderUid, version, created, updated`` and its JSON,
``dashboard``, as a GET answers it. The versions are kept apart, newest first.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.clock import timestamp
from simulator.grafana import folders
from simulator.grafana.data_sources import VALID_UID
from simulator.grafana.errors import GrafanaError, bad_request
from simulator.grafana.folders import slug
from simulator.grafana.workspace import Workspace, generated_uid
from simulator.values import JsonObject, as_integer, as_objects, as_text, clone_object, dig, texts

GENERAL = "general"
"""The name of the root folder, whose uid is otherwise empty."""


SEARCH_LIMIT = 1000
LARGEST_SEARCH = 5000
"""How many hits a page of a search has, unless it says so, and at most."""


class _Save(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    dashboard: dict[str, object]
    folder_uid: str = Field(default="", alias="folderUid")
    folder_id: int = Field(default=0, alias="folderId")
    overwrite: bool = False
    message: str = ""


def save(workspace: Workspace, body: object) -> JsonObject:
    """Create a dashboard or write a new version of it.

    Raises:
        GrafanaError: 400 for a body without the wrapper, an empty title, a uid that is not valid or
            an unknown folder; 404 for an unknown numeric id; 412 for a version that is not the
            stored one or (major 11) a title that is taken in the folder, unless ``overwrite``.
    """
    try:
        command = _Save.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    title = as_text(command.dashboard.get("title")).strip()
    uid = as_text(command.dashboard.get("uid"))
    _check(title, uid, command.message)
    folder_uid = _folder_uid(workspace, command)
    stored = _existing(workspace, command, uid)
    if stored is None or stored["title"] != title or stored["folderUid"] != folder_uid:
        stored = _same_title(workspace, command, title, folder_uid, stored)
    now = timestamp()
    if stored is None:
        stored = dict[str, object](id=workspace.next_id(), uid=uid or generated_uid(), created=now)
        workspace.state.dashboards.append(stored)
    previous = as_integer(stored.get("version"))
    stored.update(
        {
            "title": title,
            "slug": slug(title),
            "folderUid": folder_uid,
            "version": previous + 1,
            "updated": now,
            "dashboard": {
                **clone_object(command.dashboard),
                "id": stored["id"],
                "uid": stored["uid"],
                "version": previous + 1,
            },
        }
    )
    _remember(workspace, stored, previous, command.message)
    return {
        "folderUid": folder_uid,
        "id": stored["id"],
        "slug": stored["slug"],
        "status": "success",
        "uid": stored["uid"],
        "url": _url(stored),
        "version": stored["version"],
    }


def by_uid(workspace: Workspace, uid: str) -> JsonObject:
    """The stored dashboard with this uid.

    Raises:
        GrafanaError: 404.
    """
    return _find(workspace, "uid", uid)


def by_id(workspace: Workspace, number: int) -> JsonObject:
    """The stored dashboard with this numeric id.

    Raises:
        GrafanaError: 404.
    """
    return _find(workspace, "id", number)


def full(workspace: Workspace, stored: JsonObject) -> JsonObject:
    """What a GET of a dashboard answers: ``meta`` and ``dashboard``."""
    folder = folders.find(workspace, as_text(stored["folderUid"]))
    return {
        "meta": {
            "type": "db",
            "canSave": True,
            "canEdit": True,
            "canAdmin": True,
            "canStar": False,
            "canDelete": True,
            "slug": stored["slug"],
            "url": _url(stored),
            "expires": "0001-01-01T00:00:00Z",
            "created": stored["created"],
            "updated": stored["updated"],
            "updatedBy": "Anonymous",
            "createdBy": "Anonymous",
            "version": stored["version"],
            "hasAcl": False,
            "isFolder": False,
            "folderId": folder["id"] if folder else 0,
            "folderUid": stored["folderUid"],
            "folderTitle": folder["title"] if folder else "General",
            "folderUrl": folder["url"] if folder else "",
            "provisioned": False,
            "provisionedExternalId": "",
        },
        "dashboard": stored["dashboard"],
    }


def remove(workspace: Workspace, stored: JsonObject) -> JsonObject:
    """Delete a dashboard and its versions."""
    workspace.state.dashboards.remove(stored)
    workspace.drawer("versions").pop(as_text(stored["uid"]), None)
    return {
        "id": stored["id"],
        "message": f"Dashboard {stored['title']} deleted",
        "title": stored["title"],
    }


def versions(workspace: Workspace, stored: JsonObject, limit: int, start: int) -> object:
    """The versions, newest first; a bare list on major 11, an object since."""
    kept = as_objects(workspace.drawer("versions").get(as_text(stored["uid"])))
    listed = [
        {key: value for key, value in version.items() if key != "data"}
        for version in kept[start : start + (limit or len(kept))]
    ]
    return listed if workspace.major < 12 else {"continueToken": "", "versions": listed}


def version(workspace: Workspace, stored: JsonObject, number: int) -> JsonObject:
    """One version, with the dashboard as it was.

    Raises:
        GrafanaError: 404.
    """
    for kept in as_objects(workspace.drawer("versions").get(as_text(stored["uid"]))):
        if kept["version"] == number:
            return kept
    raise GrafanaError(404, f"Dashboard version {number} not found for dashboard {stored['uid']}")


def search(workspace: Workspace, pairs: Sequence[tuple[str, str]]) -> list[JsonObject]:
    """Folders and dashboards by part of the title, type, tags, folder and uid, sorted by title.

    In pages of ``limit``, counted from 1; past the last one nothing is answered.
    """
    wanted: dict[str, list[str]] = {}
    for key, value in pairs:
        wanted.setdefault(key, []).append(value)
    hits = [
        *(_folder_hit(folder) for folder in workspace.state.folders),
        *(_hit(workspace, stored) for stored in workspace.state.dashboards),
    ]
    text = "".join(wanted.get("query", [])).lower()
    found = [
        hit
        for hit in hits
        if text in as_text(hit["title"]).lower()
        and hit["type"] in wanted.get("type", [hit["type"]])
        and set(wanted.get("tag", [])) <= set(texts(hit["tags"]))
        and hit.get("folderUid", GENERAL)
        in wanted.get("folderUIDs", [hit.get("folderUid", GENERAL)])
        and hit["uid"] in wanted.get("dashboardUIDs", [hit["uid"]])
    ]
    found.sort(key=lambda hit: as_text(hit["title"]).lower())
    size = min(_number(wanted, "limit") or SEARCH_LIMIT, LARGEST_SEARCH)
    begin = (max(_number(wanted, "page"), 1) - 1) * size
    return found[begin : begin + size]


def _number(wanted: dict[str, list[str]], name: str) -> int:
    text = "".join(wanted.get(name, [])[:1])
    return int(text) if text.isdigit() else 0


def _check(title: str, uid: str, message: str) -> None:
    if not title:
        raise GrafanaError(400, "Dashboard title cannot be empty", "empty-name")
    if len(uid) > 40:
        raise GrafanaError(400, "uid too long, max 40 characters")
    if uid and VALID_UID.fullmatch(uid) is None:
        raise GrafanaError(400, "uid contains illegal characters")
    if len(message) > 500:
        raise GrafanaError(400, "message too long, max 500 characters")


def _folder_uid(workspace: Workspace, command: _Save) -> str:
    if command.folder_uid in ("", GENERAL):
        if command.folder_id != 0:
            raise GrafanaError(400, "folder not found")
        return ""
    if folders.find(workspace, command.folder_uid) is None:
        raise GrafanaError(400, "folder not found")
    return command.folder_uid


def _existing(workspace: Workspace, command: _Save, uid: str) -> JsonObject | None:
    """The dashboard that is saved anew, by numeric id or uid."""
    number = as_integer(command.dashboard.get("id"))
    if number:
        stored = by_id(workspace, number)
        if uid and stored["uid"] != uid:
            raise GrafanaError(400, "A dashboard with the same uid already exists")
    else:
        found = [item for item in workspace.state.dashboards if uid and item["uid"] == uid]
        if not found:
            if uid and folders.find(workspace, uid) is not None:
                raise GrafanaError(400, "A dashboard with the same uid already exists")
            return None
        stored = found[0]
    if not command.overwrite and command.dashboard.get("version") != stored["version"]:
        message = "The dashboard has been changed by someone else"
        raise GrafanaError(412, message, "version-mismatch")
    return stored


def _same_title(
    workspace: Workspace, command: _Save, title: str, folder_uid: str, stored: JsonObject | None
) -> JsonObject | None:
    """What is saved where the title is taken in the folder; since Grafana 12 that is no matter.

    Up to major 11 ``overwrite`` means that dashboard: it is replaced and keeps its own uid.
    """
    if workspace.major >= 12:
        return stored
    for other in workspace.state.dashboards:
        if other is stored or other["folderUid"] != folder_uid or other["title"] != title:
            continue
        if not command.overwrite:
            message = "A dashboard with the same name in the folder already exists"
            raise GrafanaError(412, message, "name-exists")
        return other if stored is None else stored
    return stored


def _remember(workspace: Workspace, stored: JsonObject, previous: int, message: str) -> None:
    uid = as_text(stored["uid"])
    drawer = workspace.drawer("versions")
    entry: JsonObject = {
        "id": workspace.next_id(),
        "uid": uid,
        "dashboardId": stored["id"],
        "dashboardUid": uid,
        "parentVersion": previous,
        "restoredFrom": 0,
        "version": stored["version"],
        "created": stored["updated"],
        "createdBy": "Anonymous",
        "message": message,
        "data": stored["dashboard"],
    }
    drawer[uid] = [entry, *as_objects(drawer.get(uid))]


def _find(workspace: Workspace, key: str, value: object) -> JsonObject:
    for stored in workspace.state.dashboards:
        if stored[key] == value:
            return stored
    raise GrafanaError(404, "Dashboard not found", "not-found")


def _url(stored: JsonObject) -> str:
    return f"/d/{stored['uid']}/{stored['slug']}"


def _folder_hit(folder: JsonObject) -> JsonObject:
    return {
        "id": folder["id"],
        "uid": folder["uid"],
        "title": folder["title"],
        "url": folder["url"],
        "type": "dash-folder",
        "tags": [],
    }


def _hit(workspace: Workspace, stored: JsonObject) -> JsonObject:
    hit: JsonObject = {
        "id": stored["id"],
        "uid": stored["uid"],
        "title": stored["title"],
        "url": _url(stored),
        "type": "dash-db",
        "tags": texts(dig(stored, "dashboard", "tags")),
    }
    folder = folders.find(workspace, as_text(stored["folderUid"]))
    if folder is not None:
        hit |= {"folderUid": folder["uid"], "folderTitle": folder["title"]}
    return hit
