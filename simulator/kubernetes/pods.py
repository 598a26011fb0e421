"""The pods of workloads, as ``kubectl get pods`` shows them: running, or why they are not.

They are on no node, so that a real API server lets go of a deleted one at once. Pods that nobody
owns are left alone. Deployments own their pods themselves (:mod:`.replica_sets`).
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from simulator.kubernetes import state, workloads
from simulator.values import (
    JsonObject,
    as_integer,
    as_list,
    as_object,
    as_objects,
    as_text,
    clone_object,
    dig,
    is_list,
    is_object,
)
from simulator.world import ClusterState, World

OWNERS: Final = ("DaemonSet", "StatefulSet", "Deployment")
CRASHED: Final = "CrashLoopBackOff"
REVISIONS: Final = {
    "DaemonSet": "controller-revision-hash",
    "StatefulSet": "controller-revision-hash",
    "Deployment": "pod-template-hash",
}
"""The label that tells which template a pod was made from."""
LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Of random names in Kubernetes (k8s.io/apimachinery, ``util/rand``): they spell no words."""
_KILLED: Final = "killedPods"
STATUS: Final = frozenset({"phase", "conditions", "containerStatuses", "startTime"})
"""What of a pod's status is written here; the API server adds to it."""


@dataclass(frozen=True)
class _Pod:
    """What a pod has that its template has not."""

    name: str
    labels: JsonObject = field(default_factory=dict[str, object])
    volumes: tuple[JsonObject, ...] = ()


def control(world: World, cluster_id: str, objects: ClusterState) -> None:
    """Make the pods that the workloads want, remove the others, and keep the status of all."""
    wanted: set[str] = set()
    for kind in OWNERS:
        for owner in objects.of_kind(kind):
            if _is_ending(objects, owner):
                continue
            if objects.server_url and dig(owner, "metadata", "generation") is None:
                # The API server has yet to store it, and to give it the uid that its pods name.
                wanted.update(_present(objects, owner))
                continue
            for pod in _pods(world, cluster_id, owner):
                manifest = _manifest(owner, pod)
                wanted.add(state.key(manifest))
                _keep(world, cluster_id, objects, owner, manifest)
    for pod in objects.of_kind("Pod"):
        if owner_of(pod).get("kind") in OWNERS and state.key(pod) not in wanted:
            _remove(world, objects, pod)


def kill(world: World, pod: JsonObject) -> None:
    """Note that a pod ends without being asked to: what it would have done then is not done."""
    _killed(world).append(as_text(dig(pod, "metadata", "uid")))


def was_killed(world: World, uid: str) -> bool:
    """Whether the pod that had this uid was killed."""
    return uid in _killed(world)


def _killed(world: World) -> list[object]:
    return as_list(world.settings.setdefault(_KILLED, list[object]()))


def _is_ending(objects: ClusterState, owner: JsonObject) -> bool:
    return bool(dig(owner, "metadata", "deletionTimestamp")) or state.is_terminating(
        objects, state.namespace_of(owner)
    )


def _present(objects: ClusterState, owner: JsonObject) -> list[str]:
    """The keys of the pods that there are of a workload of this name."""
    named = (owner.get("kind"), state.name_of(owner))
    return [
        state.key(pod)
        for pod in objects.of_kind("Pod", state.namespace_of(owner))
        if (owner_of(pod).get("kind"), owner_of(pod).get("name")) == named
    ]


def _keep(
    world: World, cluster_id: str, objects: ClusterState, owner: JsonObject, manifest: JsonObject
) -> None:
    """Have this pod; one of another template, or of an earlier owner of the name, is replaced."""
    key = state.key(manifest)
    found = objects.objects.get(key)
    if found is not None and _origin(found) != _origin(manifest):
        if not owner_of(found):
            return
        _remove(world, objects, found)
        found = objects.objects.get(key)
    if found is None:
        found = state.add(objects, manifest)
        world.touch()
    elif dig(found, "metadata", "deletionTimestamp"):
        return
    shown = as_object(found.get("status"))
    status = _status(world, cluster_id, objects, owner, as_text(shown.get("startTime")))
    if not _agrees(status, {name: shown[name] for name in STATUS & shown.keys()}):
        others = {name: value for name, value in shown.items() if name not in STATUS}
        found["status"] = {**others, **status}
        world.touch()


def _remove(world: World, objects: ClusterState, pod: JsonObject) -> None:
    if not dig(pod, "metadata", "deletionTimestamp"):
        state.remove(objects, pod)
        world.touch()


def owner_of(pod: JsonObject) -> JsonObject:
    """The reference to the workload that a pod is of; empty if there is none."""
    for reference in as_objects(dig(pod, "metadata", "ownerReferences")):
        if reference.get("controller") is True:
            return reference
    return {}


def _origin(pod: JsonObject) -> tuple[object, object]:
    owner = owner_of(pod)
    label = REVISIONS.get(as_text(owner.get("kind")), "")
    return owner.get("uid"), dig(pod, "metadata", "labels", label)


# --- which pods, and what they are ---------------------------------------------------------------


def _pods(world: World, cluster_id: str, owner: JsonObject) -> list[_Pod]:
    name = state.name_of(owner)
    if owner.get("kind") == "DaemonSet":
        return [
            _Pod(daemon_pod(owner, pool.name, number))
            for pool in state.places(world, cluster_id, state.pod_spec(owner))
            for number in range(pool.nodes)
        ]
    replicas = range(as_integer(dig(owner, "spec", "replicas"), 1))
    if owner.get("kind") == "Deployment":
        return [_Pod(f"{name}-{revision(owner)}-{number}") for number in replicas]
    return [
        _Pod(
            f"{name}-{number}",
            {
                "statefulset.kubernetes.io/pod-name": f"{name}-{number}",
                "apps.kubernetes.io/pod-index": str(number),
            },
            tuple(_claimed(owner, number)),
        )
        for number in replicas
    ]


def daemon_pod(owner: JsonObject, pool: str, number: int) -> str:
    """The name of a DaemonSet's pod on a node, given by its pool and its number there."""
    return f"{state.name_of(owner)}-{_letters([state.key(owner), pool, number], 5)}"


def _claimed(owner: JsonObject, number: int) -> list[JsonObject]:
    """The volumes that a StatefulSet's claims are to its pod."""
    names = [
        as_text(dig(template, "metadata", "name"))
        for template in as_objects(dig(owner, "spec", "volumeClaimTemplates"))
    ]
    return [
        {
            "name": name,
            "persistentVolumeClaim": {"claimName": f"{name}-{state.name_of(owner)}-{number}"},
        }
        for name in names
    ]


def _manifest(owner: JsonObject, pod: _Pod) -> JsonObject:
    template = as_object(dig(owner, "spec", "template", "metadata"))
    kind = as_text(owner.get("kind"))
    metadata: JsonObject = {
        "name": pod.name,
        "namespace": state.namespace_of(owner),
        "labels": {
            **as_object(template.get("labels")),
            **pod.labels,
            REVISIONS[kind]: revision(owner),
        },
        "ownerReferences": [reference_to(owner)],
    }
    if as_object(template.get("annotations")):
        metadata["annotations"] = clone_object(as_object(template.get("annotations")))
    spec = clone_object(state.pod_spec(owner))
    if pod.volumes:
        spec["volumes"] = [*as_list(spec.get("volumes")), *pod.volumes]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def reference_to(owner: JsonObject) -> JsonObject:
    """How an object names the workload that controls it."""
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": state.name_of(owner),
        "uid": dig(owner, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def revision(owner: JsonObject) -> str:
    """What tells the pods of one template from those of another."""
    return _letters(dig(owner, "spec", "template"), 10)


def _letters(value: object, count: int) -> str:
    """A name that follows from ``value``."""
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:count])


# --- how they are --------------------------------------------------------------------------------


def _status(
    world: World, cluster_id: str, objects: ClusterState, owner: JsonObject, started: str
) -> JsonObject:
    """Running and ready, or pending with the reason; ``started`` is since when, if that is set."""
    alone = owner.get("kind") != "DaemonSet"
    reason = workloads.unschedulable(world, cluster_id, objects, owner) if alone else ""
    if reason:
        unscheduled = _condition("PodScheduled", "Unschedulable", reason)
        return {"phase": "Pending", "conditions": [unscheduled]}
    started = started or state.now()
    reason = workloads.crash(world, cluster_id, objects, owner) if alone else ""
    container: JsonObject = {"running": {"startedAt": started}}
    if reason:
        word, _, message = reason.partition(": ")
        if word == CRASHED:
            # Why is in its log alone.
            message = "back-off 5m0s restarting failed container"
        container = {"waiting": {"reason": word, "message": message}}
    not_ready = "ContainersNotReady" if reason else ""
    return {
        "phase": "Pending" if reason else "Running",
        "conditions": [
            _condition("PodScheduled"),
            _condition("Initialized"),
            _condition("ContainersReady", not_ready, reason),
            _condition("Ready", not_ready, reason),
        ],
        "startTime": started,
        "containerStatuses": [
            {
                "name": item.get("name"),
                "image": item.get("image"),
                "imageID": "",
                "ready": not reason,
                "restartCount": 0,
                "state": container,
            }
            for item in as_objects(state.pod_spec(owner).get("containers"))
        ],
    }


def _condition(name: str, reason: str = "", message: str = "") -> JsonObject:
    """A condition that is met, or for a ``reason`` is not."""
    if not reason:
        return {"type": name, "status": "True"}
    return {"type": name, "status": "False", "reason": reason, "message": message}


def _agrees(wanted: object, found: object, *, whole: bool = True) -> bool:
    """Whether ``found`` says what is ``wanted``; below the top the API server may add to it."""
    if is_object(wanted) and is_object(found):
        return (not whole or wanted.keys() == found.keys()) and all(
            _agrees(value, found.get(name), whole=False) for name, value in wanted.items()
        )
    if is_list(wanted) and is_list(found):
        return len(wanted) == len(found) and all(
            _agrees(*pair, whole=False) for pair in zip(wanted, found, strict=True)
        )
    return wanted == found
