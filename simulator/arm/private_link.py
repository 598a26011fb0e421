"""Both ends of a private link: Grafana's managed private endpoint and the Private Link Service.

The service's side (the connection in ``privateEndpointConnections``) is the truth. The endpoint's
side shows what Grafana last looked up: its state and address change only by the workspace's
refresh.
"""

import uuid
from typing import Final

from simulator.arm.errors import ArmError
from simulator.arm.ids import parse_text
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import Resource, World

ENDPOINT_SUBSCRIPTION: Final = "5a9c1f00-3d5b-4b8e-9f0a-0c4fc1aa7a11"
"""Microsoft's subscription, in which Azure Managed Grafana keeps its private endpoints."""

MESSAGE_PATTERN: Final = r"(?s).{0,140}"
"""Of a request message: "Restricted to 140 chars", says Microsoft.Network's specification
(``privateEndpoint.json``). That the description of a decision has the same limit is assumed."""

PRIVATE_LINK_SERVICES: Final = "Microsoft.Network/privateLinkServices"
MANAGED_PRIVATE_ENDPOINTS: Final = "Microsoft.Dashboard/grafana/managedPrivateEndpoints"


def connections(service: Resource) -> list[JsonObject]:
    """The private endpoint connections of a Private Link Service."""
    found = service.properties.get("privateEndpointConnections")
    if not isinstance(found, list):
        service.properties["privateEndpointConnections"] = []
    return as_objects(service.properties["privateEndpointConnections"])


def keep_connections(service: Resource, kept: list[JsonObject]) -> None:
    """Replace the connections of a Private Link Service."""
    service.properties["privateEndpointConnections"] = list(kept)


def connection_named(service: Resource, name: str) -> JsonObject | None:
    """The connection of this name, compared without case."""
    for connection in connections(service):
        if as_text(connection.get("name")).lower() == name.lower():
            return connection
    return None


def state_of(connection: JsonObject) -> str:
    """Pending, Approved, Rejected or Disconnected."""
    return as_text(
        dig(connection, "properties", "privateLinkServiceConnectionState", "status"), "Pending"
    )


def settled(connection: JsonObject) -> bool:
    """Whether the last change of its state has been carried out."""
    return as_text(dig(connection, "properties", "provisioningState")) == "Succeeded"


def is_visible(service: Resource, subscription: str) -> bool:
    """Whether endpoints of ``subscription`` may connect; an empty list: only by role, so no."""
    return _lists(service, "visibility", subscription) or "*" in _subscriptions(
        service, "visibility"
    )


def is_approved_at_once(service: Resource, subscription: str) -> bool:
    """Whether a connection from ``subscription`` needs no approval.

    Only subscription ids match, and only where everybody may see the service.
    """
    return "*" in _subscriptions(service, "visibility") and _lists(
        service, "autoApproval", subscription
    )


def _lists(service: Resource, what: str, subscription: str) -> bool:
    return subscription.lower() in [item.lower() for item in _subscriptions(service, what)]


def _subscriptions(service: Resource, what: str) -> list[str]:
    return texts(dig(service.body, "properties", what, "subscriptions"))


def endpoint_id(endpoint: Resource) -> str:
    """The id of the private endpoint behind a managed private endpoint."""
    workspace = endpoint.id.split("/")[-3]
    return (
        f"/subscriptions/{ENDPOINT_SUBSCRIPTION}/resourceGroups/rg-grafana-managed/providers/"
        f"Microsoft.Network/privateEndpoints/grafana-{workspace}-{endpoint.name}"
    )


def connect(world: World, endpoint: Resource) -> ArmError | None:
    """Connect a new managed private endpoint to its service; an error says why it cannot be."""
    target = as_text(endpoint.properties.get("privateLinkResourceId"))
    parsed = parse_text(target)
    if parsed is None or parsed.type.lower() != PRIVATE_LINK_SERVICES.lower():
        return None  # endpoints of other Azure services connect to nothing that is simulated
    service = world.get(target)
    if service is None:
        return ArmError(
            400,
            "PrivateLinkResourceNotFound",
            f"The private link resource '{target}' was not found.",
        )
    if not is_visible(service, ENDPOINT_SUBSCRIPTION):
        return ArmError(
            400,
            "PrivateLinkServiceNotVisible",
            f"The private link service '{target}' is not visible to subscription "
            f"'{ENDPOINT_SUBSCRIPTION}', in which the private endpoint is made.",
        )
    approved = is_approved_at_once(service, ENDPOINT_SUBSCRIPTION)
    private_endpoint = endpoint_id(endpoint)
    name = f"{private_endpoint.rsplit('/', 1)[-1]}.{uuid.uuid4()}"
    connection: JsonObject = {
        "id": f"{service.id}/privateEndpointConnections/{name}",
        "name": name,
        "type": f"{PRIVATE_LINK_SERVICES}/privateEndpointConnections",
        "etag": f'W/"{uuid.uuid4()}"',
        "properties": {
            "provisioningState": "Succeeded",
            "privateEndpoint": {"id": private_endpoint},
            "privateLinkServiceConnectionState": {
                "status": "Approved" if approved else "Pending",
                "description": as_text(endpoint.properties.get("requestMessage")),
                "actionsRequired": "None",
            },
            "linkIdentifier": str(uuid.uuid4().int % 2**31),
            "privateEndpointLocation": as_text(endpoint.body.get("location")),
        },
    }
    keep_connections(service, [*connections(service), connection])
    endpoint.hidden["service"] = service.key
    endpoint.hidden["connection"] = name
    world.touch()
    return None


def disconnect(world: World, endpoint: Resource) -> None:
    """Take a managed private endpoint's connection off its service."""
    found = connection_of(world, endpoint)
    if found is not None:
        service, gone = found
        keep_connections(service, [item for item in connections(service) if item is not gone])
        world.touch()


def connection_of(world: World, endpoint: Resource) -> tuple[Resource, JsonObject] | None:
    """The service and the connection of an endpoint, if the connection still exists."""
    service = world.get(as_text(endpoint.hidden.get("service")))
    if service is None:
        return None
    connection = connection_named(service, as_text(endpoint.hidden.get("connection")))
    return (service, connection) if connection is not None else None


def refresh(world: World, endpoint: Resource) -> None:
    """Let Grafana look up the state and, once approved, the address of an endpoint."""
    if "connection" not in endpoint.hidden:
        return
    found = connection_of(world, endpoint)
    status, description = "Disconnected", "The private link service removed the connection."
    if found is not None:
        if not settled(found[1]):
            return
        status = state_of(found[1])
        state = as_object(dig(found[1], "properties", "privateLinkServiceConnectionState"))
        description = as_text(state.get("description"))
    properties = endpoint.properties
    properties["connectionState"] = {"status": status, "description": description}
    properties.pop("privateLinkServicePrivateIP", None)
    if status == "Approved":
        properties["privateLinkServicePrivateIP"] = as_text(endpoint.hidden.get("address"))
    world.touch()


def service_behind(world: World, workspace_id: str, address: str) -> Resource | str:
    """The service that a workspace reaches at a private address, or why it reaches none."""
    endpoints = [
        item
        for item in world.of_type(MANAGED_PRIVATE_ENDPOINTS)
        if item.key.startswith(workspace_id.lower() + "/")
        and as_text(item.properties.get("privateLinkServicePrivateIP")) == address
    ]
    if not endpoints:
        return f"no managed private endpoint of the workspace has the address {address}"
    endpoint = endpoints[0]
    found = connection_of(world, endpoint)
    if found is None:
        return f"the private link behind managed private endpoint {endpoint.name} is disconnected"
    service, connection = found
    if state_of(connection) != "Approved" or not settled(connection):
        return f"the connection of managed private endpoint {endpoint.name} is not approved"
    return service
