"""Role definitions: the built-in roles that :mod:`simulator.arm.roles` knows, and custom ones.

The Azure CLI turns ``--role "Monitoring Data Reader"`` into an id by listing with
``$filter=roleName eq '...'``.
"""

import re
from typing import Final

from simulator.arm import roles, schema
from simulator.arm.errors import ArmError
from simulator.arm.ids import ResourceId
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.http import Response
from simulator.values import JsonObject, as_text, dig

TYPE: Final = roles.ROLE_DEFINITIONS


class RoleDefinitions(ResourceType):
    """``Microsoft.Authorization/roleDefinitions``; a custom role takes effect with an assignment.

    What is read of a custom role is its first entry of ``permissions``: the portal and the CLI
    write one.
    """

    type = TYPE
    versions = ("2022-04-01", "2022-05-01-preview", "2018-01-01-preview")
    name_pattern = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    synchronous = AT_ONCE
    registered = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "roleName": schema.text(required=True),
                    "type": schema.text("CustomRole", default="CustomRole"),
                    "description": schema.text(),
                    "permissions": schema.anything(),
                    "assignableScopes": schema.texts(),
                    **schema.computed("createdOn", "updatedOn", "createdBy", "updatedBy"),
                },
                required=True,
            ),
            **schema.ENVELOPE,
        }
    )

    def get(self, call: Call) -> Response:
        """One, by its GUID."""
        name = call.id.name.lower()
        if name in roles.ROLES:
            return Response(200, _definition(call.id, name))
        if roles.definition(self.world, name) is None:
            raise ArmError(
                404,
                "RoleDefinitionDoesNotExist",
                f"The specified role definition with ID '{name.replace('-', '')}' does not exist.",
            )
        return super().get(call)

    def list(self, call: Call) -> Response:
        """All, or the one of the name in ``$filter=roleName eq '...'``."""
        wanted = re.search(
            r"rolename eq '([^']*)'", call.request.query.get("$filter", ""), re.IGNORECASE
        )
        own = [self.wire(item) for item in self.world.of_type(TYPE)]
        found = [_definition(call.id, name) for name in sorted(roles.ROLES)] + own
        return Response(
            200,
            {
                "value": [
                    one
                    for one in found
                    if wanted is None
                    or as_text(dig(one, "properties", "roleName")).lower() == wanted[1].lower()
                ]
            },
        )

    def put(self, call: Call) -> Response:
        """A custom role; a built-in one is nobody's to change."""
        self._check_own(call)
        return super().put(call)

    def delete(self, call: Call) -> Response:
        """A custom role."""
        self._check_own(call)
        return super().delete(call)

    def _check_own(self, call: Call) -> None:
        if call.id.name.lower() in roles.ROLES:
            raise ArmError(
                403,
                "RoleDefinitionIsReadOnly",
                "The role definition is built in and cannot be changed.",
            )


def _definition(asked: ResourceId, name: str) -> JsonObject:
    role = roles.ROLES[name]
    subscription = f"/subscriptions/{asked.subscription}" if asked.subscription else ""
    return {
        "id": f"{subscription}/providers/{TYPE}/{name}",
        "name": name,
        "type": TYPE,
        "properties": {
            "roleName": role.name,
            "type": "BuiltInRole",
            "description": "",
            "assignableScopes": ["/"],
            "permissions": [
                {
                    "actions": list(role.actions),
                    "notActions": list(role.not_actions),
                    "dataActions": list(role.data_actions),
                    "notDataActions": [],
                }
            ],
            "createdOn": "2015-02-02T21:55:09.8806423Z",
            "updatedOn": "2021-11-11T20:14:25.5151459Z",
            "createdBy": None,
            "updatedBy": None,
        },
    }
