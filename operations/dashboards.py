"""Grafana dashboards and their folder: applied and deleted by uid, only where this stack owns them.

Azure Managed Grafana keeps every version of a dashboard with a message; the newest one's message
carries the observed revision, so an edit by hand shows as a newer version without it.
"""

from collections.abc import Collection, Mapping

from contract.azure import Role
from contract.grafana import FOLDER_TAG_PREFIX, OWNER_MARK, OWNER_TAG_PREFIX
from contract.json import Document
from contract.messages.grafana import AppliedDashboard, DashboardRequest, Deletion
from operations import folders, ownership
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.folders import Folder
from operations.grafana import Grafana, segment
from operations.session import Session, is_revision_of, revision_at_end

ROLE = Role.GRAFANA_EDITOR.role_name

_MESSAGE_PREFIX = f"{OWNER_MARK} "


def apply(request: DashboardRequest, session: Session) -> AppliedDashboard:
    """Make the dashboard (and its folder), or bring it back to what is requested.

    Raises:
        OperationError: CONFLICT where the uid is somebody else's and ``adopt`` is not set;
            REJECTED where Grafana refuses the JSON; FORBIDDEN, UNREACHABLE or BUSY on expiry.
    """
    grafana = Grafana.named_by(request, session)
    revision = session.revision_for(request)
    folder = Folder(grafana, request)
    return grafana.when_allowed(
        lambda: _apply(grafana, request, revision, folder), what=f"the dashboard {request.uid}"
    )


def delete(request: DashboardRequest, session: Session) -> Deletion:
    """Delete the dashboard if it is this stack's.

    Its folder goes too if this stack made it and nothing else is in it. What is gone already, with
    its Grafana or without, counts as deleted.
    """
    grafana = Grafana.named_by(request, session)
    deleted = False
    made: set[str] = set()

    def attempt() -> Deletion:
        # An attempt may follow one that got half of the way.
        nonlocal deleted
        live = _by_uid(grafana, request.uid)
        if live is not None:
            if not ownership.owns_tags(request.owner, _tags(live)):
                return _leave_alone(request, live)
            made.update(folders.made_folders(_tags(live)))
            path = f"/api/dashboards/uid/{segment(request.uid)}"
            grafana.delete(path, f"delete the dashboard {request.uid}", ROLE)
            deleted = True
        elif not deleted and request.folder_uid:
            # A run before may have ended here; the uid is derived from the stack.
            made.add(request.folder_uid)
        _remove_folders(grafana, request, made)
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
    if not folders.is_in_place(request, live, _tags(live)):
        return None
    revision = _newest_revision(grafana, request.uid)
    return revision if is_revision_of(revision, request) else None


def _apply(
    grafana: Grafana, request: DashboardRequest, revision: str, folder: Folder
) -> AppliedDashboard:
    live = _by_uid(grafana, request.uid)
    if live is not None:
        _refuse_unless_ours(request, live)
        if observed_revision(request, grafana) == revision:
            return _answer(grafana, request)
    made = _folders_made(grafana, request, live)
    folder.settle(
        made=request.folder_uid in made, now=folders.folder_of(live) if live is not None else ""
    )
    if folder.is_new:
        made.add(folder.uid)
    try:
        grafana.write(
            "POST",
            "/api/dashboards/db",
            f"save the dashboard {request.uid}",
            ROLE,
            body={
                "dashboard": _marked(request, made_folder=folder.uid if folder.uid in made else ""),
                "folderUid": folder.uid,
                # A new one must not overwrite somebody else's of the same title.
                "overwrite": live is not None,
                "message": _MESSAGE_PREFIX + revision,
            },
            is_done=lambda: _newest_revision(grafana, request.uid) == revision,
        )
    except OperationError as error:
        if folder.is_new and not error.transient:
            # Without its dashboard nothing would remember that the folder is ours.
            folders.remove_if_empty(grafana, folder.uid)
        if error.kind is ExitCode.CONFLICT:
            error.fix = (
                "a dashboard of this title or version is in the folder already: rename it, choose "
                "another folder (grafana.folder), or run it again"
            )
        raise
    # It has moved out of them.
    _remove_folders(grafana, request, made - {folder.uid})
    return _answer(grafana, request)


def _folders_made(grafana: Grafana, request: DashboardRequest, live: Document | None) -> set[str]:
    """The folders that this stack made, by the marks of its dashboards.

    One that is new under this uid follows one under another, whose folder it goes into.
    """
    if live is not None:
        # One that is taken over goes out of its owner's folder.
        is_ours = ownership.owns_tags(request.owner, _tags(live))
        return set(folders.made_folders(_tags(live))) if is_ours else set()
    if not request.folder_uid:
        return set()
    return {
        uid for one in _ours(grafana, request) for uid in folders.made_folders(one.texts("tags"))
    }


def _remove_folders(grafana: Grafana, request: DashboardRequest, made: Collection[str]) -> None:
    """Delete the folders in ``made``, unless another dashboard of this stack's is in them."""
    for uid in sorted(made):
        others = [one for one in _ours(grafana, request) if one.text("uid") != request.uid]
        if not any(folders.tag_of(uid) in one.texts("tags") for one in others):
            folders.remove_if_empty(grafana, uid)


def _ours(grafana: Grafana, request: DashboardRequest) -> list[Document]:
    """What a search finds of this stack's dashboards: their uids and tags."""
    return grafana.get_list(
        "/api/search",
        "search for the dashboards of this stack",
        ROLE,
        type="dash-db",
        tag=ownership.owner_tag(request.owner),
    )


def _leave_alone(request: DashboardRequest, live: Document) -> Deletion:
    note = f"the dashboard {request.uid} is not deleted: it belongs to {_owner_text(live)}"
    say(f"note: {note}")
    return Deletion(uid=request.uid, deleted=False, note=note)


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
        "belongs to somebody else; it stays as it is.",
        why=f"its owner is {_owner_text(live)}",
        fix="choose another uid for this stack (grafana.dashboard.uid), or take it over with "
        "grafana: { adopt: true }",
    )


def _owner_text(live: Document) -> str:
    by = live.text("meta", "updatedBy")
    return ownership.describe_tags(_tags(live)) + (f", last saved by {by}" if by else "")


def _marked(request: DashboardRequest, *, made_folder: str) -> Mapping[str, object]:
    wanted = Document(request.dashboard)
    foreign = (OWNER_TAG_PREFIX, FOLDER_TAG_PREFIX)
    tags = [tag for tag in wanted.texts("tags") if not tag.startswith(foreign)]
    marks = [OWNER_MARK, ownership.owner_tag(request.owner)]
    if made_folder:
        marks.append(folders.tag_of(made_folder))
    tags += [mark for mark in marks if mark not in tags]
    return {**wanted.fields, "id": None, "uid": request.uid, "tags": tags}


def _newest_revision(grafana: Grafana, uid: str) -> str:
    """The revision in the message of the newest version; empty where there is none."""
    try:
        response = grafana.request(
            "GET",
            f"/api/dashboards/uid/{segment(uid)}/versions",
            f"read the versions of the dashboard {uid}",
            ROLE,
            query={"limit": "5"},
        )
    except OperationError as error:
        if error.kind is ExitCode.NOT_FOUND:
            return ""
        raise
    # Grafana before 11 answers the bare list.
    answer = Document.parse(b'{"versions":' + response.content + b"}")
    versions = list(answer.children("versions")) or list(answer.children("versions", "versions"))
    newest = max(versions, key=lambda version: version.integer("version") or 0, default=None)
    message = newest.text("message") if newest else ""
    return revision_at_end(message) if message.startswith(_MESSAGE_PREFIX) else ""


def _by_uid(grafana: Grafana, uid: str) -> Document | None:
    action = f"look up the dashboard {uid}"
    found = grafana.find(f"/api/dashboards/uid/{segment(uid)}", action, ROLE)
    if found is not None and found.text("dashboard", "uid") != uid:
        raise grafana.not_understood(action)
    return found


def _tags(live: Document) -> tuple[str, ...]:
    return live.texts("dashboard", "tags")


def _answer(grafana: Grafana, request: DashboardRequest) -> AppliedDashboard:
    # Without the title's slug, which changes with the title; Grafana redirects.
    return AppliedDashboard(uid=request.uid, url=f"{grafana.endpoint}/d/{request.uid}")
