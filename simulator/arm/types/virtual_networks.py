"""Virtual networks and their subnets, for clusters in a network of their owner's.

A subnet that is listed in its network is the same as one made for itself: a PUT of the network
makes and changes those it lists, and removes the others (azure-rest-api-specs, Microsoft.Network
2024-05-01 ``virtualNetwork.json``). Addresses are not handed out here.
"""

from typing import Final

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.polling import NETWORK
from simulator.arm.resource_type import Call, ResourceType
from simulator.values import JsonObject, as_object, as_objects, as_text, clone_object
from simulator.world import Operation, Resource

NETWORKS: Final = "Microsoft.Network/virtualNetworks"
SUBNETS: Final = "Microsoft.Network/virtualNetworks/subnets"
VERSIONS: Final = (
    "2022-01-01",
    "2024-03-01",
    "2024-05-01",
    "2024-07-01",
    "2025-07-01",
    "2026-03-01",
)
"""The Azure CLI sends 2025-07-01 for networks and 2024-07-01 for subnets."""

_SUBNET_FIELDS: Final = {
    "addressPrefix": schema.text(),
    "addressPrefixes": schema.texts(),
    "privateEndpointNetworkPolicies": schema.text(
        "Disabled",
        "Enabled",
        "NetworkSecurityGroupEnabled",
        "RouteTableEnabled",
        default="Disabled",
    ),
    "privateLinkServiceNetworkPolicies": schema.text("Enabled", "Disabled", default="Enabled"),
    "delegations": schema.anything(),
    "networkSecurityGroup": schema.anything(),
    "routeTable": schema.anything(),
    "natGateway": schema.anything(),
    "serviceEndpoints": schema.anything(),
    "defaultOutboundAccess": schema.flag(),
    **schema.computed("provisioningState", "purpose", "ipConfigurations", "privateEndpoints"),
}


class VirtualNetworks(ResourceType):
    """``Microsoft.Network/virtualNetworks``; long-running."""

    type = NETWORKS
    versions = VERSIONS
    name_pattern = r"[a-zA-Z0-9]([-\w.]{0,62}\w)?"
    long_running = NETWORK
    create_seconds = 5
    update_seconds = 5
    delete_seconds = 10
    has_system_data = False
    schema = schema.envelope(
        schema.record(
            {
                "addressSpace": schema.record(
                    {
                        "addressPrefixes": schema.texts(),
                        "ipamPoolPrefixAllocations": schema.anything(),
                    }
                ),
                "subnets": schema.items(
                    schema.record(
                        {
                            "name": schema.text(required=True),
                            "properties": schema.record(_SUBNET_FIELDS),
                            **schema.computed("id", "etag", "type"),
                        }
                    )
                ),
                "dhcpOptions": schema.anything(),
                "enableDdosProtection": schema.flag(default=False),
                "encryption": schema.anything(),
                "virtualNetworkPeerings": schema.anything(),
                "privateEndpointVNetPolicies": schema.text("Disabled", "Basic"),
                **schema.computed("provisioningState", "resourceGuid"),
            },
            required=True,
        ),
        extendedLocation=schema.anything(),
    )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Its subnets are resources of their own."""
        listed = as_objects(new.properties.pop("subnets", None))
        wanted = {as_text(item.get("name")).lower() for item in listed}
        for subnet in self._subnets(new):
            if subnet.name.lower() not in wanted:
                self.world.drop(subnet.id)
        for item in listed:
            subnet = Resource(f"{new.id}/subnets/{as_text(item.get('name'))}", SUBNETS, {})
            subnet.body["properties"] = {
                **as_object(item.get("properties")),
                "provisioningState": "Succeeded",
            }
            self.world.put(subnet)

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Its subnets go with it, unless something is in one of them."""
        return self.remove_all_below(resource)

    def wire(self, resource: Resource) -> JsonObject:
        """With its subnets."""
        shown = super().wire(resource)
        subnets = sorted(self._subnets(resource), key=lambda item: item.key)
        as_object(shown["properties"])["subnets"] = [_shown(item) for item in subnets]
        return shown

    def _subnets(self, network: Resource) -> list[Resource]:
        return [item for item in self.world.below(network.id) if item.type == SUBNETS]


class Subnets(ResourceType):
    """``Microsoft.Network/virtualNetworks/subnets``; long-running."""

    type = SUBNETS
    versions = VERSIONS
    name_pattern = r"[a-zA-Z0-9]([-\w.]{0,78}\w)?"
    long_running = NETWORK
    create_seconds = 5
    update_seconds = 5
    delete_seconds = 5
    has_system_data = False
    schema = schema.record(
        {"properties": schema.record(_SUBNET_FIELDS, required=True), **schema.ENVELOPE}
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """It has addresses."""
        if not new.properties.get("addressPrefix") and not new.properties.get("addressPrefixes"):
            raise bad_request(
                f"Subnet '{new.name}' must have an address prefix.", "InvalidRequestFormat"
            )

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """One that a node pool is in stays."""
        for pool in self.world.of_type("Microsoft.ContainerService/managedClusters/agentPools"):
            for key in ("vnetSubnetID", "podSubnetID"):
                if as_text(pool.properties.get(key)).lower() == resource.key:
                    return ArmError(
                        400,
                        "InUseSubnetCannotBeDeleted",
                        f"Subnet {resource.name} is in use by {pool.id} and cannot be deleted. In "
                        "order to delete the subnet, delete all the resources within the subnet. "
                        "See aka.ms/deletesubnet.",
                    )
        return None

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """Nothing more."""
        return None


def _shown(subnet: Resource) -> JsonObject:
    return {"id": subnet.id, "name": subnet.name, "type": SUBNETS, **clone_object(subnet.body)}
