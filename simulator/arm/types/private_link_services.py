"""Private Link Services, read and deleted here; they are made by the AKS cloud controller only."""

from simulator.arm import private_link, schema
from simulator.arm.errors import ArmError
from simulator.arm.polling import NETWORK
from simulator.arm.resource_type import Call, ResourceType
from simulator.http import Response
from simulator.values import as_text
from simulator.world import Resource


class PrivateLinkServices(ResourceType):
    """``Microsoft.Network/privateLinkServices``; long-running.

    azure-native sends 2024-05-01, the Azure CLI 2024-03-01, the newest SDK 2026-03-01.
    """

    type = private_link.PRIVATE_LINK_SERVICES
    versions = ("2024-03-01", "2024-05-01", "2026-03-01")
    has_system_data = False
    name_pattern = r"[a-zA-Z0-9]([-\w.]{0,78}\w)?"
    long_running = NETWORK
    create_seconds = 40
    update_seconds = 20
    delete_seconds = 30
    schema = schema.record({})

    def put(self, call: Call) -> Response:
        """Nothing in this world makes one by hand: it needs a load balancer frontend."""
        raise ArmError(
            400,
            "OperationNotAllowed",
            "The simulator makes Private Link Services from the azure-pls annotations of a "
            "Service only.",
        )

    def check_delete(self, call: Call, resource: Resource) -> None:
        """A service that something is connected to stays."""
        fault = self._held(resource)
        if fault is not None:
            raise fault

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Checked again: an endpoint may have connected meanwhile."""
        return self._held(resource)

    def _held(self, resource: Resource) -> ArmError | None:
        names = [as_text(item.get("name")) for item in private_link.connections(resource)]
        if not names:
            return None
        return ArmError(
            400,
            "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
            f"Private link service {resource.id} cannot be deleted since it has private endpoint "
            f"connections: {', '.join(names)}.",
        )
