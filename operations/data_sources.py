"""Grafana data sources: applied and deleted by uid, only where this stack owns them."""

from contract.azure import Role
from contract.grafana import AZURE_PROMETHEUS, OWNER_MARK, PROMETHEUS, PROMETHEUS_TYPES
from contract.json import Document
from contract.messages.grafana import AppliedDataSource, DataSourceRequest, Deletion
from operations import ownership
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.grafana import Grafana, segment
from operations.session import Session, is_revision_of

ROLE = Role.GRAFANA_ADMIN.role_name

_FIRST_MAJOR_WITHOUT_AZURE = 13
"""From here on the first ignores Azure credentials (grafana 123089), so a new source that signs in
to Azure must be of the second; what is there already moves only when Grafana starts."""

_CONFLICT_ATTEMPTS = 3


def apply(request: DataSourceRequest, session: Session) -> AppliedDataSource:
    """Make the data source, or bring it back to what is requested.

    Raises:
        OperationError: CONFLICT where name or uid is somebody else's and ``adopt`` is not set;
            FORBIDDEN, UNREACHABLE or BUSY on expiry.
    """
    grafana = Grafana.named_by(request, session)
    revision = session.revision_for(request)
    return grafana.when_allowed(
        lambda: _apply(grafana, request, revision), what=f"the data source {request.name}"
    )


def delete(request: DataSourceRequest, session: Session) -> Deletion:
    """Delete the data source if it is this stack's.

    One that is gone already, with its Grafana or without, counts as deleted.
    """
    grafana = Grafana.named_by(request, session)
    try:
        return grafana.when_allowed(
            lambda: _delete(grafana, request), what=f"the data source {request.name} to be deleted"
        )
    except OperationError:
        if grafana.is_gone():
            return Deletion(uid=request.uid, deleted=False, note="the Grafana workspace is gone")
        raise


def observed_revision(request: DataSourceRequest, grafana: Grafana) -> str | None:
    """The revision of the live data source; None where it is not as requested."""
    live = _by_uid(grafana, request.uid)
    if live is None or not is_in_sync(request, live):
        return None
    return _revision(live)


def is_in_sync(request: DataSourceRequest, live: Document) -> bool:
    """Whether ``live`` is the requested source: keys that Grafana adds by itself do not count."""
    return (
        ownership.owns_data_source(request.owner, live)
        and is_revision_of(_revision(live), request)
        and live.text("name") == request.name
        and _is_same_type(live.text("type"), request.type)
        and live.text("url").rstrip("/") == request.url.rstrip("/")
        and live.text("access") == "proxy"
        and all(live.value("jsonData", key) == value for key, value in request.json_data.items())
    )


def _type_there(grafana: Grafana, request: DataSourceRequest) -> str:
    """The type that does in this Grafana what the requested one stands for."""
    if request.type != PROMETHEUS or "azureCredentials" not in request.json_data:
        return request.type
    version = grafana.get("/api/health", "ask Grafana for its version", ROLE).text("version")
    major = version.partition(".")[0]
    has_none = major.isdecimal() and int(major) >= _FIRST_MAJOR_WITHOUT_AZURE
    return AZURE_PROMETHEUS if has_none else PROMETHEUS


def _is_same_type(live: str, wanted: str) -> bool:
    return live == wanted or {live, wanted} <= PROMETHEUS_TYPES


def _apply(grafana: Grafana, request: DataSourceRequest, revision: str) -> AppliedDataSource:
    for attempt in range(_CONFLICT_ATTEMPTS):
        try:
            _apply_once(grafana, request, revision)
        except OperationError as error:
            # Somebody made or renamed one between our reading and our write: look again, which
            # either finds it ours or names its owner.
            if (
                error.kind is not ExitCode.CONFLICT
                or error.fix
                or attempt + 1 == _CONFLICT_ATTEMPTS
            ):
                raise
        else:
            break
    return AppliedDataSource(uid=request.uid, name=request.name)


def _apply_once(grafana: Grafana, request: DataSourceRequest, revision: str) -> None:
    live = _by_uid(grafana, request.uid)
    namesake = _by_name(grafana, request.name)
    if namesake is not None and namesake.text("uid") == request.uid:
        namesake = None
    for found in (live, namesake):
        if found is not None:
            _refuse_unless_ours(request, found)
    kind = _type_there(grafana, request)
    if namesake is not None:
        if live is None and _moves(request, namesake, kind):
            live = namesake
        else:
            _make_room(grafana, request, namesake)
    if live is not None and not _keeps_type(request, live, kind):
        # Some majors ignore a new type in an update.
        _remove(grafana, request.uid)
        live = None

    def is_done() -> bool:
        found = _by_uid(grafana, request.uid)
        return found is not None and _revision(found) == revision

    if live is None:
        grafana.write(
            "POST",
            "/api/datasources",
            f"make the data source {request.name}",
            ROLE,
            body=_body(request, revision, kind),
            is_done=is_done,
        )
        return
    if is_in_sync(request, live) and _revision(live) == revision:
        return
    grafana.write(
        "PUT",
        f"/api/datasources/uid/{segment(live.text('uid'))}",
        f"update the data source {request.name}",
        ROLE,
        body=_body(request, revision, live.text("type")),
        is_done=is_done,
    )


def _keeps_type(request: DataSourceRequest, live: Document, kind: str) -> bool:
    """Whether ``live`` can become what is requested, which here is of type ``kind``."""
    return _is_same_type(live.text("type"), request.type) and (live.text("type"), kind) != (
        PROMETHEUS,
        AZURE_PROMETHEUS,
    )


def _moves(request: DataSourceRequest, namesake: Document, kind: str) -> bool:
    """Whether the source of the wanted name gets the wanted uid in place.

    Somebody else's does, where it is taken over: Grafana changes a uid in an update (its
    ``UpdateDataSource``). One of this stack's own is still what its dashboard shows, and goes once
    that shows the new one.
    """
    return not ownership.owns_data_source(request.owner, namesake) and _keeps_type(
        request, namesake, kind
    )


def _make_room(grafana: Grafana, request: DataSourceRequest, namesake: Document) -> None:
    """Let the wanted name go from ``namesake``, which has another uid.

    One of this stack's own keeps working under a name of its own until it is deleted.
    """
    uid = namesake.text("uid")
    if not ownership.owns_data_source(request.owner, namesake):
        _remove(grafana, uid)
        return
    kept = {key: value for key, value in namesake.fields.items() if key != "version"}
    name = f"{request.name} ({uid})"

    def is_done() -> bool:
        found = _by_uid(grafana, uid)
        return found is not None and found.text("name") == name

    grafana.write(
        "PUT",
        f"/api/datasources/uid/{segment(uid)}",
        f"rename the data source {uid}",
        ROLE,
        body={**kept, "name": name},
        is_done=is_done,
    )


def _delete(grafana: Grafana, request: DataSourceRequest) -> Deletion:
    live = _by_uid(grafana, request.uid)
    if live is None:
        return Deletion(uid=request.uid, deleted=False, note="it is gone already")
    if not ownership.owns_data_source(request.owner, live):
        owner = ownership.describe(ownership.owner_of_data_source(live))
        note = f"the data source {request.uid} is not deleted: it belongs to {owner}"
        say(f"note: {note}")
        return Deletion(uid=request.uid, deleted=False, note=note)
    _remove(grafana, request.uid)
    return Deletion(uid=request.uid, deleted=True)


def _refuse_unless_ours(request: DataSourceRequest, found: Document) -> None:
    label = f"{found.text('name')!r} (uid {found.text('uid')!r})"
    if found.flag("readOnly"):
        raise OperationError(
            ExitCode.CONFLICT,
            f"The data source {label} is provisioned and cannot be changed.",
            fix="give this stack's source another name and uid (grafana.dataSources)",
        )
    if request.adopt or ownership.owns_data_source(request.owner, found):
        return
    raise OperationError(
        ExitCode.CONFLICT,
        f"The data source {label} exists and belongs to somebody else; it stays as it is.",
        why=f"its owner is {ownership.describe(ownership.owner_of_data_source(found))}",
        fix="choose another name and uid for this stack (grafana.dataSources), or take it over "
        "with grafana: { adopt: true }",
    )


def _remove(grafana: Grafana, uid: str) -> None:
    grafana.delete(f"/api/datasources/uid/{segment(uid)}", f"delete the data source {uid}", ROLE)


def _revision(live: Document) -> str:
    """The revision that ``live`` was last written with; empty where it carries none."""
    return live.text("jsonData", OWNER_MARK, "revision")


def _by_uid(grafana: Grafana, uid: str) -> Document | None:
    action = f"look up the data source {uid}"
    found = grafana.find(f"/api/datasources/uid/{segment(uid)}", action, ROLE)
    if found is not None and found.text("uid") != uid:
        raise grafana.not_understood(action)
    return found


def _by_name(grafana: Grafana, name: str) -> Document | None:
    action = f"look up the data source {name}"
    found = grafana.find(f"/api/datasources/name/{segment(name)}", action, ROLE)
    if found is not None and not found.text("uid"):
        raise grafana.not_understood(action)
    return found


def _body(request: DataSourceRequest, revision: str, kind: str) -> dict[str, object]:
    mark = ownership.data_source_mark(request.owner, revision)
    return {
        "name": request.name,
        "uid": request.uid,
        "type": kind,
        "access": "proxy",
        "url": request.url,
        "jsonData": {**request.json_data, OWNER_MARK: mark},
    }
