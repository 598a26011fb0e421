"""The Private Link Service that the AKS cloud controller makes and removes.

It has no resource in the program: it follows from the Service of the Pyroscope release. These
operations hold the program until Azure Resource Manager says that it is there, or gone.
"""

from dataclasses import dataclass

from contract.azure import (
    PRIVATE_LINK_SERVICE,
    PRIVATE_LINK_SERVICE_API,
    ResourceId,
    Role,
    group_id,
)
from contract.json import Document
from contract.messages.private_link import (
    PrivateLinkRequest,
    ReadyPrivateLink,
    Released,
    UnusedPrivateLink,
)
from operations.azure import is_absent, parse_id
from operations.clock import GIVE_UP_AFTER
from operations.errors import ExitCode, OperationError
from operations.session import Session

DEADLINE = 900.0
"""Seconds. The controller needs one to three minutes; a throttled subscription several more."""

_UNUSED_DEADLINE = 300.0
"""Seconds. A deleted endpoint's connection goes within a minute or two; somebody else's stays."""

_APPROVER = Role.NETWORK_CONTRIBUTOR.role_name

_GIVE_UP_ON_FAILED_AFTER = 60.0
"""Seconds in which the controller may still repair a failed Private Link Service."""


def await_ready(request: PrivateLinkRequest, session: Session) -> ReadyPrivateLink:
    """Wait until the Private Link Service is provisioned.

    Raises:
        OperationError: FORBIDDEN, REJECTED (its provisioning failed), or NOT_FOUND on expiry.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)

    def probe() -> ReadyPrivateLink:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                error.happened = "not found (404)"
            raise
        if service.state == "Succeeded":
            return ReadyPrivateLink(id=request.id, alias=service.alias)
        if service.state == "Failed":
            raise OperationError(
                ExitCode.REJECTED,
                f"The Private Link Service {resource.name} is in state Failed.",
                why="Azure could not provision it; the cloud controller's event says why",
                fix=_where_to_look(request),
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
            error.fix = _where_to_look(request)
        raise


def await_unused(request: PrivateLinkRequest, session: Session) -> UnusedPrivateLink:
    """Wait until nothing is connected to the Private Link Service, or there is none.

    Before its Service is deleted: with a connection left, that would only end at Helm's deadline,
    which knows nothing of connections.

    Raises:
        OperationError: CONFLICT on expiry, naming the connections.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)

    def probe() -> UnusedPrivateLink:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                return UnusedPrivateLink(id=request.id)
            raise
        if service.connections:
            raise _in_use(resource, service)
        return UnusedPrivateLink(id=request.id)

    return session.clock.poll(
        probe,
        what=f"the Private Link Service {resource.name} to be unused",
        within=session.within(_UNUSED_DEADLINE),
    )


def await_gone(request: PrivateLinkRequest, session: Session) -> Released:
    """Wait until Resource Manager answers 404 for the Private Link Service.

    A failed connection, or a refusal, is never taken for gone.

    Raises:
        OperationError: CONFLICT on expiry, naming the connections that hold the service.
    """
    resource = parse_id(request.id, PRIVATE_LINK_SERVICE)

    def probe() -> Released:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                return Released(id=request.id)
            raise
        if service.connections:
            raise _in_use(resource, service)
        raise OperationError(
            ExitCode.CONFLICT,
            f"the Private Link Service {resource.name} still exists, with no connection to it",
            fix="the cloud controller removes it with its Service: "
            f"kubectl describe service --namespace {request.namespace} {request.release}; "
            f"if that is gone too: az network private-link-service delete --ids {resource.text}",
            transient=True,
        )

    return session.clock.poll(
        probe,
        what=f"the Private Link Service {resource.name} to be gone",
        within=session.within(DEADLINE),
    )


@dataclass(frozen=True)
class Connection:
    """A private endpoint connection, as its Private Link Service shows it."""

    id: str
    name: str
    endpoint_id: str
    """ARM id of the private endpoint at the other side."""
    status: str
    """``Pending``, ``Approved``, ``Rejected`` or ``Disconnected``."""
    description: str
    provisioning_state: str


@dataclass(frozen=True)
class PrivateLink:
    """A Private Link Service."""

    state: str
    alias: str
    connections: tuple[Connection, ...]


def read(session: Session, resource: ResourceId) -> PrivateLink:
    """The service as it is; raises NOT_FOUND (transient) where Resource Manager knows none."""
    found = session.azure.get(
        resource.text,
        PRIVATE_LINK_SERVICE_API,
        f"read the Private Link Service {resource.name}",
        role_scope=group_id(resource.subscription, resource.resource_group),
    )
    properties = found.child("properties")
    return PrivateLink(
        state=properties.text("provisioningState"),
        alias=properties.text("alias"),
        connections=tuple(
            _connection(resource, one) for one in properties.children("privateEndpointConnections")
        ),
    )


def approve(
    session: Session, resource: ResourceId, connection: Connection, description: str
) -> None:
    """Approve ``connection``; Azure keeps updating it, and may refuse to approve it twice."""
    session.azure.put(
        f"{resource.text}/privateEndpointConnections/{connection.name}",
        PRIVATE_LINK_SERVICE_API,
        {
            "properties": {
                "privateLinkServiceConnectionState": {
                    "status": "Approved",
                    "description": description,
                }
            }
        },
        f"approve the connection {connection.name}",
        role_scope=group_id(resource.subscription, resource.resource_group),
        role=_APPROVER,
    )


def _connection(resource: ResourceId, found: Document) -> Connection:
    name = found.text("name")
    properties = found.child("properties")
    state = properties.child("privateLinkServiceConnectionState")
    return Connection(
        id=found.text("id") or f"{resource.text}/privateEndpointConnections/{name}",
        name=name,
        endpoint_id=properties.text("privateEndpoint", "id"),
        status=state.text("status"),
        description=state.text("description"),
        provisioning_state=properties.text("provisioningState"),
    )


def _described(connection: Connection) -> str:
    said = f", {connection.description!r}" if connection.description else ""
    return f"{connection.endpoint_id or connection.name} ({connection.status}{said})"


def _in_use(resource: ResourceId, service: PrivateLink) -> OperationError:
    held_by = "; ".join(_described(connection) for connection in service.connections)
    return OperationError(
        ExitCode.CONFLICT,
        f"the Private Link Service {resource.name} still exists, held by {held_by}",
        fix="delete the managed private endpoint behind it (Grafana workspace > Networking "
        "> Managed private endpoint), or the connection itself: az network "
        "private-link-service connection delete "
        f"--ids {service.connections[0].id}; then run it again",
        transient=True,
    )


def _where_to_look(request: PrivateLinkRequest) -> str:
    return (
        f"kubectl describe service --namespace {request.namespace} {request.release} "
        "(its events carry the cloud controller's own error)"
    )
