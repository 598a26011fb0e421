"""Folders: ``/api/folders``. A folder takes its dashboards and subfolders along when deleted."""

import re

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.clock import timestamp
from simulator.grafana.data_sources import VALID_UID
from simulator.grafana.errors import GrafanaError, bad_request
from simulator.grafana.workspace import Workspace, generated_uid
from simulator.values import JsonObject, as_integer, as_text


class _Create(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    title: str = ""
    uid: str = ""
    parent_uid: str = Field(default="", alias="parentUid")


class _Update(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    title: str = ""
    version: int = 0
    overwrite: bool = False


def slug(title: str) -> str:
    """The title as it appears in URLs."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "-"


def list_all(workspace: Workspace, parent_uid: str) -> list[JsonObject]:
    """The folders directly below a folder, or below the root (the empty uid)."""
    below = [item for item in workspace.state.folders if _parent(item) == parent_uid]
    keys = ("id", "uid", "title", "parentUid")
    return [
        {key: folder[key] for key in keys if key in folder}
        for folder in sorted(below, key=lambda item: as_text(item["title"]).lower())
    ]


def find(workspace: Workspace, uid: str) -> JsonObject | None:
    """The folder with this uid."""
    return next((item for item in workspace.state.folders if item["uid"] == uid), None)


def by_uid(workspace: Workspace, uid: str) -> JsonObject:
    """The folder with this uid.

    Raises:
        GrafanaError: 404.
    """
    found = find(workspace, uid)
    if found is None:
        raise GrafanaError(404, "folder not found", "not-found")
    return found


def create(workspace: Workspace, body: object) -> JsonObject:
    """Create a folder.

    Raises:
        GrafanaError: 400 for an empty title or a uid that is not valid, 404 for an unknown parent,
            409 for a uid that is taken, or (major 11) a title that is taken beside it.
    """
    try:
        command = _Create.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    _check_title(command.title)
    uid = command.uid or generated_uid()
    if len(uid) > 40:
        raise GrafanaError(400, "uid too long, max 40 characters")
    if VALID_UID.fullmatch(uid) is None:
        raise GrafanaError(400, "uid contains illegal characters")
    if command.parent_uid:
        by_uid(workspace, command.parent_uid)
    if find(workspace, uid) is not None or _is_dashboard(workspace, uid):
        raise GrafanaError(409, "a folder/dashboard with the same uid already exists")
    _check_title_free(workspace, command.title, command.parent_uid, uid)
    now = timestamp()
    folder: JsonObject = {
        "id": workspace.next_id(),
        "uid": uid,
        "orgId": 1,
        "title": command.title,
        "url": f"/dashboards/f/{uid}/{slug(command.title)}",
        "hasAcl": False,
        "canSave": True,
        "canEdit": True,
        "canAdmin": True,
        "canDelete": True,
        "createdBy": "Anonymous",
        "created": now,
        "updatedBy": "Anonymous",
        "updated": now,
        "version": 1,
    }
    if command.parent_uid:
        folder["parentUid"] = command.parent_uid
    workspace.state.folders.append(folder)
    return folder


def update(workspace: Workspace, uid: str, body: object) -> JsonObject:
    """Rename a folder.

    Raises:
        GrafanaError: 400 for an empty title, 404, 412 for a version that is not the stored one,
            unless ``overwrite`` is set.
    """
    try:
        command = _Update.model_validate(body)
    except ValidationError as error:
        raise bad_request() from error
    folder = by_uid(workspace, uid)
    _check_title(command.title)
    if not command.overwrite and command.version != folder["version"]:
        message = "the folder has been changed by someone else"
        raise GrafanaError(412, message, "version-mismatch")
    _check_title_free(workspace, command.title, _parent(folder), uid)
    folder["title"] = command.title
    folder["url"] = f"/dashboards/f/{uid}/{slug(command.title)}"
    folder["version"] = as_integer(folder["version"]) + 1
    folder["updated"] = timestamp()
    return folder


def remove(workspace: Workspace, uid: str) -> JsonObject:
    """Delete a folder and everything in it.

    Raises:
        GrafanaError: 404.
    """
    folder = by_uid(workspace, uid)
    for below in [item for item in workspace.state.folders if _parent(item) == uid]:
        remove(workspace, as_text(below["uid"]))
    versions = workspace.drawer("versions")
    for dashboard in [item for item in workspace.state.dashboards if item["folderUid"] == uid]:
        workspace.state.dashboards.remove(dashboard)
        versions.pop(as_text(dashboard["uid"]), None)
    workspace.state.folders.remove(folder)
    return {"message": "Folder deleted"}


def counts(workspace: Workspace, uid: str) -> JsonObject:
    """How much is in a folder, at any depth.

    Raises:
        GrafanaError: 404.
    """
    by_uid(workspace, uid)
    below = [item for item in workspace.state.folders if _parent(item) == uid]
    inside = [counts(workspace, as_text(item["uid"])) for item in below]
    dashboards = sum(item["folderUid"] == uid for item in workspace.state.dashboards)
    return {
        "folder": len(below) + sum(as_integer(item["folder"]) for item in inside),
        "dashboard": dashboards + sum(as_integer(item["dashboard"]) for item in inside),
        "librarypanel": 0,
        "alertrule": 0,
    }


def _parent(folder: JsonObject) -> str:
    return as_text(folder.get("parentUid"))


def _check_title(title: str) -> None:
    if not title.strip():
        raise GrafanaError(400, "folder title cannot be empty")


def _check_title_free(workspace: Workspace, title: str, parent_uid: str, own_uid: str) -> None:
    # Since Grafana 12 titles need not be unique.
    if workspace.major < 12 and any(
        item["title"] == title and _parent(item) == parent_uid and item["uid"] != own_uid
        for item in workspace.state.folders
    ):
        message = "a folder or dashboard in the general folder with the same name already exists"
        raise GrafanaError(409, message)


def _is_dashboard(workspace: Workspace, uid: str) -> bool:
    return any(item["uid"] == uid for item in workspace.state.dashboards)
