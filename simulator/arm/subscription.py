"""Calls that are about a subscription or a scope, not about one resource type.

The subscriptions and their tenants, resource provider registration, the caller's permissions at a
scope and the roles that it may activate there, Compute's quota usages and SKUs, which names Storage
has left. A token is good for the subscriptions of its own directory; the setting ``subscriptions``
(:mod:`simulator.control`) puts some into others.
"""

from typing import Final

from simulator.arm import compute, roles
from simulator.arm.errors import ArmError, forbidden
from simulator.arm.types import storage
from simulator.http import Request, Response
from simulator.identity import claims_of
from simulator.values import JsonObject, as_object, as_objects, as_text
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
_READ_USAGES: Final = "Microsoft.Compute/locations/usages/read"
_ELIGIBILITY: Final = "roleEligibilityScheduleInstances"
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
    if lower[-3:] == ("providers", "microsoft.authorization", _ELIGIBILITY.lower()):
        return Response(200, {"value": _eligible(world, principal, "/" + "/".join(path[:-3]))})
    if lower == ("subscriptions",):
        own = as_text(claims_of(world, request).get("tid"), TENANT_ID)
        known = [item for item in subscriptions(world) if tenant_of(world, item) == own]
        return Response(200, {"value": [_subscription(world, item) for item in known]})
    if lower == ("tenants",):
        tenants = dict.fromkeys((TENANT_ID, *map(as_text, _foreign(world).values())))
        return Response(200, {"value": [_tenant(item) for item in tenants]})
    if len(lower) < 2 or lower[0] != "subscriptions":
        return None
    match lower[2:]:
        case ():
            return Response(200, _subscription(world, path[1]))
        case ("providers", namespace, "register") if request.method == "POST":
            return _register(world, path[1], known_namespace(namespace), principal)
        case ("providers", "microsoft.compute", "locations", location, "usages"):
            _check(world, principal, path[1], _READ_USAGES)
            return Response(200, {"value": compute.usages(world, location)})
        case ("providers", "microsoft.compute", "skus"):
            _check(world, principal, path[1], _READ_USAGES)
            wanted = request.query.get("$filter", "location eq 'westeurope'")
            location = wanted.split("'")[1] if "'" in wanted else "westeurope"
            return Response(200, {"value": compute.skus(location.lower())})
        case ("providers", "microsoft.storage", "checknameavailability") if (
            request.method == "POST"
        ):
            action = "Microsoft.Storage/checknameavailability/read"
            _check(world, principal, path[1], action)
            return Response(200, storage.availability(world, request.json_object()))
        case _:
            return None


def subscriptions(world: World) -> list[str]:
    """The ids of all subscriptions: those with something in them, and those set up empty."""
    known = {key.split("/")[2] for key in world.resources}
    return sorted(known | {item.lower() for item in _foreign(world)})


def tenant_of(world: World, subscription: str) -> str | None:
    """The directory that a subscription trusts; None if there is no such subscription."""
    wanted = subscription.lower()
    for item, tenant in _foreign(world).items():
        if item.lower() == wanted:
            return as_text(tenant)
    return TENANT_ID if wanted in subscriptions(world) else None


def _foreign(world: World) -> JsonObject:
    """The tenant of each subscription that the world's settings name."""
    return as_object(world.settings.get("subscriptions"))


def _subscription(world: World, subscription: str) -> JsonObject:
    return {
        "id": f"/subscriptions/{subscription}",
        "subscriptionId": subscription,
        "tenantId": tenant_of(world, subscription),
        "displayName": "Simulated subscription",
        "state": "Enabled",
        "subscriptionPolicies": {
            "locationPlacementId": "Public_2014-09-01",
            "quotaId": "PayAsYouGo_2014-09-01",
            "spendingLimit": "Off",
        },
        "authorizationSource": "RoleBased",
        "managedByTenants": [],
    }


def _tenant(tenant: str) -> JsonObject:
    return {
        "id": f"/tenants/{tenant}",
        "tenantId": tenant,
        "tenantCategory": "Home",
        "displayName": "Simulated directory",
        "defaultDomain": "simulated.onmicrosoft.com",
        "tenantType": "AAD",
    }


def _check(world: World, principal: str, subscription: str, action: str) -> None:
    scope = f"/subscriptions/{subscription}"
    if not roles.may(world, principal, action, scope):
        raise forbidden(principal, action, scope)


def known_namespace(namespace: str) -> str:
    """The resource provider of this name, as it is documented.

    Raises:
        ArmError: there is none.
    """
    for known in NAMESPACES:
        if known.lower() == namespace.lower():
            return known
    raise ArmError(
        404, "InvalidResourceNamespace", f"The resource namespace '{namespace}' is invalid."
    )


def _register(world: World, subscription: str, namespace: str, principal: str) -> Response:
    scope, action = f"/subscriptions/{subscription}", f"{namespace}/register/action"
    if not roles.may(world, principal, action, scope):
        raise forbidden(principal, action, scope)
    if world.registrations.get(namespace) != "Registered":
        world.registrations[namespace] = "Registering"
        if world.running(namespace, "register") is None:
            world.start(HANDLER, "register", namespace, REGISTRATION_SECONDS)
    answer: JsonObject = {
        "id": f"/subscriptions/{subscription}/providers/{namespace}",
        "namespace": namespace,
        "registrationState": world.registrations[namespace],
        "registrationPolicy": "RegistrationRequired",
    }
    return Response(200, answer)


def _permissions(world: World, principal: str, scope: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    for assignment in roles.assignments(world, principal, scope):
        role = roles.definition(world, roles.role_of(assignment))
        if role is not None and (role.actions or role.data_actions):
            condition = as_text(assignment.properties.get("condition"))
            version = {"conditionVersion": "2.0"} if condition else {}
            found.append(
                {
                    "actions": list(role.actions),
                    "notActions": list(role.not_actions),
                    "dataActions": list(role.data_actions),
                    "notDataActions": [],
                    **({"condition": condition} if condition else {}),
                    **version,
                }
            )
    return found


def _eligible(world: World, principal: str, scope: str) -> list[JsonObject]:
    """The roles that the caller, or a group of its, may activate at ``scope`` or above it.

    The setting ``eligible`` (:mod:`simulator.control`). The filter ``asTarget()`` is taken for
    granted (azure-rest-api-specs, ``RoleEligibilityScheduleInstance.json`` of 2020-10-01, whose
    example the answer is shaped by).
    """
    own = roles.identities(world, principal)
    found: list[JsonObject] = []
    for number, one in enumerate(as_objects(world.settings.get("eligible"))):
        holder, at = as_text(one.get("principal")), as_text(one.get("scope"))
        if holder.lower() not in own or not roles.covers(at, scope):
            continue
        subscription = "/".join(scope.split("/")[:3])
        provider = f"{subscription}/providers/Microsoft.Authorization"
        name = f"00000000-0000-4000-8000-{number:012}"
        found.append(
            {
                "id": f"{at}/providers/Microsoft.Authorization/{_ELIGIBILITY}/{name}",
                "name": name,
                "type": f"Microsoft.Authorization/{_ELIGIBILITY}",
                "properties": {
                    "scope": at,
                    "roleDefinitionId": f"{provider}/roleDefinitions/{as_text(one.get('role'))}",
                    "principalId": holder,
                    "status": "Provisioned",
                    "memberType": "Direct" if holder.lower() == principal.lower() else "Group",
                },
            }
        )
    return found
