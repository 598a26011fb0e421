"""The Private Link Service that the AKS cloud controller makes and removes.

It has no resource in the program: it follows from the Service of the Pyroscope release. These
operations hold the program until Azure Resource Manager says that it is there, or gone. The cloud
controller deletes it with its Service, and cuts off whoever is connected, without asking.
"""

from contract.azure import (
    MANAGED_CLUSTER,
    PRIVATE_LINK_SERVICE,
    RESOURCE_GROUP_API,
    ResourceId,
    group_id,
)
from contract.lines import in_cluster, line
from contract.messages.private_link import (
    PrivateLinkRequest,
    ReadyPrivateLink,
    Released,
    UnusedPrivateLink,
)
from operations import own_connection
from operations.azure import is_absent, parse_id
from operations.clock import GIVE_UP_AFTER, say
from operations.connections import Connection, PrivateLink, read
from operations.errors import ExitCode, OperationError
from operations.session import Session

DEADLINE = 900.0
"""Seconds. The controller needs one to three minutes; a throttled subscription several more."""

_UNUSED_DEADLINE = 300.0
"""Seconds. A deleted endpoint's connection goes within a minute or two; somebody else's stays."""

FORGET_THE_CLUSTER = line(
    *("PULUMI_K8S_DELETE_UNREACHABLE=true", "pulumi", "destroy", "--refresh", "--stack", "STACK")
)
"""What ends a stack whose cluster was deleted: the refresh drops what cannot be reached."""

_CONNECTED = ("Approved", "Pending")
"""States of a connection that somebody relies on, or has asked for."""

_GIVE_UP_ON_FAILED_AFTER = 60.0
"""Seconds in which the controller may still repair a failed Private Link Service."""


def await_ready(request: PrivateLinkRequest, session: Session) -> ReadyPrivateLink:
    """Wait until the Private Link Service is provisioned.

    Raises:
        OperationError: FORBIDDEN, REJECTED (its provisioning failed), CONFLICT (it is another
            cluster's), or NOT_FOUND on expiry.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)

    def probe() -> ReadyPrivateLink:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                error.happened = "not found (404)"
            raise
        if _is_foreign(request, service):
            raise OperationError(
                ExitCode.CONFLICT,
                f"The Private Link Service {resource.name} in group {resource.resource_group} is "
                "another cluster's.",
                why="the AKS cloud controller makes no second one of that name",
                fix="choose another name: gpuobs:pyroscope: { privateLink: { name: NAME } }",
            )
        if service.state == "Succeeded":
            return ReadyPrivateLink(id=request.id, alias=service.alias)
        if service.state == "Failed":
            raise OperationError(
                ExitCode.REJECTED,
                f"The Private Link Service {resource.name} is in state Failed.",
                why="Azure could not provision it; the cloud controller's event says why",
                transient=True,
            )
        raise OperationError(
            ExitCode.NOT_FOUND, f"state {service.state or 'unknown'}", transient=True
        )

    try:
        return session.clock.poll(
            probe,
            what=f"the Private Link Service {resource.name}",
            within=session.within(DEADLINE),
            give_up_after={**GIVE_UP_AFTER, ExitCode.REJECTED: _GIVE_UP_ON_FAILED_AFTER},
        )
    except OperationError as error:
        if error.kind is ExitCode.NOT_FOUND:
            error.why = error.why or "the AKS cloud controller has not made it"
        if error.kind in (ExitCode.NOT_FOUND, ExitCode.REJECTED):
            error.fix = _where_to_look(request, resource, session)
        raise


def await_unused(request: PrivateLinkRequest, session: Session) -> UnusedPrivateLink:
    """Wait until nobody else is connected to the Private Link Service, or there is none.

    Before its Service is deleted, which would cut them off: the cloud controller deletes every
    connection itself. That protects other people; nothing of ours needs it, so a stack can do
    without (``protect_connections``), and our own connection is not waited for.

    Raises:
        OperationError: CONFLICT on expiry, naming the connections.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)
    unused = UnusedPrivateLink(id=request.id)

    def probe() -> UnusedPrivateLink:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                _say_that_the_cluster_is_gone(request, resource, error)
                return unused
            raise
        others = _others(request, service)
        if not others or _is_foreign(request, service):
            return unused
        raise _in_use(resource, others)

    if request.protect_connections is False:
        _say_who_is_cut_off(request, resource, session)
        return unused
    return session.clock.poll(
        probe,
        what=f"the Private Link Service {resource.name} to be unused by others",
        within=session.within(_UNUSED_DEADLINE),
    )


def await_gone(request: PrivateLinkRequest, session: Session) -> Released:
    """Wait until Resource Manager answers 404 for the Private Link Service.

    A failed connection, or a refusal, is never taken for gone. One of another cluster's, in a group
    that clusters share, was never this stack's and is left alone.

    Raises:
        OperationError: CONFLICT on expiry.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)

    def probe() -> Released:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                return Released(id=request.id)
            raise
        if _is_foreign(request, service):
            say(f"note: the Private Link Service {resource.name} is another cluster's, and stays")
            return Released(id=request.id)
        raise OperationError(
            ExitCode.CONFLICT,
            f"the Private Link Service {resource.name} still exists "
            f"(state {service.state or 'unknown'})",
            why="the AKS cloud controller removes it with its Service, and has not done so yet",
            transient=True,
        )

    try:
        return session.clock.poll(
            probe,
            what=f"the Private Link Service {resource.name} to be gone",
            within=session.within(DEADLINE),
        )
    except OperationError as error:
        if error.kind is ExitCode.CONFLICT:
            error.fix = (
                f"{_where_to_look(request, resource, session)}; if that Service is there, nobody "
                f"removes the release any more: {_uninstall(request, resource, session)}; if it is "
                "gone, and the Private Link Service is this stack's: "
                + line("az", "network", "private-link-service", "delete", "--ids", resource.text)
                + "; then run it again"
            )
        raise


def _say_that_the_cluster_is_gone(
    request: PrivateLinkRequest, resource: ResourceId, error: OperationError
) -> None:
    """What ends a destroy of what was in it, which Pulumi's provider does not say for a release."""
    if error.service_code == "ResourceGroupNotFound" and request.node_resource_group is None:
        say(
            f"note: with its group {resource.resource_group} the cluster is gone. If what was in "
            f"it cannot be deleted, this forgets it and goes on: {FORGET_THE_CLUSTER}"
        )


def _is_foreign(request: PrivateLinkRequest, service: PrivateLink) -> bool:
    """Whether the service is known to lead to another cluster than the request's."""
    group = request.node_resource_group
    return group is not None and bool(service.frontends) and not service.is_in(group)


def _others(request: PrivateLinkRequest, service: PrivateLink) -> list[Connection]:
    """The connections that other people rely on, or have asked for."""
    connected = [one for one in service.connections if one.status in _CONNECTED]
    own = request.own_endpoint
    if own is None:
        return connected
    alone = len(own_connection.candidates(service.connections, own)) == 1
    return [
        one
        for one in connected
        if own_connection.whose(one, own, alone=alone) is not own_connection.Whose.OURS
    ]


def _say_who_is_cut_off(
    request: PrivateLinkRequest, resource: ResourceId, session: Session
) -> None:
    try:
        service = read(session, resource)
    except OperationError:
        return
    if not _is_foreign(request, service):
        for one in _others(request, service):
            say(f"note: with the Private Link Service {resource.name} goes the connection of {one}")


def _in_use(resource: ResourceId, others: list[Connection]) -> OperationError:
    return OperationError(
        ExitCode.CONFLICT,
        f"others are connected to the Private Link Service {resource.name}: "
        + "; ".join(map(str, others)),
        why="the AKS cloud controller would cut them off without a word to them",
        fix="ask them to delete their private endpoints, then run it again; or, to cut them off, "
        "write gpuobs:pyroscope: { privateLink: { protectConnections: false } } and "
        "pulumi up --target '**::pyroscope-private-link-ready', then run it again",
        transient=True,
    )


def _where_to_look(request: PrivateLinkRequest, resource: ResourceId, session: Session) -> str:
    """The line that shows the Service's events, in the cluster that the nodes' group is of."""
    describe = ("kubectl", "describe", "service", "--namespace", request.namespace, request.release)
    look = _inside(request, resource, session, *describe)
    return f"{look} (the Service's events carry the cloud controller's own error)"


def _uninstall(request: PrivateLinkRequest, resource: ResourceId, session: Session) -> str:
    """The line that removes a release, and its Service, that Pulumi does not know any more."""
    uninstall = ("helm", "uninstall", request.release, "--namespace", request.namespace)
    return _inside(request, resource, session, *uninstall)


def _inside(
    request: PrivateLinkRequest, resource: ResourceId, session: Session, *words: str
) -> str:
    nodes = request.node_resource_group or resource.resource_group
    try:
        # AKS names itself there.
        group = group_id(resource.subscription, nodes)
        action = f"look up whose group {nodes} is"
        cluster = session.azure.get(group, RESOURCE_GROUP_API, action).text("managedBy")
        return in_cluster(ResourceId.parse(cluster, MANAGED_CLUSTER).text, *words)
    except (OperationError, ValueError):
        return f"{line(*words)}, in the cluster whose nodes are in group {nodes}"
