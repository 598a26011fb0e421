"""The program: from the settings of a stack to its resources and exports.

Reads top to bottom like the procedure it replaces. What a step is given is in
:mod:`infra.arguments`, what it is made of is its component's, and what must hold before the first
one is checked by :func:`infra.loading.load_stack`.
"""

from typing import TYPE_CHECKING

import pulumi
from pulumi_azure_native import resources

from components.aks_cluster import AksCluster
from components.gpu_node_pool import GpuNodePool
from components.grafana_dashboard import GrafanaDashboard
from components.grafana_data_sources import GrafanaDataSources
from components.grafana_private_endpoint import GrafanaPrivateEndpoint
from components.grafana_target import GrafanaTargetArgs
from components.grafana_workspace import GrafanaWorkspace
from components.inspektor_gadget import InspektorGadget
from components.managed_prometheus import ManagedPrometheus
from components.private_link_role import PrivateLinkRole
from components.pyroscope import Pyroscope
from components.pyroscope_elsewhere import PyroscopeElsewhere
from components.pyroscope_storage import BlobArgs, WatchArgs
from contract.choices import ClusterCredentials
from contract.messages.signal import SignalRequest
from contract.outputs import UPLOAD_MINUTES_OUTPUT
from infra import arguments, observation
from infra.faults import Fault
from infra.lookups import Operations
from infra.notes import notes
from infra.preflight import check_contract
from infra.stack import Stack

if TYPE_CHECKING:
    from components.profile_storage import ProfileStorage


def register(stack: Stack, operations: Operations) -> None:
    """Register the stack's resources and exports; ``operations`` observe what has drifted."""
    # First of all: a dashboard file that cannot be used is reported before anything is made.
    wanted = arguments.wanted_dashboard(stack)
    group = _resource_group(stack)

    # 0. A cluster, its GPU nodes, and where its metrics go.
    in_cluster = stack.options(subscription=stack.cluster_subscription)
    cluster = AksCluster("cluster", arguments.cluster(stack, group), in_cluster)
    pool = _gpu_pool(stack, cluster)
    prometheus = _prometheus(stack, group, cluster)

    # 1. The agent, once its nodes are there and its metrics are collected.
    gadget = InspektorGadget(
        "inspektor-gadget",
        arguments.inspektor_gadget(stack, cluster),
        stack.options(
            cluster.provider,
            subscription=stack.cluster_subscription,
            depends_on=[one for one in (*cluster.cleared, pool, prometheus) if one is not None],
            deleted_with=cluster.created,
        ),
    )
    _check_new_agent(stack, gadget)

    # 2. The profiles' store, behind a Private Link Service.
    pyroscope = _pyroscope(stack, group, cluster, gadget)

    # 3. Grafana, and, where it is Azure's, its approved way to the store.
    grafana = _grafana(stack, group, prometheus)
    target = arguments.grafana_target(stack, grafana)
    metrics = arguments.prometheus_source(stack, prometheus)
    revisions = observation.revisions(stack, operations, target, metrics, wanted)
    endpoint = _private_endpoint(stack, group, grafana, pyroscope, revisions)

    # 4. The data sources: profiles through that endpoint, and metrics.
    before: list[pulumi.Resource] = [pyroscope if grafana is None else grafana]
    created = grafana.created if grafana is not None else None
    sources = GrafanaDataSources(
        "data-sources",
        arguments.data_sources(stack, target, metrics, endpoint, revisions),
        stack.options(depends_on=before, deleted_with=created),
    )

    # 5. The dashboard.
    dashboard = GrafanaDashboard(
        "dashboard",
        arguments.dashboard(stack, wanted, target, revisions),
        stack.options(depends_on=[*before, sources], deleted_with=created),
    )

    # 6. Who is notified; and what the operator gets.
    _alerts(stack, group, cluster, prometheus, pyroscope, dashboard)
    _export(stack, gadget, pyroscope, target, endpoint, sources, dashboard)


def _resource_group(stack: Stack) -> pulumi.Input[str]:
    if not stack.makes_resource_group:
        return stack.resource_group
    group = resources.ResourceGroup(
        "resource-group",
        resource_group_name=stack.resource_group,
        location=stack.existing.location,
        tags=stack.tags,
        opts=pulumi.ResourceOptions(provider=stack.azure),
    )
    # From the id, which is unknown exactly when the group is made again.
    return group.id.apply(lambda _: stack.resource_group)


def _gpu_pool(stack: Stack, cluster: AksCluster) -> GpuNodePool | None:
    if not stack.settings.gpu_pool.enabled:
        return None
    return GpuNodePool(
        "gpu-pool",
        arguments.gpu_pool(stack, cluster),
        stack.options(
            cluster.provider,
            subscription=stack.cluster_subscription,
            depends_on=cluster.cleared,
            deleted_with=cluster.created,
        ),
    )


def _prometheus(
    stack: Stack, group: pulumi.Input[str], cluster: AksCluster
) -> ManagedPrometheus | None:
    workspace = stack.settings.prometheus.azure_monitor_workspace
    if workspace is None:
        return None
    args = arguments.prometheus(stack, workspace, group, cluster)
    return ManagedPrometheus("prometheus", args, stack.options(subscription=stack.own_subscription))


Store = Pyroscope | PyroscopeElsewhere
"""Where the profiles are kept: by the stack, or by somebody else."""


def _pyroscope(
    stack: Stack, group: pulumi.Input[str], cluster: AksCluster, gadget: InspektorGadget
) -> Store:
    existing = stack.settings.pyroscope.existing
    if existing is not None:
        return PyroscopeElsewhere(
            "pyroscope-elsewhere",
            arguments.pyroscope_elsewhere(stack, gadget, existing),
            stack.options(cluster.provider, depends_on=[gadget], deleted_with=cluster.created),
        )
    storage = _profile_storage(stack, group, cluster)
    return Pyroscope(
        "pyroscope",
        arguments.pyroscope(stack, gadget, _blob(stack, cluster, storage)),
        stack.options(
            cluster.provider,
            # With the storage deleted last: the server writes to it until it has ended.
            depends_on=[
                gadget,
                *_link_role(stack, group, cluster),
                *([] if storage is None else [storage]),
            ],
            deleted_with=cluster.created,
        ),
    )


def _link_role(
    stack: Stack, group: pulumi.Input[str], cluster: AksCluster
) -> list[pulumi.Resource]:
    if not stack.existing.makes_link_role:
        return []
    role = PrivateLinkRole(
        "private-link-role",
        arguments.private_link_role(stack, cluster, group),
        stack.options(subscription=stack.cluster_subscription),
    )
    return [role]


def _profile_storage(
    stack: Stack, group: pulumi.Input[str], cluster: AksCluster
) -> "ProfileStorage | None":
    account_id = stack.request.storage_account_id
    if account_id is None:
        return None
    # Imported where profiles are kept in Blob: the SDK's modules take their time.
    from components.profile_storage import ProfileStorage
    from infra import profile_storage

    return ProfileStorage(
        "profile-storage",
        profile_storage.arguments(stack, group, cluster, account_id),
        stack.options(subscription=stack.own_subscription),
    )


def _blob(stack: Stack, cluster: AksCluster, storage: "ProfileStorage | None") -> BlobArgs | None:
    if storage is None:
        return None
    return BlobArgs(
        account_name=storage.account_name,
        container_name=storage.container_name,
        client_id=storage.client_id,
        watch=WatchArgs(
            cluster_id=cluster.id,
            admin=stack.settings.cluster.credentials is ClusterCredentials.ADMIN,
        ),
    )


def _grafana(
    stack: Stack, group: pulumi.Input[str], metrics: ManagedPrometheus | None
) -> GrafanaWorkspace | None:
    if not stack.settings.grafana.is_managed:
        return None
    options = stack.options(subscription=stack.grafana_subscription)
    return GrafanaWorkspace("grafana", arguments.grafana(stack, group, metrics), options)


def _private_endpoint(
    stack: Stack,
    group: pulumi.Input[str],
    grafana: GrafanaWorkspace | None,
    store: Store,
    revisions: arguments.Revisions,
) -> GrafanaPrivateEndpoint | None:
    if grafana is None or not isinstance(store, Pyroscope) or store.private_link_id is None:
        return None
    return GrafanaPrivateEndpoint(
        "private-endpoint",
        arguments.private_endpoint(stack, group, grafana, store.private_link_id, revisions),
        stack.options(subscription=stack.grafana_subscription),
    )


def _check_new_agent(stack: Stack, gadget: InspektorGadget) -> None:
    """Hold an agent whose version nobody knew before it was installed against the contract."""
    if stack.existing.agent_version or pulumi.runtime.is_dry_run():
        return

    def check(agent: str) -> None:
        for finding in check_contract(stack.settings, agent):
            if isinstance(finding, Fault):
                raise pulumi.RunError(
                    f"The agent that was installed does not fit the server.\n{finding}"
                )
            pulumi.log.warn(finding)

    gadget.current_version.apply(check)


def _alerts(
    stack: Stack,
    group: pulumi.Input[str],
    cluster: AksCluster,
    metrics: ManagedPrometheus | None,
    store: Store,
    dashboard: GrafanaDashboard,
) -> None:
    if metrics is None or not stack.settings.alerts.on:
        return
    # Imported where alerts are on: the SDK's module takes its time.
    from components.alerts import Alerts
    from infra import alerts

    Alerts(
        "alerts",
        alerts.arguments(stack, group, metrics, dashboard),
        stack.options(cluster.provider, depends_on=[store], deleted_with=cluster.created),
    )


def _export(
    stack: Stack,
    gadget: InspektorGadget,
    pyroscope: Store,
    grafana: GrafanaTargetArgs,
    endpoint: GrafanaPrivateEndpoint | None,
    sources: GrafanaDataSources,
    dashboard: GrafanaDashboard,
) -> None:
    pulumi.export("dashboardUrl", dashboard.url)
    pulumi.export("grafanaEndpoint", grafana.endpoint)
    pulumi.export("dataSourceUids", _uids(stack, sources))
    if endpoint is not None:
        reached = {"state": endpoint.state, "privateIp": endpoint.private_ip}
        pulumi.export("privateEndpoint", reached)
    pulumi.export("agentVersion", gadget.current_version)
    pulumi.export("pyroscopeUrl", pyroscope.url)
    pulumi.export("signalCheck", _signal_check(stack, grafana))
    storage = stack.settings.pyroscope.storage
    if storage.loss_window is not None:
        pulumi.export(UPLOAD_MINUTES_OUTPUT, storage.upload_minutes)
    pulumi.export("notes", notes(stack.settings, stack.name))


def _uids(stack: Stack, sources: GrafanaDataSources) -> dict[str, pulumi.Input[str]]:
    uids: dict[str, pulumi.Input[str]] = {
        "pyroscope": sources.pyroscope_uid
        if sources.pyroscope_uid is not None
        else stack.pyroscope_uid
    }
    if sources.prometheus_uid is not None:
        uids["prometheus"] = sources.prometheus_uid
    return uids


def _signal_check(stack: Stack, grafana: GrafanaTargetArgs) -> pulumi.Output[dict[str, object]]:
    """What ``python -m gpuobs check`` reads."""
    metrics = stack.prometheus_source

    def request(endpoint: str) -> dict[str, object]:
        return SignalRequest(
            endpoint=endpoint,
            token_variable=grafana.token_variable,
            pyroscope_uid=stack.pyroscope_uid,
            prometheus_uid=metrics.uid if metrics else None,
            cluster_id=stack.cluster_id,
            extension_id=stack.request.extension_id or "",
            own_prometheus=stack.settings.prometheus.url is not None,
        ).model_dump(by_alias=True, exclude_none=True)

    return pulumi.Output.from_input(grafana.endpoint).apply(request)
