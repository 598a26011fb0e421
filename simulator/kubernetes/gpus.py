"""The GPUs that nodes offer to pods as ``nvidia.com/gpu``.

A node reports them once its driver is installed, which is part of making it, and NVIDIA's device
plugin runs on it and has registered with the kubelet (kubernetes.io, "Device Plugins"). Without the
plugin they go again.
"""

from typing import Final

from simulator.kubernetes import state
from simulator.values import as_objects, as_text
from simulator.world import ClusterState, Operation, World

HANDLER: Final = "device-plugin"
REGISTER_SECONDS: Final = 40
"""From the DaemonSet, or the node, until the kubelet reports the GPUs: pulling the image, starting,
registering."""
IMAGE: Final = "k8s-device-plugin"


class Gpus:
    """The device plugins of every cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.register(HANDLER, self._finish)

    def control(self, cluster_id: str, objects: ClusterState) -> None:
        """Have the plugin register where it runs, and forget it where it does not."""
        running = _running(self._world, cluster_id, objects)
        for pool in set(objects.gpu_pools) - running:
            objects.gpu_pools.remove(pool)
            self._world.touch()
        for operation in list(self._world.operations.values()):
            cluster, _, pool = operation.target.partition("|")
            mine = operation.running and operation.handler == HANDLER and cluster == cluster_id
            if mine and pool not in running:
                self._world.cancel(operation)
        for pool in sorted(running - set(objects.gpu_pools)):
            target = f"{cluster_id}|{pool}"
            if self._world.running(target) is None:
                self._world.start(HANDLER, "register", target, REGISTER_SECONDS)

    def _finish(self, operation: Operation) -> None:
        cluster_id, _, pool = operation.target.partition("|")
        objects = self._world.clusters.get(cluster_id)
        if objects is not None and pool not in objects.gpu_pools:
            objects.gpu_pools.append(pool)


def missing(world: World, cluster_id: str, objects: ClusterState) -> str:
    """Why no node offers a GPU; empty if one does."""
    running = _running(world, cluster_id, objects)
    if running & set(objects.gpu_pools):
        return ""
    if not any(pool.gpus and pool.nodes for pool in state.pools(world, cluster_id)):
        return "the cluster has no node pool with GPUs and their driver"
    if running:
        return "the device plugin has yet to register, so the GPU nodes offer no nvidia.com/gpu"
    return "no device plugin runs on the GPU nodes, so they offer no nvidia.com/gpu"


def _running(world: World, cluster_id: str, objects: ClusterState) -> set[str]:
    """The pools with GPUs on which a device plugin runs."""
    pools = {pool.name for pool in state.pools(world, cluster_id) if pool.gpus and pool.nodes}
    found: set[str] = set()
    for workload in objects.of_kind("DaemonSet") if pools else ():
        pod = state.pod_spec(workload)
        if any(IMAGE in as_text(one.get("image")) for one in as_objects(pod.get("containers"))):
            found |= {pool.name for pool in state.places(world, cluster_id, pod)}
    return found & pools
