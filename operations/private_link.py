"""The Private Link Service that the AKS cloud controller makes and removes.

It has no resource in the program: it follows from the Service of the Pyroscope release. These
operations hold the program until Azure Resource Manager says that it is there, or gone.
"""

from azure.mgmt.network.models import PrivateEndpointConnection, PrivateLinkService

from operations.azure import ResourceId, azure_errors, is_absent, text_of
from operations.clock import PATIENCE
from operations.errors import ExitCode, OperationError
from operations.requests import PrivateLinkRequest, ReadyPrivateLink, Released
from operations.session import Session

PRIVATE_LINK_TYPE = "Microsoft.Network/privateLinkServices"

DEADLINE = 900.0
"""Seconds. The controller needs one to three minutes; a throttled subscription several more."""

_FAILED_PATIENCE = 60.0
"""Seconds in which the controller may still mend a failed Private Link Service."""


def await_ready(request: PrivateLinkRequest, session: Session) -> ReadyPrivateLink:
    """Wait until the Private Link Service is provisioned.

    Raises:
        OperationError: FORBIDDEN, REJECTED (its provisioning failed), or NOT_FOUND on expiry.
    """
    resource = ResourceId.parse(request.id, PRIVATE_LINK_TYPE)

    def look() -> ReadyPrivateLink:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                error.happened = "not found (404)"
            raise
        properties = service.properties
        state = text_of(properties.provisioning_state) if properties else "unknown"
        if state == "Succeeded" and properties:
            return ReadyPrivateLink(id=request.id, alias=properties.alias or "")
        if state == "Failed":
            raise OperationError(
                ExitCode.REJECTED,
                f"The Private Link Service {resource.name} is in state Failed.",
                why="Azure could not provision it; the cloud controller's event says why",
                fix=_where_to_look(request),
                transient=True,
            )
        raise OperationError(ExitCode.NOT_FOUND, f"state {state or 'unknown'}", transient=True)

    try:
        return session.clock.wait_for(
            look,
            what=f"the Private Link Service {resource.name}",
            within=session.within(DEADLINE),
            patience={**PATIENCE, ExitCode.REJECTED: _FAILED_PATIENCE},
        )
    except OperationError as error:
        if error.kind is ExitCode.NOT_FOUND:
            error.why = error.why or "the AKS cloud controller has not made it"
            error.fix = _where_to_look(request)
        raise


def await_gone(request: PrivateLinkRequest, session: Session) -> Released:
    """Wait until Resource Manager answers 404 for the Private Link Service.

    A failed connection, or a refusal, is never taken for gone.

    Raises:
        OperationError: CONFLICT on expiry, naming the connections that hold the service.
    """
    resource = ResourceId.parse(request.id, PRIVATE_LINK_TYPE)

    def look() -> Released:
        try:
            service = read(session, resource)
        except OperationError as error:
            if is_absent(error):
                return Released(id=request.id)
            raise
        held_by = [_described(connection) for connection in connections_of(service)]
        if held_by:
            raise OperationError(
                ExitCode.CONFLICT,
                f"the Private Link Service {resource.name} still exists, held by "
                + "; ".join(held_by),
                fix="delete the managed private endpoint behind it (Grafana workspace > Networking "
                "> Managed private endpoint), or the connection itself: az network "
                "private-link-service connection delete "
                f"--id {_id_of(connections_of(service)[0], resource)}; then run it again",
                transient=True,
            )
        raise OperationError(
            ExitCode.CONFLICT,
            f"the Private Link Service {resource.name} still exists, with no connection to it",
            fix="the cloud controller removes it with its Service: "
            f"kubectl describe service --namespace {request.namespace} {request.release}; "
            f"if that is gone too: az network private-link-service delete --ids {resource.text}",
            transient=True,
        )

    return session.clock.wait_for(
        look,
        what=f"the Private Link Service {resource.name} to be gone",
        within=session.within(DEADLINE),
    )


def read(session: Session, resource: ResourceId) -> PrivateLinkService:
    """The service as it is; raises NOT_FOUND (transient) where Resource Manager knows none."""
    with azure_errors(
        f"read the Private Link Service {resource.name}", _group_of(resource), "Reader"
    ):
        return session.azure.network(resource.subscription).private_link_services.get(
            resource.resource_group, resource.name
        )


def connections_of(service: PrivateLinkService) -> list[PrivateEndpointConnection]:
    """Its private endpoint connections."""
    if service.properties is None:
        return []
    return list(service.properties.private_endpoint_connections or [])


def endpoint_of(connection: PrivateEndpointConnection) -> str:
    """ARM id of the private endpoint at the other side."""
    endpoint = connection.properties.private_endpoint if connection.properties else None
    return (endpoint.id if endpoint else "") or ""


def state_of(connection: PrivateEndpointConnection) -> tuple[str, str]:
    """Status (``Pending``, ``Approved``, ``Rejected``, ``Disconnected``) and description."""
    properties = connection.properties
    state = properties.private_link_service_connection_state if properties else None
    return (text_of(state.status), state.description or "") if state else ("", "")


def _described(connection: PrivateEndpointConnection) -> str:
    status, description = state_of(connection)
    said = f", {description!r}" if description else ""
    return f"{endpoint_of(connection) or connection.name} ({status}{said})"


def _id_of(connection: PrivateEndpointConnection, resource: ResourceId) -> str:
    return connection.id or f"{resource.text}/privateEndpointConnections/{connection.name}"


def _group_of(resource: ResourceId) -> str:
    return f"/subscriptions/{resource.subscription}/resourceGroups/{resource.resource_group}"


def _where_to_look(request: PrivateLinkRequest) -> str:
    return (
        f"kubectl describe service --namespace {request.namespace} {request.release} "
        "(its events carry the cloud controller's own error)"
    )
