"""The agent that carries out cluster extensions: installs and removes Inspektor Gadget.

As for real, it is Helm underneath: what is in its way in the cluster fails the installation with
Helm's words (helm: pkg/action/validate.go), and what its chart carries goes with it, whatever
``helm.sh/resource-policy`` a live object has (pkg/action/uninstall.go).

Nothing public says whether the extension's chart carries its namespace (the agent's own chart,
charts/gadget, does not), nor what its release is called (one extension's was called like the
extension: AML-Kubernetes 162). The world's setting ``extensionChart`` says both.
"""

from typing import Final

from simulator.kubernetes import admission, helm_records, state
from simulator.values import JsonObject, as_integer, as_object, as_text, bury, dig, text_map
from simulator.world import ClusterState, Resource, World

NAMESPACE: Final = "gadget"
DAEMON_SET: Final = "gadget"
TRAINS: Final = {"preview": "0.54.1", "stable": "0.53.0"}
"""The version that each release train installs."""
PINNABLE: Final = ("0.49.0", "0.50.1", "0.51.0", "0.52.0", "0.53.0", "0.54.0", "0.54.1", "0.55.0")
OWNED: Final = "meta.helm.sh/release-name"
OWNED_IN: Final = "meta.helm.sh/release-namespace"
MANAGED: Final = "app.kubernetes.io/managed-by"
HAS_NAMESPACE: Final = "hasNamespace"
"""Of an extension: its release holds the namespace."""


def version_for(extension: Resource) -> str:
    """The version that an extension installs: pinned, or its release train's; empty if none."""
    properties = extension.properties
    if properties.get("autoUpgradeMinorVersion") is False and properties.get("version"):
        wanted = as_text(properties.get("version"))
        return wanted if wanted in PINNABLE else ""
    return TRAINS.get(as_text(properties.get("releaseTrain"), "Stable").lower(), "")


def namespace_for(extension: Resource) -> str:
    """The namespace that an extension's Helm release lives in."""
    return as_text(dig(extension.properties, "scope", "cluster", "releaseNamespace"), NAMESPACE)


def release_of(world: World, extension: Resource) -> str:
    """The name of an extension's Helm release."""
    return as_text(_chart(world).get("release")) or extension.name


def _chart(world: World) -> JsonObject:
    """``{"namespace": whether the chart carries it, "release": name of the release}``."""
    return as_object(world.settings.get("extensionChart"))


def cluster_id(extension: Resource) -> str:
    """The cluster (lower case) that an extension belongs to."""
    return extension.key.split("/providers/microsoft.kubernetesconfiguration/")[0]


def install(world: World, extension: Resource) -> str:
    """Install or upgrade; empty if it worked, else Helm's reason."""
    cluster = world.get(cluster_id(extension))
    objects = world.clusters.get(cluster_id(extension))
    if cluster is None or objects is None:
        return "the cluster cannot be reached"
    if not cluster.body.get("identity"):
        return "the extension agent needs a cluster with a managed identity"
    namespace, release = namespace_for(extension), release_of(world, extension)
    if state.is_terminating(objects, namespace):
        return (
            f'release: create: failed to create: secrets "sh.helm.release.v1.{release}.v1" '
            f"is forbidden: unable to create new content in namespace {namespace} because it is "
            "being terminated"
        )
    before = _newest_record(objects, namespace, release)
    if before is not None and before.get("status") != "deployed":
        return "cannot re-use a name that is still in use"
    present = state.find(objects, "DaemonSet", namespace, DAEMON_SET)
    if present is not None and _owner(present) != release:
        return (
            f'Unable to continue with install: DaemonSet "{DAEMON_SET}" in namespace "{namespace}" '
            "exists and cannot be imported into the current release: invalid ownership metadata"
        )
    settings = text_map(extension.properties.get("configurationSettings"))
    monitored = settings.get("azureMonitor.enabled", "false").lower() == "true"
    if (
        monitored
        and dig(cluster.properties, "azureMonitorProfile", "metrics", "enabled") is not True
    ):
        return (
            "unable to build kubernetes objects from release manifest: resource mapping not found "
            f'for name: "gadget" namespace: "{namespace}" from "": no matches for kind '
            '"PodMonitor" in version "azmonitoring.coreos.com/v1" ensure CRDs are installed first'
        )
    if admission.denies_privileged_pods(objects, namespace):
        return "context deadline exceeded"
    if _chart(world).get("namespace") is True:
        if objects.server_url:
            return "the simulator has no chart with a namespace for a real API server"
        reason = _take_namespace(objects, namespace, release)
        if reason:
            return reason
        extension.hidden[HAS_NAMESPACE] = True
    elif state.find(objects, "Namespace", "", namespace) is None:
        state.add(objects, state.namespace_manifest(namespace))
    daemon_set = _daemon_set(release, namespace, version_for(extension))
    if present is not None:
        # Helm merges: what others wrote there stays.
        for path in (("metadata",), ("spec", "template", "metadata")):
            own = as_object(dig(daemon_set, *path, "annotations") or {})
            added = as_object(dig(present, *path, "annotations") or {})
            if added or own:  # an API server keeps no empty map
                bury(daemon_set, {**added, **own}, *path, "annotations")
    state.add(objects, daemon_set)
    if monitored:
        state.add(objects, _pod_monitor(release, namespace))
    _record(objects, namespace, release, before)
    return ""


def _newest_record(objects: ClusterState, namespace: str, release: str) -> JsonObject | None:
    """What Helm keeps of the newest revision; None where it knows no release of that name."""
    return helm_records.newest(objects, {"name": release, "namespace": namespace})


def _record(objects: ClusterState, namespace: str, release: str, before: JsonObject | None) -> None:
    """Keep a record of a new revision, as Helm does; on a real API server there is none to play."""
    if objects.server_url:
        return
    revision = as_integer(before.get("revision")) + 1 if before is not None else 1
    new: JsonObject = {"name": release, "namespace": namespace, "revision": revision}
    new |= {"chart": "gadget", "status": "deployed"}
    helm_records.begin(objects, new)
    helm_records.settle(objects, new)


def _take_namespace(objects: ClusterState, namespace: str, release: str) -> str:
    """Make the chart's namespace, or take over one that is marked for the release; why not."""
    present = state.find(objects, "Namespace", "", namespace)
    if present is None:
        present = state.add(objects, state.namespace_manifest(namespace))
        metadata = state.metadata(present)
        metadata["labels"] = {MANAGED: "Helm"}
        metadata["annotations"] = {OWNED: release, OWNED_IN: namespace}
        return ""
    faults = [
        *_unlike(present, "label", "labels", MANAGED, "Helm"),
        *_unlike(present, "annotation", "annotations", OWNED, release),
        *_unlike(present, "annotation", "annotations", OWNED_IN, namespace),
    ]
    if not faults:
        return ""
    return (
        f'Unable to continue with install: Namespace "{namespace}" in namespace "" exists and '
        "cannot be imported into the current release: invalid ownership metadata; "
        + "; ".join(faults)
    )


def _unlike(manifest: JsonObject, word: str, holder: str, key: str, wanted: str) -> list[str]:
    """Helm's words for a label or annotation that is not as ``wanted``."""
    found = dig(manifest, "metadata", holder, key)
    if found == wanted:
        return []
    if found is None:
        return [f'{word} validation error: missing key "{key}": must be set to "{wanted}"']
    return [
        f'{word} validation error: key "{key}" must equal "{wanted}": current value is "{found}"'
    ]


def uninstall(world: World, extension: Resource) -> str:
    """Remove what was installed; empty if it worked, else the reason.

    The namespace stays, unless the chart carried it.
    """
    objects = world.clusters.get(cluster_id(extension))
    if objects is None:
        return ""
    namespace = namespace_for(extension)
    if state.is_terminating(objects, namespace):
        return (
            f"uninstallation did not complete: namespace {namespace} is being terminated and still "
            "holds the extension"
        )
    release = release_of(world, extension)
    for manifest in list(objects.objects.values()):
        if state.namespace_of(manifest) == namespace and _owner(manifest) == release:
            state.remove(objects, manifest)
    held = state.find(objects, "Namespace", "", namespace)
    if extension.hidden.get(HAS_NAMESPACE) is True and held is not None:
        if admission.denial(objects, namespace) is not None:
            kept = _newest_record(objects, namespace, release)
            if kept is not None:
                helm_records.settle(objects, {**kept, "status": "uninstalling"})
            # Helm logs why, and says no more than this.
            return f"failed to delete release: {release}"
        state.metadata(held).setdefault("deletionTimestamp", state.now())
        held["status"] = {"phase": "Terminating"}
    helm_records.remove(objects, {"name": release, "namespace": namespace})
    return ""


def holds_namespace(world: World, cluster: str, namespace: str) -> bool:
    """Whether an extension keeps a namespace from being finished."""
    return any(
        cluster_id(item) == cluster and namespace_for(item) == namespace
        for item in world.of_type("Microsoft.KubernetesConfiguration/extensions")
    )


def _owner(manifest: JsonObject) -> str:
    return as_text(dig(manifest, "metadata", "annotations", OWNED))


def _daemon_set(release: str, namespace: str, version: str) -> JsonObject:
    labels = {"k8s-app": "gadget"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": DAEMON_SET,
            "namespace": namespace,
            "labels": labels,
            "annotations": {OWNED: release, OWNED_IN: namespace},
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [
                        {
                            "name": "gadget",
                            "image": f"mcr.microsoft.com/oss/v2/inspektor-gadget:v{version}",
                            "ports": [{"name": "metrics", "containerPort": 2224}],
                        }
                    ],
                },
            },
        },
    }


def _pod_monitor(release: str, namespace: str) -> JsonObject:
    return {
        "apiVersion": "azmonitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {
            "name": "gadget",
            "namespace": namespace,
            "annotations": {OWNED: release, OWNED_IN: namespace},
        },
        "spec": {
            "selector": {"matchLabels": {"k8s-app": "gadget"}},
            "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    }
