"""A Private Link Service and its connections, as Azure Resource Manager shows them."""

from dataclasses import dataclass

from contract.azure import PRIVATE_LINK_SERVICE_API, ResourceId, Role, group_id
from contract.json import Document
from operations.session import Session

_APPROVER = Role.NETWORK_CONTRIBUTOR.role_name


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

    def __str__(self) -> str:
        """The endpoint, and what is said of the connection."""
        said = f", {self.description!r}" if self.description else ""
        return f"{self.endpoint_id or self.name} ({self.status}{said})"


@dataclass(frozen=True)
class PrivateLink:
    """A Private Link Service."""

    state: str
    alias: str
    frontends: tuple[str, ...]
    """ARM ids of the load balancer's frontends that it leads to."""
    connections: tuple[Connection, ...]

    def is_in(self, resource_group: str) -> bool:
        """Whether it leads to a load balancer of ``resource_group``."""
        part = f"/resourcegroups/{resource_group}/providers/".lower()
        return any(part in frontend.lower() for frontend in self.frontends)


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
        frontends=tuple(
            one.text("id") for one in properties.children("loadBalancerFrontendIpConfigurations")
        ),
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
