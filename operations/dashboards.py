"""Grafana dashboards and their folder: applied and deleted by uid, only where this stack owns them.

Azure Managed Grafana keeps every version of a dashboard with a message; the newest one's message
carries the observed revision, so an edit by hand shows as a newer version without it.
"""

from collections.abc import Mapping

from contract.azure import Role
from contract.grafana import FOLDER_TAG_PREFIX, OWNER_MARK, OWNER_TAG_PREFIX
from contract.json import Document
from contract.messages.grafana import AppliedDashboard, DashboardRequest, Deletion
from operations import ownership
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.grafana import Grafana, message_of, segment
from operations.session import Session, is_revision_of, revision_at_end

ROLE = Role.GRAFANA_EDITOR.role_name

_MESSAGE_PREFIX = f"{OWNER_MARK} "
_GENERAL = "general"
"""The uid that some releases of Grafana give to no folder; others leave it empty."""


def apply(request: DashboardRequest, session: Session) -> AppliedDashboard:
    """Make the dashboard (and its folder), or bring it back to what is requested.

    Raises:
        OperationError: CONFLICT where the uid is somebody else's and ``adopt`` is not set;
            REJECTED where Grafana refuses the JSON; FORBIDDEN, UNREACHABLE or BUSY on expiry.
    """
    grafana = Grafana(session, request.endpoint, request.workspace_id)
    revision = session.revision_for(request)
    folder = _Folder(grafana, request)
    return grafana.when_allowed(
        lambda: _apply(grafana, request, revision, folder), what=f"the dashboard {request.uid}"
    )


def delete(request: DashboardRequest, session: Session) -> Deletion:
    """Delete the dashboard if it is this stack's.

    Its folder goes too if this stack made it and nothing else is in it. What is gone already, with
    its Grafana or without, counts as deleted.
    """
    grafana = Grafana(session, request.endpoint, request.workspace_id)
    deleted = folder_goes = False

    def attempt() -> Deletion:
        # An attempt may follow one that got half of the way.
        nonlocal deleted, folder_goes
        live = _by_uid(grafana, request.uid)
        if live is not None:
            if not ownership.owns_tags(request.owner, _tags(live)):
                return _leave_alone(request, live)
            folder_goes = bool(request.folder_uid) and _folder_tag(request) in _tags(live)
            _remove(grafana, f"/api/dashboards/uid/{segment(request.uid)}", request.uid)
            deleted = True
        if folder_goes:
            _remove_folder_if_empty(grafana, request.folder_uid or "")
        note = "" if deleted else "it is gone already"
        return Deletion(uid=request.uid, deleted=deleted, note=note)

    try:
        return grafana.when_allowed(attempt, what=f"the dashboard {request.uid} to be deleted")
    except OperationError:
        if grafana.is_gone():
            return Deletion(uid=request.uid, deleted=False, note="the Grafana workspace is gone")
        raise


def observed_revision(request: DashboardRequest, grafana: Grafana) -> str | None:
    """The revision of the live dashboard's newest version; None where it is not as requested."""
    live = _by_uid(grafana, request.uid)
    if live is None or not ownership.owns_tags(request.owner, _tags(live)):
        return None
    folder = live.text("meta", "folderUid")
    if (folder if folder != _GENERAL else "") != (request.folder_uid or ""):
        return None
    revision = _newest_revision(grafana, request.uid)
    return revision if is_revision_of(revision, request) else None


def _apply(
    grafana: Grafana, request: DashboardRequest, revision: str, folder: "_Folder"
) -> AppliedDashboard:
    live = _by_uid(grafana, request.uid)
    if live is not None:
        _refuse_unless_ours(request, live)
        if observed_revision(request, grafana) == revision:
            return _answer(grafana, request)
    folder.ensure()
    keeps_folder = live is not None and _folder_tag(request) in _tags(live)
    try:
        grafana.request(
            "POST",
            "/api/dashboards/db",
            f"save the dashboard {request.uid}",
            ROLE,
            body={
                "dashboard": _marked(request, owns_folder=folder.is_new or keeps_folder),
                "folderUid": request.folder_uid or "",
                # A new one must not overwrite somebody else's of the same title.
                "overwrite": live is not None,
                "message": _MESSAGE_PREFIX + revision,
            },
        )
    except OperationError as error:
        if folder.is_new and not error.transient:
            # Without its dashboard nothing would remember that the folder is ours.
            _remove_folder_if_empty(grafana, request.folder_uid or "")
        if error.kind is ExitCode.CONFLICT:
            error.fix = (
                "a dashboard of this title or version is in the folder already: rename it, choose "
                "another folder (grafana.folder), or run it again"
            )
        raise
    return _answer(grafana, request)


def _leave_alone(request: DashboardRequest, live: Document) -> Deletion:
    note = f"the dashboard {request.uid} is left alone: it belongs to {_owner_text(live)}"
    say(f"note: {note}")
    return Deletion(uid=request.uid, deleted=False, note=note)


def _remove(grafana: Grafana, path: str, uid: str) -> None:
    grafana.request(
        "DELETE", path, f"delete {uid}", ROLE, accept=lambda status: status < 300 or status == 404
    )


def _refuse_unless_ours(request: DashboardRequest, live: Document) -> None:
    if live.flag("meta", "provisioned"):
        raise OperationError(
            ExitCode.CONFLICT,
            f"The dashboard with uid {request.uid!r} is provisioned and cannot be changed.",
            fix="give this stack's dashboard another uid (grafana.dashboard.uid)",
        )
    if request.adopt or ownership.owns_tags(request.owner, _tags(live)):
        return
    raise OperationError(
        ExitCode.CONFLICT,
        f"The dashboard {live.text('dashboard', 'title')!r} (uid {request.uid!r}) exists and "
        "belongs to somebody else; nothing was changed.",
        why=f"its owner is {_owner_text(live)}",
        fix="choose another uid for this stack (grafana.dashboard.uid), or take it over with "
        "grafana: { adopt: true }",
    )


def _owner_text(live: Document) -> str:
    marks = [tag for tag in _tags(live) if tag.startswith(OWNER_TAG_PREFIX)]
    if marks:
        return f"another stack of this program (tag {marks[0]})"
    by = live.text("meta", "updatedBy")
    return ownership.describe(None) + (f", last saved by {by}" if by else "")


def _marked(request: DashboardRequest, *, owns_folder: bool) -> Mapping[str, object]:
    wanted = Document(request.dashboard)
    foreign = (OWNER_TAG_PREFIX, FOLDER_TAG_PREFIX)
    tags = [tag for tag in wanted.texts("tags") if not tag.startswith(foreign)]
    marks = [OWNER_MARK, ownership.owner_tag(request.owner)]
    if owns_folder:
        marks.append(_folder_tag(request))
    tags += [mark for mark in marks if mark not in tags]
    return {**wanted.fields, "id": None, "uid": request.uid, "tags": tags}


class _Folder:
    """The request's folder during one run, which may make it in one attempt, then try again."""

    def __init__(self, grafana: Grafana, request: DashboardRequest) -> None:
        self._grafana = grafana
        self._uid = request.folder_uid or ""
        self._title = request.folder_title or ""
        self.is_new = False
        """Whether it was absent when this run first looked."""

    def ensure(self) -> None:
        """Make the folder if it does not exist."""
        if not self._uid or self._exists():
            return
        if not self._title:
            raise OperationError(
                ExitCode.NOT_FOUND,
                f"The folder with uid {self._uid!r} does not exist in {self._grafana.endpoint}.",
                fix="make it, or give a title so that it is made",
            )
        self.is_new = True
        response = self._grafana.request(
            "POST",
            "/api/folders",
            f"make the folder {self._title}",
            ROLE,
            body={"uid": self._uid, "title": self._title},
            accept=lambda status: status < 300 or status in (409, 412),
        )
        if not response.is_success and not self._exists():
            self.is_new = False
            raise OperationError(
                ExitCode.CONFLICT,
                f"A folder titled {self._title!r} exists under another uid.",
                why=message_of(response),
                fix="choose another folder title (grafana.folder)",
            )

    def _exists(self) -> bool:
        path = f"/api/folders/{segment(self._uid)}"
        return self._grafana.find(path, f"look up the folder {self._uid}", ROLE) is not None


def _remove_folder_if_empty(grafana: Grafana, uid: str) -> None:
    """Deleting a folder deletes what is in it, so it must be known to be empty."""
    path = f"/api/folders/{segment(uid)}"
    counts = grafana.find(f"{path}/counts", f"look into the folder {uid}", ROLE)
    if counts is None:
        return
    inside = {kind: counts.integer(kind) or 0 for kind in counts.fields}
    if any(inside.values()):
        held = ", ".join(f"{count} {kind}" for kind, count in sorted(inside.items()) if count)
        say(f"note: the folder {uid} stays: it still holds {held}")
        return
    _remove(grafana, path, uid)


def _newest_revision(grafana: Grafana, uid: str) -> str:
    """The revision in the message of the newest version; empty where it carries none."""
    response = grafana.request(
        "GET",
        f"/api/dashboards/uid/{segment(uid)}/versions",
        f"read the versions of the dashboard {uid}",
        ROLE,
        query={"limit": "5"},
    )
    # Grafana before 11 answers the bare list.
    answer = Document.parse(b'{"versions":' + response.content + b"}")
    versions = list(answer.children("versions")) or list(answer.children("versions", "versions"))
    newest = max(versions, key=lambda version: version.integer("version") or 0, default=None)
    message = newest.text("message") if newest else ""
    return revision_at_end(message) if message.startswith(_MESSAGE_PREFIX) else ""


def _by_uid(grafana: Grafana, uid: str) -> Document | None:
    return grafana.find(f"/api/dashboards/uid/{segment(uid)}", f"look up the dashboard {uid}", ROLE)


def _tags(live: Document) -> tuple[str, ...]:
    return live.texts("dashboard", "tags")


def _folder_tag(request: DashboardRequest) -> str:
    return f"{FOLDER_TAG_PREFIX}{request.folder_uid}"


def _answer(grafana: Grafana, request: DashboardRequest) -> AppliedDashboard:
    # Without the title's slug, which changes with the title; Grafana redirects.
    return AppliedDashboard(uid=request.uid, url=f"{grafana.endpoint}/d/{request.uid}")
