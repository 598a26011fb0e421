"""Checks of the AKS cluster and the GPU quota."""

from collections.abc import Iterator

from contract.agent import NAMESPACE
from contract.choices import ClusterCredentials
from contract.messages.survey import ClusterFacts, Survey
from infra.faults import Fault
from infra.preflight.finding import Finding, Place
from infra.preflight.pools import autoscaled_pool_changes, is_newer, system_pool
from infra.settings import AzureMonitorMetrics, NewCluster, Settings

_AT_REST = ("Succeeded", "Failed", "Canceled", "")
"""Provisioning states in which AKS takes a change."""


def check_cluster(settings: Settings, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What keeps a cluster that is there from being used; also one that this stack made before."""
    if cluster.power_state.lower() == "stopped":
        yield place.fault(
            rule="must be running; it is stopped",
            why="a stopped cluster accepts no pool, no extension and no release.",
            fix=f"az aks start {place.options}",
        )
    elif cluster.provisioning_state == "Deleting":
        yield place.fault(
            rule="must exist; it is being deleted",
            why="whatever is put into it is deleted with it.",
            fix="wait until it is gone and name another cluster",
        )
    elif cluster.provisioning_state not in _AT_REST:
        yield place.fault(
            rule=f"must have no operation in progress; it is {cluster.provisioning_state}",
            why="AKS refuses a change while another one is in progress.",
            fix=f"wait for it (az aks wait --updated {place.options}), then run it again",
        )
    elif cluster.provisioning_state in ("Failed", "Canceled"):
        yield (
            f"The last change of cluster {place.name} ended as {cluster.provisioning_state}; where "
            f"AKS refuses another one, `az aks update {place.options}` repeats it."
        )
    if settings.cluster.existing is not None:
        yield from _check_existing(settings, place, cluster)
    if settings.cluster.create is not None:
        yield from _check_created(settings.cluster.create, place, cluster)


def _check_created(created: NewCluster, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What of a cluster that this stack made counts only when it is made, or cannot go back."""
    wanted = created.system_pool
    pool_options = f"--cluster-name {place.name} --resource-group {place.resource_group} "
    pool_options += f"--subscription {place.subscription}"
    pool = system_pool(cluster.pools)
    if pool is not None and pool.max_count is None and pool.count != wanted.count:
        yield (
            f"The system pool of cluster {place.name} has {pool.count} nodes and "
            f"gpuobs:cluster.create.systemPool.count says {wanted.count}, which counts only when "
            f"the cluster is made. To change it: az aks nodepool scale {pool_options} --name "
            f"{pool.name} --node-count {wanted.count}"
        )
    if pool is not None and pool.vm_size.lower() not in ("", wanted.vm_size.lower()):
        yield (
            f"The system pool of cluster {place.name} has nodes of size {pool.vm_size} and "
            f"gpuobs:cluster.create.systemPool.vmSize says {wanted.vm_size}, which counts only "
            "when the cluster is made: AKS changes the size of no pool. To change it, add another "
            f"one (az aks nodepool add {pool_options} --mode System --node-vm-size "
            f"{wanted.vm_size} --name NAME) and delete this one (az aks nodepool delete "
            f"{pool_options} --name {pool.name})"
        )
    if is_newer(cluster.kubernetes_version, created.kubernetes_version):
        yield (
            f"Cluster {place.name} runs Kubernetes {cluster.kubernetes_version} and "
            f"gpuobs:cluster.create.kubernetesVersion says {created.kubernetes_version}. AKS does "
            "not go back, so it stays; write the newer version there."
        )


def check_autoscaled_pool(settings: Settings, cluster: ClusterFacts) -> Iterator[Finding]:
    """What may go wrong with a change of a pool whose number of nodes moves by itself."""
    if autoscaled_pool_changes(settings, cluster.pools):
        yield (
            f"The update of GPU pool {settings.gpu_pool.name} says how many nodes it has, and AKS "
            "refuses another number while the autoscaler is on. Where a node comes or goes just "
            "then, AKS answers `Cannot manually scale`: run it again, and it says the new number."
        )


def _check_existing(settings: Settings, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What must hold of a cluster that this stack did not create."""
    if not cluster.identity_type:
        yield place.fault(
            rule="needs a managed identity; it has a service principal",
            why="cluster extensions, the agent among them, do not install without one.",
            fix=f"az aks update --enable-managed-identity {place.options}",
        )
    if settings.cluster.credentials is ClusterCredentials.ADMIN and cluster.local_accounts_disabled:
        yield place.fault(
            rule="`credentials: admin` needs local accounts, which are disabled there",
            why="AKS refuses to hand out the administrator's kubeconfig.",
            fix="write `credentials: user`: it works with Entra ID and needs no kubelogin",
        )
    if not cluster.untainted_pools and not settings.pyroscope.tolerations:
        yield place.fault(
            rule="needs a Linux pool without NoSchedule or NoExecute taints; there is none",
            why="Pyroscope tolerates no taint: its pod would stay pending, and the release wait "
            "until it times out.",
            fix="add one: az aks nodepool add --cluster-name "
            f"{place.name} --resource-group {place.resource_group} --subscription "
            f"{place.subscription} --name user1, or write gpuobs:pyroscope.tolerations",
        )
    if cluster.sku.lower() == "automatic":
        yield (
            f"Cluster {place.name} is an AKS Automatic one, whose deployment safeguards refuse the "
            f"agent's privileged pods unless namespace `{NAMESPACE}` is excluded: az aks "
            f"safeguards update {place.options} --excluded-ns {NAMESPACE}"
        )
    if cluster.private_api_server:
        yield (
            f"The API server of cluster {place.name} is private: previews and updates reach it "
            "only from its network (a peered network, a VPN, a machine inside). From anywhere else "
            "the release and the namespace fail as unreachable."
        )


def check_metrics(
    settings: Settings, place: Place, cluster: ClusterFacts, workspace_id: str | None
) -> Iterator[Finding]:
    """The metrics add-on of an existing cluster, which Pulumi cannot switch on there."""
    if cluster.metrics_enabled:
        return
    workspace = f" --azure-monitor-workspace-resource-id {workspace_id}" if workspace_id else ""
    enable = f"az aks update --enable-azure-monitor-metrics {place.options}{workspace}"
    asked = settings.prometheus.azure_monitor_workspace
    if settings.inspektor_gadget.azure_monitor is AzureMonitorMetrics.ON:
        yield place.fault(
            rule="`inspektorGadget.azureMonitor: on` needs the cluster's metrics add-on, which is "
            "off",
            why="without the add-on there is no PodMonitor resource in the cluster, and the "
            "agent's install fails.",
            fix=f"{enable} (or leave `azureMonitor` out, and the agent sends no metrics)",
        )
    elif settings.inspektor_gadget.azure_monitor is AzureMonitorMetrics.AUTO and asked is not None:
        yield (
            f"The metrics add-on of cluster {place.name} is off, so the agent sends no metrics and "
            f"the dashboard shows the flame graph only. To have both: {enable}"
        )


def check_quota(settings: Settings, survey: Survey) -> Iterator[Finding]:
    """Whether the GPU nodes fit the subscription's quota, which Azure says only after minutes."""
    pool, limit, per_node = settings.gpu_pool, survey.quota_limit, survey.cores_per_node
    if not pool.enabled or limit is None or per_node is None or pool.spot is not None:
        # Spot nodes count against a quota of their own, which the survey does not read.
        return
    # A pool that is there already is a part of what is used.
    made = pool.name in {found.name for found in survey.cluster.pools}
    free = limit if made else limit - (survey.quota_used or 0)
    first, most = pool.first_nodes * per_node, pool.most_nodes * per_node
    have = f"{free} of {limit}" if not made else f"{limit}"
    more = (
        f"ask for more under Quotas in the Azure portal (family {survey.quota_family}), choose "
        "another vmSize, or fewer nodes"
    )
    if first > free:
        yield Fault(
            path=f"gpuobs:gpuPool ({pool.vm_size})",
            rule=f"{first} vCPUs of family {survey.quota_family} are needed; the subscription has "
            f"{have}",
            why="Azure refuses the pool, after minutes, with ErrCode_InsufficientVCPUQuota.",
            fix=more,
        )
    elif most > free:
        yield (
            f"The GPU pool may grow to {most} vCPUs of family {survey.quota_family}, and the "
            f"subscription has {have}: the autoscaler stops there. To fix it, {more}."
        )
