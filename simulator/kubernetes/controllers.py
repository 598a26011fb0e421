"""The controllers of the simulated clusters: pods, GPUs, load balancers, releases, namespaces.

Where a real API server stands for a cluster, waiting for a release is the real Helm's.
"""

from simulator.kubernetes import (
    cloud_controller,
    extension_agent,
    pods,
    replica_sets,
    state,
    stopping,
    workloads,
)
from simulator.kubernetes.gpus import Gpus
from simulator.kubernetes.helm import Helm
from simulator.values import JsonObject, as_object
from simulator.world import ClusterState, World


class Controllers:
    """Runs after every change of the world."""

    def __init__(self, world: World, helm: Helm) -> None:
        self._world = world
        self._helm = helm
        self._gpus = Gpus(world)
        self._stopping = stopping.Stopping(world)
        cloud_controller.control(world)
        world.control(self.run)

    def run(self) -> None:
        """One round over every cluster."""
        for cluster_id, objects in list(self._world.clusters.items()):
            workloads.control(self._world, cluster_id, objects)
            pods.control(self._world, cluster_id, objects)
            self._stopping.control(cluster_id, objects)
            replica_sets.control(self._world, objects)
            self._gpus.control(cluster_id, objects)
            self._load_balancers(cluster_id, objects)
            if not objects.server_url:
                self._helm.control(cluster_id, objects)
            self._namespaces(cluster_id, objects)

    def _load_balancers(self, cluster_id: str, objects: ClusterState) -> None:
        services = {cloud_controller.key_of(item): item for item in objects.services}
        outcomes = cloud_controller.reconcile(self._world, cluster_id, list(services.values()))
        for outcome in outcomes:
            service = services[outcome.service]
            changed = state.set_finalizer(
                objects, service, cloud_controller.FINALIZER, outcome.finalizer
            )
            status: JsonObject = {"loadBalancer": {}}
            if outcome.address:
                status = {"loadBalancer": {"ingress": [{"ip": outcome.address, "ipMode": "VIP"}]}}
            if as_object(service.get("status")) != status:
                service["status"] = status
                changed = True
            for event in outcome.events:
                changed |= state.record_event(
                    objects, service, event.type, event.reason, event.message
                )
            if changed:
                self._world.touch()

    def _namespaces(self, cluster_id: str, objects: ClusterState) -> None:
        for manifest in objects.of_kind("Namespace"):
            name = state.name_of(manifest)
            if not state.is_terminating(objects, name):
                continue
            content = [
                item for item in objects.objects.values() if state.namespace_of(item) == name
            ]
            for item in content:
                if not state.metadata(item).get("deletionTimestamp") and not self._is_held(
                    cluster_id, item
                ):
                    state.remove(objects, item)
                    self._world.touch()
            left = [item for item in objects.objects.values() if state.namespace_of(item) == name]
            held = extension_agent.holds_namespace(self._world, cluster_id, name)
            if not left and not held:
                objects.objects.pop(state.key(manifest), None)
                for key in [key for key in objects.releases if key.startswith(f"{name}/")]:
                    objects.releases.pop(key)
                objects.events = [item for item in objects.events if item["namespace"] != name]
                self._world.touch()

    def _is_held(self, cluster_id: str, manifest: JsonObject) -> bool:
        """What an extension installed comes back as often as it is deleted."""
        namespace = state.namespace_of(manifest)
        return (
            extension_agent.holds_namespace(self._world, cluster_id, namespace)
            and state.name_of(manifest) == extension_agent.DAEMON_SET
        )
