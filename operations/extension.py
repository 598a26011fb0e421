"""Letting Azure and Helm forget an extension that neither can remove, so that it is made again.

An extension's chart may carry the namespace that Pyroscope is in, too. Whoever removes the
extension then lets Helm delete the namespace, which the API server refuses
(:mod:`operations.namespace`): Helm has removed all else by then, and keeps the release as
``uninstalling`` (pkg/action/uninstall.go), Azure the extension as Failed. From there neither gets
on: Helm's next install ends with "cannot re-use a name that is still in use".

Without Helm's records and Azure's resource both begin anew, and Helm takes the namespace over by
its mark. What is in the namespace is not touched. ``forceDelete`` is Azure's own way to let a
resource go without its uninstallation (the service's specification, ``Extensions_Delete``).
"""

from contract.azure import EXTENSION_API
from contract.json import Document
from contract.messages.extension import ExtensionRecoveryRequest, RecoveredExtension
from operations.azure import is_absent
from operations.clock import GIVE_UP_AFTER, say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 300.0
"""Seconds for services that are busy."""

_UNINSTALLING = "uninstalling"


def recover(request: ExtensionRecoveryRequest, session: Session) -> RecoveredExtension:
    """Let Helm forget the release, then Azure the extension; done already is done.

    Raises:
        OperationError: CONFLICT where either has gone on since it was looked at; FORBIDDEN,
            UNREACHABLE, BUSY.
    """

    def attempt() -> None:
        if _is_there(request, session):
            # Helm's first: as long as Azure has its resource, the next `up` sees what is to do.
            _forget_release(request, session)
            _forget_extension(request, session)

    session.clock.poll(
        attempt,
        what="the extension to be forgotten",
        within=session.within(DEADLINE),
        give_up_after={**GIVE_UP_AFTER, ExitCode.CONFLICT: 0.0},
    )
    return RecoveredExtension(extension_id=request.extension_id, seen=request.seen)


def _is_there(request: ExtensionRecoveryRequest, session: Session) -> bool:
    """Whether Azure has the extension; raises CONFLICT where it is not Failed any more."""
    try:
        found = session.azure.get(request.extension_id, EXTENSION_API, "look up the extension")
    except OperationError as error:
        if is_absent(error):
            return False
        raise
    state = found.text("properties", "provisioningState")
    if state != "Failed":
        raise _changed(f"The extension {request.extension_id}", state)
    return True


def _forget_release(request: ExtensionRecoveryRequest, session: Session) -> None:
    api = Kubernetes(session, request.cluster_id, admin=request.admin)
    path = f"/api/v1/namespaces/{request.namespace}/secrets"
    selector = f"owner=helm,name={request.release}"
    listed = api.get(path, "look for the extension's release", labelSelector=selector)
    records = sorted(listed.children("items"), key=_revision)
    if records and (status := records[-1].text("metadata", "labels", "status")) != _UNINSTALLING:
        raise _changed(f"Helm's release {request.release} in namespace {request.namespace}", status)
    # The newest last: it is what tells that the release is to go.
    for record in records:
        metadata = record.child("metadata")
        name = metadata.text("name")
        api.delete(f"{path}/{name}", f"remove Helm's record {name}", uid=metadata.text("uid"))
        say(f"removed {name}, Helm's record of a removal that the API server refused")


def _forget_extension(request: ExtensionRecoveryRequest, session: Session) -> None:
    session.azure.delete(
        request.extension_id,
        EXTENSION_API,
        "let Azure forget the extension",
        role_scope=request.cluster_id,
        role="Contributor",
        query={"forceDelete": "true"},
    )
    if _is_there(request, session):
        raise OperationError(
            ExitCode.BUSY, f"{request.extension_id} is still there", transient=True
        )
    say(f"Azure has forgotten {request.extension_id}, which it could not remove")


def _revision(record: Document) -> int:
    return record.child("metadata", "labels").integer("version") or 0


def _changed(what: str, state: str) -> OperationError:
    return OperationError(
        ExitCode.CONFLICT,
        f"{what} has changed since it was looked at: it is {state}.",
        why="somebody, or Azure itself, is at work on the extension just now",
        fix="wait for it, then run it again",
    )
