"""The pool of GPU nodes, with NVIDIA's device plugin on it where it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import containerservice

from components.device_plugin import DevicePlugin, DevicePluginArgs
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from contract.choices import (
    DEVICE_PLUGIN_TAG,
    SPOT_LABEL,
    SPOT_TAINT,
    EvictionPolicy,
    GpuDriver,
    OsSku,
)

FIXED_WHEN_MADE = (
    "availabilityZones",
    "gpuProfile",
    "maxPods",
    "osDiskSizeGB",
    "scaleSetEvictionPolicy",
    "scaleSetPriority",
    "spotMaxPrice",
    "vnetSubnetID",
)
"""Properties of a pool that AKS refuses to change, beyond those the provider replaces for."""


@dataclass(frozen=True, kw_only=True)
class AutoscalingArgs:
    """Between how many nodes the cluster autoscaler chooses."""

    min_count: int
    max_count: int


@dataclass(frozen=True, kw_only=True)
class SpotArgs:
    """Nodes from spare capacity, evicted when it is needed."""

    max_price: float
    """US dollars an hour; -1: up to the price of an ordinary node."""
    eviction_policy: EvictionPolicy


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """Exactly one of ``count`` and ``autoscaling``."""

    cluster_name: pulumi.Input[str]
    resource_group_name: pulumi.Input[str]
    """The cluster's."""
    pool_name: str
    """At most 12 lower-case letters and digits."""
    vm_size: str
    count: int | None = None
    autoscaling: AutoscalingArgs | None = None
    sends_present_count: bool = False
    """Whether an autoscaled pool is there and about to be changed: AKS then wants the number of
    nodes that it has at that moment, and takes another one as scaling by hand, which it refuses."""
    spot: SpotArgs | None = None
    taints: Sequence[str]
    """Each ``key=value:effect``."""
    labels: Mapping[str, str]
    os_sku: OsSku
    driver: GpuDriver
    mig_profile: str | None = None
    """``MIG1g`` to ``MIG7g``: how each GPU is cut into slices."""
    zones: Sequence[str] | None = None
    subnet_id: str | None = None
    os_disk_size_gb: int | None = None
    max_pods: int | None = None
    device_plugin: bool
    """Whether to run NVIDIA's device plugin on the pool."""
    device_plugin_image: str | None = None
    """Its image, without the tag; None: the public one."""
    device_plugin_tag: str = DEVICE_PLUGIN_TAG  # its release
    stack_mark: str | None = None  # of the stack whose the device plugin is
    tags: Mapping[str, str] | None = None
    imported: str | None = None  # ARM id of one that is there already and is to be this one
    pool_args: FurtherArgs | None = None
    """Further arguments of the ``containerservice.AgentPool``."""
    device_plugin_labels: Mapping[str, str] | None = None  # further ones, of its pods
    device_plugin_args: FurtherArgs | None = None  # further ones, of its DaemonSet


class GpuNodePool(pulumi.ComponentResource):
    """A user pool of GPU nodes. Needs the cluster's kubernetes provider for the device plugin."""

    TYPE = "gpuobs:index:GpuNodePool"

    id: pulumi.Output[str]
    """ARM id."""
    pool_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        # What is there already is no input: it would be another one at the next update.
        inputs = component_inputs(args, leave_out={"imported", "sends_present_count", "stack_mark"})
        super().__init__(self.TYPE, name, inputs, opts)
        cluster = deleted_with(opts)
        # Azure adds this taint and label to every spot pool. Declared here, they are no drift, and
        # an update does not try to take them away (pulumi-azure-native 959).
        taints = [*args.taints, *([SPOT_TAINT] if args.spot else [])]
        labels = {**args.labels, **({SPOT_LABEL: "spot"} if args.spot else {})}
        pool = _agent_pool(self, name, args, taints, labels, cluster)
        if args.device_plugin:
            DevicePlugin(
                f"{name}-device-plugin",
                DevicePluginArgs(
                    pool_name=args.pool_name,
                    taints=taints,
                    image=args.device_plugin_image,
                    tag=args.device_plugin_tag,
                    labels=args.device_plugin_labels,
                    sliced=args.mig_profile is not None,
                    stack_mark=args.stack_mark,
                    daemon_set_args=args.device_plugin_args,
                ),
                pulumi.ResourceOptions(
                    parent=self,
                    # Its pods run on the pool's nodes only.
                    depends_on=[pool],
                    deleted_with=cluster,
                ),
            )
        self.id = pool.id
        self.pool_name = pulumi.Output.from_input(args.pool_name)
        self.register_outputs({"id": self.id, "poolName": self.pool_name})


def _agent_pool(
    parent: GpuNodePool,
    name: str,
    args: GpuNodePoolArgs,
    taints: Sequence[str],
    labels: Mapping[str, str],
    cluster: pulumi.Resource | None,
) -> containerservice.AgentPool:
    scaled = args.autoscaling
    present = scaled is not None and (args.sends_present_count or args.imported is not None)
    # What a pool is made with: with the autoscaler on it must be there, too.
    first_count = scaled.min_count if scaled else args.count
    return containerservice.AgentPool(
        f"{name}-pool",
        agent_pool_name=args.pool_name,
        resource_name_=args.cluster_name,
        resource_group_name=args.resource_group_name,
        mode=containerservice.AgentPoolMode.USER,
        os_type=containerservice.OSType.LINUX,
        os_sku=args.os_sku.value,
        vm_size=args.vm_size,
        count=_present_count(parent, args) if present else first_count,
        enable_auto_scaling=scaled is not None,
        min_count=scaled.min_count if scaled else None,
        max_count=scaled.max_count if scaled else None,
        scale_set_priority=containerservice.ScaleSetPriority.SPOT if args.spot else None,
        scale_set_eviction_policy=args.spot.eviction_policy.value if args.spot else None,
        spot_max_price=args.spot.max_price if args.spot else None,
        node_taints=taints,
        node_labels=labels,
        gpu_profile={"driver": args.driver.value},
        gpu_instance_profile=args.mig_profile,
        availability_zones=args.zones or None,
        vnet_subnet_id=args.subnet_id,
        os_disk_size_gb=args.os_disk_size_gb,
        max_pods=args.max_pods,
        tags=args.tags,
        opts=pulumi.ResourceOptions(
            parent=parent,
            transformations=adding("pool_args", args.pool_args),
            # The autoscaler changes the number of nodes; putting it back would fight it. But what
            # is ignored is sent as it is in state, and AKS refuses any other number than the
            # present one (AKS 1627): it is ignored only while nothing of the pool is to be sent.
            ignore_changes=["count"] if scaled and not present else None,
            # AKS answers a change of these with an error. One that is imported has them all, as AKS
            # filled them in, and is updated to those that the program says.
            replace_on_changes=None if args.imported else [*FIXED_WHEN_MADE],
            import_=args.imported,
            delete_before_replace=True,  # its name is fixed and taken until the old one is gone
            deleted_with=cluster,  # a pool goes with its cluster
        ),
    )


def _present_count(parent: GpuNodePool, args: GpuNodePoolArgs) -> pulumi.Output[int | None]:
    """The number of nodes, read when the cluster's own update is done and before the pool's."""
    return containerservice.get_agent_pool_output(
        agent_pool_name=args.pool_name,
        resource_name=args.cluster_name,
        resource_group_name=args.resource_group_name,
        opts=pulumi.InvokeOutputOptions(parent=parent),
    ).apply(lambda pool: pool.count)
