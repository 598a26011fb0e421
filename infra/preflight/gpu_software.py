"""Who offers the GPUs of the nodes to pods: this stack's device plugin, or somebody else's.

Two device plugins on one node both register ``nvidia.com/gpu`` and take GPUs from each other
(k8s-device-plugin 255). And who keeps the agent's privileged pods out: Azure Policy.
"""

from collections.abc import Container, Iterator

from contract.agent import NAMESPACE
from contract.choices import DEVICE_PLUGIN_NAMESPACE, device_plugin_name
from contract.messages.survey import DevicePluginFacts, Presence, Survey, SurveyRequest
from infra.deployed import Own
from infra.faults import Fault
from infra.preflight.finding import Finding, Place
from infra.preflight.tolerations import tolerates
from infra.settings import GpuPoolSettings, Settings

_POOL_LABELS = ("agentpool", "kubernetes.azure.com/agentpool")
"""AKS puts a pool's name under these labels on its nodes."""
_ON_EVERY_GPU_NODE = {
    "kubernetes.io/os": "linux",
    "accelerator": "nvidia",
    "kubernetes.azure.com/accelerator": "nvidia",
}
"""Labels of every GPU node of AKS."""


def check_gpu_software(
    settings: Settings, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> Iterator[Finding]:
    """What is in the cluster already that offers GPUs, or refuses the agent."""
    inside = survey.inside
    cluster = Place("gpuobs:cluster.existing", "cluster", request.cluster_id or "")
    if inside.policies and Own.EXTENSION not in deployed:
        yield cluster.fault(
            rule=f"Azure Policy denies the agent's privileged pods in namespace {NAMESPACE} there, "
            f"by {', '.join(inside.policies)}",
            why="the extension's install would wait for pods that are never made, and fail.",
            fix=f"add {NAMESPACE} to the parameter `excludedNamespaces` of these policies' "
            "assignments (Azure portal: Policy, Assignments; it takes some 15 minutes to count)",
        )
    pool = settings.gpu_pool
    if not pool.enabled:
        return
    managed = [found.name for found in survey.cluster.pools if found.managed_gpu]
    if managed and Own.GPU_POOL not in deployed:
        yield (
            f"AKS itself manages the GPUs of pool {', '.join(managed)} in cluster {cluster.name}. "
            "To measure there, and make no GPU pool: gpuobs:gpuPool: { enabled: false }"
        )
    if not pool.device_plugin or inside.presence is not Presence.FOUND:
        return
    path = f"gpuobs:gpuPool.devicePlugin (cluster {cluster.name})"
    why = "two device plugins on one node take GPUs from each other."
    if inside.gpu_operator:
        yield Fault(
            path=path,
            rule="must be false: NVIDIA's GPU Operator is installed, and brings a device plugin",
            why=why,
            fix="write gpuobs:gpuPool: { devicePlugin: false }, and `driver: None` where the "
            "operator installs the driver as well",
        )
        return
    own = f"{DEVICE_PLUGIN_NAMESPACE}/{device_plugin_name(pool.name)}"
    for plugin in inside.device_plugins:
        if plugin.name == own or not _runs_on(pool, plugin):
            continue
        if plugin.has_affinity:
            yield (
                f"The DaemonSet {plugin.name} offers GPUs as well; where its affinity lets it run "
                f"on pool {pool.name}, {why} Without this stack's: gpuobs:gpuPool: "
                "{ devicePlugin: false }"
            )
        else:
            yield Fault(
                path=path,
                rule=f"must be false: the DaemonSet {plugin.name} will run on pool {pool.name} too",
                why=why,
                fix="write gpuobs:gpuPool: { devicePlugin: false }, or delete the other DaemonSet",
            )


def _runs_on(pool: GpuPoolSettings, plugin: DevicePluginFacts) -> bool:
    """Whether the nodes of ``pool`` have the labels it wants, and it tolerates their taints."""
    labels = {
        **_ON_EVERY_GPU_NODE,
        **dict.fromkeys(_POOL_LABELS, pool.name),
        **pool.labels,
        "node.kubernetes.io/instance-type": pool.vm_size,
    }
    wanted = plugin.node_selector.items()
    return wanted <= labels.items() and all(
        tolerates(plugin.tolerations, taint) for taint in pool.taints
    )
