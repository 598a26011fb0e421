"""What all resource types have in common: the four methods, and long-running operations.

A type is a subclass that states its description (name, versions, schema, latencies, form of
long-running operation) and overrides the hooks for what is particular:
:meth:`ResourceType.check` before a request is accepted, :meth:`ResourceType.begin` when it is,
:meth:`ResourceType.finish_put` and :meth:`ResourceType.finish_delete` when its operation ends,
:meth:`ResourceType.wire` for the answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request, conflict, group_not_found, not_found
from simulator.arm.ids import ResourceId, group_of, parse_text
from simulator.arm.locations import REGIONS, normalized
from simulator.arm.polling import RESOURCES, LongRunningOperation
from simulator.arm.schema import Problem
from simulator.clock import timestamp
from simulator.http import NULL_BODY, Request, Response
from simulator.values import JsonObject, as_object, as_text, clone_object, merge_patch
from simulator.world import Operation, Resource, World


@dataclass(frozen=True)
class Call:
    """One call on a resource: who asks what of which."""

    request: Request
    id: ResourceId
    version: str
    principal: str


AT_ONCE = frozenset({"PUT", "DELETE"})
"""For ``ResourceType.synchronous``: nothing of the type takes time."""

Action = Callable[[Call, Resource], Response]


class ResourceType:
    """A resource type of a resource provider."""

    type: ClassVar[str]
    versions: ClassVar[tuple[str, ...]]
    """Those that current clients send; what one of them lacks says ``since`` in the schema."""
    schema: ClassVar[schema.Field]
    name_pattern: ClassVar[str] = r".{1,260}"
    long_running: ClassVar[LongRunningOperation] = RESOURCES
    synchronous: ClassVar[frozenset[str]] = frozenset()
    """The methods, of PUT and DELETE, that are done when they answer."""
    create_seconds: ClassVar[float] = 0
    update_seconds: ClassVar[float] = 0
    delete_seconds: ClassVar[float] = 0
    creating_state: ClassVar[str] = "Creating"
    wire_type: ClassVar[str] = ""
    """The type as answers spell it, where that differs."""
    registered: ClassVar[bool] = True
    """Whether its namespace must be registered with the subscription."""
    change_refused: ClassVar[str] = "PropertyChangeNotAllowed"
    """Error code for a change of a create-only property."""
    delete_status: ClassVar[int] = 202
    name_refused: ClassVar[str] = "InvalidResourceName"
    """Error code for a name that does not match the pattern."""
    refused: ClassVar[Mapping[str, str]] = {"missing": "InvalidParameter"}
    """Error codes by the kind of a problem with the body; others: InvalidRequestContent."""
    has_system_data: ClassVar[bool] = True
    """Whether its model has ``systemData``: who made and changed it, and when."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.actions: dict[str, Action] = {}
        world.register(self.handler, self._finish)
        world.removers[self.type.lower()] = self._remove

    @property
    def handler(self) -> str:
        """The name under which its operations are kept."""
        return f"arm:{self.type}"

    # --- what a subclass says ----------------------------------------------------------------

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Raise :class:`ArmError` if the request breaks a rule that the schema cannot tell."""

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Fill in what the service computes at once; ``old`` is None for a create."""

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """The effects of a finished create or update, or why it failed."""
        return None

    def failed_put(self, resource: Resource, operation: Operation) -> None:
        """The traces that a failed create or update leaves."""

    def check_delete(self, call: Call, resource: Resource) -> None:
        """Raise :class:`ArmError` if it cannot be deleted now."""

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """The effects of a finished delete, or why it failed; the resource is dropped after it."""
        return None

    def failed_delete(self, resource: Resource, operation: Operation) -> None:
        """The traces that a failed delete leaves."""

    def remove_all_below(self, resource: Resource) -> ArmError | None:
        """Delete everything below a resource, dependents first; a refusal, if anything stays."""
        while True:
            error: JsonObject | None = None
            before = len(self.world.resources)
            for below in self.world.below(resource.id):
                if self.world.get(below.id) is None:
                    continue
                refusal = self.world.removers[below.type.lower()](below)
                if refusal is None:
                    self.world.drop(below.id)
                else:
                    error = refusal
            if error is None:
                return None
            if len(self.world.resources) == before:
                return ArmError(409, as_text(error.get("code")), as_text(error.get("message")))

    def _remove(self, resource: Resource) -> JsonObject | None:
        fault = self.finish_delete(resource)
        return fault.body() if fault else None

    def answered(self, error: ArmError) -> ArmError:
        """A refusal of this type's provider in the form in which the provider sends it."""
        return error

    def invalid(self, faults: Sequence[Problem]) -> ArmError:
        """The refusal of a body with these faults."""
        code = self.refused.get(faults[0].kind, "InvalidRequestContent")
        return bad_request(" ".join(fault.message for fault in faults), code)

    def busy(self, call: Call, resource: Resource | None) -> None:
        """Raise :class:`ArmError` if another operation is in the way."""
        if resource is None:
            return
        running = self.world.running(resource.id)
        if running is not None:
            raise ArmError(
                409,
                "OperationNotAllowed",
                f"Operation is not allowed because there's an in progress {running.kind} operation "
                f"on '{resource.name}'. Please wait for it to finish and retry.",
            )

    def wire(self, resource: Resource) -> JsonObject:
        """What a GET answers."""
        return {
            "id": resource.id,
            "name": resource.name,
            "type": self.wire_type or self.type,
            **clone_object(resource.body),
        }

    def seconds(self, kind: str, resource: Resource) -> float:
        """Simulated seconds of a ``create``, ``update`` or ``delete``."""
        return {"create": self.create_seconds, "update": self.update_seconds}.get(
            kind, self.delete_seconds
        )

    def location(self, resource: Resource) -> str:
        """The region whose operations URL is used."""
        own = as_text(resource.body.get("location"))
        if own:
            return own
        above = parse_text(resource.id)
        parent = self.world.get(above.parent) if above else None
        return as_text(parent.body.get("location"), "global") if parent else "global"

    # --- the calls ---------------------------------------------------------------------------

    @property
    def tracked(self) -> bool:
        """Whether ARM knows where its resources are."""
        location = self.schema.fields.get("location")
        return location is not None and location.required

    def get(self, call: Call) -> Response:
        """Read one."""
        return Response(200, self.wire(self.existing(call.id)))

    def list(self, call: Call) -> Response:
        """Read those of a parent, a group, or a subscription."""
        parent = call.id.parent
        if "/resourcegroups/" in parent.lower() and self.world.get(group_of(parent)) is None:
            raise group_not_found(call.id.group)
        found = [
            self.wire(item)
            for key, item in sorted(self.world.resources.items())
            if item.type.lower() == self.type.lower() and key.startswith(parent.lower() + "/")
        ]
        return Response(200, {"value": found})

    def put(self, call: Call) -> Response:
        """Create or replace."""
        body = call.request.json_object()
        old = self.world.get(call.id.text)
        if old is None and not re.fullmatch(self.name_pattern, call.id.name):
            raise bad_request(
                f"The name '{call.id.name}' of a {self.type} is not valid: it must match "
                f"{self.name_pattern}.",
                self.name_refused,
            )
        if self.tracked:
            self.check_location(call, as_text(body.get("location")), old)
        faults = schema.problems(self.schema, body, call.version)
        if faults:
            raise self.invalid(faults)
        self.busy(call, old)
        stored = as_object(schema.accepted(self.schema, body))
        stored.setdefault("properties", {})
        new = Resource(old.id if old else call.id.text, self.type, stored)
        if old is not None:
            self._carry(call, old, new)
        self.check(call, new, old)
        self.begin(call, new, old)
        new.body["etag"] = new.body.get("etag") or f'"{timestamp()}"'
        self.stamp(call, new, old)
        self.world.put(new)
        return self._started_put(call, new, old)

    def check_location(self, call: Call, wanted: str, old: Resource | None) -> None:
        """ARM's own look at a tracked resource, before its provider sees the request.

        Raises:
            ArmError: no region, none that exists, or another than before (codes and words as in
                azure-docs 70422 and azure-sdk-for-net's recordings).
        """
        if not wanted:
            raise bad_request(
                "The location property is required for this definition.", "LocationRequired"
            )
        if normalized(wanted) not in REGIONS:
            raise bad_request(
                f"The provided location '{wanted}' is not available for resource type "
                f"'{self.type}'. List of available regions for the resource type is "
                f"'{','.join(REGIONS)}'.",
                "LocationNotAvailableForResourceType",
            )
        present = as_text(old.body.get("location")) if old else wanted
        if normalized(present) != normalized(wanted):
            raise conflict(
                "InvalidResourceLocation",
                f"The resource '{call.id.name}' already exists in location '{present}' in resource "
                f"group '{call.id.group}'. A resource with the same name cannot be created in "
                f"location '{wanted}'. Please select a new resource name.",
            )

    def stamp(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Write down who asked for it, and when."""
        if not self.has_system_data:
            return
        principal = self.world.principals.get(call.principal)
        kind = "User" if principal and principal.kind == "User" else "Application"
        now = timestamp()
        before = as_object(old.body.get("systemData")) if old else {}
        new.body["systemData"] = {
            "createdBy": before.get("createdBy", call.principal),
            "createdByType": before.get("createdByType", kind),
            "createdAt": before.get("createdAt", now),
            "lastModifiedBy": call.principal,
            "lastModifiedByType": kind,
            "lastModifiedAt": now,
        }

    def _carry(self, call: Call, old: Resource, new: Resource) -> None:
        changes = schema.forbidden_changes(self.schema, old.body, new.body)
        if changes:
            raise bad_request(
                f"Changing property '{changes[0]}' of {self.type} '{call.id.name}' is not allowed.",
                self.change_refused,
                changes[0],
            )
        schema.keep_computed(self.schema, old.body, new.body)
        new.hidden = old.hidden

    def _started_put(self, call: Call, new: Resource, old: Resource | None) -> Response:
        status = 200 if old else 201
        if "PUT" in self.synchronous:
            return Response(self.put_status(status), self.wire(new))
        kind = "update" if old else "create"
        new.properties["provisioningState"] = "Updating" if old else self.creating_state
        operation = self.world.start(
            self.handler,
            kind,
            new.id,
            self.seconds(kind, new),
            began=timestamp(),
            resourceId=new.id,
        )
        headers = self.headers(call, new, operation)
        return Response(status, self.wire(new), headers)

    def put_status(self, status: int) -> int:
        """The status of a synchronous PUT."""
        return status

    def patch(self, call: Call) -> Response:
        """Change the tags; types that offer more override this."""
        resource = self.existing(call.id)
        body = call.request.json_object()
        unknown = sorted(set(body) - {"tags"})
        if unknown:
            raise bad_request(
                f"A PATCH of {self.type} takes tags only, not {', '.join(unknown)}.",
                "InvalidRequestContent",
            )
        resource.body["tags"] = merge_patch(resource.body.get("tags"), body.get("tags"))
        self.stamp(call, resource, resource)
        self.world.touch()
        return Response(200, self.wire(resource))

    def delete(self, call: Call) -> Response:
        """Delete; what is gone already is 204."""
        resource = self.world.get(call.id.text)
        if resource is None:
            return Response(204)
        self.busy(call, resource)
        self.check_delete(call, resource)
        if "DELETE" in self.synchronous:
            fault = self.finish_delete(resource)
            if fault:
                raise fault
            shown = self.wire(resource)
            self.world.drop(resource.id)
            return Response(200, self.deleted_body(shown))
        resource.properties["provisioningState"] = "Deleting"
        operation = self.world.start(
            self.handler,
            "delete",
            resource.id,
            self.seconds("delete", resource),
            began=timestamp(),
            resourceId=resource.id,
        )
        return Response(
            self.delete_status, self.delete_body(), self.headers(call, resource, operation)
        )

    def delete_body(self) -> object:
        """The body of an accepted delete."""
        return NULL_BODY if self.long_running.name == "dashboard" else None

    def deleted_body(self, shown: JsonObject) -> object:
        """The body of a synchronous delete."""
        return None

    def headers(self, call: Call, resource: Resource, operation: Operation) -> dict[str, str]:
        """Where to follow an operation."""
        operation.details["statusId"] = (
            f"/providers/{self.type.split('/')[0]}/locations/"
            f"{self.location(resource).upper()}/operationStatuses/{operation.id}"
        )
        return self.long_running.headers(
            self.world, operation, resource.id, self.location(resource), call.version
        )

    def poll(self, operation: Operation, path: str) -> Response:
        """The answer to a poll of one of its operations at this URL."""
        return self.long_running.poll(self.world, operation, path)

    def existing(self, wanted: ResourceId) -> Resource:
        """The resource, or ARM's 404."""
        resource = self.world.get(wanted.text)
        if resource is None:
            kind = "/".join((wanted.namespace, *wanted.types))
            raise not_found(kind, "/".join(wanted.names), wanted.group)
        return resource

    # --- the end of an operation ---------------------------------------------------------------

    def _finish(self, operation: Operation) -> None:
        resource = self.world.get(operation.target)
        if resource is None:
            return
        if operation.kind == "delete":
            self._finish_delete(resource, operation)
        elif operation.kind in ("create", "update"):
            self._finish_put(resource, operation)
        else:
            self.finish_other(resource, operation)

    def finish_other(self, resource: Resource, operation: Operation) -> None:
        """End an operation of the type's own kind."""

    def _finish_put(self, resource: Resource, operation: Operation) -> None:
        fault = None if operation.forced else self.finish_put(resource, operation)
        if fault is not None:
            operation.error = fault.body()
        if operation.error:
            resource.properties["provisioningState"] = as_text(
                operation.details.get("outcome"), "Failed"
            )
            self.failed_put(resource, operation)
        else:
            resource.properties["provisioningState"] = "Succeeded"

    def _finish_delete(self, resource: Resource, operation: Operation) -> None:
        fault = None if operation.forced else self.finish_delete(resource)
        if fault is not None:
            operation.error = fault.body()
        if operation.error:
            resource.properties["provisioningState"] = "Failed"
            self.failed_delete(resource, operation)
        else:
            self.world.drop(resource.id)
