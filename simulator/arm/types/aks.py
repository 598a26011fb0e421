"""What the types of AKS' own resource provider have in common on the wire.

Refusals come bare (:class:`simulator.arm.errors.ArmError`); names and values that break a rule are
InvalidParameter, values of the wrong type UnmarshalError (crossplane 304, azurerm 31580); ids are
answered with the segment ``resourcegroups`` in lower case.
"""

from simulator.arm.errors import ArmError
from simulator.arm.polling import CONTAINER_SERVICE
from simulator.arm.resource_type import ResourceType
from simulator.values import JsonObject
from simulator.world import Resource


class AksType(ResourceType):
    """A type of ``Microsoft.ContainerService/managedClusters``; long-running."""

    versions = ("2023-01-01", "2025-09-01", "2026-06-01", "2026-08-01")
    long_running = CONTAINER_SERVICE
    name_refused = "InvalidParameter"
    refused = {  # noqa: RUF012 - declared ClassVar by the base
        "missing": "InvalidParameter",
        "value": "InvalidParameter",
        "type": "UnmarshalError",
    }

    def answered(self, error: ArmError) -> ArmError:
        """Without ``error`` around what is wrong with the request."""
        error.bare = error.status == 400
        return error

    def wire(self, resource: Resource) -> JsonObject:
        """With the lower-case group segment; no etag of ARM's kind."""
        shown = super().wire(resource)
        shown.pop("etag", None)
        shown["id"] = resource.id.replace("/resourceGroups/", "/resourcegroups/")
        return shown
