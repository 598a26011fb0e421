"""From the settings of a stack to the arguments of its components: plain mapping, no resource.

One function a component, named after it, in the order of the program.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
from pulumi_azure_native import containerservice

from components.aks_cluster import (
    AksCluster,
    AksClusterArgs,
    ExistingClusterArgs,
    NewClusterArgs,
)
from components.chart import ChartArgs
from components.cluster_leftovers import LeftoversArgs
from components.extension_recovery import ExtensionRecoveryArgs
from components.gpu_node_pool import (
    AutoscalingArgs,
    GpuNodePoolArgs,
    SpotArgs,
)
from components.grafana_dashboard import Dashboard, FolderArgs, GrafanaDashboardArgs
from components.grafana_data_sources import (
    GrafanaDataSourcesArgs,
    PrometheusSourceArgs,
    PyroscopeSource,
    PyroscopeSourceArgs,
)
from components.grafana_private_endpoint import GrafanaPrivateEndpoint, GrafanaPrivateEndpointArgs
from components.grafana_role_assignments import (
    GrafanaRoleArgs,
    PrincipalArgs,
    role_of,
)
from components.grafana_target import GrafanaTargetArgs
from components.grafana_workspace import (
    ExistingGrafanaArgs,
    GrafanaWorkspace,
    GrafanaWorkspaceArgs,
    NewGrafanaArgs,
)
from components.inspektor_gadget import InspektorGadget, InspektorGadgetArgs
from components.managed_prometheus import (
    CollectionArgs,
    ExistingWorkspaceArgs,
    ManagedPrometheus,
    ManagedPrometheusArgs,
)
from components.present_extension import PresentExtensionArgs
from components.private_link import ANNOTATIONS, OwnEndpointArgs, PrivateLinkArgs
from components.private_link_role import PrivateLinkRoleArgs
from components.pyroscope import PyroscopeArgs
from components.pyroscope_elsewhere import PyroscopeElsewhereArgs
from components.pyroscope_forwarder import ForwarderArgs
from components.pyroscope_microservices import ServerComponentArgs
from components.pyroscope_storage import BlobArgs, KeepingArgs
from components.release_recovery import RecoveryArgs
from components.release_repair import RepairArgs
from components.role_assignment import assignment_name
from components.stated import stated
from components.system_pool import SystemPoolArgs
from contract import azure
from contract.agent import PYROSCOPE_PORT
from contract.choices import ClusterCredentials
from contract.images import CHART, DEVICE_PLUGIN, FORWARDER, SERVER, mirrored
from contract.messages.drift import APPROVAL
from contract.messages.grafana import Source
from contract.messages.release import RecordOfRelease
from contract.messages.survey import DASHBOARD, Presence
from contract.microservices import ServerMode
from infra.dashboard import dashboard_model
from infra.preflight import caller_of
from infra.preflight.pools import autoscaled_pool_changes, system_pool, version_to_send
from infra.settings import (
    AUTH_TYPES,
    AzureMonitorWorkspaceSettings,
    ChartSettings,
    ExistingPyroscope,
    SystemPool,
)
from infra.stack import Stack

Revisions = Mapping[str, pulumi.Output[str]]
"""Of the live objects, by :class:`Source`, :data:`APPROVAL`, :data:`DASHBOARD`; empty where drift
is not looked for."""
# --- the cluster and what runs in it -----------------------------------------------------------


def cluster(stack: Stack, group: pulumi.Input[str]) -> AksClusterArgs:
    """The cluster, found or made."""
    settings = stack.settings.cluster
    existing, create = settings.existing, settings.create
    new = None
    if create is not None:
        new = NewClusterArgs(
            dns_prefix=stack.names.dns_prefix,
            system_pool_vm_size=create.system_pool.vm_size,
            system_pool_count=create.system_pool.count,
            azure_monitor_metrics=stack.existing.azure_monitor_metrics,
            kubernetes_version=version_to_send(
                stack.survey.cluster.kubernetes_version, create.kubernetes_version
            ),
            tags=stack.tags,
        )
    return AksClusterArgs(
        cluster_name=stack.cluster_name,
        resource_group_name=settings.placed(group),
        location=stack.cluster_location,
        node_resource_group=stack.node_resource_group,
        credentials=settings.credentials,
        existing=ExistingClusterArgs(id=stack.cluster_id) if existing else None,
        new=new,
        system_pool=_present_system_pool(stack, create.system_pool) if create else None,
        leftovers=LeftoversArgs(
            mark=stack.names.request_message,
            keeps_namespace=not settings.create_namespace,
            known=[str(one) for one in stack.existing.leftovers],
        ),
    )


def _present_system_pool(stack: Stack, settings: SystemPool) -> SystemPoolArgs | None:
    """None before the cluster is there."""
    found = system_pool(stack.survey.cluster.pools)
    if found is None:
        return None
    # As the stack file spells it, where it is the same: another spelling would be a change.
    same = found.vm_size.lower() == settings.vm_size.lower()
    return SystemPoolArgs(
        name=found.name,
        vm_size=settings.vm_size if same else found.vm_size,
        count=found.count,
        autoscaled=found.max_count is not None,
        taints=found.taints,
        labels=found.labels,
        tags=found.tags,
    )


def gpu_pool(stack: Stack, aks: AksCluster) -> GpuNodePoolArgs:
    """The GPU nodes."""
    settings = stack.settings.gpu_pool
    autoscaling = spot = count = None
    if settings.autoscaling is not None:
        limits = settings.autoscaling
        autoscaling = AutoscalingArgs(min_count=limits.min, max_count=limits.max)
    else:
        count = settings.first_nodes
    if settings.spot is not None:
        spot = SpotArgs(
            max_price=settings.spot.max_price, eviction_policy=settings.spot.eviction_policy
        )
    return GpuNodePoolArgs(
        cluster_name=aks.cluster_name,
        resource_group_name=aks.resource_group_name,
        pool_name=settings.name,
        vm_size=settings.vm_size,
        count=count,
        autoscaling=autoscaling,
        sends_present_count=autoscaled_pool_changes(stack.settings, stack.survey.cluster.pools),
        spot=spot,
        taints=settings.taints,
        labels=settings.labels,
        os_sku=settings.os_sku,
        driver=settings.driver,
        mig_profile=settings.mig_profile.value if settings.mig_profile else None,
        zones=settings.zones or None,
        subnet_id=settings.subnet_id,
        os_disk_size_gb=settings.os_disk_size_gb,
        max_pods=settings.max_pods,
        device_plugin=settings.device_plugin,
        device_plugin_image=_mirrored(stack, DEVICE_PLUGIN),
        device_plugin_tag=settings.device_plugin_tag,
        device_plugin_labels=stack.settings.cluster.pod_labels or None,
        stack_mark=stack.names.request_message,
        # By its mark a pool that a killed run has made is known as this stack's.
        tags={**(stack.tags or {}), azure.STACK_TAG: stack.names.request_message},
        imported=stack.existing.own_pool or None,
    )


def prometheus(
    stack: Stack,
    settings: AzureMonitorWorkspaceSettings,
    group: pulumi.Input[str],
    aks: AksCluster,
) -> ManagedPrometheusArgs:
    """The workspace for metrics, found or made, and how they get there."""
    found, create = stack.existing.workspace, settings.create
    cluster = stack.existing.cluster
    existing = collection = None
    if found is not None:
        existing = ExistingWorkspaceArgs(
            id=stack.request.workspace_id or found.id,
            location=found.location,
            query_endpoint=found.query_endpoint,
        )
    if stack.existing.collects:
        collection = CollectionArgs(
            cluster_id=aks.id,
            cluster_location=stack.cluster_location,
            private_cluster=cluster is not None and cluster.private_api_server,
            configuration_endpoint_name=stack.names.configuration_endpoint,
            endpoint_name=stack.names.data_collection_endpoint,
            rule_name=stack.names.data_collection_rule,
        )
    return ManagedPrometheusArgs(
        resource_group_name=group,
        location=stack.existing.location,
        existing=existing,
        workspace_name=(create.name or stack.names.workspace) if create else None,
        collection=collection,
        tags=stack.tags,
    )


def inspektor_gadget(stack: Stack, aks: AksCluster) -> InspektorGadgetArgs:
    """The agent."""
    settings = stack.settings.inspektor_gadget
    return InspektorGadgetArgs(
        cluster_id=aks.id,
        cluster_name=aks.cluster_name,
        resource_group_name=aks.resource_group_name,
        extension_name=settings.name,
        release_train=settings.release_train,
        version=settings.version,
        auto_upgrade=settings.auto_upgrade,
        azure_monitor_metrics=stack.existing.azure_monitor_metrics,
        settings=settings.settings,
        create_namespace=stack.settings.cluster.create_namespace,
        credentials=stack.settings.cluster.credentials,
        stack_mark=stack.names.request_message,
        helm_release=stack.extension_release or None,
        recovery=_extension_recovery(stack),
        present=_present_extension(stack),
        unkept=stack.survey.inside.unkept or None,
        imported=stack.existing.own_extension or None,
    )


def _extension_recovery(stack: Stack) -> ExtensionRecoveryArgs | None:
    stuck = stack.left.extension
    if stuck is not None:
        return ExtensionRecoveryArgs(
            extension_id=stuck.id, release=stuck.helm_release, seen=stuck.not_removed
        )
    return ExtensionRecoveryArgs() if stack.left.extension_was_recovered else None


def _present_extension(stack: Stack) -> PresentExtensionArgs | None:
    found = stack.survey.extension
    if found.presence is not Presence.FOUND:
        return None
    return PresentExtensionArgs(
        installed=bool(found.current_version),
        release_train=found.release_train,
        version=found.version,
        auto_upgrade=found.auto_upgrade,
        settings=found.settings,
    )


def pyroscope(stack: Stack, gadget: InspektorGadget, blob: BlobArgs | None) -> PyroscopeArgs:
    """The profiles' store; ``blob`` is where they outlive its disk."""
    settings, storage = stack.settings.pyroscope, stack.settings.pyroscope.storage
    return PyroscopeArgs(
        namespace=gadget.namespace,
        chart=_chart(stack, settings.chart),
        image_repository=_mirrored(stack, SERVER),
        image_tag=settings.image_tag,
        private_link=_private_link(stack) if stack.settings.makes_private_link else None,
        disk=stack.disk,
        keeping=KeepingArgs(
            blob=blob,
            retention=storage.retention_period,
            lookback=storage.lookback,
            block_minutes=storage.block_minutes,
        ),
        resources=settings.resources or None,
        node_selector=settings.node_selector or None,
        tolerations=settings.tolerations or None,
        affinity=settings.affinity or None,
        labels=stack.settings.cluster.pod_labels or None,
        components=_components(stack),
        values=settings.values or None,
        stack_mark=stack.names.request_message,
        recovery=_recovery(stack),
        repair=_repair(stack),
    )


def pyroscope_elsewhere(
    stack: Stack, gadget: InspektorGadget, existing: ExistingPyroscope
) -> PyroscopeElsewhereArgs:
    """A store that is there already."""
    forwarder, credentials = None, existing.credentials
    if existing.needs_forwarder:
        forwarder = ForwarderArgs(
            host=existing.host,
            port=existing.port,
            tls=existing.tls,
            image=_mirrored(stack, FORWARDER),
            secret=credentials.secret if credentials else None,
            secret_key=credentials.key if credentials else None,
        )
    return PyroscopeElsewhereArgs(
        namespace=gadget.namespace,
        host=existing.host,
        forwarder=forwarder,
        url=existing.url,
        stack_mark=stack.names.request_message,
    )


def _private_link(stack: Stack) -> PrivateLinkArgs:
    link = stack.settings.pyroscope.private_link
    wanted: dict[str, Any] = {field: getattr(link, field) or None for field in ANNOTATIONS}
    own_endpoint = None
    if stack.settings.grafana.is_managed:
        own_endpoint = OwnEndpointArgs(
            workspace=stack.grafana_name,
            name=stack.private_endpoint_name,
            request_message=stack.names.request_message,
        )
    return PrivateLinkArgs(
        id=stack.private_link_id,
        name=stack.private_link_name,
        node_resource_group=stack.node_resource_group if link.resource_group else None,
        own_endpoint=own_endpoint,
        protect_connections=link.protect_connections,
        **wanted,
    )


def _identity_of(aks: AksCluster) -> pulumi.Output[str] | None:
    """Object id of the identity of a cluster that the stack makes."""
    if isinstance(aks.created, containerservice.ManagedCluster):
        return aks.created.identity.apply(stated("principal_id"))
    return None


def private_link_role(
    stack: Stack, aks: AksCluster, group: pulumi.Input[str]
) -> PrivateLinkRoleArgs:
    """What the cluster's identity may do where the private link is put."""
    name = stack.settings.pyroscope.private_link.resource_group or ""
    group_id = pulumi.Output.from_input(group).apply(
        lambda _: azure.group_id(stack.cluster_subscription, name)
    )
    return PrivateLinkRoleArgs(
        group_id=group_id,
        principal_id=_identity_of(aks) or stack.survey.cluster.principal_id,
        subscription_id=stack.cluster_subscription,
        mark=stack.names.request_message,
    )


def _components(stack: Stack) -> dict[str, ServerComponentArgs] | None:
    settings = stack.settings.pyroscope
    if settings.mode is ServerMode.SINGLE:
        return None
    return {
        component.value: ServerComponentArgs(replicas=one.replicas, resources=one.resources)
        for component, one in settings.components.wanted.items()
    }


def _recovery(stack: Stack) -> RecoveryArgs | None:
    if not stack.left.records and not stack.left.was_recovered:
        return None
    return RecoveryArgs(
        cluster_id=stack.cluster_id,
        admin=stack.settings.cluster.credentials is ClusterCredentials.ADMIN,
        records=[
            RecordOfRelease(name=one.name, uid=one.uid, status=one.status)
            for one in stack.left.records
        ],
    )


def _repair(stack: Stack) -> RepairArgs | None:
    objects = stack.survey.inside.drifted
    if not objects and not stack.left.was_repaired:
        return None
    return RepairArgs(
        cluster_id=stack.cluster_id,
        admin=stack.settings.cluster.credentials is ClusterCredentials.ADMIN,
        objects=objects,
    )


def _chart(stack: Stack, settings: ChartSettings) -> ChartArgs:
    if settings.path is not None:
        found = stack.local_chart
        return ChartArgs(chart=settings.path, digest=found.digest if found else None)
    if settings.repository is not None:
        return ChartArgs(
            chart=settings.name, repository=settings.repository, version=settings.version
        )
    chart = settings.oci or _mirrored(stack, CHART) or CHART
    return ChartArgs(chart=chart, version=settings.version)


def _mirrored(stack: Stack, reference: str) -> str | None:
    prefix = stack.settings.registry.prefix
    return None if prefix is None else mirrored(reference, prefix)


# --- Grafana and what is put on it -------------------------------------------------------------


def grafana(
    stack: Stack, group: pulumi.Input[str], metrics: ManagedPrometheus | None
) -> GrafanaWorkspaceArgs:
    """The Grafana workspace, found or made, and who may do what on it."""
    settings, found = stack.settings.grafana, stack.existing.grafana
    existing = new = None
    if found is not None:
        existing = ExistingGrafanaArgs(
            id=stack.request.grafana_id or found.id,
            endpoint=found.endpoint,
            principal_id=found.principal_id,
        )
    if settings.create is not None:
        new = NewGrafanaArgs(
            major_version=settings.create.major_version,
            zone_redundancy=settings.create.zone_redundancy,
            deployer=_deployer(stack),
            tags=stack.tags,
        )
    # Where both exist, who may read what is not this stack's to decide, and only checked.
    decides = found is None or stack.existing.workspace is None
    return GrafanaWorkspaceArgs(
        workspace_name=stack.grafana_name,
        resource_group_name=settings.placed(group),
        location=stack.grafana_location,
        subscription_id=stack.existing.subscription_id,
        existing=existing,
        new=new,
        roles=[one for one in _wanted_roles(stack) if not _is_others(stack, one)],
        role_mark=stack.names.request_message,
        metrics_workspace_id=metrics.workspace_id if metrics and decides else None,
    )


def _wanted_roles(stack: Stack) -> Iterator[GrafanaRoleArgs]:
    for granted in stack.settings.grafana.role_assignments:
        principal = PrincipalArgs(id=granted.principal_id, type=granted.principal_type)
        yield GrafanaRoleArgs(principal=principal, role=granted.role)


def _is_others(stack: Stack, granted: GrafanaRoleArgs) -> bool:
    """Whether the role is assigned already, by hand or by another stack: Azure refuses it twice.

    Made by an older program, ours and another stack's look the same, and count as ours.
    """
    role, principal = role_of(granted), granted.principal.id
    own_name = assignment_name(stack.request.grafana_id or "", principal, role)
    return any(
        one.name != own_name or one.description not in ("", stack.names.request_message)
        for one in stack.survey.assigned
        if (one.role, one.principal_id) == (role.value, principal.lower())
    )


def _deployer(stack: Stack) -> PrincipalArgs:
    """Who the operations are in Azure: they put the objects on Grafana, and need the role."""
    caller = caller_of(stack.survey, stack.request)
    return PrincipalArgs(id=caller.object_id, type=caller.type)


def private_endpoint(
    stack: Stack,
    group: pulumi.Input[str],
    workspace: GrafanaWorkspace,
    private_link_id: pulumi.Input[str],
    revisions: Revisions,
) -> GrafanaPrivateEndpointArgs:
    """Grafana's way to the profiles' store."""
    return GrafanaPrivateEndpointArgs(
        workspace_name=workspace.workspace_name,
        workspace_id=workspace.id,
        resource_group_name=stack.settings.grafana.placed(group),
        location=stack.grafana_location,
        endpoint_name=stack.private_endpoint_name,
        private_link_id=private_link_id,
        private_link_location=stack.cluster_location,
        request_message=stack.names.request_message,
        imported=stack.existing.own_endpoint or None,
        observed=revisions.get(APPROVAL),
    )


def pyroscope_source(stack: Stack) -> PyroscopeSource | None:
    """The source of the profiles; None where one that is there shows them."""
    named = stack.pyroscope_source
    if named is None:
        return None
    return PyroscopeSource(name=named.name, uid=named.uid)


def prometheus_source(
    stack: Stack, metrics: ManagedPrometheus | None
) -> PrometheusSourceArgs | None:
    """The source of the metrics, if there are any."""
    named = stack.prometheus_source
    url = metrics.query_endpoint if metrics else stack.settings.prometheus.url
    if named is None or url is None:
        return None
    own = stack.settings.grafana.self_hosted
    return PrometheusSourceArgs(
        name=named.name,
        uid=named.uid,
        url=url,
        managed_identity=metrics is not None,
        auth_type=AUTH_TYPES[own.azure_sign_in] if own and own.azure_sign_in else None,
    )


def pyroscope_url(address: str) -> str:
    """Where Grafana reads profiles, through the private endpoint's ``address``."""
    return f"http://{address}:{PYROSCOPE_PORT}"


def own_pyroscope_url(stack: Stack) -> str:
    """Where Grafana reads profiles without a private endpoint; empty: through one."""
    own, existing = stack.settings.grafana.self_hosted, stack.settings.pyroscope.existing
    if own is not None and own.pyroscope_url is not None:
        return own.pyroscope_url
    if existing is not None:
        return existing.url
    return stack.pyroscope_url if own is not None else ""


def data_sources(
    stack: Stack,
    target: GrafanaTargetArgs,
    metrics: PrometheusSourceArgs | None,
    endpoint: GrafanaPrivateEndpoint | None,
    revisions: Revisions,
) -> GrafanaDataSourcesArgs:
    """The sources of profiles and, where there are any, of ``metrics``."""
    return GrafanaDataSourcesArgs(
        target=target,
        owner=stack.owner,
        pyroscope=_placed_source(stack, endpoint),
        prometheus=metrics,
        adopt=stack.settings.grafana.adopt,
        observed={source: revisions[source] for source in Source if source in revisions} or None,
        moves=[source for source in Source if stack.moves(source)],
    )


def _placed_source(
    stack: Stack, endpoint: GrafanaPrivateEndpoint | None
) -> PyroscopeSourceArgs | None:
    profiles, url = pyroscope_source(stack), own_pyroscope_url(stack)
    if profiles is None:
        return None
    if url:
        return PyroscopeSourceArgs(name=profiles.name, uid=profiles.uid, url=url)
    if endpoint is None:
        raise ValueError("Azure's Grafana reaches Pyroscope through a private endpoint alone")
    return PyroscopeSourceArgs(
        name=profiles.name,
        uid=profiles.uid,
        url=endpoint.private_ip.apply(pyroscope_url),
        endpoint_id=endpoint.approval_id,
    )


def grafana_target(stack: Stack, workspace: GrafanaWorkspace | None) -> GrafanaTargetArgs:
    """Where data sources and the dashboard go: on a workspace of Azure's, or on one's own."""
    own = stack.settings.grafana.self_hosted
    if own is not None:
        return GrafanaTargetArgs(
            endpoint=own.url, workspace_id="", token_variable=own.token_variable
        )
    if workspace is None:
        raise ValueError("neither a Grafana workspace nor one's own Grafana")
    return GrafanaTargetArgs(endpoint=workspace.endpoint, workspace_id=workspace.id)


def wanted_dashboard(stack: Stack) -> Dashboard:
    """What the dashboard is.

    Raises:
        ConfigurationError: the dashboard's file cannot be used.
    """
    settings, metrics = stack.settings.grafana, stack.prometheus_source
    uid = stack.on_grafana.dashboard_uid
    model = dashboard_model(
        settings.dashboard,
        uid=uid,
        # Distinct on a shared Grafana, which refuses a second one of a title in a folder.
        title=f"GPU memory of {stack.cluster_name} ({stack.known_as.stack})",
        pyroscope_uid=stack.pyroscope_uid,
        prometheus_uid=metrics.uid if metrics else None,
        owner_text=f"Managed by the Pulumi stack {stack.known_as.project}/{stack.known_as.stack}.",
    )
    folder = None
    if settings.folder is not None:
        folder = FolderArgs(uid=stack.names.folder_uid, title=settings.folder)
    return Dashboard(uid=uid, dashboard=model, folder=folder)


def dashboard(
    stack: Stack, wanted: Dashboard, target: GrafanaTargetArgs, revisions: Revisions
) -> GrafanaDashboardArgs:
    """The dashboard on this stack's Grafana."""
    return GrafanaDashboardArgs(
        uid=wanted.uid,
        dashboard=wanted.dashboard,
        folder=wanted.folder,
        target=target,
        owner=stack.owner,
        adopt=stack.settings.grafana.adopt,
        observed=revisions.get(DASHBOARD),
        moves=stack.moves(DASHBOARD),
    )
