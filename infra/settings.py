"""The configuration model: every setting of a stack, in one frozen tree.

A stack file holds one structured value a section under the project's namespace (``gpuobs:cluster``,
``gpuobs:pyroscope``, ...). Nothing here does I/O; what must hold of things that exist already is
checked by :mod:`infra.preflight`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A part of the configuration: camelCase in the stack file, closed, immutable."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, populate_by_name=True
    )


class Existing(Section):
    """Something this stack uses and never changes or deletes."""

    name: str
    resource_group: str


# --- azure -------------------------------------------------------------------------------------


class ResourceGroupSettings(Section):
    name: str
    create: bool = False


class AzureSettings(Section):
    subscription_id: str | None = None
    location: str | None = None
    tags: Mapping[str, str] = Field(default_factory=dict)
    resource_group: ResourceGroupSettings | None = None
    """Where this stack's own ARM resources go (workspaces, rules); default: the cluster's group."""


# --- cluster -----------------------------------------------------------------------------------


class Credentials(StrEnum):
    USER = "user"
    ADMIN = "admin"


class SystemPool(Section):
    vm_size: str = "Standard_D4s_v5"
    count: int = 2


class NewCluster(Section):
    name: str | None = None
    kubernetes_version: str | None = None
    node_resource_group: str | None = None
    system_pool: SystemPool = SystemPool()


class ClusterSettings(Section):
    existing: Existing | None = None
    create: NewCluster | None = None
    credentials: Credentials = Credentials.USER
    create_namespace: bool = True
    """Make the namespace ``gadget`` (and delete it last); false: it exists and stays."""


# --- gpuPool -----------------------------------------------------------------------------------


class Autoscaling(Section):
    min: int
    max: int


class EvictionPolicy(StrEnum):
    DELETE = "Delete"
    DEALLOCATE = "Deallocate"


class Spot(Section):
    max_price: float = -1
    eviction_policy: EvictionPolicy = EvictionPolicy.DELETE


class OsSku(StrEnum):
    UBUNTU = "Ubuntu"
    AZURE_LINUX = "AzureLinux"


class GpuDriver(StrEnum):
    INSTALL = "Install"
    NONE = "None"


class MigProfile(StrEnum):
    MIG1G = "MIG1g"
    MIG2G = "MIG2g"
    MIG3G = "MIG3g"
    MIG4G = "MIG4g"
    MIG7G = "MIG7g"


class GpuPoolSettings(Section):
    enabled: bool = True
    name: str = "gpu"
    vm_size: str = "Standard_NC24ads_A100_v4"
    count: int | None = None
    """Fixed size; None with autoscaling, 1 by default without."""
    autoscaling: Autoscaling | None = None
    spot: Spot | None = None
    taints: Sequence[str] = ("sku=gpu:NoSchedule",)
    labels: Mapping[str, str] = Field(default_factory=dict)
    os_sku: OsSku = OsSku.UBUNTU
    driver: GpuDriver = GpuDriver.INSTALL
    mig_profile: MigProfile | None = None
    zones: Sequence[str] = ()
    subnet_id: str | None = None
    os_disk_size_gb: int | None = None
    max_pods: int | None = None
    device_plugin: bool = True
    """Install the NVIDIA device plugin's DaemonSet."""


# --- inspektorGadget ---------------------------------------------------------------------------


class AzureMonitorMetrics(StrEnum):
    AUTO = "auto"
    ON = "on"
    OFF = "off"


class InspektorGadgetSettings(Section):
    name: str = "inspektor-gadget"
    release_train: str = "preview"
    version: str | None = None
    auto_upgrade: bool = True
    settings: Mapping[str, str] = Field(default_factory=dict)
    azure_monitor: AzureMonitorMetrics = AzureMonitorMetrics.AUTO


# --- pyroscope ---------------------------------------------------------------------------------


class ChartSettings(Section):
    """Exactly one source: ``oci`` (the default), ``repository`` with ``name``, or ``path``."""

    oci: str | None = None
    repository: str | None = None
    name: str = "pyroscope"
    path: str | None = None
    version: str = "1.15.0"


class Disk(Section):
    size: str = "50Gi"
    storage_class_name: str | None = None


class StorageSettings(Section):
    """Where profiles are kept; without ``disk``: in the pod, gone when it restarts."""

    disk: Disk | None = None


class PrivateLinkSettings(Section):
    name: str | None = None
    visibility: Sequence[str] = ("*",)
    auto_approval: Sequence[str] = ()
    resource_group: str | None = None
    subnet: str | None = None
    address_count: int | None = None
    addresses: Sequence[str] = ()
    fqdns: Sequence[str] = ()


class PyroscopeSettings(Section):
    chart: ChartSettings = ChartSettings()
    image_tag: str = "1.15.0"
    allow_incompatible_server: bool = False
    """Deploy a server outside the compatibility contract; profiles may vanish without an error."""
    resources: Mapping[str, Any] = Field(default_factory=dict)
    node_selector: Mapping[str, str] = Field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    affinity: Mapping[str, Any] = Field(default_factory=dict)
    storage: StorageSettings = StorageSettings()
    private_link: PrivateLinkSettings = PrivateLinkSettings()
    values: Mapping[str, Any] = Field(default_factory=dict)
    """Further chart values, merged deeply under those the product owns."""


# --- grafana -----------------------------------------------------------------------------------


class NewGrafana(Section):
    name: str | None = None
    major_version: str = "12"
    zone_redundancy: bool = False


class NamedSource(Section):
    name: str | None = None
    uid: str | None = None


class DataSourceSettings(Section):
    pyroscope: NamedSource = NamedSource()
    prometheus: NamedSource = NamedSource()
    adopt: bool = False
    """Take over a source of the wanted name or uid that carries no owner mark or another's."""


class DashboardSettings(Section):
    uid: str | None = None
    title: str | None = None
    file: str | None = None
    """A dashboard of your own, raw or wrapped JSON, relative to the project; default: built in."""


class PrincipalType(StrEnum):
    USER = "User"
    GROUP = "Group"
    SERVICE_PRINCIPAL = "ServicePrincipal"


class GrafanaRole(StrEnum):
    ADMIN = "Admin"
    EDITOR = "Editor"
    VIEWER = "Viewer"


class GrafanaRoleAssignment(Section):
    principal_id: str
    principal_type: PrincipalType
    role: GrafanaRole


class PrivateEndpointSettings(Section):
    name: str | None = None


class GrafanaSettings(Section):
    existing: Existing | None = None
    create: NewGrafana | None = None
    private_endpoint: PrivateEndpointSettings = PrivateEndpointSettings()
    folder: str | None = None
    data_sources: DataSourceSettings = DataSourceSettings()
    dashboard: DashboardSettings = DashboardSettings()
    role_assignments: Sequence[GrafanaRoleAssignment] = ()
    drift_detection: bool = True


# --- prometheus --------------------------------------------------------------------------------


class NewAzureMonitorWorkspace(Section):
    name: str | None = None


class AzureMonitorWorkspaceSettings(Section):
    existing: Existing | None = None
    create: NewAzureMonitorWorkspace | None = None
    collect: bool = True
    """Wire the cluster's collection rules (endpoint, rule, associations) to the workspace."""


class PrometheusSettings(Section):
    """One of an Azure Monitor workspace or a plain Prometheus URL; neither: no metrics."""

    azure_monitor_workspace: AzureMonitorWorkspaceSettings | None = None
    url: str | None = None


class Settings(Section):
    azure: AzureSettings = AzureSettings()
    cluster: ClusterSettings
    gpu_pool: GpuPoolSettings = GpuPoolSettings()
    inspektor_gadget: InspektorGadgetSettings = InspektorGadgetSettings()
    pyroscope: PyroscopeSettings = PyroscopeSettings()
    grafana: GrafanaSettings
    prometheus: PrometheusSettings = PrometheusSettings()
