"""Grafana's managed private endpoint to Pyroscope, and the approval of its connection.

The endpoint lives in a subscription of Microsoft's; the connection it makes waits on the Private
Link Service until somebody with rights there approves it. Azure has no resource for that, so an
operation does it, and answers the private address: what the endpoint itself says is from before the
approval.
"""

from dataclasses import dataclass

import pulumi
from pulumi_azure_native import dashboard

from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.operation import answer, observed_operation
from components.options import FAILED_BEFORE
from contract.messages.base import Verb
from contract.messages.private_link import Approval, ApprovalRequest


@dataclass(frozen=True, kw_only=True)
class GrafanaPrivateEndpointArgs:
    """From which Grafana to which Private Link Service."""

    workspace_name: pulumi.Input[str]
    workspace_id: pulumi.Input[str]
    """ARM id of the Grafana workspace."""
    resource_group_name: pulumi.Input[str]
    """The workspace's."""
    location: str
    """The workspace's region."""
    endpoint_name: str
    """3 to 20 characters."""
    private_link_id: pulumi.Input[str]
    """ARM id of the Private Link Service, known only once the service is ready."""
    private_link_location: str
    """The service's region: the cluster's."""
    request_message: str
    """Distinct for each stack; distinguishes its connection from another's on the same service."""
    endpoint_args: FurtherArgs | None = None
    """Further arguments of the ``dashboard.ManagedPrivateEndpoint``."""
    imported: str | None = None
    """ARM id of one that is there already and is to be this one; None: it is made."""
    observed: pulumi.Input[str] | None = None
    """Revision of the approved connection; None: drift is not looked for."""


class GrafanaPrivateEndpoint(pulumi.ComponentResource):
    """An approved private connection from Grafana to Pyroscope."""

    TYPE = "gpuobs:index:GrafanaPrivateEndpoint"

    state: pulumi.Output[str]
    """``Approved``, as Grafana sees it after its refresh."""
    private_ip: pulumi.Output[str]
    """Address at which Grafana reaches the service; never empty."""
    approval_id: pulumi.Output[str]
    """Another one whenever the endpoint is another: what goes through it is applied again."""

    def __init__(
        self,
        name: str,
        args: GrafanaPrivateEndpointArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        # What is there already is no input: it would be another one at the next update.
        inputs = component_inputs(args, leave_out={"observed", "imported"})
        super().__init__(self.TYPE, name, inputs, opts)
        endpoint = dashboard.ManagedPrivateEndpoint(
            f"{name}-endpoint",
            managed_private_endpoint_name=args.endpoint_name,
            workspace_name=args.workspace_name,
            resource_group_name=args.resource_group_name,
            location=args.location,
            private_link_resource_id=args.private_link_id,
            private_link_resource_region=args.private_link_location,
            request_message=args.request_message,
            opts=pulumi.ResourceOptions(
                parent=self,
                transformations=adding("endpoint_args", args.endpoint_args),
                # All of it is fixed when it is made, and its name is taken until it is gone.
                delete_before_replace=True,
                # A failed endpoint never recovers.
                replace_on_changes=[FAILED_BEFORE],
                import_=args.imported,
            ),
        )
        approval = observed_operation(
            f"{name}-approval",
            Verb.APPROVE_PRIVATE_ENDPOINT,
            pulumi.Output.all(args.workspace_id, args.private_link_id).apply(
                lambda ids: ApprovalRequest(
                    grafana_id=ids[0],
                    endpoint_name=args.endpoint_name,
                    private_link_id=ids[1],
                    request_message=args.request_message,
                ).to_json()
            ),
            observed=args.observed,
            delete=Verb.DELETE_PRIVATE_ENDPOINT,  # the provider does not wait for a busy Grafana
            triggers=[endpoint.id],
            opts=pulumi.ResourceOptions(
                parent=self,
                # So that what goes through the endpoint is deleted while it still exists.
                delete_before_replace=True,
            ),
        )
        approved = answer(approval, Approval)
        self.state = approved.apply(lambda found: found.state)
        self.private_ip = approved.apply(lambda found: found.private_ip)
        self.approval_id = approval.id
        self.register_outputs(
            {
                "state": self.state,
                "privateIp": self.private_ip,
                "approvalId": self.approval_id,
            }
        )
