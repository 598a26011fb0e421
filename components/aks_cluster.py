"""The AKS cluster: one that exists already, or one made here with a single system pool.

Also the kubernetes provider for what is deployed into it. GPU nodes are
:mod:`components.gpu_node_pool`'s. An existing cluster is never changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_azure_native import containerservice

from components.cluster_credentials import kubeconfig_of
from components.cluster_leftovers import LeftoversArgs, without_leftovers
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.stated import stated
from components.system_pool import SystemPoolArgs, first_profile, present_profiles
from contract.choices import ClusterCredentials


@dataclass(frozen=True, kw_only=True)
class ExistingClusterArgs:
    """A cluster that this stack uses and never changes."""

    id: str
    """ARM id."""


@dataclass(frozen=True, kw_only=True)
class NewClusterArgs:
    """A cluster that this stack creates and deletes."""

    dns_prefix: str
    """Prefix of the API server's host name."""
    system_pool_vm_size: str
    system_pool_count: int
    """Nodes that the system pool is made with; it also runs Pyroscope: GPU nodes are tainted."""
    azure_monitor_metrics: bool
    """Whether the managed Prometheus add-on is on; the agent's metrics need its PodMonitor kind."""
    kubernetes_version: str | None = None
    """Minor or patch version, e.g. ``1.33``; None: AKS's default."""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class AksClusterArgs:
    """Exactly one of ``existing`` and ``new``."""

    cluster_name: str
    resource_group_name: pulumi.Input[str]
    location: str
    """Region, e.g. ``westeurope``."""
    node_resource_group: str
    """Group of the nodes, where the cloud controller makes the Private Link Service."""
    credentials: ClusterCredentials
    existing: ExistingClusterArgs | None = None
    new: NewClusterArgs | None = None
    leftovers: LeftoversArgs | None = None
    """What killed runs of the stack leave in the cluster; None: it is not cleared away."""
    system_pool: SystemPoolArgs | None = None
    """The system pool of a new cluster that an earlier update has made already, as it is now."""
    cluster_args: FurtherArgs | None = None
    """Further arguments of the ``containerservice.ManagedCluster``, where one is made."""


class AksCluster(pulumi.ComponentResource):
    """An AKS cluster and the kubernetes provider for it."""

    TYPE = "gpuobs:index:AksCluster"

    id: pulumi.Output[str]
    """ARM id."""
    cluster_name: pulumi.Output[str]
    resource_group_name: pulumi.Output[str]
    location: pulumi.Output[str]
    node_resource_group: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    """Secret: YAML or JSON with credentials, or with a program that gets them."""

    def __init__(
        self, name: str, args: AksClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        # What is there already is no input: it would be another one at the next update.
        inputs = component_inputs(args, leave_out={"system_pool", "leftovers"})
        super().__init__(self.TYPE, name, inputs, opts)
        self._created = _managed_cluster(self, name, args, args.new) if args.new else None
        if self._created is not None:
            self.id = self._created.id
            # From the id, which is unknown exactly when the cluster is made again: what is in it
            # then follows, and is left alone when the cluster is merely updated.
            self.cluster_name = self.id.apply(lambda _: args.cluster_name)
        elif args.existing is not None:
            self.id = pulumi.Output.from_input(args.existing.id)
            self.cluster_name = pulumi.Output.from_input(args.cluster_name)
        else:
            raise ValueError(f"{name}: neither an existing cluster nor a new one")
        self.resource_group_name = pulumi.Output.from_input(args.resource_group_name)
        self.location = pulumi.Output.from_input(args.location)
        self.node_resource_group = pulumi.Output.from_input(args.node_resource_group)
        self.kubeconfig = kubeconfig_of(
            self, self.cluster_name, self.resource_group_name, args.credentials
        )
        self._kubernetes = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # Else every rotated certificate or token would replace all that runs in the cluster.
            cluster_identifier=self.id.apply(str.lower),
            # Applied on the server's side, a namespace that exists would be adopted, and deleted
            # later.
            enable_server_side_apply=False,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._cleared: list[pulumi.Resource] = []
        if args.leftovers is not None:
            self._cleared.append(
                without_leftovers(
                    self,
                    f"{name}-leftovers",
                    args.leftovers,
                    self.id,
                    admin=args.credentials is ClusterCredentials.ADMIN,
                    deleted_with=self._created,
                )
            )
        self.register_outputs(
            {
                "id": self.id,
                "clusterName": self.cluster_name,
                "resourceGroupName": self.resource_group_name,
                "location": self.location,
                "nodeResourceGroup": self.node_resource_group,
            }
        )

    @property
    def provider(self) -> kubernetes.Provider:
        """Deploys into this cluster."""
        return self._kubernetes

    @property
    def cleared(self) -> list[pulumi.Resource]:
        """Made before what is made in the cluster: nothing of it is there from a killed run."""
        return self._cleared

    @property
    def created(self) -> pulumi.Resource | None:
        """The cluster where this stack creates it: what lives inside is deleted along with it."""
        return self._created

    @property
    def issuer_url(self) -> pulumi.Output[str] | None:
        """Of the OIDC issuer that vouches for pods' service accounts; None for an existing one."""
        if self._created is None:
            return None
        return self._created.oidc_issuer_profile.apply(stated("issuer_url"))


def _managed_cluster(
    parent: AksCluster, name: str, args: AksClusterArgs, new: NewClusterArgs
) -> containerservice.ManagedCluster:
    return containerservice.ManagedCluster(
        f"{name}-cluster",
        resource_name_=args.cluster_name,
        resource_group_name=args.resource_group_name,
        location=args.location,
        dns_prefix=new.dns_prefix,
        kubernetes_version=new.kubernetes_version,
        node_resource_group=args.node_resource_group,
        # Cluster extensions do not work on clusters with a service principal.
        identity={"type": containerservice.ResourceIdentityType.SYSTEM_ASSIGNED},
        agent_pool_profiles=_pool_profiles(args, new),
        # A Private Link Service needs a Standard load balancer.
        network_profile={
            "network_plugin": containerservice.NetworkPlugin.AZURE,
            "network_plugin_mode": containerservice.NetworkPluginMode.OVERLAY,
            "load_balancer_sku": containerservice.LoadBalancerSku.STANDARD,
        },
        azure_monitor_profile={"metrics": {"enabled": new.azure_monitor_metrics}},
        oidc_issuer_profile={"enabled": True},
        security_profile={"workload_identity": {"enabled": True}},
        tags=new.tags,
        opts=pulumi.ResourceOptions(
            parent=parent,
            transformations=adding("cluster_args", args.cluster_args),
            # Its name is fixed and taken until the old one is gone.
            delete_before_replace=True,
        ),
    )


def _pool_profiles(
    args: AksClusterArgs, new: NewClusterArgs
) -> "list[containerservice.ManagedClusterAgentPoolProfileArgsDict] | None":
    if args.system_pool is not None:
        return present_profiles(args.system_pool)
    return [first_profile(vm_size=new.system_pool_vm_size, count=new.system_pool_count)]
