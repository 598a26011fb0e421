"""Checks of the AKS cluster and the GPU quota."""

from collections.abc import Iterator
from itertools import count

from contract.agent import NAMESPACE
from contract.azure import is_at_rest, name_of, parent_of
from contract.choices import ClusterCredentials
from contract.lines import line, placed, pools_of
from contract.messages.survey import ClusterFacts, Survey
from infra.faults import Fault
from infra.preflight.finding import Finding, Place
from infra.preflight.pools import autoscaled_pool_changes, is_newer, system_pool
from infra.settings import AzureMonitorMetrics, NewCluster, Settings


def check_cluster(settings: Settings, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What keeps a cluster that is there from being used; also one that this stack made before."""
    if cluster.power_state.lower() == "stopped":
        yield place.fault(
            rule="must be running; it is stopped",
            why="a stopped cluster accepts no pool, no extension and no release.",
            fix=line("az", "aks", "start", *place.options),
        )
    elif cluster.provisioning_state == "Deleting":
        yield place.fault(
            rule="must exist; it is being deleted",
            why="whatever is put into it is deleted with it.",
            fix="wait until it is gone and name another cluster",
        )
    elif not is_at_rest(cluster.provisioning_state):
        yield place.fault(
            rule=f"must have no operation in progress; it is {cluster.provisioning_state}",
            why="AKS refuses a change while another one is in progress.",
            fix="wait for it, then run it again: "
            + line("az", "aks", "wait", "--updated", *place.options),
        )
    elif cluster.provisioning_state in ("Failed", "Canceled"):
        # Without an option that changes something az asks a question; `--yes` answers it.
        repeat = line("az", "aks", "update", *place.options, "--yes")
        yield (
            f"The last change of cluster {place.name} ended as {cluster.provisioning_state}; where "
            f"AKS refuses another one, this repeats it: {repeat}"
        )
    if settings.cluster.existing is not None:
        yield from _check_existing(settings, place, cluster)
        yield from _check_pool_subnet(settings, place, cluster)
    if settings.cluster.create is not None:
        yield from _check_created(settings.cluster.create, place, cluster)


def _check_pool_subnet(
    settings: Settings, place: Place, cluster: ClusterFacts
) -> Iterator[Finding]:
    """AKS has all pools of a cluster in one virtual network of its owner's, or in its own."""
    wanted, pool = settings.gpu_pool.subnet_id, settings.gpu_pool
    others = [one for one in cluster.pools if one.name != pool.name]
    if wanted is None or not pool.enabled or not others:
        return
    path, network = "gpuobs:gpuPool.subnetId", parent_of(others[0].subnet_id)
    if not network:
        yield Fault(
            path=path,
            value=wanted,
            rule=f"only in a cluster in a virtual network of your own; {place.name} is in AKS' own",
            why=f"AKS refuses the pool: pool {others[0].name} uses a subnet that AKS manages.",
            fix="leave it out",
        )
    elif parent_of(wanted).lower() != network.lower():
        subnets = line(
            *("az", "network", "vnet", "subnet", "list", "--vnet-name", name_of(network)),
            *placed(network),
            *("--query", "[].id", "--output", "tsv"),
        )
        yield Fault(
            path=path,
            value=wanted,
            rule=f"a subnet of virtual network {name_of(network)}, where the cluster's pools are",
            why="AKS refuses a pool in another one.",
            fix=f"write one of {subnets}",
        )


def _free_name(cluster: ClusterFacts) -> str:
    """A name that no pool of the cluster has."""
    taken = {pool.name for pool in cluster.pools}
    return next(name for number in count(2) if (name := f"system{number}") not in taken)


def _check_created(created: NewCluster, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What of a cluster that this stack made counts only when it is made, or cannot go back."""
    wanted = created.system_pool
    of_cluster = pools_of(place.id)
    pool = system_pool(cluster.pools)
    if pool is not None and pool.max_count is None and pool.count != wanted.count:
        scale = line(
            *("az", "aks", "nodepool", "scale", *of_cluster),
            *("--name", pool.name, "--node-count", str(wanted.count)),
        )
        yield (
            f"The system pool of cluster {place.name} has {pool.count} nodes and "
            f"gpuobs:cluster.create.systemPool.count says {wanted.count}, which counts only when "
            f"the cluster is made. To change it: {scale}"
        )
    if pool is not None and pool.vm_size.lower() not in ("", wanted.vm_size.lower()):
        add = line(
            *("az", "aks", "nodepool", "add", *of_cluster, "--mode", "System"),
            *("--node-vm-size", wanted.vm_size, "--name", _free_name(cluster)),
        )
        delete = line("az", "aks", "nodepool", "delete", *of_cluster, "--name", pool.name)
        yield (
            f"The system pool of cluster {place.name} has nodes of size {pool.vm_size} and "
            f"gpuobs:cluster.create.systemPool.vmSize says {wanted.vm_size}, which counts only "
            "when the cluster is made: AKS changes the size of no pool. To change it, add another "
            f"one ({add}) and delete this one ({delete})"
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
            fix=line("az", "aks", "update", "--enable-managed-identity", *place.options, "--yes"),
        )
    if settings.cluster.credentials is ClusterCredentials.ADMIN and cluster.local_accounts_disabled:
        yield place.fault(
            rule="`credentials: admin` needs local accounts, which are disabled there",
            why="AKS refuses to hand out the administrator's kubeconfig.",
            fix="write `credentials: user`: it works with Entra ID and needs no kubelogin",
        )
    if not cluster.untainted_pools and not settings.pyroscope.tolerations:
        add = line("az", "aks", "nodepool", "add", *pools_of(place.id), "--name", "user1")
        yield place.fault(
            rule="needs a Linux pool without NoSchedule or NoExecute taints; there is none",
            why="Pyroscope tolerates no taint: its pod would stay pending, and the release wait "
            "until it times out.",
            fix=f"add one ({add}), or write gpuobs:pyroscope.tolerations",
        )
    if cluster.sku.lower() == "automatic":
        # `--excluded-ns` would replace the owner's list.
        exclude = line(
            *("az", "aks", "safeguards", "update", *place.options),
            *("--add", "properties.excludedNamespaces", NAMESPACE),
        )
        yield (
            f"Cluster {place.name} is an AKS Automatic one, whose deployment safeguards refuse the "
            f"agent's privileged pods unless namespace `{NAMESPACE}` is excluded: "
            f"{exclude}"
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
    to = ("--azure-monitor-workspace-resource-id", workspace_id) if workspace_id else ()
    enable = line("az", "aks", "update", "--enable-azure-monitor-metrics", *place.options, *to)
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
