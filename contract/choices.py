"""Choices that a stack file offers, and a component or an ``az`` line carries out, spelled once.

Also the names that follow from them.
"""

from enum import StrEnum
from typing import Final

SYSTEM_POOL: Final = "system"
"""Name of a new cluster's own first pool."""

SPOT_LABEL: Final = "kubernetes.azure.com/scalesetpriority"
"""Label whose value ``spot`` Azure puts on every node of a spot pool."""
SPOT_TAINT: Final = f"{SPOT_LABEL}=spot:NoSchedule"
"""Taint that Azure puts on the same nodes."""


DEVICE_PLUGIN_NAMESPACE: Final = "kube-system"
DEVICE_PLUGIN_TAG: Final = "v0.19.3"
"""NVIDIA's newest release in November 2026."""


def device_plugin_name(pool: str) -> str:
    """Name of the DaemonSet that offers the GPUs of ``pool``'s nodes."""
    return f"nvidia-device-plugin-{pool}"


class ClusterCredentials(StrEnum):
    """Which kubeconfig is asked of AKS."""

    USER = "user"
    ADMIN = "admin"


class EvictionPolicy(StrEnum):
    """What happens to a spot node that Azure takes back."""

    DELETE = "Delete"
    DEALLOCATE = "Deallocate"


class OsSku(StrEnum):
    """The nodes' Linux."""

    UBUNTU = "Ubuntu"
    AZURE_LINUX = "AzureLinux"


class GpuDriver(StrEnum):
    """Who installs NVIDIA's driver: AKS, or you (the GPU Operator)."""

    INSTALL = "Install"
    NONE = "None"


class PrincipalType(StrEnum):
    """What a principal is; Azure needs it for one that was just made."""

    USER = "User"
    GROUP = "Group"
    SERVICE_PRINCIPAL = "ServicePrincipal"


class GrafanaRole(StrEnum):
    """Grafana's data plane roles in Azure."""

    ADMIN = "Admin"
    EDITOR = "Editor"
    VIEWER = "Viewer"


class OnDestroy(StrEnum):
    """What `pulumi destroy` does with a storage account that the stack made."""

    KEEP = "keep"
    DELETE = "delete"


class Redundancy(StrEnum):
    """How Azure Storage copies what is in an account."""

    LRS = "LRS"
    ZRS = "ZRS"
    GRS = "GRS"
    GZRS = "GZRS"
