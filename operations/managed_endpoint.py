"""Grafana's side of the private link: its managed private endpoint, and the refresh.

Grafana shows the state and the address that it looked up last; a refresh makes it look again. One
operation at a time runs on a workspace. The other side is ``private_link.py``'s.
"""

from dataclasses import dataclass

from contract.azure import ARM_URL, GRAFANA, GRAFANA_API, ResourceId
from contract.messages.private_link import ApprovalRequest
from operations.azure import parse_id
from operations.errors import ExitCode, OperationError
from operations.session import Session

_REFRESH = "refreshManagedPrivateEndpoints"


@dataclass(frozen=True)
class ManagedEndpoint:
    """The managed private endpoint, as Grafana last looked it up."""

    provisioning_state: str
    status: str
    """``Pending``, ``Approved``, ``Rejected`` or ``Disconnected``."""
    address: str
    """Private address; empty unless Grafana sees the approval."""


def read(request: ApprovalRequest, session: Session) -> ManagedEndpoint:
    """The endpoint; raises NOT_FOUND (transient) where Grafana has none of that name."""
    found = session.azure.get(
        f"{request.grafana_id}/managedPrivateEndpoints/{request.endpoint_name}",
        GRAFANA_API,
        f"read the managed private endpoint {request.endpoint_name}",
        role_scope=request.grafana_id,
    )
    properties = found.child("properties")
    status = properties.text("connectionState", "status")
    address = properties.text("privateLinkServicePrivateIP").strip()
    return ManagedEndpoint(
        provisioning_state=properties.text("provisioningState"),
        status=status,
        address=address if status == "Approved" else "",
    )


def refresh(request: ApprovalRequest, session: Session) -> str:
    """Start a refresh; the URL of its operation. Raises BUSY (transient) while another runs."""
    workspace = workspace_of(request)
    return session.azure.post(
        f"{request.grafana_id}/{_REFRESH}",
        GRAFANA_API,
        f"refresh the managed private endpoints of {workspace.name}",
        role_scope=request.grafana_id,
        role="Contributor",
    )


def raise_if_failed(operation_url: str, session: Session) -> None:
    """Raise REJECTED with Grafana's reason if the refresh at ``operation_url`` has failed."""
    if not operation_url:
        return
    operation = session.azure.follow(operation_url, "follow the refresh of Grafana")
    if operation.text("status") in ("Failed", "Canceled"):
        raise OperationError(
            ExitCode.REJECTED,
            f"The refresh of Grafana's managed private endpoints ended {operation.text('status')}.",
            why=f"{operation.text('error', 'code')}: {operation.text('error', 'message')}",
            fix="run it again; if it fails again, delete the endpoint and let it be created again",
        )


def workspace_of(request: ApprovalRequest) -> ResourceId:
    """The request's Grafana workspace; raises BAD_REQUEST if its id is none."""
    return parse_id(request.grafana_id, GRAFANA)


def how_to_replace(request: ApprovalRequest) -> str:
    """What a person does about an endpoint that cannot be approved any more."""
    return (
        "delete the endpoint, then let `pulumi up --refresh` make and approve a new one: "
        f'az rest --method delete --url "{ARM_URL}{request.grafana_id}'
        f'/managedPrivateEndpoints/{request.endpoint_name}?api-version={GRAFANA_API}"'
    )


def refresh_url(request: ApprovalRequest) -> str:
    """The URL at which a person refreshes by hand."""
    return f"{ARM_URL}{request.grafana_id}/{_REFRESH}?api-version={GRAFANA_API}"
