"""Managed identities: made with a resource, known to all of Entra ID a little later."""

import uuid

from simulator.values import JsonObject, as_object, as_text
from simulator.world import TENANT_ID, Operation, Principal, World

HANDLER = "entra:identity"
REPLICATION_SECONDS = 30
"""Until a role assignment without a principal type finds a new identity."""


def control(world: World) -> None:
    """Let new identities replicate."""

    def finish(operation: Operation) -> None:
        principal = world.principals.get(operation.target)
        if principal is not None:
            principal.replicated = True

    world.register(HANDLER, finish)


def system_assigned(world: World, identity: object, old: object, name: str) -> JsonObject:
    """The ``identity`` object of a resource with what Entra ID computes for it.

    Args:
        world: the world.
        identity: what the request says; ``type`` is ``SystemAssigned``, ``UserAssigned``, ``None``.
        old: the present ``identity``, whose principal stays.
        name: the display name of a new principal.
    """
    wanted = dict(as_object(identity))
    if "systemassigned" not in as_text(wanted.get("type")).lower().replace(" ", ""):
        return wanted
    principal = as_text(as_object(old).get("principalId")) or new_principal(world, name)
    return {**wanted, "principalId": principal, "tenantId": TENANT_ID}


def new_principal(world: World, name: str) -> str:
    """The object id of a new service principal with this display name."""
    principal = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {len(world.principals)}"))
    while principal in world.principals:
        principal = str(uuid.uuid4())
    world.principals[principal] = Principal(principal, "ServicePrincipal", name, False)
    outcome, world.outcome = world.outcome, None
    world.start(HANDLER, "replicate", principal, REPLICATION_SECONDS)
    world.outcome = outcome
    return principal
