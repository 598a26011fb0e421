"""The connections of a Private Link Service: its owner approves, rejects or removes them.

Approving changes this side only; Grafana shows it after the workspace's refresh. A rejected or
disconnected connection can never be approved, and approving twice is refused. While the service is
being changed, another change is answered 409 ``ConflictError`` (terraform-provider-azurerm PR
32095).
"""

import uuid

from simulator.arm import private_link, schema
from simulator.arm.errors import ArmError, bad_request, not_found
from simulator.arm.ids import ResourceId
from simulator.arm.polling import NETWORK
from simulator.arm.resource_type import Call, ResourceType
from simulator.clock import timestamp
from simulator.http import Response
from simulator.values import JsonObject, as_object, as_text, bury, clone_object, dig
from simulator.world import Operation, Resource

PUT_SECONDS = 5


class PrivateEndpointConnections(ResourceType):
    """``.../privateLinkServices/privateEndpointConnections``: PUT answers 200, still Updating.

    The Azure CLI sends 2022-01-01 (``az network private-link-service connection``) and 2021-05-01
    (``az network private-endpoint-connection``).
    """

    type = "Microsoft.Network/privateLinkServices/privateEndpointConnections"
    versions = ("2021-05-01", "2022-01-01", "2024-03-01", "2024-05-01", "2026-03-01")
    long_running = NETWORK
    delete_seconds = 10
    has_system_data = False
    refused = dict.fromkeys(("missing", "unknown", "type", "value"), "InvalidRequestFormat")
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "privateLinkServiceConnectionState": schema.record(
                        {
                            "status": schema.text(
                                "Approved", "Rejected", "Pending", "Disconnected", required=True
                            ),
                            "description": schema.text(pattern=private_link.MESSAGE_PATTERN),
                            "actionsRequired": schema.text(),
                        },
                        required=True,
                    ),
                    **schema.computed(
                        "provisioningState",
                        "privateEndpoint",
                        "linkIdentifier",
                        "privateEndpointLocation",
                    ),
                },
                required=True,
            ),
            **schema.ENVELOPE,
        }
    )

    def get(self, call: Call) -> Response:
        """One connection."""
        return Response(200, clone_object(self._found(call.id)[1]))

    def list(self, call: Call) -> Response:
        """Those of a service."""
        service = self._service(call.id)
        shown = [clone_object(item) for item in private_link.connections(service)]
        return Response(200, {"value": shown})

    def put(self, call: Call) -> Response:
        """Change the state of a connection that an endpoint made."""
        body = call.request.json_object()
        faults = schema.problems(self.schema, body, call.version)
        if faults:
            raise self.invalid(faults)
        service, connection = self._found(call.id)
        self._check_idle(service)
        wanted = as_object(
            as_object(body.get("properties")).get("privateLinkServiceConnectionState")
        )
        status, now = as_text(wanted.get("status")), private_link.state_of(connection)
        # A network resource that failed recovers by the same PUT again (Microsoft's page on failed
        # provisioning states of Microsoft.Network).
        failed = dig(connection, "properties", "provisioningState") == "Failed"
        if status == "Approved" and now != "Pending" and not failed:
            raise bad_request(
                f"Private endpoint connection {connection.get('name')} is {now}; only a Pending "
                "one can be approved.",
                "PrivateEndpointConnectionStateTransitionNotAllowed",
            )
        state: JsonObject = {
            "status": status,
            "description": as_text(wanted.get("description")),
            "actionsRequired": as_text(wanted.get("actionsRequired"), "None"),
        }
        bury(connection, state, "properties", "privateLinkServiceConnectionState")
        bury(connection, "Updating", "properties", "provisioningState")
        connection["etag"] = f'W/"{uuid.uuid4()}"'
        return Response(
            200, clone_object(connection), self._started(call, service, "change", PUT_SECONDS)
        )

    def delete(self, call: Call) -> Response:
        """Remove a connection: its endpoint is disconnected."""
        service = self._service(call.id)
        connection = private_link.connection_named(service, call.id.name)
        if connection is None:
            return Response(204)
        self._check_idle(service)
        bury(connection, "Deleting", "properties", "provisioningState")
        return Response(202, None, self._started(call, service, "disconnect", self.delete_seconds))

    def finish_other(self, resource: Resource, operation: Operation) -> None:
        """The change is carried out."""
        name = as_text(operation.details.get("connection"))
        connection = private_link.connection_named(resource, name)
        if connection is None:
            return
        if operation.error:
            bury(connection, "Failed", "properties", "provisioningState")
        elif operation.kind == "disconnect":
            kept = [item for item in private_link.connections(resource) if item is not connection]
            private_link.keep_connections(resource, kept)
        else:
            bury(connection, "Succeeded", "properties", "provisioningState")

    def _started(self, call: Call, service: Resource, kind: str, seconds: float) -> dict[str, str]:
        operation = self.world.start(
            self.handler, kind, service.id, seconds, connection=call.id.name, began=timestamp()
        )
        return self.headers(call, service, operation)

    def _check_idle(self, service: Resource) -> None:
        if self.world.running(service.id) is not None:
            raise ArmError(
                409,
                "ConflictError",
                f"Private link service {service.id} is Updating; try again later.",
            )

    def _service(self, wanted: ResourceId) -> Resource:
        service = self.world.get(wanted.parent)
        if service is None:
            name = wanted.parent.rsplit("/", 1)[-1]
            raise not_found(private_link.PRIVATE_LINK_SERVICES, name, wanted.group)
        return service

    def _found(self, wanted: ResourceId) -> tuple[Resource, JsonObject]:
        service = self._service(wanted)
        connection = private_link.connection_named(service, wanted.name)
        if connection is None:
            raise ArmError(
                404,
                "NotFound",
                f"Resource {wanted.text} not found.",
            )
        return service, connection
