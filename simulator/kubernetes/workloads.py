"""Which pods run: DaemonSets on the nodes that take them, StatefulSets where nothing is against.

The pods themselves are in :mod:`simulator.kubernetes.pods`.
"""

from itertools import product
from typing import Final

from simulator.kubernetes import forwarder, pyroscope_server, state
from simulator.values import (
    JsonObject,
    as_integer,
    as_object,
    as_objects,
    as_text,
    clone_object,
    dig,
)
from simulator.world import ClusterState, World

STORAGE_CLASSES: Final = frozenset(
    {
        "default",
        "managed",
        "managed-premium",
        "managed-csi",
        "managed-csi-premium",
        "azurefile",
        "azurefile-csi",
        "azurefile-premium",
        "azurefile-csi-premium",
    }
)


def obstacle(world: World, cluster_id: str, objects: ClusterState, workload: JsonObject) -> str:
    """Why the pods of a StatefulSet or Deployment are not ready; empty if they are."""
    pod = f"pod {state.namespace_of(workload)}/{state.name_of(workload)}-0"
    reason = unschedulable(world, cluster_id, objects, workload)
    if reason:
        return f"{pod} is Pending: {reason}"
    reason = crash(world, cluster_id, objects, workload)
    return f"{pod}: {reason}" if reason else ""


def unschedulable(
    world: World, cluster_id: str, objects: ClusterState, workload: JsonObject
) -> str:
    """Why no node takes the pods of a StatefulSet or Deployment; empty if one does."""
    for volume in as_objects(state.pod_spec(workload).get("volumes")):
        claim = as_text(dig(volume, "persistentVolumeClaim", "claimName"))
        namespace = state.namespace_of(workload)
        if claim and state.find(objects, "PersistentVolumeClaim", namespace, claim) is None:
            return f'persistentvolumeclaim "{claim}" not found'
    if not state.places(world, cluster_id, state.pod_spec(workload)):
        return "0 nodes are available: untolerated taints or node selectors of every node pool"
    for claim in as_objects(dig(workload, "spec", "volumeClaimTemplates")):
        wanted = as_text(dig(claim, "spec", "storageClassName"), "default")
        if wanted not in STORAGE_CLASSES:
            return f'storageclass.storage.k8s.io "{wanted}" not found'
    return ""


def crash(world: World, cluster_id: str, objects: ClusterState, workload: JsonObject) -> str:
    """Why the containers of a scheduled pod do not run, as `<reason>: <message>`, or empty."""
    if pyroscope_server.is_pyroscope(workload):
        return pyroscope_server.crash(world, cluster_id, objects, workload)
    missing = forwarder.missing(objects, workload)
    return f"CreateContainerConfigError: {missing}" if missing else ""


def daemon_pods(world: World, cluster_id: str, workload: JsonObject) -> int:
    """How many pods a DaemonSet has."""
    return sum(pool.nodes for pool in state.places(world, cluster_id, state.pod_spec(workload)))


def control(world: World, cluster_id: str, objects: ClusterState) -> None:
    """Keep the status of workloads, and the claims of StatefulSets, in line with the nodes."""
    for workload in objects.of_kind("DaemonSet"):
        count = daemon_pods(world, cluster_id, workload)
        _set_status(
            world,
            workload,
            {
                **_observed(workload),
                "desiredNumberScheduled": count,
                "currentNumberScheduled": count,
                "updatedNumberScheduled": count,
                "numberReady": count,
                "numberAvailable": count,
                "numberMisscheduled": 0,
            },
        )
    for kind in ("StatefulSet", "Deployment"):
        for workload in objects.of_kind(kind):
            wanted = as_integer(dig(workload, "spec", "replicas"), 1)
            ready = 0 if obstacle(world, cluster_id, objects, workload) else wanted
            status: JsonObject = {
                **_observed(workload),
                "replicas": wanted,
                "updatedReplicas": wanted,
                "readyReplicas": ready,
                "availableReplicas": ready,
            }
            if kind == "Deployment" and objects.server_url and ready:
                status["conditions"] = _available(workload)
            _set_status(world, workload, status)
            if ready:
                _claim(world, objects, workload)


def _available(workload: JsonObject) -> list[JsonObject]:
    """The conditions that Pulumi's provider waits for (its ``await/deployment.go``)."""
    since = dig(workload, "metadata", "creationTimestamp")
    reasons = {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    return [
        {
            "type": kind,
            "status": "True",
            "reason": reason,
            "lastUpdateTime": since,
            "lastTransitionTime": since,
        }
        for kind, reason in reasons.items()
    ]


def _observed(workload: JsonObject) -> JsonObject:
    """Which of its changes the controller has seen, for those who wait for the newest."""
    generation = dig(workload, "metadata", "generation")
    return {} if generation is None else {"observedGeneration": generation}


def _set_status(world: World, workload: JsonObject, status: JsonObject) -> None:
    if workload.get("status") != status:
        workload["status"] = status
        world.touch()


def _claim(world: World, objects: ClusterState, workload: JsonObject) -> None:
    """A StatefulSet's volumes are claimed by pod, and outlive it."""
    namespace = state.namespace_of(workload)
    replicas = range(as_integer(dig(workload, "spec", "replicas"), 1))
    templates = as_objects(dig(workload, "spec", "volumeClaimTemplates"))
    for template, number in product(templates, replicas):
        name = f"{as_text(dig(template, 'metadata', 'name'))}-{state.name_of(workload)}-{number}"
        if state.find(objects, "PersistentVolumeClaim", namespace, name) is None:
            manifest: JsonObject = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": namespace},
                "spec": clone_object(as_object(template.get("spec"))),
                "status": {"phase": "Bound"},
            }
            state.add(objects, manifest)
            world.touch()
