"""One assignment of a role in Azure, named after what it grants."""

import uuid

import pulumi
from pulumi_azure_native import authorization

from contract.azure import Role, role_definition_id
from contract.choices import PrincipalType

ROLE_ASSIGNMENT_NAMES = uuid.UUID("6f1c9e0e-3f0a-4e0b-9d53-6a1d2b8f4c77")
"""Namespace of the role assignments' names (version 5): equal grants have equal names."""


def assignment_name(scope: str, principal_id: str, role: Role) -> str:
    """The name of the assignment of ``role`` to the principal at ``scope``, an ARM id."""
    text = "|".join([scope, principal_id, role.value]).lower()
    return str(uuid.uuid5(ROLE_ASSIGNMENT_NAMES, text))


def role_assignment(
    name: str,
    role: Role,
    scope: pulumi.Input[str],
    principal_id: pulumi.Input[str],
    *,
    subscription_id: str,
    principal_type: PrincipalType = PrincipalType.SERVICE_PRINCIPAL,
    mark: str | None = None,
    opts: pulumi.ResourceOptions,
) -> authorization.RoleAssignment:
    """The assignment of ``role`` at ``scope``, an ARM id.

    Args:
        name: of the resource in the program.
        role: what is granted.
        scope: where.
        principal_id: object id of who gets it.
        subscription_id: whose role definitions are meant.
        principal_type: what the principal is.
        mark: description, by which its maker knows it again; None: none.
        opts: of the resource.
    """
    return authorization.RoleAssignment(
        name,
        # From what is granted, so that another principal or scope is another assignment: Azure
        # refuses to change either under one name.
        role_assignment_name=pulumi.Output.all(scope, principal_id).apply(
            lambda parts: assignment_name(parts[0], parts[1], role)
        ),
        scope=scope,
        role_definition_id=role_definition_id(subscription_id, role),
        principal_id=principal_id,
        # Without it Azure looks the principal up, and a new identity is not found at once
        # (PrincipalNotFound).
        principal_type=principal_type.value,
        description=mark,
        opts=opts,
    )
