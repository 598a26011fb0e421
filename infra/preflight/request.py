"""What to look up: the existing things that the settings rely on."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from contract import azure
from contract.messages.survey import SurveyRequest
from infra.names import Names
from infra.settings import DEFAULT_OCI_CHART, ChartSettings, Settings


@dataclass(frozen=True)
class ClientConfig:
    """Who the azure-native provider is: what its ``getClientConfig`` answers."""

    subscription_id: str
    object_id: str
    """Of the user or service principal; empty where the provider does not know."""


def survey_request(settings: Settings, names: Names, client_config: ClientConfig) -> SurveyRequest:
    """Which things ``settings`` rely on.

    A cluster and a Grafana that the stack creates are asked for as well: after the first update
    they are there, and can have been stopped, or be of a later version than the settings say.
    """
    subscription = settings.azure.subscription_id or client_config.subscription_id
    own_group = own_resource_group(settings)
    cluster, grafana, workspace = (
        settings.cluster,
        settings.grafana,
        settings.prometheus.azure_monitor_workspace,
    )
    cluster_group = cluster.placed(own_group)
    grafana_group = grafana.placed(own_group)
    group = settings.azure.resource_group
    asked_cluster = azure.cluster_id(subscription, cluster_group, cluster.named(names.cluster))
    return SurveyRequest(
        subscription_id=settings.azure.subscription_id,
        provider_subscription_id=client_config.subscription_id,
        provider_object_id=client_config.object_id,
        namespaces=needed_namespaces(settings),
        cluster_id=asked_cluster,
        extension_id=azure.extension_id(asked_cluster, settings.inspektor_gadget.name),
        grafana_id=azure.grafana_id(subscription, grafana_group, grafana.named(names.grafana)),
        workspace_id=None
        if workspace is None or workspace.existing is None
        else azure.resource_id(
            subscription,
            workspace.existing.resource_group,
            azure.MONITOR_WORKSPACE,
            workspace.existing.name,
        ),
        collection_rule_id=None
        if workspace is None or workspace.existing is None or not workspace.collect
        else azure.resource_id(
            subscription, own_group, azure.DATA_COLLECTION_RULE, names.data_collection_rule
        ),
        resource_group=group.name if group is not None and not group.create else None,
        gpu_vm_size=settings.gpu_pool.vm_size if settings.gpu_pool.enabled else None,
        location=settings.azure.location if cluster.existing is None else None,
        private_link_name=settings.pyroscope.private_link.name or names.private_link,
        private_link_group=settings.pyroscope.private_link.resource_group,
        private_link_subnet=settings.pyroscope.private_link.subnet,
        private_endpoint_name=settings.grafana.private_endpoint.name or names.private_endpoint,
        chart_registry=_chart_registry(settings.pyroscope.chart),
    )


def needed_namespaces(settings: Settings) -> tuple[str, ...]:
    """The resource providers that must be registered in the subscription."""
    types = [azure.MANAGED_CLUSTER, azure.EXTENSION, azure.GRAFANA, azure.PRIVATE_LINK_SERVICE]
    workspace = settings.prometheus.azure_monitor_workspace
    if workspace is not None:
        types.append(azure.MONITOR_WORKSPACE)
        if workspace.collect:
            types.append(azure.DATA_COLLECTION_RULE)
    return tuple(map(azure.provider_of, types))


def _chart_registry(chart: ChartSettings) -> str | None:
    if chart.path is not None or chart.repository is not None:
        return None
    return urlsplit(chart.oci or DEFAULT_OCI_CHART).netloc


def own_resource_group(settings: Settings) -> str:
    """Name of the group that the stack's own resources go to."""
    if settings.azure.resource_group is not None:
        return settings.azure.resource_group.name
    # The settings refuse a new cluster without a group.
    return settings.cluster.existing.resource_group if settings.cluster.existing else ""
