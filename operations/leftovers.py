"""Removing what killed runs of this stack have left in its cluster.

An object is removed by its path and uid, or by the stack's mark; never one that carries another
stack's, or none.
"""

from collections.abc import Iterator

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.json import Document
from contract.lines import in_cluster
from contract.messages.leftovers import (
    DAEMON_SETS,
    NAMESPACE_PATH,
    POD_MONITORS,
    SERVICE_PATH,
    STACK_MARK,
    Leftover,
    LeftoversRequest,
    RemovedLeftovers,
)
from operations.azure import is_absent
from operations.clock import GIVE_UP_AFTER, say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.namespace import remove_protection
from operations.session import Session

DEADLINE = 300.0
"""Seconds: a namespace goes when the last of what is in it has gone."""


def clear(request: LeftoversRequest, session: Session) -> RemovedLeftovers:
    """Remove the leftovers that the observed revision names; nothing where it names none.

    Raises FORBIDDEN, UNREACHABLE, BUSY; CONFLICT where one does not go.
    """
    named = [Leftover.parse(one) for one in session.observed.split()]
    if not named:
        return RemovedLeftovers()
    return session.clock.poll(
        lambda: _remove(_cluster(request, session), named, request),
        what="what an earlier run has left in the cluster to be gone",
        within=session.within(DEADLINE),
        give_up_after=GIVE_UP_AFTER,
    )


def remove(request: LeftoversRequest, session: Session) -> RemovedLeftovers:
    """Remove whatever carries the stack's mark; nothing where the cluster itself is gone.

    Raises FORBIDDEN, UNREACHABLE, BUSY; CONFLICT where something does not go.
    """

    def attempt() -> RemovedLeftovers:
        try:
            api = _cluster(request, session)
        except OperationError as error:
            if is_absent(error):
                return RemovedLeftovers()
            raise
        if not request.keeps_namespace:
            # Without the namespace that it keeps it is of no use to anybody.
            remove_protection(api)
        left = marked(api, request.mark, keeps_namespace=request.keeps_namespace)
        return _remove(api, left, request)

    return session.clock.poll(
        attempt,
        what="what this stack has made in the cluster to be gone",
        within=session.within(DEADLINE),
        give_up_after=GIVE_UP_AFTER,
    )


def marked(api: Kubernetes, mark: str, *, keeps_namespace: bool = False) -> list[Leftover]:
    """What carries ``mark`` in the cluster; with ``keeps_namespace`` without the namespace."""
    return [
        Leftover(path=path, uid=found.text("metadata", "uid"))
        for path, found in _looked_up(api, keeps_namespace=keeps_namespace)
        if found.text("metadata", "annotations", STACK_MARK) == mark
    ]


def _looked_up(api: Kubernetes, *, keeps_namespace: bool) -> Iterator[tuple[str, Document]]:
    for collection in (DAEMON_SETS, POD_MONITORS):
        # The kind of the second comes with the metrics add-on.
        listed = api.find(collection, "look for what this stack has made") or Document({})
        for one in listed.children("items"):
            yield f"{collection}/{one.text('metadata', 'name')}", one
    single = {SERVICE_PATH: "look for the agents' Service"}
    if not keeps_namespace:
        single[NAMESPACE_PATH] = "look for the namespace"
    for path, action in single.items():
        found = api.find(path, action)
        if found is not None:
            yield path, found


def _cluster(request: LeftoversRequest, session: Session) -> Kubernetes:
    return Kubernetes(session, request.cluster_id, admin=request.admin)


def _remove(
    api: Kubernetes, leftovers: list[Leftover], request: LeftoversRequest
) -> RemovedLeftovers:
    left = [one for one in leftovers if _is_there(api, one)]
    for one in left:
        say(f"removing {one.path}, which an earlier run has left in the cluster")
        api.delete(one.path, f"remove {one.path}", uid=one.uid)
    for one in left:
        if _is_there(api, one):
            raise OperationError(
                ExitCode.BUSY,
                f"{one.path} is still there",
                why="an earlier run of this stack has made it, and it is being deleted",
                fix="look at what holds it: "
                + in_cluster(request.cluster_id, *_describe(one.path))
                + "; then run it again",
                transient=True,
            )
    return RemovedLeftovers(removed=tuple(one.path for one in leftovers))


def _describe(path: str) -> tuple[str, ...]:
    """The words that show the object at ``path`` of Kubernetes' API."""
    if path == NAMESPACE_PATH:
        return ("kubectl", "describe", "namespace", NAMESPACE)
    if path == SERVICE_PATH:
        return ("kubectl", "describe", "service", PYROSCOPE_SERVICE, "--namespace", NAMESPACE)
    # With its group: another group may have a kind of that name.
    _, _, group, _, _, namespace, kind, name = path.split("/")
    return ("kubectl", "describe", f"{kind}.{group}", name, "--namespace", namespace)


def _is_there(api: Kubernetes, leftover: Leftover) -> bool:
    found = api.find(leftover.path, f"look for {leftover.path}")
    return found is not None and found.text("metadata", "uid") == leftover.uid
