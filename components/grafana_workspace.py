"""Azure Managed Grafana: a workspace that exists already, or one made here, and who may do what.

Role assignments are made where this stack made the scope or the principal, or the settings ask for
them.
What an existing workspace lacks is only reported: granting it is its owner's.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization, dashboard

from components.inputs import component_inputs
from contract.azure import Role, role_definition_id
from contract.choices import GrafanaRole, PrincipalType

SKU = "Standard"
"""The tier with managed private endpoints."""
ROLE_ASSIGNMENT_NAMES = uuid.UUID("6f1c9e0e-3f0a-4e0b-9d53-6a1d2b8f4c77")
"""Namespace of the role assignments' names (version 5): equal grants have equal names."""


_ROLES = {
    GrafanaRole.ADMIN: Role.GRAFANA_ADMIN,
    GrafanaRole.EDITOR: Role.GRAFANA_EDITOR,
    GrafanaRole.VIEWER: Role.GRAFANA_VIEWER,
}


@dataclass(frozen=True, kw_only=True)
class PrincipalArgs:
    """An identity in Microsoft Entra."""

    id: str
    """Object id."""
    type: PrincipalType


@dataclass(frozen=True, kw_only=True)
class GrafanaRoleArgs:
    """Who gets which role on the workspace."""

    principal: PrincipalArgs
    role: GrafanaRole


@dataclass(frozen=True, kw_only=True)
class ExistingGrafanaArgs:
    """A workspace that this stack uses and never changes."""

    id: str
    """ARM id."""
    endpoint: str
    """URL of Grafana itself."""
    principal_id: str
    """Object id of its managed identity."""


@dataclass(frozen=True, kw_only=True)
class NewGrafanaArgs:
    """A workspace that this stack makes and deletes."""

    major_version: str
    zone_redundancy: bool
    deployer: PrincipalArgs
    """Who deploys; becomes Grafana Admin, as no role in Azure implies one in Grafana."""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class GrafanaWorkspaceArgs:
    """Exactly one of ``existing`` and ``new``."""

    workspace_name: str
    resource_group_name: pulumi.Input[str]
    location: str
    subscription_id: str
    """Where the role assignments are made."""
    existing: ExistingGrafanaArgs | None = None
    new: NewGrafanaArgs | None = None
    roles: Sequence[GrafanaRoleArgs]
    """Further roles on the workspace."""
    metrics_workspace_id: pulumi.Input[str] | None = None
    """Azure Monitor workspace that Grafana's identity gets to read; None: it may already."""


class GrafanaWorkspace(pulumi.ComponentResource):
    """Managed Grafana."""

    TYPE = "gpuobs:index:GrafanaWorkspace"

    id: pulumi.Output[str]
    """ARM id."""
    workspace_name: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    """URL of Grafana itself, without a trailing slash."""
    principal_id: pulumi.Output[str]
    """Object id of its managed identity."""

    def __init__(
        self, name: str, args: GrafanaWorkspaceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args), opts)
        self._created = _workspace(self, name, args, args.new) if args.new else None
        if self._created is not None:
            self.id = self._created.id
            # From the id, which is unknown exactly when the workspace is made again: what is on it
            # then follows, and is left alone when the workspace is merely updated.
            self.workspace_name = self.id.apply(lambda _: args.workspace_name)
            self.endpoint = self._created.properties.apply(
                lambda found: (found.endpoint).rstrip("/")
            )
            self.principal_id = self._created.identity.apply(
                lambda identity: identity.principal_id if identity else ""
            )
        elif args.existing is not None:
            self.id = pulumi.Output.from_input(args.existing.id)
            self.workspace_name = pulumi.Output.from_input(args.workspace_name)
            self.endpoint = pulumi.Output.from_input(args.existing.endpoint.rstrip("/"))
            self.principal_id = pulumi.Output.from_input(args.existing.principal_id)
        else:
            raise ValueError(f"{name}: neither an existing Grafana workspace nor a new one")
        made_any = self._grant_roles(name, args)
        if self._created is None and not made_any:
            # Nothing is made, and the engine drops a dependency on a component without children.
            # What waits for this component would no longer wait for what the component waits for.
            pulumi.Stash(f"{name}-ready", input=self.id, opts=pulumi.ResourceOptions(parent=self))
        self.register_outputs(
            {
                "id": self.id,
                "workspaceName": self.workspace_name,
                "endpoint": self.endpoint,
                "principalId": self.principal_id,
            }
        )

    @property
    def created(self) -> pulumi.Resource | None:
        """The workspace where this stack makes it: what it holds is deleted along with it."""
        return self._created

    def _grant_roles(self, name: str, args: GrafanaWorkspaceArgs) -> bool:
        deployer = args.new.deployer if args.new else None
        if deployer is not None:
            _assign(
                self,
                f"{name}-deployer",
                args.subscription_id,
                Role.GRAFANA_ADMIN,
                deployer,
                scope=self.id,
                # A colleague who deploys next must not take the role from whoever made the
                # workspace; further administrators are named in the settings.
                ignore_changes=["principalId", "principalType", "roleAssignmentName"],
            )
        roles = [
            granted
            for granted in args.roles
            # The deployer's own assignment exists: a second one is a conflict.
            if not (granted.role is GrafanaRole.ADMIN and _same(granted.principal, deployer))
        ]
        for granted in roles:
            _assign(
                self,
                f"{name}-{granted.role.value.lower()}-{granted.principal.id}",
                args.subscription_id,
                _ROLES[granted.role],
                granted.principal,
                scope=self.id,
            )
        if args.metrics_workspace_id is not None:
            _assign(
                self,
                f"{name}-metrics-reader",
                args.subscription_id,
                Role.MONITORING_DATA_READER,
                self.principal_id,
                scope=args.metrics_workspace_id,
            )
        return bool(roles) or args.metrics_workspace_id is not None


def _workspace(
    parent: GrafanaWorkspace, name: str, args: GrafanaWorkspaceArgs, new: NewGrafanaArgs
) -> dashboard.Grafana:
    return dashboard.Grafana(
        f"{name}-workspace",
        workspace_name=args.workspace_name,
        resource_group_name=args.resource_group_name,
        location=args.location,
        sku={"name": SKU},
        identity={"type": dashboard.ManagedServiceIdentityType.SYSTEM_ASSIGNED},
        properties={
            "grafana_major_version": new.major_version,
            "zone_redundancy": dashboard.ZoneRedundancy.ENABLED
            if new.zone_redundancy
            else dashboard.ZoneRedundancy.DISABLED,
            # Else service accounts' keys could be made, and nothing here uses one.
            "api_key": dashboard.ApiKey.DISABLED,
            "public_network_access": dashboard.PublicNetworkAccess.ENABLED,
        },
        tags=new.tags,
        opts=pulumi.ResourceOptions(
            parent=parent,
            # Its name is unique in all of Azure and taken until the old one is gone.
            delete_before_replace=True,
            # Fixed when the workspace is made.
            replace_on_changes=["properties.zoneRedundancy"],
        ),
    )


def _assign(
    parent: GrafanaWorkspace,
    name: str,
    subscription_id: str,
    role: Role,
    principal: PrincipalArgs | pulumi.Output[str],
    *,
    scope: pulumi.Input[str],
    ignore_changes: list[str] | None = None,
) -> None:
    if isinstance(principal, PrincipalArgs):
        principal_id: pulumi.Input[str] = principal.id
        principal_type = principal.type
    else:
        principal_id, principal_type = principal, PrincipalType.SERVICE_PRINCIPAL
    authorization.RoleAssignment(
        name,
        # From what is granted, so that another principal or scope is another assignment: Azure
        # refuses to change either under one name.
        role_assignment_name=pulumi.Output.all(scope, principal_id).apply(
            lambda parts: str(
                uuid.uuid5(ROLE_ASSIGNMENT_NAMES, "|".join([*parts, role.value]).lower())
            )
        ),
        scope=scope,
        role_definition_id=role_definition_id(subscription_id, role),
        principal_id=principal_id,
        # Without it Azure looks the principal up, and a new identity is not found at once
        # (PrincipalNotFound).
        principal_type=principal_type.value,
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=ignore_changes),
    )


def _same(one: PrincipalArgs, other: PrincipalArgs | None) -> bool:
    return other is not None and one.id.lower() == other.id.lower()
