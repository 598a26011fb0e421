"""The folder of a dashboard in Grafana: found by uid or title, made, renamed, deleted when empty.

A folder that was there before belongs to whoever made it: it is used, and neither renamed nor
deleted. That this stack made one is a tag of its dashboard (:data:`FOLDER_TAG_PREFIX`).
"""

from collections.abc import Iterable

from contract.azure import Role
from contract.grafana import FOLDER_TAG_PREFIX
from contract.json import Document
from contract.messages.grafana import DashboardRequest
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.grafana import Grafana, message_of, segment

ROLE = Role.GRAFANA_EDITOR.role_name

_GENERAL = "general"
"""The uid that some releases of Grafana give to no folder; others leave it empty."""


def folder_of(live: Document) -> str:
    """The uid of the folder that the dashboard ``live`` is in; empty for General."""
    uid = live.text("meta", "folderUid")
    return uid if uid != _GENERAL else ""


def tag_of(uid: str) -> str:
    """The tag of a dashboard whose stack made the folder ``uid``."""
    return f"{FOLDER_TAG_PREFIX}{uid}"


def made_folders(tags: Iterable[str]) -> tuple[str, ...]:
    """The uids of the folders that, by the ``tags`` of a dashboard, its stack made."""
    return tuple(
        tag.removeprefix(FOLDER_TAG_PREFIX) for tag in tags if tag.startswith(FOLDER_TAG_PREFIX)
    )


def is_in_place(request: DashboardRequest, live: Document, tags: Iterable[str]) -> bool:
    """Whether the dashboard ``live`` is where it is requested, under the requested title."""
    uid, wanted = folder_of(live), request.folder_title
    if not request.folder_uid:
        return not uid
    title = live.text("meta", "folderTitle")
    has_title = not wanted or title in ("", wanted)
    if uid == request.folder_uid:
        # Somebody else's folder may be called as its owner likes.
        return has_title or tag_of(uid) not in tags
    return bool(uid) and title == wanted


class Folder:
    """The request's folder during one run, which may make it in one attempt, then try again."""

    def __init__(self, grafana: Grafana, request: DashboardRequest) -> None:
        self._grafana = grafana
        self._wanted = request.folder_uid or ""
        self._title = request.folder_title or ""
        self.uid = ""
        """Where the dashboard goes; empty: General."""
        self.is_new = False
        """Whether it was absent when this run first looked."""

    def settle(self, *, made: bool, now: str) -> None:
        """Find the folder or make it.

        The one of the wanted uid; where that is absent or titled otherwise, one of the wanted
        title; where there is none either, the first is made, or renamed if this stack ``made`` it.
        ``now`` is the uid of the folder that the dashboard is in.
        """
        if not self._wanted:
            return
        own = self._find()
        titled = own is not None and self._title in ("", own.text("title"))
        if own is not None and (titled or not made):
            self.uid = self._wanted
            return
        namesakes = self._namesakes()
        if namesakes:
            self.uid = now if now in namesakes else namesakes[0]
            say(f"note: the dashboard goes into the folder {self._title!r} (uid {self.uid!r})")
            return
        self.uid = self._wanted
        if own is None:
            self._make()
        else:
            self._rename()

    def _make(self) -> None:
        if not self._title:
            raise OperationError(
                ExitCode.NOT_FOUND,
                f"The folder with uid {self._wanted!r} does not exist in {self._grafana.endpoint}.",
                fix="make it, or give a title so that it is made",
            )
        self.is_new = True
        response = self._grafana.write(
            "POST",
            "/api/folders",
            f"make the folder {self._title}",
            ROLE,
            body={"uid": self._wanted, "title": self._title},
            is_done=lambda: self._find() is not None,
            accept=lambda status: status < 300 or status in (409, 412),
        )
        if not response.is_success and self._find() is None:
            self.is_new = False
            raise OperationError(
                ExitCode.CONFLICT,
                f"A folder titled {self._title!r} exists under another uid.",
                why=message_of(response),
                fix="choose another folder title (grafana.folder)",
            )

    def _rename(self) -> None:
        self._grafana.write(
            "PUT",
            f"/api/folders/{segment(self._wanted)}",
            f"rename the folder {self._wanted} to {self._title}",
            ROLE,
            # Whatever its version is by now.
            body={"title": self._title, "overwrite": True},
            is_done=self._has_its_title,
        )

    def _has_its_title(self) -> bool:
        found = self._find()
        return found is not None and found.text("title") == self._title

    def _find(self) -> Document | None:
        path, action = f"/api/folders/{segment(self._wanted)}", f"look up the folder {self._wanted}"
        found = self._grafana.find(path, action, ROLE)
        if found is not None and found.text("uid") != self._wanted:
            raise self._grafana.not_understood(action)
        return found

    def _namesakes(self) -> list[str]:
        """The uids of the other folders of the wanted title, outside of all folders, in order."""
        if not self._title:
            return []
        found = self._grafana.get_list("/api/folders", "list the folders", ROLE, limit="1000")
        uids = [one.text("uid") for one in found if one.text("title") == self._title]
        return sorted(uid for uid in uids if uid != self._wanted)


def remove_if_empty(grafana: Grafana, uid: str) -> None:
    """Delete the folder unless something is in it.

    Deleting a folder deletes what is in it, so it must be known to be empty.
    """
    path = f"/api/folders/{segment(uid)}"
    counts = grafana.find(f"{path}/counts", f"look into the folder {uid}", ROLE)
    if counts is None:
        return
    inside = {kind: counts.integer(kind) for kind in counts.fields}
    if not inside or None in inside.values():
        raise grafana.not_understood(f"look into the folder {uid}")
    if any(inside.values()):
        held = ", ".join(f"{count} {kind}" for kind, count in sorted(inside.items()) if count)
        say(f"note: the folder {uid} stays: it still holds {held}")
        return
    grafana.delete(path, f"delete the folder {uid}", ROLE)
