"""The objects of a cluster: adding, finding, deleting with finalizers, and what nodes take pods."""

import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from simulator.arm.compute import size_of
from simulator.values import (
    JsonObject,
    as_integer,
    as_object,
    as_objects,
    as_text,
    dig,
    text_map,
    texts,
)
from simulator.world import ClusterState, World

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
POOLS = "Microsoft.ContainerService/managedClusters/agentPools"


def new_cluster() -> ClusterState:
    """What the API server of a new cluster holds."""
    state = ClusterState()
    for name in SYSTEM_NAMESPACES:
        add(state, namespace_manifest(name))
    return state


def namespace_manifest(name: str) -> JsonObject:
    """A Namespace of this name."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def metadata(manifest: JsonObject) -> JsonObject:
    """The manifest's ``metadata``, made if missing."""
    found = as_object(manifest.get("metadata"))
    manifest["metadata"] = found
    return found


def name_of(manifest: JsonObject) -> str:
    """``metadata.name``."""
    return as_text(metadata(manifest).get("name"))


def namespace_of(manifest: JsonObject) -> str:
    """``metadata.namespace``; empty for what has none."""
    return as_text(metadata(manifest).get("namespace"))


def key(manifest: JsonObject) -> str:
    """The key of a manifest in ``ClusterState.objects``."""
    return "/".join(
        (
            as_text(manifest.get("apiVersion")),
            as_text(manifest.get("kind")),
            namespace_of(manifest),
            name_of(manifest),
        )
    )


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find(state: ClusterState, kind: str, namespace: str, name: str) -> JsonObject | None:
    """The object of this kind and name."""
    for manifest in state.of_kind(kind, namespace):
        if name_of(manifest) == name:
            return manifest
    return None


def add(state: ClusterState, manifest: JsonObject) -> JsonObject:
    """Add or replace an object; what the API server computes is added to it."""
    old = state.objects.get(key(manifest))
    described = metadata(manifest)
    before = metadata(old) if old else {}
    described["uid"] = before.get("uid") or str(uuid.uuid4())
    described["creationTimestamp"] = before.get("creationTimestamp") or now()
    described["resourceVersion"] = str(
        as_integer(int(as_text(before.get("resourceVersion"), "0"))) + 1
    )
    if before.get("finalizers") and "finalizers" not in described:
        described["finalizers"] = before["finalizers"]
    if before.get("deletionTimestamp"):
        described["deletionTimestamp"] = before["deletionTimestamp"]
    if old and "status" in old and "status" not in manifest:
        manifest["status"] = old["status"]
    if manifest.get("kind") == "Namespace":
        manifest.setdefault("status", {"phase": "Active"})
    state.objects[key(manifest)] = manifest
    return manifest


def remove(state: ClusterState, manifest: JsonObject) -> None:
    """Delete an object; with finalizers it is only marked."""
    if texts(metadata(manifest).get("finalizers")):
        metadata(manifest).setdefault("deletionTimestamp", now())
        return
    state.objects.pop(key(manifest), None)


def set_finalizer(state: ClusterState, manifest: JsonObject, finalizer: str, wanted: bool) -> bool:
    """Add or take off a finalizer; an object that was waiting for it goes. Whether it changed."""
    held = texts(metadata(manifest).get("finalizers"))
    if wanted == (finalizer in held):
        return False
    if wanted:
        metadata(manifest)["finalizers"] = [*held, finalizer]
        return True
    left = [item for item in held if item != finalizer]
    metadata(manifest)["finalizers"] = left
    if not left and metadata(manifest).get("deletionTimestamp"):
        state.objects.pop(key(manifest), None)
    return True


def is_terminating(state: ClusterState, namespace: str) -> bool:
    """Whether the namespace is being deleted."""
    found = find(state, "Namespace", "", namespace)
    return found is not None and bool(metadata(found).get("deletionTimestamp"))


def record_event(
    state: ClusterState, about: JsonObject, kind: str, reason: str, message: str
) -> bool:
    """Add an event about an object, or count it again; whether it is new."""
    for event in state.events:
        if (event.get("about"), event.get("reason"), event.get("message")) == (
            key(about),
            reason,
            message,
        ):
            return False
    state.events.append(
        {
            "about": key(about),
            "namespace": namespace_of(about) or "default",
            "type": kind,
            "reason": reason,
            "message": message,
            "time": now(),
        }
    )
    return True


@dataclass(frozen=True)
class Pool:
    """A node pool as the scheduler sees it."""

    name: str
    nodes: int
    """How many there are, or may be with the autoscaler."""
    taints: tuple[str, ...]
    labels: dict[str, str]
    gpus: int
    """Devices on a node, if a driver is installed."""
    scale_set: str
    """What the names of its nodes begin with."""

    @property
    def node_names(self) -> list[str]:
        """The names of its nodes, as AKS forms them of the scale set's name and a number."""
        return [f"{self.scale_set}{number:06}" for number in range(self.nodes)]


def pools(world: World, cluster_id: str) -> list[Pool]:
    """The Linux node pools of a cluster."""
    found: list[Pool] = []
    for resource in world.of_type(POOLS):
        properties = resource.properties
        if not resource.key.startswith(cluster_id.lower() + "/agentpools/"):
            continue
        if properties.get("osType") == "Windows" or resource.state != "Succeeded":
            continue
        size = size_of(as_text(properties.get("vmSize")))
        driver = as_text(dig(properties, "gpuProfile", "driver"), "Install")
        number = zlib.crc32(cluster_id.lower().encode()) % 10**8
        nodes = max(as_integer(properties.get("count")), as_integer(properties.get("maxCount")))
        labels = {
            **text_map(properties.get("nodeLabels")),
            "agentpool": resource.name,
            "kubernetes.azure.com/agentpool": resource.name,
            "kubernetes.azure.com/mode": as_text(properties.get("mode")).lower(),
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": as_text(properties.get("vmSize")),
        }
        if size is not None and size.gpus:
            labels["kubernetes.azure.com/accelerator"] = "nvidia"
            labels["accelerator"] = "nvidia"
        found.append(
            Pool(
                name=resource.name,
                nodes=nodes,
                taints=tuple(texts(properties.get("nodeTaints"))),
                labels=labels,
                gpus=size.gpus if size is not None and driver == "Install" else 0,
                scale_set=f"aks-{resource.name}-{number:08}-vmss",
            )
        )
    return found


def places(world: World, cluster_id: str, pod: JsonObject) -> list[Pool]:
    """The pools whose nodes take a pod of this spec."""
    tolerations = as_objects(pod.get("tolerations"))
    selector = text_map(pod.get("nodeSelector"))
    return [
        pool
        for pool in pools(world, cluster_id)
        if pool.nodes > 0
        and all(_tolerates(tolerations, taint) for taint in pool.taints)
        and all(pool.labels.get(name) == value for name, value in selector.items())
    ]


def _tolerates(tolerations: list[JsonObject], taint: str) -> bool:
    name, _, effect = taint.rpartition(":")
    if effect == "PreferNoSchedule":
        return True
    taint_key, _, value = name.partition("=")
    for toleration in tolerations:
        if as_text(toleration.get("effect")) not in ("", effect):
            continue
        if toleration.get("operator") == "Exists":
            if as_text(toleration.get("key")) in ("", taint_key):
                return True
        elif (toleration.get("key"), as_text(toleration.get("value"))) == (taint_key, value):
            return True
    return False


def pod_spec(workload: JsonObject) -> JsonObject:
    """The pod spec in a DaemonSet, StatefulSet or Deployment."""
    return as_object(dig(workload, "spec", "template", "spec"))
