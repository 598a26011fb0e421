"""Managed private endpoints of a Grafana workspace.

Every input but the tags is create-only. A new endpoint succeeds while its connection is still
Pending; Approved and the private address show after approval on the other side and a refresh.
"""

import zlib
from collections.abc import Sequence

from simulator.arm import private_link, schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.polling import DASHBOARD
from simulator.arm.resource_type import Call, ResourceType
from simulator.arm.schema import Problem
from simulator.arm.types.grafana import check_idle
from simulator.values import JsonObject, as_object, as_text
from simulator.world import Operation, Resource


class ManagedPrivateEndpoints(ResourceType):
    """``Microsoft.Dashboard/grafana/managedPrivateEndpoints``; long-running.

    The versions are those of :class:`~simulator.arm.types.grafana.GrafanaWorkspaces`, alike here.
    """

    type = private_link.MANAGED_PRIVATE_ENDPOINTS
    wire_type = "microsoft.dashboard/grafana/managedprivateendpoints"
    versions = ("2023-09-01", "2024-10-01", "2025-08-01")
    name_pattern = r"[a-zA-Z0-9][-a-zA-Z0-9]{1,18}[a-zA-Z0-9]"
    long_running = DASHBOARD
    creating_state = "Accepted"
    create_seconds = 120
    delete_seconds = 60
    change_refused = "InvalidRequestContent"
    schema = schema.envelope(
        schema.record(
            {
                "privateLinkResourceId": schema.text(required=True, create_only=True),
                "privateLinkResourceRegion": schema.text(create_only=True),
                "groupIds": schema.items(schema.text(), create_only=True),
                "requestMessage": schema.text(
                    pattern=private_link.MESSAGE_PATTERN, create_only=True
                ),
                "privateLinkServiceUrl": schema.text(
                    pattern=r"([A-Za-z0-9][-A-Za-z0-9]*\.){2,}[A-Za-z0-9]+", create_only=True
                ),
                **schema.computed(
                    "provisioningState", "connectionState", "privateLinkServicePrivateIP"
                ),
            },
            required=True,
        )
    )

    def invalid(self, faults: Sequence[Problem]) -> ArmError:
        """A host name that is none has a code of its own (terraform-provider-azurerm 29466)."""
        error = super().invalid(faults)
        if faults[0].path == "properties.privateLinkServiceUrl":
            error.code = "PrivateLinkServiceInvalidHostname"
        return error

    def busy(self, call: Call, resource: Resource | None) -> None:
        """One operation at a time runs on the workspace, whichever endpoint it is about."""
        check_idle(self.world, call.id.parent)

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Only the Standard tier has managed private endpoints."""
        workspace = self.world.get(call.id.parent)
        tier = as_text(as_object(workspace.body.get("sku")).get("name")) if workspace else ""
        if tier != "Standard":
            raise bad_request(
                f"Managed private endpoints need the Standard tier; the workspace has {tier}.",
                "ManagedPrivateEndpointNotSupported",
            )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Pending, without an address."""
        if old is None:
            number = zlib.crc32(new.key.encode())
            new.hidden["address"] = f"10.{number % 200}.{number // 200 % 250}.{number % 240 + 4}"
            new.properties["connectionState"] = {"status": "Pending", "description": None}
            new.properties.setdefault("privateLinkServiceUrl", None)
            new.properties["privateLinkServicePrivateIP"] = None

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """The private endpoint exists: its connection appears on the service."""
        if operation.kind != "create":
            return None
        fault = private_link.connect(self.world, resource)
        for name in ("privateLinkServiceUrl", "privateLinkServicePrivateIP"):
            if resource.properties.get(name) is None:
                resource.properties.pop(name, None)
        return fault

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """The connection goes with the endpoint."""
        private_link.disconnect(self.world, resource)
        return None

    def wire(self, resource: Resource) -> JsonObject:
        """Without an etag."""
        shown = super().wire(resource)
        shown.pop("etag", None)
        return shown
