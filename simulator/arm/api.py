"""ARM's front door: authentication, authorization, registration, and the way to the types.

Every request needs a bearer token for ARM, an api-version that the type has, and a role assignment
that allows the action; the namespace must be registered; a locked node resource group refuses
writes, and so do management locks. What is asked of an unknown namespace, type or version is an
error. Calls that are no resource's (providers, locations, usages, permissions) are in
:mod:`simulator.arm.subscription` and :mod:`simulator.arm.catalog`. Ids may be percent-encoded in
the path, as some clients send them.
"""

import dataclasses
import re
import uuid
from collections.abc import Sequence
from urllib.parse import quote, unquote

from simulator.arm import catalog, identities, locks, roles, schema, subscription
from simulator.arm.errors import (
    GATEWAY,
    ArmError,
    denied,
    forbidden,
    group_not_found,
    not_found,
    scope_locked,
    unregistered,
)
from simulator.arm.ids import ResourceId, group_id, parse
from simulator.arm.locks import Locks
from simulator.arm.resource_type import Call, ResourceType
from simulator.arm.types.agent_pools import AgentPools
from simulator.arm.types.alerts import ActionGroups, PrometheusRuleGroups
from simulator.arm.types.data_collection import (
    DataCollectionEndpoints,
    DataCollectionRuleAssociations,
    DataCollectionRules,
)
from simulator.arm.types.deployment_safeguards import DeploymentSafeguards
from simulator.arm.types.extensions import Extensions
from simulator.arm.types.grafana import GrafanaWorkspaces
from simulator.arm.types.managed_clusters import ManagedClusters
from simulator.arm.types.managed_identity import (
    FederatedIdentityCredentials,
    UserAssignedIdentities,
)
from simulator.arm.types.managed_private_endpoints import ManagedPrivateEndpoints
from simulator.arm.types.monitor_accounts import MonitorAccounts
from simulator.arm.types.private_endpoint_connections import PrivateEndpointConnections
from simulator.arm.types.private_link_services import PrivateLinkServices
from simulator.arm.types.resource_groups import ResourceGroups
from simulator.arm.types.role_assignments import RoleAssignments
from simulator.arm.types.role_definitions import RoleDefinitions
from simulator.arm.types.storage import BlobServices, Containers, StorageAccounts
from simulator.arm.types.virtual_networks import Subnets, VirtualNetworks
from simulator.http import Request, Response
from simulator.identity import ARM_AUDIENCES, claims_of, is_expired
from simulator.values import JsonObject, as_text, is_list, is_object
from simulator.world import Operation, Resource, World

TYPES: Sequence[type[ResourceType]] = (
    ResourceGroups,
    ManagedClusters,
    AgentPools,
    DeploymentSafeguards,
    Extensions,
    GrafanaWorkspaces,
    ManagedPrivateEndpoints,
    PrivateLinkServices,
    PrivateEndpointConnections,
    VirtualNetworks,
    Subnets,
    MonitorAccounts,
    DataCollectionEndpoints,
    DataCollectionRules,
    DataCollectionRuleAssociations,
    PrometheusRuleGroups,
    ActionGroups,
    StorageAccounts,
    BlobServices,
    Containers,
    UserAssignedIdentities,
    FederatedIdentityCredentials,
    RoleAssignments,
    RoleDefinitions,
    Locks,
)

GROUPS = ResourceGroups.type
POLLED = (
    "operations",
    "operationstatuses",
    "operationresults",
    "commandresults",
    "asyncoperations",
)
VERBS = {
    "GET": "read",
    "HEAD": "read",
    "PUT": "write",
    "PATCH": "write",
    "DELETE": "delete",
}
SUBSCRIPTION_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class ArmService:
    """Azure Resource Manager."""

    name = "arm"

    def __init__(self, world: World) -> None:
        self._world = world
        self._types = {kind.type.lower(): kind(world) for kind in TYPES}
        identities.control(world)
        subscription.control(world)

    def shown(self, resource: Resource) -> JsonObject:
        """What a GET of ``resource`` answers."""
        return self._types[resource.type.lower()].wire(resource)

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        plain = quote(unquote(request.path), safe="/:@$&'()*+,;=~-._")
        try:
            response = self._answer(dataclasses.replace(request, path=plain))
        except ArmError as error:
            response = error.response()
        response.headers.setdefault("x-ms-request-id", str(uuid.uuid4()))
        if response.status < 400:
            kind = {"GET": "reads", "DELETE": "deletes"}.get(request.method, "writes")
            response.headers.setdefault(f"x-ms-ratelimit-remaining-subscription-{kind}", "11999")
        return response

    def _answer(self, request: Request) -> Response:
        public = catalog.public(self._world, request)
        if public is not None:
            return public
        principal = self._principal(request)
        version = _version(request)
        path = request.segments
        if len(path) > 1 and path[0].lower() == "subscriptions":
            self._check_subscription(request, path[1])
        operation = self._polled(path)
        if operation is not None:
            kind = self._types.get(operation.handler.removeprefix("arm:").lower())
            if kind is not None:
                return kind.poll(operation, f"{request.path}?api-version={version}")
        found = subscription.answer(self._world, request, principal)
        if found is None:
            found = catalog.answer(self._world, request, principal, tuple(self._types.values()))
        if found is not None:
            return found
        return self._resource_call(request, principal, version)

    def _principal(self, request: Request) -> str:
        claims = claims_of(self._world, request)
        audience = as_text(claims.get("aud"))
        found = as_text(claims.get("oid"))
        if not found or is_expired(claims) or audience.rstrip("/") not in ARM_AUDIENCES:
            raise _unauthenticated(request, claims)
        return found

    def _check_subscription(self, request: Request, wanted: str) -> None:
        """The id is one, the subscription exists, and the token is of its directory."""
        if not re.fullmatch(SUBSCRIPTION_ID, wanted, re.IGNORECASE):
            raise ArmError(
                400,
                "InvalidSubscriptionId",
                f"The provided subscription identifier '{wanted}' is malformed or invalid.",
                headers=dict(GATEWAY),
            )
        tenant = subscription.tenant_of(self._world, wanted)
        if tenant is None:
            raise ArmError(
                404, "SubscriptionNotFound", f"The subscription '{wanted}' could not be found."
            )
        own = as_text(claims_of(self._world, request).get("tid"), tenant)
        if own != tenant:
            raise _wrong_tenant(own, tenant)

    def _polled(self, path: tuple[str, ...]) -> Operation | None:
        if len(path) < 2 or path[-2].lower() not in POLLED:
            return None
        name = path[-1].split("*")[0]
        if re.fullmatch("[0-9a-f]{32}", name):
            name = str(uuid.UUID(name))
        operation = self._world.operations.get(name)
        if operation is None:
            raise ArmError(404, "NotFound", f"The operation '{path[-1]}' was not found.")
        return operation

    def _resource_call(self, request: Request, principal: str, version: str) -> Response:
        target = parse(request.segments)
        if target is None and len(request.segments) == 3:
            target = _groups(request.segments)
        if target is None:
            raise ArmError(
                404, "InvalidResourceUri", f"'{request.path}' names nothing that ARM knows."
            )
        action = ""
        kind = self._types.get(target.type.lower())
        if kind is None and target.is_collection and request.method == "POST":
            action = target.types[-1]
            target = parse(request.segments[:-1]) or target
            kind = self._types.get(target.type.lower())
        if kind is None:
            raise self._unknown_type(target, version)
        if version not in kind.versions:
            raise _unknown_version(kind, version)
        self._check_registration(kind, target)
        call = Call(request, target, version, principal)
        self.authorize(call, kind, action)
        group = self._world.get(group_id(target.subscription, target.group))
        if target.group and group is None and kind.type != GROUPS:
            raise group_not_found(target.group)
        if not action and not target.is_collection:
            self._check_parent(kind, target, request.method)
        try:
            response = self._dispatch(kind, call, action)
        except ArmError as error:
            raise kind.answered(error) from error
        if not action:
            response.body = _as_of(kind, response.body, version)
        return response

    def _dispatch(self, kind: ResourceType, call: Call, action: str) -> Response:
        request, target = call.request, call.id
        if action:
            return self._act(kind, call, action)
        if target.is_collection:
            if request.method != "GET":
                raise _not_offered(request.method, target)
            return kind.list(call)
        match request.method:
            case "GET":
                return kind.get(call)
            case "HEAD":
                kind.get(call)
                return Response(204)
            case "PUT":
                return kind.put(call)
            case "PATCH":
                return kind.patch(call)
            case "DELETE":
                return kind.delete(call)
            case _:
                raise _not_offered(request.method, target)

    def _act(self, kind: ResourceType, call: Call, action: str) -> Response:
        handler = kind.actions.get(action.lower())
        if handler is None:
            raise _not_offered(f"POST {action}", call.id)
        return handler(call, kind.existing(call.id))

    def authorize(self, call: Call, kind: ResourceType, action: str) -> None:
        """Raise 403 unless the caller's roles, and no lock, allow the call."""
        scope = call.id.text
        if call.id.is_collection:
            scope = call.id.parent
        wanted = f"{kind.type}/{VERBS.get(call.request.method, '')}"
        if action:
            wanted = f"{kind.type}/{action}/action"
        if kind.type == GROUPS:
            verb = VERBS.get(call.request.method, "")
            wanted = f"Microsoft.Resources/subscriptions/resourceGroups/{verb}"
        if not roles.may(self._world, call.principal, wanted, scope):
            raise forbidden(call.principal, wanted, scope)
        locked = roles.lock_over(self._world, scope)
        if locked is not None and not wanted.lower().endswith("/read"):
            group = group_id(call.id.subscription, str(locked.properties["nodeResourceGroup"]))
            deny = f"{group}/providers/Microsoft.Authorization/denyAssignments/{uuid.uuid4().hex}"
            raise denied(call.principal, wanted, scope, group, deny)
        held = locks.over(self._world, scope, call.request.method)
        if held and kind.type != locks.TYPE:
            verb = "delete" if call.request.method == "DELETE" else "write"
            raise scope_locked(verb, scope, held)

    def _check_registration(self, kind: ResourceType, target: ResourceId) -> None:
        namespace = kind.type.split("/")[0]
        state = self._world.registrations.get(namespace, "NotRegistered")
        if kind.registered and state != "Registered":
            raise unregistered(namespace)

    def _check_parent(self, kind: ResourceType, target: ResourceId, method: str) -> None:
        """Nothing exists below what does not."""
        parent = target.parent
        above = parse(tuple(part for part in parent.split("/") if part))
        if above is None or above.type.lower() == "microsoft.resources/resourcegroups":
            return
        if self._world.get(parent) is None:
            if method == "DELETE":
                return
            if method in ("GET", "HEAD"):
                types, names = "/".join((above.namespace, *above.types)), "/".join(above.names)
                raise not_found(types, names, target.group)
            raise ArmError(
                404,
                "ParentResourceNotFound",
                f"Failed to perform '{VERBS.get(method, method)}' on resource(s) of type "
                f"'{kind.type}', because the parent resource '{parent}' could not be found.",
            )

    def _unknown_type(self, target: ResourceId, version: str) -> ArmError:
        known = {name.split("/")[0] for name in self._types}
        if target.namespace.lower() not in known:
            return ArmError(
                404,
                "InvalidResourceNamespace",
                f"The resource namespace '{target.namespace}' is invalid.",
            )
        return ArmError(
            404,
            "InvalidResourceType",
            f"The resource type '{'/'.join(target.types)}' could not be found in the namespace "
            f"'{target.namespace}' for api version '{version}'.",
        )


def _groups(path: tuple[str, ...]) -> ResourceId | None:
    if path[0].lower() != "subscriptions" or path[2].lower() != "resourcegroups":
        return None
    scope = f"/subscriptions/{path[1]}"
    return ResourceId(
        "/" + "/".join(path), path[1], "", scope, "Microsoft.Resources", ("resourceGroups",), ()
    )


CHALLENGE = {"WWW-Authenticate": 'Bearer authorization_uri="https://login.microsoftonline.com/"'}


def _unauthenticated(request: Request, claims: JsonObject) -> ArmError:
    """ARM's words and codes (apiops 671, active-directory-dotnetcore-daemon-v2 145)."""
    audience = as_text(claims.get("aud"))
    if not request.bearer:
        code = "AuthenticationFailed"
        message = "Authentication failed. The 'Authorization' header is missing."
    elif claims and is_expired(claims):
        code = "ExpiredAuthenticationToken"
        message = "The access token expiry UTC time is earlier than current UTC time."
    elif claims and audience.rstrip("/") not in ARM_AUDIENCES:
        code = "InvalidAuthenticationTokenAudience"
        message = (
            f"The access token has been obtained for wrong audience or resource '{audience}'. It "
            "should exactly match with one of the allowed audiences "
            f"'{','.join(sorted(ARM_AUDIENCES))}'."
        )
    else:
        code, message = "InvalidAuthenticationToken", "The access token is invalid."
    return ArmError(401, code, message, headers=dict(CHALLENGE))


def _wrong_tenant(given: str, wanted: str) -> ArmError:
    issuers = [f"https://sts.windows.net/{tenant}/" for tenant in (given, wanted)]
    return ArmError(
        401,
        "InvalidAuthenticationTokenTenant",
        f"The access token is from the wrong issuer '{issuers[0]}'. It must match the tenant "
        f"'{issuers[1]}' associated with this subscription. Please use the authority (URL) "
        f"'https://login.windows.net/{wanted}' to get the token.",
        headers=dict(CHALLENGE),
    )


def _as_of(kind: ResourceType, body: object, version: str) -> object:
    """A resource, or a list of them, as the API version tells it."""
    listed = body.get("value") if is_object(body) and "id" not in body else None
    if is_list(listed):
        return {"value": [schema.as_of(kind.schema, item, version) for item in listed]}
    return schema.as_of(kind.schema, body, version)


def _version(request: Request) -> str:
    for key, value in request.query.items():
        if key.lower() == "api-version":
            return value
    raise ArmError(
        400,
        "MissingApiVersionParameter",
        "The api-version query parameter (?api-version=) is required for all requests.",
        headers=dict(GATEWAY),
    )


def _unknown_version(kind: ResourceType, version: str) -> ArmError:
    namespace, _, name = kind.type.partition("/")
    return ArmError(
        400,
        "NoRegisteredProviderFound",
        f"No registered resource provider found for API version '{version}' for type '{name}' of "
        f"namespace '{namespace}'. The supported api-versions are '{', '.join(kind.versions)}'.",
    )


def _not_offered(what: str, target: ResourceId) -> ArmError:
    return ArmError(
        405, "MethodNotAllowed", f"{what} is not offered for '{target.type}' ({target.text})."
    )
