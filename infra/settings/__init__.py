"""The configuration model: every setting of a stack, in one frozen tree.

A stack file holds one structured value per section under the project's namespace
(``gpuobs:cluster``, ``gpuobs:pyroscope``, ...); each section is a module here. :func:`load` reads
and checks them all and reports every fault at once. Nothing here does I/O; what must hold of things
that exist already is checked by :mod:`infra.preflight`.
"""

from infra.settings.alerts import AlertsSettings
from infra.settings.azure import AzureSettings, ResourceGroupSettings
from infra.settings.cluster import (
    ClusterSettings,
    ExistingCluster,
    NewCluster,
    SystemPool,
)
from infra.settings.existing_pyroscope import ExistingPyroscope
from infra.settings.former import with_current_spellings
from infra.settings.gpu_pool import (
    Autoscaling,
    GpuPoolSettings,
    MigProfile,
    Spot,
)
from infra.settings.grafana import (
    DashboardSettings,
    DataSourceSettings,
    ExistingGrafana,
    GrafanaRoleAssignment,
    GrafanaSettings,
    NamedSource,
    NewGrafana,
    PrivateEndpointSettings,
)
from infra.settings.inspektor_gadget import AzureMonitorMetrics, InspektorGadgetSettings
from infra.settings.loading import NAMESPACE, load, sections_of
from infra.settings.microservices import ComponentsSettings, WantedComponent
from infra.settings.prometheus import (
    AzureMonitorWorkspaceSettings,
    Collect,
    ExistingAzureMonitorWorkspace,
    NewAzureMonitorWorkspace,
    PrometheusSettings,
)
from infra.settings.pyroscope import (
    UNLESS_ALLOWED,
    ChartSettings,
    PrivateLinkSettings,
    PyroscopeSettings,
)
from infra.settings.self_hosted import AUTH_TYPES, SelfHostedGrafana
from infra.settings.storage import (
    Blob,
    Disk,
    ExistingContainer,
    StorageSettings,
    service_account,
)
from infra.settings.tree import Settings

__all__ = [
    "AUTH_TYPES",
    "NAMESPACE",
    "UNLESS_ALLOWED",
    "AlertsSettings",
    "Autoscaling",
    "AzureMonitorMetrics",
    "AzureMonitorWorkspaceSettings",
    "AzureSettings",
    "Blob",
    "ChartSettings",
    "ClusterSettings",
    "Collect",
    "ComponentsSettings",
    "DashboardSettings",
    "DataSourceSettings",
    "Disk",
    "ExistingAzureMonitorWorkspace",
    "ExistingCluster",
    "ExistingContainer",
    "ExistingGrafana",
    "ExistingPyroscope",
    "GpuPoolSettings",
    "GrafanaRoleAssignment",
    "GrafanaSettings",
    "InspektorGadgetSettings",
    "MigProfile",
    "NamedSource",
    "NewAzureMonitorWorkspace",
    "NewCluster",
    "NewGrafana",
    "PrivateEndpointSettings",
    "PrivateLinkSettings",
    "PrometheusSettings",
    "PyroscopeSettings",
    "ResourceGroupSettings",
    "SelfHostedGrafana",
    "Settings",
    "Spot",
    "StorageSettings",
    "SystemPool",
    "WantedComponent",
    "load",
    "sections_of",
    "service_account",
    "with_current_spellings",
]
