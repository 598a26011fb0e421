"""Resource groups. Deleting one deletes everything in it; a managed one belongs to what made it."""

from simulator.arm import schema
from simulator.arm.errors import ArmError, conflict, group_not_found
from simulator.arm.ids import ResourceId
from simulator.arm.polling import RESOURCES
from simulator.arm.resource_type import Call, ResourceType
from simulator.http import Response
from simulator.values import JsonObject, as_text
from simulator.world import Resource


class ResourceGroups(ResourceType):
    """``Microsoft.Resources/resourceGroups``: PUT synchronous, DELETE long-running."""

    type = "Microsoft.Resources/resourceGroups"
    versions = ("2024-03-01", "2025-04-01", "2021-04-01", "2022-09-01")
    name_pattern = r"[-\w._()]{1,89}[-\w_()]"
    long_running = RESOURCES
    synchronous = frozenset({"PUT"})
    delete_seconds = 60
    registered = False
    schema = schema.record(
        {
            "location": schema.text(required=True),
            "tags": schema.TAGS,
            "managedBy": schema.text(create_only=True),
            "properties": schema.record(schema.computed("provisioningState")),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """The location of a group cannot change."""
        if old is not None and old.body.get("location") != new.body.get("location"):
            raise conflict(
                "InvalidResourceGroupLocation",
                f"Invalid resource group location '{new.body.get('location')}'. The Resource group "
                f"already exists in location '{old.body.get('location')}'.",
            )

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
