"""Checks of AKS Automatic, and of clusters that make their nodes themselves."""

from collections.abc import Iterator

from contract.messages.survey import ClusterFacts
from infra.preflight.finding import Finding, Place
from infra.settings import Settings

_SYSTEM_NAMESPACE = "kube-system"


def check_automatic(settings: Settings, place: Place, cluster: ClusterFacts) -> Iterator[Finding]:
    """What such a cluster refuses, late and after the GPU nodes are paid for."""
    pool = settings.gpu_pool
    if cluster.sku.lower() == "automatic" and pool.enabled and pool.device_plugin:
        yield place.fault(
            rule="`gpuPool.devicePlugin` does not go with AKS Automatic",
            why=f"its policy aks-managed-protect-system-namespaces denies changes in "
            f"{_SYSTEM_NAMESPACE}, where the device plugin belongs, so that nodes would offer no "
            "nvidia.com/gpu.",
            fix="write gpuPool: { devicePlugin: false } and let the cluster's own managed GPU "
            "support offer them, or install the plugin into a namespace of your own that the "
            "deployment safeguards exclude; where the cluster provisions nodes itself, write "
            "gpuPool: { enabled: false } and a NodePool for GPUs",
        )
    if cluster.provisions_nodes and pool.enabled and pool.autoscaling is not None:
        yield place.fault(
            rule="`gpuPool.autoscaling` does not go with node auto-provisioning, which is on there",
            why="AKS refuses a pool with the cluster autoscaler beside it.",
            fix="write gpuPool: { count: N }, or gpuPool: { enabled: false } and a NodePool for "
            "GPUs in the cluster, which comes and goes with the work",
        )
