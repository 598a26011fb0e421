"""The kinds of objects that a simulated cluster and its API server have in common."""

from typing import Final

from simulator.apiserver.client import Kind
from simulator.values import JsonObject

NAMESPACE: Final = Kind("v1", "Namespace", "namespaces", namespaced=False)
EVENT: Final = Kind("v1", "Event", "events")
DEFINITION: Final = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
POD: Final = Kind("v1", "Pod", "pods")
POD_MONITOR: Final = Kind("azmonitoring.coreos.com/v1", "PodMonitor", "podmonitors")

MIRRORED: Final = (
    NAMESPACE,
    Kind("v1", "Service", "services"),
    Kind("v1", "ConfigMap", "configmaps"),
    Kind("v1", "ServiceAccount", "serviceaccounts"),
    Kind("v1", "Secret", "secrets"),
    POD,
    Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    Kind("apps/v1", "DaemonSet", "daemonsets"),
    Kind("apps/v1", "StatefulSet", "statefulsets"),
    Kind("apps/v1", "Deployment", "deployments"),
    Kind("apps/v1", "ReplicaSet", "replicasets"),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    POD_MONITOR,
)
"""Namespaces first: what is in one can be made only after it."""

POD_MONITOR_DEFINITION: Final[JsonObject] = {
    "apiVersion": DEFINITION.api_version,
    "kind": DEFINITION.name,
    "metadata": {"name": "podmonitors.azmonitoring.coreos.com"},
    "spec": {
        "group": "azmonitoring.coreos.com",
        "names": {
            "kind": POD_MONITOR.name,
            "listKind": "PodMonitorList",
            "plural": POD_MONITOR.plural,
            "singular": "podmonitor",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""What AKS's metrics add-on brings; without it the kind is not there to be watched."""
