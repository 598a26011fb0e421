"""Role assignments at any scope; synchronous, with effect on the data planes a little later."""

from simulator.arm import roles, schema
from simulator.arm.errors import ArmError, bad_request, conflict, role_assignment_not_found
from simulator.arm.ids import ResourceId
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.clock import timestamp
from simulator.http import Response
from simulator.values import JsonObject, as_text
from simulator.world import TENANT_ID, Operation, Resource

PROPAGATION_SECONDS = 120


class RoleAssignments(ResourceType):
    """``Microsoft.Authorization/roleAssignments``."""

    type = roles.ROLE_ASSIGNMENTS
    versions = ("2022-04-01", "2020-04-01-preview", "2018-09-01-preview")
    name_pattern = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    synchronous = AT_ONCE
    registered = False
    has_system_data = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "roleDefinitionId": schema.text(required=True),
                    "principalId": schema.text(required=True),
                    "principalType": schema.text(
                        "User", "Group", "ServicePrincipal", "ForeignGroup", "Device"
                    ),
                    "description": schema.text(),
                    "condition": schema.text(),
                    "conditionVersion": schema.text(),
                    "delegatedManagedIdentityResourceId": schema.text(),
                    **schema.computed("scope", "createdOn", "updatedOn", "createdBy", "updatedBy"),
                },
                required=True,
            ),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Known role and principal; one assignment for a role, a principal and a scope."""
        principal = as_text(new.properties.get("principalId"))
        role = roles.role_of(new)
        if roles.definition(self.world, role) is None:
            raise ArmError(
                404,
                "RoleDefinitionDoesNotExist",
                f"The specified role definition with ID '{role.replace('-', '')}' does not exist.",
            )
        if old is not None:
            if as_text(old.properties.get("principalId")).lower() != principal.lower():
                raise conflict(
                    "RoleAssignmentUpdateNotPermitted",
                    "Tenant ID, application ID, principal ID, and scope are not allowed to be "
                    "updated.",
                )
            return
        scope = roles.scope_of(new)
        for other in self.world.of_type(self.type):
            if (
                roles.scope_of(other).lower() == scope.lower()
                and roles.role_of(other) == role
                and as_text(other.properties.get("principalId")).lower() == principal.lower()
            ):
                raise conflict(
                    "RoleAssignmentExists",
                    "The role assignment already exists. The ID of the existing role assignment is "
                    f"{other.name.replace('-', '')}.",
                )
        self._check_principal(principal, as_text(new.properties.get("principalType")))

    def _check_principal(self, principal: str, kind: str) -> None:
        known = self.world.principals.get(principal)
        if not kind and (known is None or not known.replicated):
            raise bad_request(
                f"Principal {principal.replace('-', '')} does not exist in the directory "
                f"{TENANT_ID}. Check that you have the correct principal ID. If you are creating "
                "this principal and then immediately assigning a role, this error might be related "
                "to a replication delay. In this case, set the role assignment principalType "
                "property to a value, such as ServicePrincipal, User, or Group. See "
                "https://aka.ms/docs-principaltype",
                "PrincipalNotFound",
            )
        if kind and known is not None and known.kind != kind:
            raise bad_request(
                f"The PrincipalId '{principal.replace('-', '')}' has type '{known.kind}', which is "
                f"different from specified PrincipalType '{kind}'.",
                "UnmatchedPrincipalType",
            )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Its scope, dates and author; the data planes learn of it later."""
        principal = self.world.principals.get(as_text(new.properties.get("principalId")))
        new.properties.setdefault("principalType", principal.kind if principal else "User")
        new.properties["scope"] = roles.scope_of(new)
        new.properties["updatedOn"] = timestamp()
        new.properties["updatedBy"] = call.principal
        if old is None:
            new.properties["createdOn"] = new.properties["updatedOn"]
            new.properties["createdBy"] = None
            new.hidden["effective"] = False
            self.world.start(
                self.handler, "propagate", new.id, PROPAGATION_SECONDS, author=call.principal
            )

    def finish_other(self, resource: Resource, operation: Operation) -> None:
        """Every data plane knows it."""
        resource.hidden["effective"] = True
        resource.properties["createdBy"] = operation.details.get("author")

    def delete(self, call: Call) -> Response:
        """Also while it propagates."""
        for operation in list(self.world.operations.values()):
            if operation.running and operation.target == call.id.text.lower():
                self.world.cancel(operation)
        return super().delete(call)

    def busy(self, call: Call, resource: Resource | None) -> None:
        """Nothing stands in the way, propagation least of all."""

    def deleted_body(self, shown: JsonObject) -> object:
        """What was deleted."""
        return shown

    def list(self, call: Call) -> Response:
        """At the scope, above it and, without ``atScope()``, below it; ``$filter`` by principal."""
        scope = call.id.scope
        wanted = call.request.query.get("$filter", "")
        exact = "atscope()" in wanted.lower()
        holders: set[str] = set()
        if "principalid eq '" in wanted.lower():
            holders = {wanted.split("'")[1].lower()}
        elif "assignedto('" in wanted.lower():
            # Through groups as well, which `principalId eq` is not.
            holders = roles.identities(self.world, wanted.split("'")[1])
        found: list[JsonObject] = []
        for item in sorted(self.world.of_type(self.type), key=lambda item: item.key):
            own = roles.scope_of(item)
            if not (roles.covers(own, scope) or (not exact and roles.covers(scope, own))):
                continue
            if holders and as_text(item.properties.get("principalId")).lower() not in holders:
                continue
            found.append(self.wire(item))
        return Response(200, {"value": found})

    def existing(self, wanted: ResourceId) -> Resource:
        """The assignment, or its own kind of 404."""
        found = self.world.get(wanted.text)
        if found is None:
            raise role_assignment_not_found(wanted.name)
        return found

    def wire(self, resource: Resource) -> JsonObject:
        """Without an etag."""
        shown = super().wire(resource)
        shown.pop("etag", None)
        return shown
