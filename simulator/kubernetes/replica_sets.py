"""The ReplicaSets of Deployments, where a real API server stands for a cluster.

Nothing here works with them, as a Deployment owns its pods itself. But Helm, which waits for a
Deployment, asks for its newest ReplicaSet and for how many of its pods are ready
(``pkg/kube/ready.go``), so that without one it would wait until its time is over.
"""

from simulator.kubernetes import pods, state
from simulator.values import JsonObject, as_integer, as_object, clone_object, dig
from simulator.world import ClusterState, World

REVISION = "deployment.kubernetes.io/revision"
"""By which Pulumi's provider, which waits for a Deployment of the program's, finds its newest."""
HASH = pods.REVISIONS["Deployment"]


def control(world: World, objects: ClusterState) -> None:
    """Have the one that each Deployment wants, ready as far as its pods are."""
    if not objects.server_url:
        return
    wanted: set[str] = set()
    for deployment in objects.of_kind("Deployment"):
        if dig(deployment, "metadata", "deletionTimestamp"):
            continue
        if dig(deployment, "metadata", "generation") is None:
            continue  # the API server has yet to store it
        annotations = state.metadata(deployment).setdefault("annotations", dict[str, object]())
        if as_object(annotations).get(REVISION) is None:
            as_object(annotations)[REVISION] = "1"
            world.touch()
        manifest = _manifest(deployment)
        wanted.add(state.key(manifest))
        _keep(world, objects, manifest, deployment)
    for one in objects.of_kind("ReplicaSet"):
        gone = dig(one, "metadata", "deletionTimestamp")
        if state.key(one) not in wanted and not gone:
            state.remove(objects, one)
            world.touch()


def _keep(
    world: World, objects: ClusterState, manifest: JsonObject, deployment: JsonObject
) -> None:
    found = objects.objects.get(state.key(manifest))
    if found is None:
        state.add(objects, manifest)
        world.touch()
        return
    replicas = dig(manifest, "spec", "replicas")
    if dig(found, "spec", "replicas") != replicas:
        as_object(found["spec"])["replicas"] = replicas
        world.touch()
    generation = dig(found, "metadata", "generation")
    ready = as_integer(dig(deployment, "status", "readyReplicas"))
    counts = dict.fromkeys(("readyReplicas", "availableReplicas"), ready) if ready else {}
    status: JsonObject = {"replicas": replicas, **counts}
    if generation is not None:
        status["observedGeneration"] = generation
    if found.get("status") != status:
        found["status"] = status
        world.touch()


def _manifest(deployment: JsonObject) -> JsonObject:
    number = pods.revision(deployment)
    template = clone_object(as_object(dig(deployment, "spec", "template")))
    metadata = as_object(template.get("metadata"))
    labels = {**as_object(metadata.get("labels")), HASH: number}
    template["metadata"] = {**metadata, "labels": labels}
    selected = as_object(dig(deployment, "spec", "selector", "matchLabels"))
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{state.name_of(deployment)}-{number}",
            "namespace": state.namespace_of(deployment),
            "labels": labels,
            "annotations": {REVISION: "1"},
            "ownerReferences": [pods.reference_to(deployment)],
        },
        "spec": {
            "replicas": as_integer(dig(deployment, "spec", "replicas"), 1),
            "selector": {"matchLabels": {**selected, HASH: number}},
            "template": template,
        },
    }
