"""Waiting until the pods of a server that was removed have ended.

Helm forgets a release as soon as its objects are deleted; its pods go on for as long as their grace
period lets them (Kubernetes' documentation, "Pod Lifecycle", termination), and write to Blob what
they hold in memory. For that they need their identity and its role, which go after this.
"""

from contract.agent import PYROSCOPE_SERVICE
from contract.json import Document
from contract.lines import in_cluster
from contract.messages.server import ServerRequest, StoppedServer
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 1500.0
"""Seconds; the longest grace period is the compactor's, 1200."""
SELECTOR = (
    f"app.kubernetes.io/name={PYROSCOPE_SERVICE},app.kubernetes.io/instance={PYROSCOPE_SERVICE}"
)
"""The chart's labels on the pods of the release, whichever its mode."""
_UNSEEN = 60.0
"""Seconds for which a cluster that cannot be looked at is asked again; nothing hangs on it."""
_NOT_TOLD = 120.0
"""Seconds in which Kubernetes tells the pods of a deleted workload to end."""


def await_stopped(request: ServerRequest, session: Session) -> StoppedServer:
    """Wait until the server's pods are gone.

    Raises:
        OperationError: IN_USE on expiry, with the pods that are still there.
    """

    def probe() -> StoppedServer:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        path = f"/api/v1/namespaces/{request.namespace}/pods"
        found = api.get(path, "look for Pyroscope's pods", labelSelector=SELECTOR)
        pods = list(found.children("items"))
        if not pods or _stays(api, request.namespace):
            return StoppedServer(seen=True)
        ending = [one for one in pods if one.text("metadata", "deletionTimestamp")]
        if ending:
            raise OperationError(
                ExitCode.CONFLICT,
                f"Pyroscope is still writing what it holds: {_names(ending)}",
                why="what a pod has not written to Blob Storage when it ends is lost, and it "
                "writes with the identity that is removed after it",
                fix=f"{_line(request)} shows the pods; run it again",
                transient=True,
            )
        raise OperationError(ExitCode.NOT_FOUND, f"{_names(pods)}: not told to end", transient=True)

    try:
        return session.clock.poll(
            probe,
            what="Pyroscope's pods to end",
            within=session.within(DEADLINE),
            give_up_after={
                ExitCode.NOT_FOUND: _NOT_TOLD,
                ExitCode.UNREACHABLE: _UNSEEN,
                ExitCode.BUSY: _UNSEEN,
            },
        )
    except OperationError as error:
        if error.kind is ExitCode.CONFLICT:
            raise
        if error.kind is not ExitCode.NOT_FOUND:
            say(f"note: whether Pyroscope has written everything is not known: {error.happened}")
        return StoppedServer(seen=False)


def _stays(api: Kubernetes, namespace: str) -> bool:
    """Whether the server is there to stay: its pods may be restarting, and are not ending."""
    path = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
    found = api.get(path, "look for Pyroscope's StatefulSet", labelSelector=SELECTOR)
    return any(not one.text("metadata", "deletionTimestamp") for one in found.children("items"))


def _names(pods: list[Document]) -> str:
    return ", ".join(sorted(one.text("metadata", "name") for one in pods))


def _line(request: ServerRequest) -> str:
    words = ("kubectl", "get", "pods", "--namespace", request.namespace, "--selector", SELECTOR)
    return in_cluster(request.cluster_id, *words)
