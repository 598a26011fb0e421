"""Resource groups. Deleting one deletes everything in it; a managed one belongs to what made it."""

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request, conflict, group_not_found
from simulator.arm.ids import ResourceId
from simulator.arm.locations import REGIONS, normalized
from simulator.arm.polling import RESOURCES
from simulator.arm.resource_type import Call, ResourceType
from simulator.http import Response
from simulator.values import JsonObject, as_text
from simulator.world import Resource


class ResourceGroups(ResourceType):
    """``Microsoft.Resources/resourceGroups``: PUT synchronous, DELETE long-running.

    azure-native sends 2024-03-01, the Azure CLI 2024-11-01, the newest SDK 2025-04-01.
    """

    type = "Microsoft.Resources/resourceGroups"
    versions = ("2021-04-01", "2022-09-01", "2024-03-01", "2024-11-01", "2025-04-01")
    name_pattern = r"[-\w._()]{1,89}[-\w_()]"
    long_running = RESOURCES
    synchronous = frozenset({"PUT"})
    delete_seconds = 60
    registered = False
    has_system_data = False
    schema = schema.record(
        {
            "location": schema.text(required=True),
            "tags": schema.TAGS,
            "managedBy": schema.text(create_only=True),
            "properties": schema.record(schema.computed("provisioningState")),
            **schema.ENVELOPE,
        }
    )

    def check_location(self, call: Call, wanted: str, old: Resource | None) -> None:
        """A group has a region that exists, and keeps it; in codes of its own."""
        if wanted and normalized(wanted) not in REGIONS:
            raise bad_request(
                f"The provided location '{wanted}' is not available for resource group. List of "
                f"available regions is '{','.join(REGIONS)}'.",
                "LocationNotAvailableForResourceGroup",
            )
        present = as_text(old.body.get("location")) if old else ""
        if wanted and present and normalized(present) != normalized(wanted):
            raise conflict(
                "InvalidResourceGroupLocation",
                f"Invalid resource group location '{wanted}'. The Resource group already exists in "
                f"location '{present}'.",
            )
        super().check_location(call, wanted, None)

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """A group is there at once."""
        new.properties["provisioningState"] = "Succeeded"

    def delete(self, call: Call) -> Response:
        """202 with a Location that is 202 until everything is gone."""
        group = self.world.get(call.id.text)
        if group is None:
            raise group_not_found(call.id.group)
        if not self.world.running(group.id, "delete"):
            group.properties["provisioningState"] = "Deleting"
            self.world.start(self.handler, "delete", group.id, self.delete_seconds)
        operation = self.world.running(group.id, "delete")
        headers = self.headers(call, group, operation) if operation else {}
        return Response(202, None, headers)

    def list(self, call: Call) -> Response:
        """Every group of the subscription."""
        found = [self.wire(item) for item in self.world.of_type(self.type)]
        return Response(200, {"value": sorted(found, key=lambda item: as_text(item.get("id")))})

    def wire(self, resource: Resource) -> JsonObject:
        """Without an etag."""
        shown = super().wire(resource)
        shown.pop("etag", None)
        return shown

    def existing(self, wanted: ResourceId) -> Resource:
        """The group, or its own kind of 404."""
        group = self.world.get(wanted.text)
        if group is None:
            raise group_not_found(wanted.group)
        return group

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Delete what is in the group; what refuses to go keeps the group."""
        return self.remove_all_below(resource)
