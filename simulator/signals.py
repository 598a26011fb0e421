"""What reaches what: the chain from a GPU workload to a panel in Grafana, link by link.

Each function answers from the state of the world alone and says, where a link is missing, which.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from simulator.arm import private_link
from simulator.arm.types.data_collection import forwards_to
from simulator.kubernetes import (
    cloud_controller,
    extension_agent,
    forwarder,
    gpus,
    pods,
    pyroscope_server,
    state,
    workloads,
)
from simulator.kubernetes.pyroscope_server import Server
from simulator.prometheus.exporters import Node
from simulator.values import JsonObject, as_integer, as_objects, as_text, dig, text_map, texts
from simulator.world import ClusterState, Resource, World

EXTENSIONS: Final = "Microsoft.KubernetesConfiguration/extensions"
PUSH_TARGET: Final = ("gadget", "pyroscope", 4040)
"""Namespace, Service and port to which the agent pushes, fixed."""
TAKING: Final = {pyroscope_server.ALL: (), "distributor": ("ingester",)}
"""What takes pushes, and what else must be up for them (Pyroscope's documentation, "The write
path")."""
ANSWERING: Final = {
    pyroscope_server.ALL: (),
    "query-frontend": ("query-scheduler", "querier", "ingester", "store-gateway"),
}
"""What answers queries, and what else must be up for them ("The read path")."""


def reachable_pyroscope(world: World, grafana_id: str, url: str) -> tuple[str, ClusterState] | str:
    """The cluster whose Pyroscope answers a Grafana workspace at ``url``, or why none does."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host:
        return f"the URL {url!r} has no host"
    if parts.scheme != "http":
        return f"{url}: Pyroscope serves plain http, not {parts.scheme or 'nothing'}"
    service = private_link.service_behind(world, grafana_id, host)
    if isinstance(service, str):
        return service
    if service.properties.get("enableProxyProtocol") is True:
        return "the private link sends the proxy protocol, which Pyroscope's probes do not speak"
    cluster_id = as_text(service.hidden.get("cluster"))
    objects = world.clusters.get(cluster_id)
    if objects is None:
        return "the cluster behind the private link is gone"
    if not _running(world, cluster_id):
        return "the cluster behind the private link is stopped"
    owner = as_text(dig(service.body, "tags", cloud_controller.OWNER_TAG))
    manifest = _service(objects, owner)
    if manifest is None:
        return f"the Service {owner} behind the private link is gone"
    wanted = parts.port or 80
    if wanted not in cloud_controller.ports_of(manifest):
        return f"the Service {owner} does not listen on port {wanted}"
    answering = _behind(_servers(world, cluster_id, objects), manifest, ANSWERING)
    return answering if isinstance(answering, str) else (cluster_id, objects)


def pyroscope_inside(
    world: World,
    cluster_id: str,
    url: str,
    needs: dict[str, tuple[str, ...]] = ANSWERING,
) -> tuple[str, ClusterState] | str:
    """The cluster, if its Pyroscope answers a pod of it at ``url``; or why it does not.

    ``needs``: the components that do what is asked there, and those that they need.
    """
    parts = urlsplit(url)
    objects = world.clusters.get(cluster_id.lower())
    if objects is None or not _running(world, cluster_id):
        return "the cluster is gone, or stopped"
    if parts.scheme != "http":
        return f"{url}: Pyroscope serves plain http, not {parts.scheme or 'nothing'}"
    host = re.fullmatch(r"([^.]+)\.([^.]+)(\.svc(\.cluster\.local)?)?", parts.hostname or "")
    manifest = _service(objects, f"{host[2]}/{host[1]}") if host else None
    if host is None or manifest is None:
        return f"{url}: no such host"
    if (parts.port or 80) not in cloud_controller.ports_of(manifest):
        return f"{url}: connection refused"
    answering = _behind(_servers(world, cluster_id, objects), manifest, needs)
    return f"{url}: {answering}" if isinstance(answering, str) else (cluster_id, objects)


def ready_pyroscope(world: World, cluster_id: str) -> Server | None:
    """A Pyroscope of the cluster that is up; the one the agent pushes to, if that is.

    Of several components it is the one that keeps profiles.
    """
    objects = world.clusters.get(cluster_id.lower())
    if objects is None or not _running(world, cluster_id):
        return None
    found = _servers(world, cluster_id, objects)
    servers = [one for one in found if one.component in pyroscope_server.KEEPERS]
    for server in servers:
        if (server.namespace, server.name) == PUSH_TARGET[:2]:
            return server
    return servers[0] if servers else None


def server_version(world: World, cluster_id: str) -> str:
    """The version of the server that is up; empty if none is."""
    server = ready_pyroscope(world, cluster_id)
    return server.version if server else ""


def agent(world: World, cluster_id: str) -> Resource | None:
    """The extension whose agent runs on the cluster."""
    objects = world.clusters.get(cluster_id.lower())
    if objects is None or not _running(world, cluster_id):
        return None
    for extension in world.of_type(EXTENSIONS):
        if extension_agent.cluster_id(extension) != cluster_id.lower():
            continue
        namespace = extension_agent.namespace_for(extension)
        workload = state.find(objects, "DaemonSet", namespace, extension_agent.DAEMON_SET)
        if workload is not None and workloads.daemon_pods(world, cluster_id, workload):
            return extension
    return None


def agent_version(world: World, cluster_id: str) -> str:
    """The version of the agent that runs; empty if none does."""
    extension = agent(world, cluster_id)
    return as_text(extension.properties.get("currentVersion")) if extension else ""


def gpu_workload_missing(world: World, cluster_id: str) -> str:
    """Why no GPU workload can run; empty if nodes offer ``nvidia.com/gpu``."""
    objects = world.clusters.get(cluster_id.lower())
    if objects is None:
        return "the cluster is gone"
    return gpus.missing(world, cluster_id.lower(), objects)


def profiles_missing(world: World, cluster_id: str) -> str:
    """Why no profiles are to be seen in the cluster's Pyroscope; empty if they flow."""
    cluster_id = cluster_id.lower()
    reason = gpu_workload_missing(world, cluster_id)
    if reason:
        return reason
    extension = agent(world, cluster_id)
    if extension is None:
        return "no Inspektor Gadget agent runs on the cluster"
    settings = text_map(extension.properties.get("configurationSettings"))
    if settings.get("gpuObservability.enabled", "false").lower() != "true":
        return "the agent's gpuObservability is not enabled"
    objects = world.clusters[cluster_id]
    namespace, name, port = PUSH_TARGET
    service = _service(objects, f"{namespace}/{name}")
    if service is not None and dig(service, "spec", "type") == "ExternalName":
        host = as_text(dig(service, "spec", "externalName"))
        found = pyroscope_inside(world, cluster_id, f"http://{host}:{port}", TAKING)
        return found if isinstance(found, str) else _pushed_elsewhere(world, cluster_id, extension)
    collector = forwarder.behind(objects, service) if service is not None else None
    if service is not None and collector is not None:
        reason = _forwarding(world, cluster_id, objects, collector)
        return reason or _pushed_elsewhere(world, cluster_id, extension)
    if service is None or port not in cloud_controller.ports_of(service):
        return f"produced zero addresses: there is no Service {name}.{namespace} with port {port}"
    taking = _behind(_servers(world, cluster_id, objects), service, TAKING)
    if isinstance(taking, str):
        return taking
    return _incompatible(taking, as_text(extension.properties.get("currentVersion")))


def _forwarding(world: World, cluster_id: str, objects: ClusterState, collector: JsonObject) -> str:
    """Why a Collector does not bring profiles to a Pyroscope of the cluster; empty: it does."""
    to = forwarder.destination(objects, collector, PUSH_TARGET[2])
    if isinstance(to, str):
        return to
    host = re.fullmatch(r"([^.]+)\.([^.]+)\.svc(\.cluster\.local)?", to.host)
    manifest = _service(objects, f"{host[2]}/{host[1]}") if host else None
    if manifest is None:
        return f"{to.host}: no such host"
    refused = forwarder.refusal(manifest, to)
    taking = _behind(_servers(world, cluster_id, objects), manifest, TAKING)
    return refused or (taking if isinstance(taking, str) else "")


def _pushed_elsewhere(world: World, cluster_id: str, extension: Resource) -> str:
    server = ready_pyroscope(world, cluster_id)
    version = as_text(extension.properties.get("currentVersion"))
    return _incompatible(server, version) if server else "no Pyroscope is ready"


def metrics_missing(world: World, cluster_id: str, workspace_id: str) -> str:
    """Why the agent's metrics do not reach the workspace; empty if they flow."""
    cluster_id = cluster_id.lower()
    reason = gpu_workload_missing(world, cluster_id)
    if reason:
        return reason
    cluster, workspace = world.get(cluster_id), world.get(workspace_id)
    if cluster is None or workspace is None:
        return "the cluster or the workspace is gone"
    extension = agent(world, cluster_id)
    if extension is None:
        return "no Inspektor Gadget agent runs on the cluster"
    objects = world.clusters[cluster_id]
    namespace = extension_agent.namespace_for(extension)
    workload = state.find(objects, "DaemonSet", namespace, extension_agent.DAEMON_SET)
    if workload is None or not _is_scraped(objects, workload):
        return "the agent's azureMonitor is not enabled: no PodMonitor"
    if dig(cluster.properties, "azureMonitorProfile", "metrics", "enabled") is not True:
        return "the cluster's metrics add-on is off"
    if not _forwarded(world, cluster_id, workspace):
        return "no collection rule of the cluster forwards Prometheus metrics to the workspace"
    return ""


def gpu_nodes(world: World, cluster_id: str) -> tuple[Node, ...]:
    """The nodes with GPUs, with the pods of agent and DCGM exporter that are scraped on them."""
    objects = world.clusters[cluster_id.lower()]
    agents = _scraped(objects, "inspektor-gadget")
    exporters = _scraped(objects, "dcgm-exporter")
    return tuple(
        Node(
            name,
            pool.gpus,
            _daemon_pod(world, cluster_id, agents, pool.name, number),
            _daemon_pod(world, cluster_id, exporters, pool.name, number),
        )
        for pool in state.pools(world, cluster_id)
        if pool.gpus
        for number, name in enumerate(pool.node_names)
    )


def _daemon_pod(
    world: World, cluster_id: str, owners: list[JsonObject], pool: str, number: int
) -> str:
    """The pod of the first of these DaemonSets that is on a node; empty without one."""
    for owner in owners:
        if any(
            place.name == pool for place in state.places(world, cluster_id, state.pod_spec(owner))
        ):
            return pods.daemon_pod(owner, pool, number)
    return ""


def _scraped(objects: ClusterState, image: str) -> list[JsonObject]:
    """The DaemonSets with this in an image's name that a PodMonitor of the add-on selects."""
    return [
        workload
        for workload in objects.of_kind("DaemonSet")
        if any(
            image in as_text(item.get("image"))
            for item in as_objects(state.pod_spec(workload).get("containers"))
        )
        and _is_scraped(objects, workload)
    ]


def _is_scraped(objects: ClusterState, workload: JsonObject) -> bool:
    labels = text_map(dig(workload, "spec", "template", "metadata", "labels"))
    return any(
        text_map(dig(monitor, "spec", "selector", "matchLabels")).items() <= labels.items()
        for monitor in objects.of_kind("PodMonitor", state.namespace_of(workload))
    )


def _forwarded(world: World, cluster_id: str, workspace: Resource) -> bool:
    for association in world.of_type("Microsoft.Insights/dataCollectionRuleAssociations"):
        if not association.key.startswith(cluster_id + "/"):
            continue
        rule = world.get(as_text(association.properties.get("dataCollectionRuleId")))
        if rule is None or not forwards_to(rule, workspace.id):
            continue
        endpoint = as_text(rule.properties.get("dataCollectionEndpointId"))
        if endpoint and world.get(endpoint) is not None:
            return True
    return False


def _incompatible(server: Server, agent: str) -> str:
    """Why the server stores nothing of what the agent pushes; empty if it does.

    Pushed with the agent's own encoder to real servers: another protocol version's pushes succeed,
    and nothing is to be seen. From 1.16 on a profile is named by its period type
    (``pkg/ingester/otlp/convert.go``), which agents before 0.54 do not send, and a profile without
    a name is refused (``validation.ValidateLabels``: ``invalid metric name``).
    """
    version = _numbers(server.version)
    if not (1, 15) <= version < (1, 20):
        return f"Pyroscope {server.version} does not understand the agent's profiles"
    if version >= (1, 16) and _numbers(agent) < (0, 54):
        return (
            f"Pyroscope {server.version} refuses every push of agent {agent}: rpc error: code = "
            "InvalidArgument desc = invalid metric name"
        )
    if server.config.get("multitenancy_enabled") is True:
        return "Pyroscope wants a tenant, and the agent sends none"
    return ""


def _numbers(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _servers(world: World, cluster_id: str, objects: ClusterState) -> list[Server]:
    found: list[Server] = []
    for workload in (*objects.of_kind("StatefulSet"), *objects.of_kind("Deployment")):
        if not pyroscope_server.is_pyroscope(workload):
            continue
        ready = as_integer(dig(workload, "status", "readyReplicas"))
        if ready < 1:
            continue
        if _pods_starting(objects, workload):
            continue
        if workloads.obstacle(world, cluster_id, objects, workload):
            continue
        found.append(
            Server(
                state.namespace_of(workload),
                state.name_of(workload),
                pyroscope_server.component_of(workload),
                ready,
                text_map(dig(workload, "spec", "template", "metadata", "labels")),
                pyroscope_server.version_of(workload),
                pyroscope_server.config_of(objects, workload),
                pyroscope_server.overrides_of(objects, workload),
            )
        )
    return found


def _pods_starting(objects: ClusterState, workload: JsonObject) -> bool:
    for release in objects.releases.values():
        if state.key(workload) in texts(release.get("resources")):
            return release.get("podsStarted") is False
    return False


def _service(objects: ClusterState, key: str) -> JsonObject | None:
    for manifest in objects.services:
        if cloud_controller.key_of(manifest) == key:
            return manifest
    return None


def _behind(
    servers: list[Server], service: JsonObject, needs: dict[str, tuple[str, ...]]
) -> Server | str:
    """The server to which a Service leads, with all that it needs, or what is missing.

    ``needs``: the components that do what is asked of the Service, and those that they need.
    """
    key = cloud_controller.key_of(service)
    beside = [one for one in servers if one.namespace == key.split("/")[0]]
    chosen = [one for one in beside if _selects(service, one)]
    found = next((one for one in chosen if one.component in needs), None)
    if found is None:
        wrong = f": {chosen[0].component} answers 404" if chosen else ""
        return f"no ready Pyroscope is behind the Service {key}{wrong}"
    ready = {one.component: one.ready for one in beside}
    for component in needs[found.component]:
        enough = found.quorum if component == "ingester" else 1
        if ready.get(component, 0) < enough:
            return (
                f"{found.name} finds {ready.get(component, 0)} of the {enough} {component} "
                "instances that it needs"
            )
    return found


def _selects(service: JsonObject, server: Server) -> bool:
    """Whether a Service's selector matches the server's pods."""
    selector = text_map(dig(service, "spec", "selector"))
    return bool(selector) and all(
        server.labels.get(key) == value for key, value in selector.items()
    )


def _running(world: World, cluster_id: str) -> bool:
    cluster = world.get(cluster_id)
    return cluster is not None and dig(cluster.properties, "powerState", "code") == "Running"
