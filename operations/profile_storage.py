"""Azure Blob Storage for profiles: what a destroy leaves, and why a server does not get at it.

Nobody but the server's own identity can ask Storage whether its role has arrived: Resource Manager
knows an assignment at once, Storage up to 10 minutes later, Entra ID a federated credential after a
few (documentation of Azure RBAC and of workload identity federation). Until then Pyroscope stops at
its start, and Helm, which waits, knows only that a pod is not ready. Its log says the reason.
"""

from contextlib import suppress
from dataclasses import dataclass

from contract.azure import STORAGE_ACCOUNT
from contract.json import Document
from contract.lines import delete_storage_account
from contract.messages.storage import (
    KeptStorage,
    KeptStorageRequest,
    StorageStart,
    StorageStartRequest,
)
from operations.azure import parse_id
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 1700.0
"""Seconds; a little less than Helm waits for the release."""
_NO_POD = 300.0
"""Seconds without a pod that runs, or stops for want of Storage: then it is not about Storage."""


@dataclass(frozen=True)
class _Cause:
    why: str
    fix: str


_LATE = "wait: Azure says up to 10 minutes; where it stays so, "
_CAUSES = {
    "AuthorizationPermissionMismatch": _Cause(
        "its role on the container has not reached Storage",
        _LATE + "look for Storage Blob Data Contributor among the container's role assignments",
    ),
    "AuthorizationFailure": _Cause(
        "the storage account's firewall does not let the cluster's nodes in",
        "let the nodes' subnet in, or give the account a private endpoint in their network",
    ),
    "AADSTS7002": _Cause(
        "its identity does not trust the server's service account, or Entra ID does not know yet",
        _LATE + "compare issuer and subject of the identity's federated credential with the log",
    ),
    "AADSTS700016": _Cause("Entra ID does not know its identity", _LATE + "run pulumi up again"),
    "no such host": _Cause("there is no storage account of that name", "run pulumi up --refresh"),
    "Identity not found": _Cause(
        "the pod was given no token of an identity",
        "see whether workload identity is on in the cluster, and start the pod again",
    ),
}
"""By what the server's log holds; the first that matches."""


def leave(request: KeptStorageRequest) -> KeptStorage:
    """Say what stays, and how it is deleted."""
    account = parse_id(request.account_id, STORAGE_ACCOUNT)
    say(
        f"The storage account {account.name} stays, with the profiles in container "
        f"{request.container}: the next `pulumi up` of this stack uses it again. To delete it: "
        f"{delete_storage_account(request.account_id)}"
    )
    return KeptStorage(account_id=request.account_id)


def await_start(request: StorageStartRequest, session: Session) -> StorageStart:
    """Watch the server sign in to Storage while Helm waits for it.

    Raises:
        OperationError: FORBIDDEN, with what keeps it out, at the end of the time.
    """

    def probe() -> StorageStart:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        path = f"/api/v1/namespaces/{request.namespace}/pods/{request.pod}"
        pod = api.get(path, f"look at pod {request.pod}")
        container = next(pod.child("status").children("containerStatuses"), Document({}))
        if container.flag("ready"):
            return StorageStart(started=True)
        cause = _cause(_said(api, path, container))
        if cause is None:
            raise OperationError(
                ExitCode.NOT_FOUND, f"pod {request.pod} is not ready", transient=True
            )
        raise OperationError(
            ExitCode.FORBIDDEN,
            f"Pyroscope stops at its start: it does not get at container {request.container} of "
            f"storage account {request.account}.",
            why=cause.why,
            fix=cause.fix,
            transient=True,
        )

    def patient() -> StorageStart:
        try:
            return probe()
        except OperationError as error:
            # Before the release there is no pod; a busy API server is asked again.
            error.transient = error.transient or error.kind is ExitCode.NOT_FOUND
            raise

    try:
        return session.clock.poll(
            patient,
            what=f"Pyroscope to sign in to storage account {request.account}",
            within=session.within(DEADLINE),
            give_up_after=dict.fromkeys((ExitCode.NOT_FOUND, ExitCode.UNREACHABLE), _NO_POD),
        )
    except OperationError as error:
        if error.kind is ExitCode.FORBIDDEN and "storage account" in error.happened:
            raise
        # Whatever else is wrong is the release's to tell.
        return StorageStart(started=False)


def _said(api: Kubernetes, path: str, container: Document) -> str:
    """What is known of the container's last end: from its status, and from its log."""
    states = (container.child("state"), container.child("lastState"))
    known = [one.text(kind, "message") for one in states for kind in ("waiting", "terminated")]
    with suppress(OperationError):  # there is none before the first restart
        known.append(api.text(f"{path}/log", "read its log", previous="true", tailLines="20"))
    return "\n".join(known)


def _cause(said: str) -> _Cause | None:
    return next((cause for word, cause in _CAUSES.items() if word in said), None)
