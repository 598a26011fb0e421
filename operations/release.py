"""Helm's records of Pyroscope's release: reading them, and removing those that are in the way.

Helm keeps each revision of a release in a Secret, and refuses to go on while the newest is
``pending-...``: the process that worked on it may have ended long ago, which Helm cannot know
(helm.sh/helm/v3: pkg/action/upgrade.go, "another operation (install/upgrade/rollback) is in
progress"). Without that record it goes on from the one before; without any, it installs, and takes
over the objects that carry the release's own name (pkg/action/validate.go).
"""

import base64
import gzip
from collections.abc import Iterable
from contextlib import suppress

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.json import Document
from contract.messages.release import RecordOfRelease, RecoveredRelease, RecoveryRequest
from contract.messages.survey import ReleaseRecord
from contract.microservices import ServerComponent
from operations.clock import GIVE_UP_AFTER, say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 120.0
"""Seconds for an API server that is busy."""

LINK_NAME = "service.beta.kubernetes.io/azure-pls-name"
_PENDING = "pending-install,pending-upgrade,pending-rollback"
_DEPLOYED = "deployed"


def records(api: Kubernetes) -> tuple[ReleaseRecord, ...]:
    """Helm's records of the release."""
    return tuple(map(_record, _secrets(api)))


def latest_records(api: Kubernetes) -> tuple[tuple[ReleaseRecord, ...], str]:
    """What Helm has not finished, and the manifest of what it has deployed last.

    That is empty while a newer revision is not in order: Pulumi makes it anew.
    """
    found = _secrets(api, f"{_DEPLOYED},failed,{_PENDING}")
    pending = (one for one in found if one.text("metadata", "labels", "status") in _PENDING)
    return tuple(map(_record, pending)), _manifest(found)


def deployed_manifest(api: Kubernetes) -> str:
    """The objects of the release, in YAML, as Helm rendered them; empty: it is not in order."""
    return _manifest(_secrets(api, f"{_DEPLOYED},failed,{_PENDING}"))


def _secrets(api: Kubernetes, statuses: str = "") -> list[Document]:
    selector = f"owner=helm,name={PYROSCOPE_SERVICE}"
    if statuses:
        selector += f",status in ({statuses})"
    found = api.get(
        f"/api/v1/namespaces/{NAMESPACE}/secrets", "look for releases", labelSelector=selector
    )
    return list(found.children("items"))


def _manifest(secrets: list[Document]) -> str:
    newest = max(
        secrets,
        key=lambda one: one.child("metadata", "labels").integer("version") or 0,
        default=Document({}),
    )
    if newest.text("metadata", "labels", "status") != _DEPLOYED:
        return ""
    return _content(newest.text("data", "release")).text("manifest")


def recover(request: RecoveryRequest, session: Session) -> RecoveredRelease:
    """Delete the records, each only as it was found.

    Raises:
        OperationError: CONFLICT where Helm has gone on with one since; FORBIDDEN, UNREACHABLE,
            BUSY.
    """

    def attempt() -> tuple[str, ...]:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        return tuple(_removed(api, request.namespace, request.records))

    removed = session.clock.poll(
        attempt,
        what="Helm's record of the release to be removed",
        within=session.within(DEADLINE),
        give_up_after={**GIVE_UP_AFTER, ExitCode.CONFLICT: 0.0},
    )
    for name in removed:
        say(f"removed {name}, Helm's record of a run that was cut off")
    return RecoveredRelease(removed=removed)


def _removed(api: Kubernetes, namespace: str, wanted: Iterable[RecordOfRelease]) -> Iterable[str]:
    for record in wanted:
        path = f"/api/v1/namespaces/{namespace}/secrets/{record.name}"
        found = api.find(path, f"read Helm's record {record.name}")
        if found is None:
            continue
        metadata = found.child("metadata")
        uid, status = metadata.text("uid"), metadata.text("labels", "status")
        if (uid, status) != (record.uid, record.status):
            raise OperationError(
                ExitCode.CONFLICT,
                f"Helm's record {record.name} has changed since it was looked at: it was "
                f"{record.status}, and is {status}.",
                why="somebody is installing or upgrading Pyroscope just now",
                fix="wait for them, then run it again",
            )
        api.delete(path, f"remove Helm's record {record.name}", uid=uid)
        yield record.name


def _record(secret: Document) -> ReleaseRecord:
    metadata = secret.child("metadata")
    values = _content(secret.text("data", "release")).child("config", "pyroscope")
    front = values.child("components", ServerComponent.QUERY_FRONTEND)
    return ReleaseRecord(
        name=metadata.text("name"),
        uid=metadata.text("uid"),
        status=metadata.text("labels", "status"),
        private_link_name=values.text("service", "annotations", LINK_NAME)
        or front.text("service", "annotations", LINK_NAME),
    )


def _content(data: str) -> Document:
    """The record itself: gzipped JSON, coded twice (pkg/storage/driver/util.go)."""
    with suppress(ValueError, OSError, EOFError):
        return Document.parse(gzip.decompress(base64.b64decode(base64.b64decode(data))))
    return Document({})
