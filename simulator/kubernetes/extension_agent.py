"""The agent that carries out cluster extensions: installs and removes Inspektor Gadget.

As for real, it is Helm underneath: what is in its way in the cluster fails the installation with
Helm's words.
"""

from typing import Final

from simulator.kubernetes import state
from simulator.values import JsonObject, as_text, dig, text_map
from simulator.world import Resource, World

NAMESPACE: Final = "gadget"
DAEMON_SET: Final = "gadget"
TRAINS: Final = {"preview": "0.54.1", "stable": "0.53.0"}
"""The version that each release train installs."""
PINNABLE: Final = ("0.49.0", "0.50.1", "0.51.0", "0.52.0", "0.53.0", "0.54.0", "0.54.1", "0.55.0")
OWNED: Final = "meta.helm.sh/release-name"


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
    namespace = namespace_for(extension)
    if state.is_terminating(objects, namespace):
        return (
            f'release: create: failed to create: secrets "sh.helm.release.v1.{extension.name}.v1" '
            f"is forbidden: unable to create new content in namespace {namespace} because it is "
            "being terminated"
        )
    present = state.find(objects, "DaemonSet", namespace, DAEMON_SET)
    if present is not None and _owner(present) != extension.name:
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
    if state.find(objects, "Namespace", "", namespace) is None:
        state.add(objects, state.namespace_manifest(namespace))
    state.add(objects, _daemon_set(extension.name, namespace, version_for(extension)))
    if monitored:
        state.add(objects, _pod_monitor(extension.name, namespace))
    return ""


def uninstall(world: World, extension: Resource) -> str:
    """Remove what was installed (the namespace stays); empty if it worked, else the reason."""
    objects = world.clusters.get(cluster_id(extension))
    if objects is None:
        return ""
    namespace = namespace_for(extension)
    if state.is_terminating(objects, namespace):
        return (
            f"uninstallation did not complete: namespace {namespace} is being terminated and still "
            "holds the extension"
        )
    for manifest in list(objects.objects.values()):
        if state.namespace_of(manifest) == namespace and _owner(manifest) == extension.name:
            state.remove(objects, manifest)
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
            "annotations": {OWNED: release, "meta.helm.sh/release-namespace": namespace},
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
            "annotations": {OWNED: release, "meta.helm.sh/release-namespace": namespace},
        },
        "spec": {
            "selector": {"matchLabels": {"k8s-app": "gadget"}},
            "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    }
