"""Management locks: what they refuse of this stack, whatever role the caller has."""

from collections.abc import Container, Iterator

from contract.azure import LOCKED, covers, group_id, name_of, subscription_of
from contract.lines import delete_lock
from contract.messages.survey import Survey, SurveyRequest
from infra.deployed import Own
from infra.faults import Fault
from infra.preflight.finding import Finding


def check_locks(
    survey: Survey, request: SurveyRequest, deployed: Container[str], subscription: str
) -> Iterator[Finding]:
    """The locks over what this stack changes or deletes.

    One that refuses changes stops a stack that is not all there; afterwards, nothing may have to be
    changed. One that refuses deletions is somebody's decision, and reported before anything is made
    that `destroy` would leave.
    """
    # Of the nodes' group, which AKS changes as a whole, also one on anything in it (AKS 3291).
    nodes = _nodes(survey, request)
    for lock in survey.locks:
        changed = _changed(survey, request, subscription)
        if not any(covers(lock.scope, one) for one in changed) and not _is_in(nodes, lock.scope):
            continue
        name = name_of(lock.id)
        remove = f"ask whoever set it to take it away for the time: {delete_lock(lock.id)}"
        last = Own.APPROVAL if request.private_endpoint_name else Own.DASHBOARD
        complete = last in deployed
        if lock.read_only and not complete:
            yield Fault(
                path=f"lock {name} on {lock.scope}",
                rule="what this stack changes must not be under a ReadOnly lock",
                why=f"Azure refuses every change below it ({LOCKED}), to an Owner too, and "
                "the kubeconfig of a cluster as well.",
                fix=remove,
            )
        elif lock.read_only:
            yield (
                f"The ReadOnly lock {name} on {lock.scope} refuses every change below it "
                f"({LOCKED}). Where `pulumi up` has something to change there, {remove}"
            )
        elif not complete:
            yield (
                f"The CanNotDelete lock {name} on {lock.scope} refuses to delete what this stack "
                f"makes there ({LOCKED}), also where a change makes something anew. Before "
                f"`pulumi destroy`, {remove}"
            )


def _nodes(survey: Survey, request: SurveyRequest) -> str:
    """ARM id of the nodes' group; empty before there is one."""
    name = survey.cluster.node_resource_group
    if not request.cluster_id or not name:
        return ""
    return group_id(subscription_of(request.cluster_id), name)


def _changed(survey: Survey, request: SurveyRequest, subscription: str) -> Iterator[str]:
    own = group_id(subscription, request.resource_group) if request.resource_group else ""
    yield from filter(None, (request.cluster_id, _nodes(survey, request), request.grafana_id, own))


def _is_in(group: str, scope: str) -> bool:
    return bool(group) and covers(group, scope)
