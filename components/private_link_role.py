"""What the cluster's identity may do in the resource group that a private link is put into.

AKS's cloud controller makes the Private Link Service as that identity. In the nodes' group it may
do so by itself; in another one, which a locked nodes' group makes necessary, somebody must let it.
"""

from dataclasses import dataclass

import pulumi

from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.role_assignment import role_assignment
from contract.azure import Role


@dataclass(frozen=True, kw_only=True)
class PrivateLinkRoleArgs:
    """Who may make it, and where."""

    group_id: pulumi.Input[str]
    """ARM id of the resource group."""
    principal_id: pulumi.Input[str]
    """Object id of the cluster's identity."""
    subscription_id: str
    """Whose role definitions are meant."""
    mark: str | None = None
    """Description of the assignment, by which its maker knows it again."""
    assignment_args: FurtherArgs | None = None
    """Further arguments of the ``authorization.RoleAssignment``."""


class PrivateLinkRole(pulumi.ComponentResource):
    """Network Contributor for the cluster's identity on the group."""

    TYPE = "gpuobs:index:PrivateLinkRole"

    id: pulumi.Output[str]
    """ARM id of the role assignment."""

    def __init__(
        self, name: str, args: PrivateLinkRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"mark"}), opts)
        assigned = role_assignment(
            f"{name}-assignment",
            Role.NETWORK_CONTRIBUTOR,
            args.group_id,
            args.principal_id,
            subscription_id=args.subscription_id,
            mark=args.mark,
            opts=pulumi.ResourceOptions(
                parent=self, transformations=adding("assignment_args", args.assignment_args)
            ),
        )
        self.id = assigned.id
        self.register_outputs({"id": self.id})
