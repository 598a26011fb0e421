"""What to look up: the existing things that the settings rely on."""

from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import urlsplit

from contract import azure
from contract.choices import ClusterCredentials
from contract.grafana import FOLDER_PERMISSIONS, PERMISSIONS, PROMETHEUS, PYROSCOPE
from contract.images import CHART
from contract.messages.survey import SurveyRequest, WantedOwnGrafana, WantedPyroscope
from contract.microservices import ServerMode
from infra.deployed import EVERYTHING, Own
from infra.names import Names
from infra.rights import wanted_rights
from infra.settings import (
    AzureMonitorWorkspaceSettings,
    Collect,
    Settings,
    StorageSettings,
)


@dataclass(frozen=True)
class ClientConfig:
    """Who the azure-native provider is: what its ``getClientConfig`` answers."""

    subscription_id: str
    object_id: str
    """Of the user or service principal; empty where the provider does not know."""
    tenant_id: str = ""
    """Of the tokens that it gets."""


def survey_request(
    settings: Settings,
    names: Names,
    client_config: ClientConfig,
    *,
    deployed: Container[str] = EVERYTHING,
) -> SurveyRequest:
    """Which things ``settings`` rely on, and where something may be in the way.

    A cluster and a Grafana that the stack creates are asked for as well: after the first update
    they are there, perhaps stopped, or of a later version than the settings say. What is in the way
    is asked for only until this stack has ``deployed`` its own, so that later previews are quicker.
    """
    subscription = settings.azure.subscription_id or client_config.subscription_id
    own_group = own_resource_group(settings)
    cluster, link = settings.cluster, settings.pyroscope.private_link
    workspace = settings.prometheus.azure_monitor_workspace
    group = settings.azure.resource_group
    asked_cluster = azure.cluster_id(
        cluster.placed_in(subscription), cluster.placed(own_group), cluster.named(names.cluster)
    )
    own_subscription = subscription if group is not None else cluster.placed_in(subscription)
    request = SurveyRequest(
        subscription_id=settings.azure.subscription_id,
        provider_subscription_id=client_config.subscription_id,
        provider_object_id=client_config.object_id,
        provider_tenant_id=client_config.tenant_id,
        namespaces=needed_namespaces(settings),
        cluster_id=asked_cluster,
        extension_id=azure.extension_id(asked_cluster, settings.inspektor_gadget.name),
        workspace_id=_workspace_id(subscription, workspace),
        collection_rule_id=_rule_id(workspace, own_subscription, own_group, names),
        look_for_access_endpoint=_may_collect(workspace)
        and cluster.existing is not None
        and Own.ACCESS_ENDPOINT not in deployed,
        resource_group=group.name if group is not None and not group.create else None,
        gpu_vm_size=settings.gpu_pool.vm_size if settings.gpu_pool.enabled else None,
        location=settings.azure.location if cluster.existing is None else None,
        private_link_name=_link_name(settings, names),
        private_link_group=link.resource_group,
        private_link_subnet=link.subnet,
        look_inside=any(own not in deployed for own in _made_in_the_cluster(settings)),
        stack_mark=names.request_message,
        look_at_release=Own.RELEASE_GUARD in deployed or Own.RELEASE in deployed,
        admin=cluster.credentials is ClusterCredentials.ADMIN,
        only_own_link="" if link.name else names.private_link,
        action_group_ids=tuple(settings.alerts.action_groups),
        chart_registry=_chart_registry(settings),
    )
    request = request.model_copy(
        update={
            "pyroscope": _pyroscope(settings),
            **_grafana(settings, names, subscription, own_group, deployed),
            **_storage(settings, names, own_subscription),
            **_nodes(settings, asked_cluster),
        }
    )
    rights = wanted_rights(settings, request, azure.group_id(own_subscription, own_group))
    return request.model_copy(update={"rights": rights})


def _pyroscope(settings: Settings) -> WantedPyroscope | None:
    existing = settings.pyroscope.existing
    if existing is None:
        return None
    return WantedPyroscope(url=existing.url, data_source=existing.data_source)


def _link_name(settings: Settings, names: Names) -> str | None:
    if not settings.makes_private_link:
        return None
    return settings.pyroscope.private_link.name or names.private_link


def _grafana(
    settings: Settings, names: Names, subscription: str, own_group: str, deployed: Container[str]
) -> dict[str, object]:
    """What to look up of Grafana, by the request's fields."""
    grafana = settings.grafana
    if not grafana.is_managed:
        return {"own_grafana": _own_grafana(settings)}
    found: dict[str, object] = {
        "grafana_id": azure.grafana_id(
            grafana.placed_in(subscription), grafana.placed(own_group), grafana.named(names.grafana)
        ),
        "list_assignments": bool(grafana.role_assignments),
    }
    if not settings.makes_private_link:
        return found
    return {
        **found,
        "private_endpoint_name": grafana.private_endpoint.name or names.private_endpoint,
        "list_endpoints": grafana.existing is not None and Own.PRIVATE_ENDPOINT not in deployed,
        "only_own_endpoint": "" if grafana.private_endpoint.name else names.private_endpoint,
    }


def _own_grafana(settings: Settings) -> WantedOwnGrafana | None:
    own = settings.grafana.self_hosted
    if own is None:
        return None
    metrics = [PROMETHEUS] if settings.prometheus.has_metrics else []
    in_folder = settings.grafana.folder is not None
    return WantedOwnGrafana(
        url=own.url,
        token_variable=own.token_variable,
        permissions=(*PERMISSIONS, *(FOLDER_PERMISSIONS if in_folder else ())),
        plugins=(PYROSCOPE, *metrics),
    )


OWN_CONTAINER = "profiles"
"""In a storage account that the stack makes."""


def _storage(settings: Settings, names: Names, subscription: str) -> dict[str, object]:
    """What to look up of Blob Storage, by the request's fields."""
    return {
        "storage_account_id": _storage_account_id(settings, names, subscription),
        "storage_container": container_name(settings.pyroscope.storage),
        "storage_mark": names.request_message,
        "makes_storage": settings.pyroscope.storage.makes_account,
    }


def _nodes(settings: Settings, cluster_id: str) -> dict[str, object]:
    """The GPU pool; whether the sizes of nodes are looked up, and which besides those there."""
    created, pool = settings.cluster.create, settings.gpu_pool
    return {
        "gpu_pool_id": azure.agent_pool_id(cluster_id, pool.name) if pool.enabled else None,
        "size_nodes": settings.pyroscope.mode is ServerMode.DISTRIBUTED,
        "node_vm_size": created.system_pool.vm_size if created is not None else None,
    }


def _storage_account_id(settings: Settings, names: Names, subscription: str) -> str | None:
    blob = settings.pyroscope.storage.blob
    if blob is None:
        return None
    if (existing := blob.existing) is not None:
        return azure.storage_account_id(subscription, existing.resource_group, existing.account)
    group = blob.resource_group or own_resource_group(settings)
    return azure.storage_account_id(subscription, group, blob.account or names.storage_account)


def container_name(storage: StorageSettings) -> str:
    """Name of the container of the profiles; empty where there is none."""
    if storage.blob is None:
        return ""
    existing = storage.blob.existing
    return existing.container if existing is not None else OWN_CONTAINER


def _may_collect(workspace: AzureMonitorWorkspaceSettings | None) -> bool:
    return workspace is not None and workspace.collect is not Collect.NO


def _rule_id(
    workspace: AzureMonitorWorkspaceSettings | None, subscription: str, group: str, names: Names
) -> str | None:
    """Where others may collect into the workspace: this stack's own rule."""
    if workspace is None or workspace.existing is None or not _may_collect(workspace):
        return None
    name = names.data_collection_rule
    return azure.resource_id(subscription, group, azure.DATA_COLLECTION_RULE, name)


def _workspace_id(subscription: str, workspace: AzureMonitorWorkspaceSettings | None) -> str | None:
    existing = workspace.existing if workspace is not None else None
    if existing is None:
        return None
    return azure.resource_id(
        existing.subscription_id or subscription,
        existing.group,
        azure.MONITOR_WORKSPACE,
        existing.resource_name,
    )


def _made_in_the_cluster(settings: Settings) -> tuple[Own, ...]:
    """What others may have made there as well, or a run of this stack that was killed."""
    pool, pyroscope = settings.gpu_pool, settings.pyroscope
    return (
        *(Own.NAMESPACE, Own.EXTENSION),
        Own.RELEASE if pyroscope.existing is None else Own.ELSEWHERE,
        *([Own.AGENT_SERVICE] if pyroscope.mode is ServerMode.DISTRIBUTED else []),
        *([Own.GPU_POOL] if pool.enabled else []),
        *([Own.DEVICE_PLUGIN] if pool.enabled and pool.device_plugin else []),
        *([Own.POD_MONITOR] if settings.makes_alerts else []),
    )


def needed_namespaces(settings: Settings) -> tuple[str, ...]:
    """The resource providers that must be registered in the subscription."""
    types = [azure.MANAGED_CLUSTER, azure.EXTENSION]
    if settings.grafana.is_managed:
        types.append(azure.GRAFANA)
    if settings.makes_private_link:
        types.append(azure.PRIVATE_LINK_SERVICE)
    workspace = settings.prometheus.azure_monitor_workspace
    if workspace is not None:
        types.append(azure.MONITOR_WORKSPACE)
        if workspace.collect is not Collect.NO:
            types.append(azure.DATA_COLLECTION_RULE)
    if settings.pyroscope.storage.blob is not None:
        types += [azure.STORAGE_ACCOUNT, azure.USER_ASSIGNED_IDENTITY]
    if settings.alerts.on:
        types += [azure.RULE_GROUP, azure.ACTION_GROUP]
    return tuple(dict.fromkeys(map(azure.provider_of, types)))


def _chart_registry(settings: Settings) -> str | None:
    chart = settings.pyroscope.chart
    if settings.pyroscope.existing is not None:
        return None
    if chart.path is not None or chart.repository is not None:
        return None
    if chart.oci is None and settings.registry.prefix is not None:
        return None  # one's own: a login is as it should be
    return urlsplit(chart.oci or CHART).netloc


def own_resource_group(settings: Settings) -> str:
    """Name of the group that the stack's own resources go to."""
    if settings.azure.resource_group is not None:
        return settings.azure.resource_group.name
    # The settings refuse a new cluster without a group.
    return settings.cluster.existing.group if settings.cluster.existing else ""
