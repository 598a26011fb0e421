"""The kinds that a simulated API server serves, by API version and plural."""

from dataclasses import dataclass
from typing import Final

from simulator.kubernetes import admission


@dataclass(frozen=True)
class Kind:
    """A kind that the API server serves."""

    api_version: str
    kind: str
    namespaced: bool = True


CONSTRAINTS: Final = "constraints.gatekeeper.sh/v1beta1"
EXTENSIONS: Final = "apiextensions.k8s.io/v1"
ADMISSION: Final = "admissionregistration.k8s.io/v1"
KINDS: Final = {
    ("v1", "namespaces"): Kind("v1", "Namespace", False),
    ("v1", "services"): Kind("v1", "Service"),
    ("v1", "configmaps"): Kind("v1", "ConfigMap"),
    ("v1", "serviceaccounts"): Kind("v1", "ServiceAccount"),
    ("v1", "secrets"): Kind("v1", "Secret"),
    ("v1", "pods"): Kind("v1", "Pod"),
    ("v1", "events"): Kind("v1", "Event"),
    ("v1", "persistentvolumeclaims"): Kind("v1", "PersistentVolumeClaim"),
    ("apps/v1", "daemonsets"): Kind("apps/v1", "DaemonSet"),
    ("apps/v1", "statefulsets"): Kind("apps/v1", "StatefulSet"),
    ("apps/v1", "deployments"): Kind("apps/v1", "Deployment"),
    ("apps/v1", "replicasets"): Kind("apps/v1", "ReplicaSet"),
    ("batch/v1", "jobs"): Kind("batch/v1", "Job"),
    ("policy/v1", "poddisruptionbudgets"): Kind("policy/v1", "PodDisruptionBudget"),
    ("azmonitoring.coreos.com/v1", "podmonitors"): Kind("azmonitoring.coreos.com/v1", "PodMonitor"),
    (CONSTRAINTS, "k8sazurev2noprivilege"): Kind(CONSTRAINTS, admission.NO_PRIVILEGE, False),
    (EXTENSIONS, "customresourcedefinitions"): Kind(EXTENSIONS, "CustomResourceDefinition", False),
    (ADMISSION, "validatingadmissionpolicies"): Kind(ADMISSION, admission.POLICY, False),
    (ADMISSION, "validatingadmissionpolicybindings"): Kind(ADMISSION, admission.BINDING, False),
}
