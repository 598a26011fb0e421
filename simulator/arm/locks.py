"""Management locks: what nobody may delete, or change, whatever their role.

A lock holds for its scope and everything below it; a delete is also refused by the locks below what
it would take along. ``ReadOnly`` refuses every call but a read, also the POST of an action
(learn.microsoft.com, "Lock your resources"; the answer is 409 ScopeLocked).
"""

from typing import Final

from simulator.arm import roles, schema
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.http import Response
from simulator.values import as_text
from simulator.world import Resource, World

TYPE: Final = "Microsoft.Authorization/locks"


class Locks(ResourceType):
    """``Microsoft.Authorization/locks`` at any scope; synchronous.

    The Azure CLI sends 2016-09-01, which does not tell who made a lock.
    """

    type = TYPE
    versions = ("2020-05-01", "2016-09-01")
    name_pattern = r"[^<>%&:\\?/]{1,260}"
    synchronous = AT_ONCE
    registered = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "level": schema.text("CanNotDelete", "ReadOnly", required=True),
                    "notes": schema.text(),
                    "owners": schema.anything(),
                },
                required=True,
            ),
            **schema.ENVELOPE,
        }
    )

    def list(self, call: Call) -> Response:
        """Those at the scope and, without ``atScope()``, below it."""
        exact = "atscope()" in call.request.query.get("$filter", "").lower()
        scope = call.id.scope
        found = [
            self.wire(item)
            for item in sorted(self.world.of_type(TYPE), key=lambda item: item.key)
            if scope_of(item).lower() == scope.lower()
            or (not exact and roles.covers(scope, scope_of(item)))
        ]
        return Response(200, {"value": found})


def scope_of(lock: Resource) -> str:
    """What a lock holds for."""
    return lock.id[: lock.key.rindex("/providers/microsoft.authorization/")]


def over(world: World, scope: str, method: str) -> list[str]:
    """The scopes whose locks refuse a call of this method at ``scope``."""
    if method in ("GET", "HEAD"):
        return []
    found: list[str] = []
    for lock in world.of_type(TYPE):
        held = scope_of(lock)
        frozen = as_text(lock.properties.get("level")) == "ReadOnly"
        below = method == "DELETE" and roles.covers(scope, held)
        if below or ((frozen or method == "DELETE") and roles.covers(held, scope)):
            found.append(held)
    return sorted(set(found))
