"""Role definitions: the built-in roles that :mod:`simulator.arm.roles` knows, read only.

The Azure CLI turns ``--role "Monitoring Data Reader"`` into an id by listing with
``$filter=roleName eq '...'``.
"""

import re
from typing import Final

from simulator.arm import roles, schema
from simulator.arm.errors import ArmError
from simulator.arm.ids import ResourceId
from simulator.arm.resource_type import Call, ResourceType
from simulator.http import Response
from simulator.values import JsonObject

TYPE: Final = "Microsoft.Authorization/roleDefinitions"


class RoleDefinitions(ResourceType):
    """``Microsoft.Authorization/roleDefinitions``; custom roles are not simulated."""

    type = TYPE
    versions = ("2022-04-01", "2022-05-01-preview", "2018-01-01-preview")
    registered = False
    schema = schema.record({})

    def get(self, call: Call) -> Response:
        """One, by its GUID."""
        name = call.id.name.lower()
        if name not in roles.ROLES:
            raise ArmError(
                404,
                "RoleDefinitionDoesNotExist",
                f"The specified role definition with ID '{name.replace('-', '')}' does not exist.",
            )
        return Response(200, _definition(call.id, name))

    def list(self, call: Call) -> Response:
        """All, or the one of the name in ``$filter=roleName eq '...'``."""
        wanted = re.search(
            r"rolename eq '([^']*)'", call.request.query.get("$filter", ""), re.IGNORECASE
        )
        found = [
            _definition(call.id, name)
            for name, role in sorted(roles.ROLES.items())
            if wanted is None or role.name.lower() == wanted[1].lower()
        ]
        return Response(200, {"value": found})

    def put(self, call: Call) -> Response:
        """Custom roles are not simulated."""
        raise ArmError(
            400, "OperationNotAllowed", "The simulator has built-in role definitions only."
        )

    patch = put
    delete = put


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
