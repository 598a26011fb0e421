"""Approving the one connection that the stack's managed private endpoint made.

Then Grafana is refreshed until it knows the approval and the endpoint's private address. Somebody
else's pending connection is never approved (:mod:`operations.own_connection`). The connection's
description carries the observed revision.
"""

import re
from collections.abc import Sequence

from contract.azure import PRIVATE_LINK_SERVICE, ResourceId
from contract.lines import line
from contract.messages.private_link import Approval, ApprovalRequest, OwnEndpoint
from operations import connections as links
from operations import managed_endpoint, own_connection
from operations.azure import parse_id
from operations.clock import GIVE_UP_AFTER, say
from operations.connections import Connection
from operations.errors import ExitCode, OperationError
from operations.own_connection import Whose
from operations.session import Session, derived_revision, is_revision_of, revision_at_end

DEADLINE = 900.0
"""Seconds for each half: the connection's approval, and Grafana's knowledge of it."""

_REFRESH_EVERY = 60.0
_GIVE_UP_ON_FAILED_AFTER = 60.0


def approve(request: ApprovalRequest, session: Session) -> Approval:
    """Approve, refresh, and answer the endpoint's state and address.

    An endpoint of this stack's whose Private Link Service knows nothing of it, because the service
    was made again or its connection was removed, never recovers; it is made again, once.

    Raises:
        OperationError: CONFLICT where it is not clear which connection is ours; REJECTED where a
            person rejected or disconnected it; FORBIDDEN; NOT_FOUND or BUSY on expiry.
    """
    try:
        return _approve(request, session)
    except OperationError as error:
        if error.kind is not ExitCode.REJECTED or not _is_cut_off(request, session):
            raise
    say(f"the managed private endpoint {request.endpoint_name} has lost its connection")
    managed_endpoint.make_again(request, session)
    return _approve(request, session)


def _approve(request: ApprovalRequest, session: Session) -> Approval:
    connection = _approved_connection(request, session)
    return _refreshed_endpoint(request, session, connection.name)


def _is_cut_off(request: ApprovalRequest, session: Session) -> bool:
    """Whether our own endpoint was connected once and the service knows no connection of it."""
    connections = links.read(session, _private_link_id(request)).connections
    if own_connection.candidates(connections, _own_endpoint(request)):
        return False
    endpoint = managed_endpoint.read(request, session)
    return endpoint.status in ("Approved", "Disconnected") and endpoint.is_of(request)


def observed_revision(request: ApprovalRequest, session: Session) -> str | None:
    """The revision of the approval as it is; None where it does not apply.

    A connection that was approved otherwise (automatically, by hand, or by an older program)
    carries no revision of this request, and Azure may refuse to approve it anew: its name, which is
    new with every endpoint, stands in for one.
    """
    service = links.read(session, _private_link_id(request))
    connection = matching_connection(service.connections, request)
    if connection is None:
        return None
    status, description = connection.status, connection.description
    endpoint = managed_endpoint.read(request, session)
    if status != "Approved" or not endpoint.address:
        return None
    revision = revision_at_end(description)
    return (
        revision
        if is_revision_of(revision, request)
        else derived_revision(request, connection.name)
    )


def private_address(request: ApprovalRequest, session: Session) -> str:
    """The endpoint's address as Grafana sees it now; empty where it has none (yet)."""
    try:
        return managed_endpoint.read(request, session).address
    except OperationError as error:
        if error.kind is ExitCode.NOT_FOUND:
            return ""
        raise


def matching_connection(
    connections: Sequence[Connection], request: ApprovalRequest
) -> Connection | None:
    """The connection of the request's endpoint; None where there is none yet.

    Raises:
        OperationError: CONFLICT, listing them, where more than one connection matches, or one that
            cannot be told from somebody else's is pending (transient: ours may still come).
    """
    own = _own_endpoint(request)
    candidates = own_connection.candidates(connections, own)
    alone = len(candidates) == 1
    by_whose = {one: own_connection.whose(one, own, alone=alone) for one in candidates}
    ours = [one for one, whose in by_whose.items() if whose is Whose.OURS]
    unclear = [one for one, whose in by_whose.items() if whose is Whose.UNCLEAR]
    if len(ours) > 1:
        raise OperationError(
            ExitCode.CONFLICT,
            f"{len(ours)} connections match the managed private endpoint "
            f"{request.endpoint_name}; none was approved.",
            why="; ".join(f"{one.name} from {one.endpoint_id}" for one in ours),
            fix="reject the ones that are not this stack's: "
            + "; ".join(_decide("Rejected", one) for one in ours),
        )
    if ours:
        return ours[0]
    if len(unclear) == 1 and unclear[0].status != "Pending":
        # A person's decision replaced our message. There is nothing left to approve.
        return unclear[0]
    if unclear:
        raise _cannot_be_told_apart(request, unclear)
    return None


def _cannot_be_told_apart(
    request: ApprovalRequest, unclear: Sequence[Connection]
) -> OperationError:
    other = next(iter(own_connection.other_names(_own_endpoint(request))), None)
    example = f" (such as {other[0]} and {other[1]})" if other else ""
    return OperationError(
        ExitCode.CONFLICT,
        f"{'; '.join(map(str, unclear))} may be the managed private endpoint "
        f"{request.endpoint_name} or somebody else's, and was not approved.",
        why="it does not show this stack's request message, and another workspace's and endpoint's "
        f"names{example} could give the same id",
        fix=f"if it is this stack's: {_decide('Approved', unclear[0])}; then run it again",
        transient=True,
    )


def _decide(status: str, connection: Connection) -> str:
    """The line that approves or rejects a connection."""
    return line(
        *("az", "network", "private-link-service", "connection", "update"),
        *("--connection-status", status, "--ids", connection.id),
    )


def _approved_connection(request: ApprovalRequest, session: Session) -> Connection:
    resource = _private_link_id(request)
    # One attempt to renew the revision of a connection that is approved already, and one to approve
    # again what Azure failed to, now or in an earlier run.
    renewals = repairs = 1

    def probe() -> Connection:
        nonlocal renewals, repairs
        connections = links.read(session, resource).connections
        connection = matching_connection(connections, request)
        if connection is None:
            _refuse_lost_connection(request, session)
            raise OperationError(
                ExitCode.NOT_FOUND,
                f"no connection from {_endpoint_name(request)} on the Private Link Service "
                f"{resource.name}",
                why=_others(connections),
                fix="the managed private endpoint must point at this Private Link Service: "
                f"compare {request.private_link_id} with its privateLinkResourceId",
                transient=True,
            )
        status, description = connection.status, connection.description
        provisioning = connection.provisioning_state
        if provisioning in ("Updating", "Deleting"):
            raise OperationError(
                ExitCode.BUSY,
                f"connection {connection.name} is {provisioning}",
                transient=True,
            )
        if status == "Approved" and provisioning == "Failed":
            if not repairs:
                raise _failed_approval(request, connection)
            repairs -= 1
            say(f"the connection {connection.name} is Failed; approving it again")
            _put_approval(request, session, connection)
        elif status == "Approved":
            if not session.observed or session.observed in description or not renewals:
                return connection
            renewals -= 1
            _renew_description(request, session, connection)
        elif status == "Pending":
            _put_approval(request, session, connection)
            say(f"approved the connection {connection.name}")
        else:
            raise _refused_by_a_person(request, connection)
        raise OperationError(
            ExitCode.BUSY, f"connection {connection.name} is being approved", transient=True
        )

    return session.clock.poll(
        probe,
        what=f"the connection of the managed private endpoint {request.endpoint_name}",
        within=session.within(DEADLINE),
        give_up_after={
            **GIVE_UP_AFTER,
            ExitCode.REJECTED: _GIVE_UP_ON_FAILED_AFTER,
            ExitCode.CONFLICT: _GIVE_UP_ON_FAILED_AFTER,
        },
    )


def _failed_approval(request: ApprovalRequest, connection: Connection) -> OperationError:
    return OperationError(
        ExitCode.REJECTED,
        f"Azure failed to approve the connection {connection.name}.",
        fix=f"run it again; if it fails again: {managed_endpoint.how_to_replace(request)}",
        transient=True,
    )


def _put_approval(request: ApprovalRequest, session: Session, connection: Connection) -> None:
    description = own_connection.description_of(request.request_message, session.observed)
    try:
        links.approve(session, _private_link_id(request), connection, description)
    except OperationError as error:
        if error.service_code == "DenyAssignmentAuthorizationFailed":
            error.fix = _way_out_of_lockdown(connection)
        if error.kind is ExitCode.REJECTED and _is_approved(request, session):
            # Somebody was faster, or the service refuses to approve twice.
            return
        raise


def _renew_description(request: ApprovalRequest, session: Session, connection: Connection) -> None:
    """Store the new revision; the approval itself is in place, so nothing depends on it."""
    try:
        _put_approval(request, session, connection)
    except OperationError as error:
        say(f"note: the connection is approved, its description stays as it is: {error.sentence()}")


def _is_approved(request: ApprovalRequest, session: Session) -> bool:
    service = links.read(session, _private_link_id(request))
    connection = matching_connection(service.connections, request)
    return connection is not None and connection.status == "Approved"


def _refreshed_endpoint(request: ApprovalRequest, session: Session, connection: str) -> Approval:
    refreshed_at: float | None = None
    operation_url = ""

    def probe() -> Approval:
        nonlocal refreshed_at, operation_url
        endpoint = managed_endpoint.read(request, session)
        status = endpoint.status
        if endpoint.provisioning_state == "Failed":
            raise OperationError(
                ExitCode.REJECTED,
                f"The managed private endpoint {request.endpoint_name} is in state Failed.",
                fix=managed_endpoint.how_to_replace(request),
            )
        if status in ("Rejected", "Disconnected"):
            raise OperationError(
                ExitCode.REJECTED,
                f"Grafana sees the managed private endpoint {request.endpoint_name} as {status}.",
                fix=managed_endpoint.how_to_replace(request),
            )
        if endpoint.address:
            return Approval(state=status, private_ip=endpoint.address, connection=connection)
        managed_endpoint.raise_if_failed(operation_url, session)
        now = session.clock.now()
        if refreshed_at is None or now - refreshed_at >= _REFRESH_EVERY:
            operation_url = managed_endpoint.refresh(request, session)
            refreshed_at = now
        raise OperationError(
            ExitCode.NOT_FOUND,
            f"state {status or 'unknown'}, "
            + ("no private address yet" if status == "Approved" else "Grafana not refreshed yet"),
            fix=f"{managed_endpoint.how_to_refresh(request)}; then run it again",
            transient=True,
        )

    return session.clock.poll(
        probe,
        what=f"Grafana to know the approval of {request.endpoint_name}",
        within=session.within(DEADLINE),
        give_up_after=GIVE_UP_AFTER,
    )


def _own_endpoint(request: ApprovalRequest) -> OwnEndpoint:
    return OwnEndpoint(
        workspace=managed_endpoint.workspace_of(request).name,
        name=request.endpoint_name,
        request_message=request.request_message,
    )


def _endpoint_name(request: ApprovalRequest) -> str:
    return own_connection.endpoint_name(_own_endpoint(request))


def _private_link_id(request: ApprovalRequest) -> ResourceId:
    return parse_id(request.private_link_id, PRIVATE_LINK_SERVICE)


def _refuse_lost_connection(request: ApprovalRequest, session: Session) -> None:
    """No connection will ever come from an endpoint that is gone, or that has lost its own.

    Raises:
        OperationError: NOT_FOUND, for good; REJECTED (transient: the service's list may be older
            than the endpoint) where Grafana saw a connection before.
    """
    try:
        endpoint = managed_endpoint.read(request, session)
    except OperationError as error:
        if error.kind is not ExitCode.NOT_FOUND:
            raise
        raise OperationError(
            ExitCode.NOT_FOUND,
            f"The managed private endpoint {request.endpoint_name} does not exist.",
            why="it was deleted, and the engine does not know yet",
            fix="`pulumi up --refresh` makes and approves a new one",
        ) from error
    status = endpoint.status
    if status in ("Approved", "Rejected", "Disconnected"):
        raise OperationError(
            ExitCode.REJECTED,
            f"The managed private endpoint {request.endpoint_name} has lost its connection.",
            why="somebody removed it from the Private Link Service, or the service was created "
            f"again; Grafana still shows {endpoint.status}",
            fix=managed_endpoint.how_to_replace(request),
            transient=True,
        )


def _others(connections: Sequence[Connection]) -> str:
    if not connections:
        return "the Private Link Service has no connections"
    return "it has others: " + "; ".join(
        f"{one.endpoint_id or one.name} ({one.status}, {one.description!r})" for one in connections
    )


def _refused_by_a_person(request: ApprovalRequest, connection: Connection) -> OperationError:
    status, description = connection.status, connection.description
    return OperationError(
        ExitCode.REJECTED,
        f"The connection {connection.name} of the managed private endpoint "
        f"{request.endpoint_name} is {status}.",
        why=f"{description!r}; a {status.lower()} connection cannot be approved any more",
        fix=managed_endpoint.how_to_replace(request),
    )


def _way_out_of_lockdown(connection: Connection) -> str:
    match = re.match(r"/subscriptions/([^/]+)/", connection.endpoint_id, re.IGNORECASE)
    subscription = match[1] if match else "<subscription of Grafana's endpoint>"
    return (
        "the node resource group is locked, so put the Private Link Service into a group of your "
        "own (pyroscope.privateLink.resourceGroup), or let Azure approve by itself "
        f"(pyroscope.privateLink.autoApproval: [{subscription}], with visibility '*')"
    )
