"""Calls that are about a subscription or a scope, not about one resource type.

The subscription itself, resource provider registration, the caller's permissions at a scope,
Compute's quota usages and SKUs.
"""

from typing import Final

from simulator.arm import compute, roles
from simulator.arm.errors import ArmError, forbidden
from simulator.http import Request, Response
from simulator.values import JsonObject
from simulator.world import TENANT_ID, Operation, World

NAMESPACES: Final = (
    "Microsoft.AlertsManagement",
    "Microsoft.Authorization",
    "Microsoft.Compute",
    "Microsoft.ContainerService",
    "Microsoft.Dashboard",
    "Microsoft.Insights",
    "Microsoft.KubernetesConfiguration",
    "Microsoft.ManagedIdentity",
    "Microsoft.Monitor",
    "Microsoft.Network",
    "Microsoft.Resources",
    "Microsoft.Storage",
)
HANDLER: Final = "arm:registration"
REGISTRATION_SECONDS: Final = 60


def control(world: World) -> None:
    """Let registrations end."""

    def finish(operation: Operation) -> None:
        for namespace in NAMESPACES:
            if namespace.lower() == operation.target:
                world.registrations[namespace] = "Registered"

    world.register(HANDLER, finish)


def answer(world: World, request: Request, principal: str) -> Response | None:
    """The answer to a call of this kind; None if it is another's."""
    path = request.segments
    lower = tuple(part.lower() for part in path)
    asked = lower[-3:] == ("providers", "microsoft.authorization", "permissions")
    if asked and request.method == "GET":
        scope = "/" + "/".join(path[:-3])
        return Response(200, {"value": _permissions(world, principal, scope)})
    if lower == ("subscriptions",):
        known = sorted({key.split("/")[2] for key in world.resources})
        return Response(200, {"value": [_subscription(item) for item in known]})
    if len(lower) < 2 or lower[0] != "subscriptions":
        return None
    _check_subscription(world, path[1])
    match lower[2:]:
        case ():
            return Response(200, _subscription(path[1]))
        case ("providers",):
            return Response(200, {"value": [_provider(world, path[1], n) for n in NAMESPACES]})
        case ("providers", namespace) if request.method == "GET":
            return Response(200, _provider(world, path[1], _known(namespace)))
        case ("providers", namespace, "register") if request.method == "POST":
            return _register(world, path[1], _known(namespace), principal)
        case ("providers", "microsoft.compute", "locations", location, "usages"):
            _check_read(world, principal, path[1])
            return Response(200, {"value": compute.usages(world, location)})
        case ("providers", "microsoft.compute", "skus"):
            _check_read(world, principal, path[1])
            wanted = request.query.get("$filter", "location eq 'westeurope'")
            location = wanted.split("'")[1] if "'" in wanted else "westeurope"
            return Response(200, {"value": compute.skus(location.lower())})
        case _:
            return None


def _subscription(subscription: str) -> JsonObject:
    return {
        "id": f"/subscriptions/{subscription}",
        "subscriptionId": subscription,
        "tenantId": TENANT_ID,
        "displayName": "Simulated subscription",
        "state": "Enabled",
    }


def _check_subscription(world: World, subscription: str) -> None:
    prefix = f"/subscriptions/{subscription.lower()}"
    if not any(key.startswith(prefix) for key in world.resources):
        raise ArmError(
            404, "SubscriptionNotFound", f"The subscription '{subscription}' could not be found."
        )


def _check_read(world: World, principal: str, subscription: str) -> None:
    scope = f"/subscriptions/{subscription}"
    if not roles.may(world, principal, "Microsoft.Compute/locations/usages/read", scope):
        raise forbidden(principal, "Microsoft.Compute/locations/usages/read", scope)


def _known(namespace: str) -> str:
    for known in NAMESPACES:
        if known.lower() == namespace.lower():
            return known
    raise ArmError(
        404, "InvalidResourceNamespace", f"The resource namespace '{namespace}' is invalid."
    )


def _provider(world: World, subscription: str, namespace: str) -> JsonObject:
    return {
        "id": f"/subscriptions/{subscription}/providers/{namespace}",
        "namespace": namespace,
        "registrationState": world.registrations.get(namespace, "NotRegistered"),
        "registrationPolicy": "RegistrationRequired",
        "resourceTypes": [],
    }


def _register(world: World, subscription: str, namespace: str, principal: str) -> Response:
    scope, action = f"/subscriptions/{subscription}", f"{namespace}/register/action"
    if not roles.may(world, principal, action, scope):
        raise forbidden(principal, action, scope)
    if world.registrations.get(namespace) != "Registered":
        world.registrations[namespace] = "Registering"
        if world.running(namespace, "register") is None:
            world.start(HANDLER, "register", namespace, REGISTRATION_SECONDS)
    return Response(200, _provider(world, subscription, namespace))


def _permissions(world: World, principal: str, scope: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    for assignment in roles.assignments(world, principal, scope):
        role = roles.ROLES.get(roles.role_of(assignment))
        if role is not None and (role.actions or role.data_actions):
            found.append(
                {
                    "actions": list(role.actions),
                    "notActions": list(role.not_actions),
                    "dataActions": list(role.data_actions),
                    "notDataActions": [],
                }
            )
    return found
