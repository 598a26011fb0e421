"""Who may do what on a Grafana workspace, and what its identity may read.

Each assignment is deterministic: what is granted names it, so equal grants are one assignment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization

from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.role_assignment import role_assignment
from contract.azure import Role
from contract.choices import GrafanaRole, PrincipalType

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
class MetricsReaderArgs:
    """Grafana's identity reads an Azure Monitor workspace."""

    principal_id: pulumi.Input[str]
    """Object id of Grafana's managed identity."""
    workspace_id: pulumi.Input[str]
    """ARM id of the Azure Monitor workspace."""


@dataclass(frozen=True, kw_only=True)
class GrafanaRoleAssignmentsArgs:
    """Roles on one workspace; the resources are named after it: ``{grafana_name}-deployer``."""

    grafana_name: str
    """The component's name in the program."""
    grafana_id: pulumi.Input[str]
    """ARM id of the workspace: the scope."""
    subscription_id: str
    """Whose role definitions are meant."""
    deployer: PrincipalArgs | None = None
    """Who deploys; becomes Grafana Admin, as no role in Azure implies one in Grafana."""
    roles: Sequence[GrafanaRoleArgs] = ()
    metrics_reader: MetricsReaderArgs | None = None
    mark: str | None = None
    """Description of the assignments, by which their maker knows them again."""
    assignment_args: FurtherArgs | None = None
    """Further arguments of every ``authorization.RoleAssignment``."""

    @property
    def granted(self) -> Sequence[GrafanaRoleArgs]:
        """The roles without the deployer's own, which exists: a second one is a conflict."""
        return [
            one
            for one in self.roles
            if not (one.role is GrafanaRole.ADMIN and _same(one.principal, self.deployer))
        ]

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be assigned."""
        return not (self.deployer or self.granted or self.metrics_reader)


def role_of(granted: GrafanaRoleArgs) -> Role:
    """Azure's role for what is granted in Grafana."""
    return _ROLES[granted.role]


class GrafanaRoleAssignments(pulumi.ComponentResource):
    """Role assignments on a Grafana workspace and on what it reads."""

    TYPE = "gpuobs:index:GrafanaRoleAssignments"

    ids: pulumi.Output[list[str]]
    """ARM ids of the role assignments."""

    def __init__(
        self,
        name: str,
        args: GrafanaRoleAssignmentsArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"mark"}), opts)
        self._former_parent = opts.parent if opts else None
        self._assigned: list[authorization.RoleAssignment] = []
        if args.deployer is not None:
            self._assign(
                "deployer",
                args,
                Role.GRAFANA_ADMIN,
                args.deployer.id,
                args.deployer.type,
                # A colleague who deploys next must not take the role from whoever made the
                # workspace; further administrators are named in the settings.
                ignore_changes=["principalId", "principalType", "roleAssignmentName"],
            )
        for granted in args.granted:
            self._assign(
                f"{granted.role.value.lower()}-{granted.principal.id}",
                args,
                role_of(granted),
                granted.principal.id,
                granted.principal.type,
            )
        if args.metrics_reader is not None:
            self._assign(
                "metrics-reader",
                args,
                Role.MONITORING_DATA_READER,
                args.metrics_reader.principal_id,
                PrincipalType.SERVICE_PRINCIPAL,
                scope=args.metrics_reader.workspace_id,
            )
        self.ids = pulumi.Output.all(*(one.id for one in self._assigned))
        self.register_outputs({"ids": self.ids})

    def _assign(
        self,
        what: str,
        args: GrafanaRoleAssignmentsArgs,
        role: Role,
        principal_id: pulumi.Input[str],
        principal_type: PrincipalType,
        *,
        scope: pulumi.Input[str] | None = None,
        ignore_changes: list[str] | None = None,
    ) -> None:
        assigned = role_assignment(
            f"{args.grafana_name}-{what}",
            role,
            args.grafana_id if scope is None else scope,
            principal_id,
            subscription_id=args.subscription_id,
            principal_type=principal_type,
            mark=args.mark,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Deployed by 0.1 as a child of the workspace.
                aliases=[pulumi.Alias(parent=self._former_parent)],
                transformations=adding("assignment_args", args.assignment_args),
                # Those of before have no mark, and keep being theirs without one.
                ignore_changes=[*(ignore_changes or ()), *(["description"] if args.mark else ())],
            ),
        )
        self._assigned.append(assigned)


def _same(one: PrincipalArgs, other: PrincipalArgs | None) -> bool:
    return other is not None and one.id.lower() == other.id.lower()
