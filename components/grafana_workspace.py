"""Azure Managed Grafana: a workspace that exists already, or one made here, and who may do what.

Role assignments are made where this stack made the scope or the principal, or the settings ask for
them.
What an existing workspace lacks is only reported: granting it is its owner's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import dashboard

from components.further_args import FurtherArgs, adding
from components.grafana_role_assignments import (
    GrafanaRoleArgs,
    GrafanaRoleAssignments,
    GrafanaRoleAssignmentsArgs,
    MetricsReaderArgs,
    PrincipalArgs,
)
from components.inputs import component_inputs
from components.stated import stated

SKU = "Standard"
"""The tier with managed private endpoints."""


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
    """A workspace that this stack creates and deletes."""

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
    workspace_args: FurtherArgs | None = None
    """Further arguments of the ``dashboard.Grafana``, where one is made."""
    role_mark: str | None = None
    """Description of the role assignments, by which their maker knows them again."""
    role_assignment_args: FurtherArgs | None = None
    """Further arguments of every role assignment."""


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
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"role_mark"}), opts)
        self._created = _workspace(self, name, args, args.new) if args.new else None
        if self._created is not None:
            self.id = self._created.id
            # From the id, which is unknown exactly when the workspace is made again: what is on it
            # then follows, and is left alone when the workspace is merely updated.
            self.workspace_name = self.id.apply(lambda _: args.workspace_name)
            self.endpoint = self._created.properties.apply(
                lambda found: stated("endpoint")(found).rstrip("/")
            )
            self.principal_id = self._created.identity.apply(stated("principal_id"))
        elif args.existing is not None:
            self.id = pulumi.Output.from_input(args.existing.id)
            self.workspace_name = pulumi.Output.from_input(args.workspace_name)
            self.endpoint = pulumi.Output.from_input(args.existing.endpoint.rstrip("/"))
            self.principal_id = pulumi.Output.from_input(args.existing.principal_id)
        else:
            raise ValueError(f"{name}: neither an existing Grafana workspace nor a new one")
        roles = self._roles(name, args)
        if not roles.is_empty:
            GrafanaRoleAssignments(f"{name}-roles", roles, pulumi.ResourceOptions(parent=self))
        elif self._created is None:
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
        """The workspace where this stack creates it: what it holds is deleted along with it."""
        return self._created

    def _roles(self, name: str, args: GrafanaWorkspaceArgs) -> GrafanaRoleAssignmentsArgs:
        reader = None
        if args.metrics_workspace_id is not None:
            reader = MetricsReaderArgs(
                principal_id=self.principal_id, workspace_id=args.metrics_workspace_id
            )
        return GrafanaRoleAssignmentsArgs(
            grafana_name=name,
            grafana_id=self.id,
            subscription_id=args.subscription_id,
            deployer=args.new.deployer if args.new else None,
            roles=args.roles,
            metrics_reader=reader,
            mark=args.role_mark,
            assignment_args=args.role_assignment_args,
        )


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
            transformations=adding("workspace_args", args.workspace_args),
            # Its name is unique in all of Azure and taken until the old one is gone.
            delete_before_replace=True,
            # Fixed when the workspace is made.
            replace_on_changes=["properties.zoneRedundancy"],
        ),
    )
