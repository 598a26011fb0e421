"""Azure Monitor managed Prometheus: the workspace, and how the cluster's metrics get there.

The metrics add-on is a setting of the cluster; on an existing one it is the operator's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import monitor

from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.stated import stated
from contract.azure import ENDPOINT_ASSOCIATION

PROMETHEUS_STREAM = "Microsoft-PrometheusMetrics"
FORWARDER = "PrometheusDataSource"
DESTINATION = "MonitoringAccount"


@dataclass(frozen=True, kw_only=True)
class ExistingWorkspaceArgs:
    """An Azure Monitor workspace that this stack uses and never changes."""

    id: str
    """ARM id."""
    location: str
    query_endpoint: str


@dataclass(frozen=True, kw_only=True)
class CollectionArgs:
    """The cluster whose metrics are collected, and the names of what does it."""

    cluster_id: pulumi.Input[str]
    cluster_location: str
    """Region, e.g. ``westeurope``."""
    private_cluster: bool
    """Whether the cluster's API server is private."""
    configuration_endpoint_name: str
    """Data collection endpoint in the cluster's region, where that is another; at most 44."""
    endpoint_name: str
    """Data collection endpoint, at most 44 characters."""
    rule_name: str
    """Data collection rule, at most 64 characters."""


@dataclass(frozen=True, kw_only=True)
class ManagedPrometheusArgs:
    """Exactly one of ``existing`` and ``workspace_name``."""

    resource_group_name: pulumi.Input[str]
    """For what this stack creates."""
    location: str
    """Region of a new workspace."""
    existing: ExistingWorkspaceArgs | None = None
    workspace_name: str | None = None
    """Name of the workspace to make."""
    collection: CollectionArgs | None = None
    """None: the cluster's metrics reach the workspace some other way, or not at all."""
    tags: Mapping[str, str] | None = None
    workspace_args: FurtherArgs | None = None
    """Further arguments of the ``monitor.AzureMonitorWorkspace``, where one is made."""
    endpoint_args: FurtherArgs | None = None
    """Further arguments of every ``monitor.DataCollectionEndpoint``."""
    rule_args: FurtherArgs | None = None
    """Further arguments of the ``monitor.DataCollectionRule``."""


class ManagedPrometheus(pulumi.ComponentResource):
    """A workspace for Prometheus metrics, filled from one cluster."""

    TYPE = "gpuobs:index:ManagedPrometheus"

    workspace_id: pulumi.Output[str]
    """ARM id of the Azure Monitor workspace."""
    query_endpoint: pulumi.Output[str]
    """Where Prometheus queries are answered."""

    def __init__(
        self, name: str, args: ManagedPrometheusArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args), opts)
        if args.existing is not None:
            self.workspace_id = pulumi.Output.from_input(args.existing.id)
            self.query_endpoint = pulumi.Output.from_input(args.existing.query_endpoint)
        else:
            workspace = monitor.AzureMonitorWorkspace(
                f"{name}-workspace",
                azure_monitor_workspace_name=args.workspace_name,
                resource_group_name=args.resource_group_name,
                location=args.location,
                tags=args.tags,
                opts=_options(self, "workspace_args", args.workspace_args),
            )
            self.workspace_id = workspace.id
            self.query_endpoint = workspace.metrics.apply(stated("prometheus_query_endpoint"))
        if args.collection is not None:
            # The service wants the rule and its endpoint in the workspace's region.
            region = args.existing.location if args.existing else args.location
            _collect(self, name, args, args.collection, region)
        elif args.existing is not None:
            # Nothing is made, and the engine drops a dependency on a component without children.
            # What waits for this component would no longer wait for what the component waits for.
            pulumi.Stash(
                f"{name}-ready", input=args.existing.id, opts=pulumi.ResourceOptions(parent=self)
            )
        self.register_outputs(
            {"workspaceId": self.workspace_id, "queryEndpoint": self.query_endpoint}
        )


def _collect(
    parent: ManagedPrometheus,
    name: str,
    args: ManagedPrometheusArgs,
    collection: CollectionArgs,
    location: str,
) -> None:
    endpoint = _endpoint(parent, f"{name}-endpoint", args, collection.endpoint_name, location)
    rule = monitor.DataCollectionRule(
        f"{name}-rule",
        # Names come from the ids of what is used: Azure deletes nothing that is in use, so another
        # endpoint is another rule, and another rule another association, which goes first.
        data_collection_rule_name=endpoint.id.apply(lambda _: collection.rule_name),
        resource_group_name=args.resource_group_name,
        location=location,
        kind=monitor.KnownDataCollectionRuleResourceKind.LINUX,
        data_collection_endpoint_id=endpoint.id,
        data_sources={
            "prometheus_forwarder": [{"name": FORWARDER, "streams": [PROMETHEUS_STREAM]}]
        },
        destinations={
            "monitoring_accounts": [
                {"name": DESTINATION, "account_resource_id": parent.workspace_id}
            ]
        },
        data_flows=[{"streams": [PROMETHEUS_STREAM], "destinations": [DESTINATION]}],
        tags=args.tags,
        opts=_options(parent, "rule_args", args.rule_args),
    )
    monitor.DataCollectionRuleAssociation(
        f"{name}-rule-association",
        association_name=rule.id.apply(lambda _: collection.rule_name),
        resource_uri=collection.cluster_id,
        data_collection_rule_id=rule.id,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    elsewhere = _region(collection.cluster_location) != _region(location)
    if not elsewhere and not collection.private_cluster:
        # Not needed, and in the way: a cluster has one association of that name, maybe for logs.
        return
    if elsewhere:
        # The agents read their configuration in the cluster's own region.
        endpoint = _endpoint(
            parent,
            f"{name}-configuration-endpoint",
            args,
            collection.configuration_endpoint_name,
            collection.cluster_location,
        )
    # An association of its own: one with a rule and an endpoint is refused (azure-cli 28338).
    monitor.DataCollectionRuleAssociation(
        f"{name}-endpoint-association",
        association_name=endpoint.id.apply(lambda _: ENDPOINT_ASSOCIATION),
        resource_uri=collection.cluster_id,
        data_collection_endpoint_id=endpoint.id,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def _options(
    parent: ManagedPrometheus, field: str, further: FurtherArgs | None
) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(parent=parent, transformations=adding(field, further))


def _region(location: str) -> str:
    return location.replace(" ", "").lower()  # Some services answer `West Europe`.


def _endpoint(
    parent: ManagedPrometheus,
    name: str,
    args: ManagedPrometheusArgs,
    endpoint_name: str,
    location: str,
) -> monitor.DataCollectionEndpoint:
    return monitor.DataCollectionEndpoint(
        name,
        data_collection_endpoint_name=endpoint_name,
        resource_group_name=args.resource_group_name,
        location=location,
        kind=monitor.KnownDataCollectionEndpointResourceKind.LINUX,
        tags=args.tags,
        opts=_options(parent, "endpoint_args", args.endpoint_args),
    )
