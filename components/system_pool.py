"""What a cluster's own request says of its pools: the system pool, exactly, and no other.

The list that AKS answers holds every pool, also those that are resources of their own, and a
refresh copies it into the cluster's inputs. Left alone there (``ignore_changes``), it would be
sent, stale, with the cluster's next update: a pool of GPU nodes goes back to an old number of
nodes, or one that was removed is asked for again, which AKS refuses (pulumi-azure-native 2719).
So the list is never ignored, and says of the system pool what is so already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulumi_azure_native import containerservice

from contract.choices import SYSTEM_POOL


@dataclass(frozen=True, kw_only=True)
class SystemPoolArgs:
    """The system pool of a cluster that this stack made, as it is now."""

    name: str
    vm_size: str
    count: int
    autoscaled: bool
    """Whether somebody gave it to the cluster autoscaler."""
    taints: Sequence[str] = ()
    labels: Mapping[str, str] | None = None
    tags: Mapping[str, str] | None = None


def first_profile(
    *, vm_size: str, count: int
) -> "containerservice.ManagedClusterAgentPoolProfileArgsDict":
    """The pool that a cluster is made with."""
    return _profile(SYSTEM_POOL, vm_size, count)


def present_profiles(
    pool: SystemPoolArgs,
) -> "list[containerservice.ManagedClusterAgentPoolProfileArgsDict] | None":
    """The list for a cluster that is there: nothing that was done to its pool is undone.

    ``orchestratorVersion`` is left out: AKS wants it of all pools of the cluster or of none
    (``NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged``), those left out of the list
    included (ARO-HCP 662), and without it the nodes keep theirs (pulumi-azure-native 2094).

    None where the autoscaler has the pool: its number of nodes would be another one at every
    update, and AKS refuses any but the present one. Pools that are not listed stay as they are
    (pulumi-azure-native 1686; without any list: AKS 2495).
    """
    if pool.autoscaled:
        return None
    profile = _profile(pool.name, pool.vm_size, pool.count)
    # What somebody set by hand; the empty ones as if nothing was said.
    if pool.taints:
        profile["node_taints"] = [*pool.taints]
    if pool.labels:
        profile["node_labels"] = {**pool.labels}
    if pool.tags:
        profile["tags"] = {**pool.tags}
    return [profile]


def _profile(
    name: str, vm_size: str, count: int
) -> "containerservice.ManagedClusterAgentPoolProfileArgsDict":
    return {
        "name": name,
        "mode": containerservice.AgentPoolMode.SYSTEM,
        "vm_size": vm_size,
        "count": count,
        "os_type": containerservice.OSType.LINUX,
    }
