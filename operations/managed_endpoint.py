"""Grafana's side of the private link: its managed private endpoint, and the refresh.

Grafana shows the state and the address that it looked up last; a refresh makes it look again. One
operation at a time runs on a workspace. The other side is ``private_link.py``'s.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from contract.azure import GRAFANA, GRAFANA_API, ResourceId, managed_endpoint_id
from contract.json import Document
from contract.lines import delete_resource, line
from contract.messages.private_link import ApprovalRequest, DeletedEndpoint
from operations.azure import is_absent, parse_id
from operations.clock import say
from operations.errors import ExitCode, OperationError
from operations.session import Session

_REFRESH = "refreshManagedPrivateEndpoints"
_DEADLINE = 900.0
"""Seconds for each half of making an endpoint again; Azure needs one to three minutes for each."""
_INPUTS = (
    "privateLinkResourceId",
    "privateLinkResourceRegion",
    "groupIds",
    "requestMessage",
    "privateLinkServiceUrl",
)
"""What an endpoint is made from; all of it is fixed from then on."""


@dataclass(frozen=True)
class ManagedEndpoint:
    """The managed private endpoint, as Grafana last looked it up."""

    provisioning_state: str
    status: str
    """``Pending``, ``Approved``, ``Rejected`` or ``Disconnected``."""
    address: str
    """Private address; empty unless Grafana sees the approval."""
    private_link_id: str
    request_message: str

    def is_of(self, request: ApprovalRequest) -> bool:
        """Whether the request's stack made it, for the request's Private Link Service."""
        same_link = self.private_link_id.lower() == request.private_link_id.lower()
        return same_link and self.request_message in ("", request.request_message)


def read(request: ApprovalRequest, session: Session) -> ManagedEndpoint:
    """The endpoint; raises NOT_FOUND (transient) where Grafana has none of that name."""
    properties = _document(request, session).child("properties")
    status = properties.text("connectionState", "status")
    address = properties.text("privateLinkServicePrivateIP").strip()
    return ManagedEndpoint(
        provisioning_state=properties.text("provisioningState"),
        status=status,
        address=address if status == "Approved" else "",
        private_link_id=properties.text("privateLinkResourceId"),
        request_message=properties.text("requestMessage"),
    )


def make_again(request: ApprovalRequest, session: Session) -> None:
    """Delete the endpoint and make it from the same inputs, so that it connects anew.

    Raises:
        OperationError: REJECTED where the new one fails; on expiry, what was seen last.
    """
    found = _document(request, session)
    properties = found.child("properties")
    body: dict[str, object] = {
        "location": found.text("location"),
        "properties": {
            key: properties.fields[key] for key in _INPUTS if properties.fields.get(key)
        },
    }
    if tags := found.fields.get("tags"):
        body["tags"] = tags
    name = _name(request)
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        (f"{name} to be gone", partial(_expect_gone, request, session)),
        (f"the creation of {name}", partial(_create, request, session, body)),
        (name, partial(_expect_made, request, session)),
    )
    for what, probe in steps:
        session.clock.poll(probe, what=what, within=session.within(_DEADLINE))
    say(f"made {name} again")


def delete(request: ApprovalRequest, session: Session) -> DeletedEndpoint:
    """Delete the endpoint and wait until it is gone; nothing where it, or its Grafana, is.

    The provider deletes it right afterwards, and then finds nothing: it does not repeat what
    Grafana refuses during another operation, which here is waited for.

    Raises:
        OperationError: FORBIDDEN, UNREACHABLE, BUSY on expiry; REJECTED.
    """
    name = _name(request)
    found = session.clock.poll(
        partial(_find, request, session), what=name, within=session.within(_DEADLINE)
    )
    if found is not None and not found.is_of(request):
        say(f"note: {name} is not as this stack made it, and is left to the provider")
    elif found is not None:
        session.clock.poll(
            partial(_expect_gone, request, session),
            what=f"{name} to be gone",
            within=session.within(_DEADLINE),
        )
    return DeletedEndpoint(name=request.endpoint_name)


def _name(request: ApprovalRequest) -> str:
    return f"the managed private endpoint {request.endpoint_name}"


def _delete(request: ApprovalRequest, session: Session) -> None:
    session.azure.delete(
        _path(request),
        GRAFANA_API,
        f"delete the managed private endpoint {request.endpoint_name}",
        role_scope=request.grafana_id,
        role="Contributor",
    )


def _expect_gone(request: ApprovalRequest, session: Session) -> None:
    """Delete it where it is not being deleted, whatever was answered before."""
    found = _find(request, session)
    if found is None:
        return
    if found.provisioning_state != "Deleting":
        _delete(request, session)
    raise OperationError(ExitCode.BUSY, "it is being deleted", transient=True)


def _find(request: ApprovalRequest, session: Session) -> ManagedEndpoint | None:
    """The endpoint; None where Azure itself says that it, or its Grafana, is not there."""
    try:
        return read(request, session)
    except OperationError as error:
        if is_absent(error):
            return None
        raise


def _create(request: ApprovalRequest, session: Session, body: Mapping[str, object]) -> None:
    session.azure.put(
        _path(request),
        GRAFANA_API,
        body,
        f"make the managed private endpoint {request.endpoint_name}",
        role_scope=request.grafana_id,
        role="Contributor",
    )


def _expect_made(request: ApprovalRequest, session: Session) -> None:
    state = read(request, session).provisioning_state
    if state == "Failed":
        raise OperationError(
            ExitCode.REJECTED,
            f"The managed private endpoint {request.endpoint_name} is in state Failed.",
            fix=how_to_replace(request),
        )
    if state != "Succeeded":
        raise OperationError(ExitCode.BUSY, f"it is {state}", transient=True)


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
        + delete_resource(_path(request), GRAFANA_API)
    )


def _document(request: ApprovalRequest, session: Session) -> Document:
    return session.azure.get(
        _path(request),
        GRAFANA_API,
        f"read the managed private endpoint {request.endpoint_name}",
        role_scope=request.grafana_id,
    )


def _path(request: ApprovalRequest) -> str:
    return managed_endpoint_id(request.grafana_id, request.endpoint_name)


def how_to_refresh(request: ApprovalRequest) -> str:
    """The line by which a person refreshes by hand."""
    path = f"{request.grafana_id}/{_REFRESH}?api-version={GRAFANA_API}"
    return line("az", "rest", "--method", "post", "--url", path)
