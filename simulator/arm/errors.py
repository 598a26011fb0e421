"""ARM's errors, in the words that ARM and its resource providers use."""

from simulator.http import Response
from simulator.values import JsonObject


class ArmError(Exception):
    """An answer ``{"error": {code, message, ...}}`` with its HTTP status.

    ``bare`` is the form of AKS' own refusals, which have no ``error`` around them and name a
    subcode that is empty: ``{"code", "details": null, "message", "subcode": ""[, "target"]}``
    (recorded in tyger 121, azure-sdk-for-java 27704, pulumi-azure-native 4206).
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        target: str = "",
        details: list[JsonObject] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.target = target
        self.details = details
        self.headers = headers or {}
        self.bare = False

    def body(self) -> JsonObject:
        """The ``error`` object, as answers and operation documents carry it."""
        error: JsonObject = {"code": self.code, "message": self.message}
        if self.target:
            error["target"] = self.target
        if self.details:
            error["details"] = self.details
        return error

    def response(self) -> Response:
        """The error as an HTTP answer."""
        body: JsonObject = {"error": self.body()}
        if self.bare:
            body = {"details": None, "subcode": "", **self.body()}
        return Response(self.status, body, dict(self.headers))


GATEWAY = {"x-ms-failure-cause": "gateway"}
"""On refusals of ARM itself, as opposed to those of a resource provider."""


def bad_request(message: str, code: str = "BadRequest", target: str = "") -> ArmError:
    """A request that the resource provider cannot accept."""
    return ArmError(400, code, message, target=target)


def conflict(code: str, message: str) -> ArmError:
    """A request that what exists or runs already stands against."""
    return ArmError(409, code, message)


def not_found(type_name: str, name: str, group: str) -> ArmError:
    """The resource does not exist."""
    message = (
        f"The Resource '{type_name}/{name}' under resource group '{group}' was not found. For more "
        "details please go to https://aka.ms/ARMResourceNotFoundFix"
    )
    return ArmError(404, "ResourceNotFound", message, headers=dict(GATEWAY))


def group_not_found(group: str) -> ArmError:
    """The resource group does not exist."""
    message = f"Resource group '{group}' could not be found."
    return ArmError(404, "ResourceGroupNotFound", message, headers=dict(GATEWAY))


def role_assignment_not_found(name: str) -> ArmError:
    """Microsoft.Authorization's own kind of 404 (pulumi-azure-native 4597)."""
    return ArmError(404, "RoleAssignmentNotFound", f"The role assignment '{name}' is not found.")


def scope_locked(action: str, scope: str, locks: list[str]) -> ArmError:
    """A lock at, above or (for a delete) below the scope forbids the call."""
    message = (
        f"The scope '{scope}' cannot perform {action} operation because following scope(s) are "
        f"locked: '{','.join(locks)}'. Please remove the lock and try again."
    )
    return ArmError(409, "ScopeLocked", message, headers=dict(GATEWAY))


def forbidden(principal: str, action: str, scope: str) -> ArmError:
    """No role assignment of the caller allows the action."""
    message = (
        f"The client '{principal}' with object id '{principal}' does not have authorization to "
        f"perform action '{action}' over scope '{scope}' or the scope is invalid. If access was "
        "recently granted, please refresh your credentials."
    )
    return ArmError(403, "AuthorizationFailed", message)


def denied(principal: str, action: str, scope: str, locked_scope: str, deny_id: str) -> ArmError:
    """The node resource group is locked: the deny assignment beats every role."""
    message = (
        f"The client '{principal}' with object id '{principal}' has permission to perform action "
        f"'{action}' on scope '{scope}'; however, the access is denied because of the deny "
        f"assignment with name 'Microsoft.ContainerService nrg-lockdown deny assignment' and Id "
        f"'{deny_id}' at scope '{locked_scope}'."
    )
    return ArmError(403, "DenyAssignmentAuthorizationFailed", message)


def unregistered(namespace: str) -> ArmError:
    """The subscription has not registered the resource provider."""
    message = (
        f"The subscription is not registered to use namespace '{namespace}'. See "
        "https://aka.ms/rps-not-found for how to register subscriptions."
    )
    details: list[JsonObject] = [
        {"code": "MissingSubscriptionRegistration", "target": namespace, "message": message}
    ]
    return ArmError(409, "MissingSubscriptionRegistration", message, details=details)
