"""The chain from a GPU workload to Grafana: whole, and with each of its links missing."""

import pytest

from simulator import signals
from simulator.arm import roles
from simulator.values import JsonObject, as_text, bury, clone_object, dig
from simulator.world import World
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    GRAFANA,
    GROUP,
    POOL,
    WORKSPACE,
    Azure,
    Kubernetes,
    pyroscope_values,
)

INSIGHTS = f"{GROUP}/providers/Microsoft.Insights"
ASSOCIATION = f"{CLUSTER}/providers/Microsoft.Insights/dataCollectionRuleAssociations/gpuobs"


@pytest.fixture
def kubernetes(azure: Azure) -> Kubernetes:
    """A cluster with GPU nodes, agent and Pyroscope."""
    azure.add_pool()
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    cluster.install_device_plugin()
    azure.install_agent()
    assert cluster.release()["status"] == "deployed"
    return cluster


def world_of(azure: Azure) -> World:
    """What the simulator has saved."""
    return World.load(azure.server.home / "world.json", 0)


def link(azure: Azure) -> str:
    """Approve and refresh the private link; Pyroscope's URL for Grafana."""
    azure.make_endpoint()
    assert azure.decide("Approved").status_code == 200
    azure.refresh()
    return f"http://{dig(azure.get(ENDPOINT), 'properties', 'privateLinkServicePrivateIP')}:4040"


def collect(azure: Azure) -> None:
    """Wire the cluster's metrics to the workspace."""
    endpoint, rule = (
        f"{INSIGHTS}/dataCollectionEndpoints/dce",
        f"{INSIGHTS}/dataCollectionRules/dcr",
    )
    azure.put(endpoint, {"location": "westeurope", "kind": "Linux", "properties": {}})
    stream = "Microsoft-PrometheusMetrics"
    properties = {
        "dataCollectionEndpointId": endpoint,
        "dataSources": {"prometheusForwarder": [{"name": "p", "streams": [stream]}]},
        "destinations": {"monitoringAccounts": [{"name": "w", "accountResourceId": WORKSPACE}]},
        "dataFlows": [{"streams": [stream], "destinations": ["w"]}],
    }
    azure.put(rule, {"location": "westeurope", "kind": "Linux", "properties": properties})
    azure.put(ASSOCIATION, {"properties": {"dataCollectionRuleId": rule}})


def upgraded(kubernetes: Kubernetes, value: object, *path: str) -> JsonObject:
    values = clone_object(pyroscope_values())
    bury(values, value, *path)
    return kubernetes.release(values, upgrade=True)


def reached(azure: Azure, url: str) -> str:
    """The cluster that answers, or why none does."""
    found = signals.reachable_pyroscope(world_of(azure), GRAFANA, url)
    return found if isinstance(found, str) else found[0]


# --- Grafana reaches Pyroscope -------------------------------------------------------------------


def test_pyroscope_answers_through_an_approved_and_refreshed_link(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    url = link(azure)
    assert reached(azure, url) == CLUSTER.lower()
    assert "does not listen on port" in reached(azure, url.replace("4040", "4041"))
    assert "plain http" in reached(azure, url.replace("http:", "https:"))
    assert "no host" in reached(azure, "http://:4040")
    assert "has the address" in reached(azure, f"http://{kubernetes.address()}:4040")
    found = signals.reachable_pyroscope(world_of(azure), GRAFANA + "x", url)
    assert isinstance(found, str)


def test_a_link_rejected_later_answers_no_more_even_before_a_refresh(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    url = link(azure)
    azure.decide("Rejected")
    assert "not approved" in reached(azure, url)


def test_the_proxy_protocol_keeps_pyroscope_out_of_reach(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    url = link(azure)
    kubernetes.release(pyroscope_values(pls_proxy_protocol="true"), upgrade=True)
    assert "proxy protocol" in reached(azure, url)


def test_a_stopped_cluster_is_out_of_reach(azure: Azure, kubernetes: Kubernetes) -> None:
    url = link(azure)
    azure.call("POST", f"{CLUSTER}/stop")
    azure.get(CLUSTER)
    assert "stopped" in reached(azure, url)


# --- profiles ------------------------------------------------------------------------------------


def test_profiles_flow_when_agent_server_and_gpus_are_there(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    world = world_of(azure)
    assert signals.profiles_missing(world, CLUSTER) == ""
    assert signals.agent_version(world, CLUSTER) == "0.54.1"
    assert signals.server_version(world, CLUSTER) == "1.15.0"


@pytest.mark.parametrize(
    ("tag", "flow"),
    [("1.14.1", False), ("1.15.1", True), ("1.19.0", True), ("1.20.0", False), ("2.1.0", False)],
)
def test_a_server_outside_the_contract_takes_profiles_and_shows_none(
    azure: Azure, kubernetes: Kubernetes, tag: str, flow: bool
) -> None:
    assert upgraded(kubernetes, tag, "pyroscope", "image", "tag")["status"] == "deployed"
    assert (signals.profiles_missing(world_of(azure), CLUSTER) == "") is flow
    assert signals.ready_pyroscope(world_of(azure), CLUSTER) is not None


@pytest.mark.parametrize(
    ("agent", "tag", "flow"),
    [
        ("0.53.0", "1.15.0", True),
        ("0.53.0", "1.16.0", False),
        ("0.53.0", "1.19.0", False),
        ("0.54.1", "1.16.0", True),
    ],
)
def test_a_server_that_names_a_profile_by_its_period_type_refuses_agents_that_send_none(
    azure: Azure, kubernetes: Kubernetes, agent: str, tag: str, flow: bool
) -> None:
    pinned = {"properties": {"autoUpgradeMinorVersion": False, "version": agent}}
    azure.call("PATCH", EXTENSION, pinned)
    azure.settled(EXTENSION)
    upgraded(kubernetes, tag, "pyroscope", "image", "tag")
    missing = signals.profiles_missing(world_of(azure), CLUSTER)
    assert ("invalid metric name" in missing) is not flow, missing
    assert (missing == "") is flow


def test_another_port_than_the_agents_gets_nothing(azure: Azure, kubernetes: Kubernetes) -> None:
    upgraded(kubernetes, 4041, "pyroscope", "service", "port")
    assert "produced zero addresses" in signals.profiles_missing(world_of(azure), CLUSTER)


def test_another_release_name_gets_nothing(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.uninstall()
    assert kubernetes.release(name="profiles")["status"] == "deployed"
    assert "produced zero addresses" in signals.profiles_missing(world_of(azure), CLUSTER)


def test_multitenancy_turns_the_agents_pushes_away(azure: Azure, kubernetes: Kubernetes) -> None:
    upgraded(kubernetes, True, "pyroscope", "structuredConfig", "multitenancy_enabled")
    assert "tenant" in signals.profiles_missing(world_of(azure), CLUSTER)


def test_without_gpu_observability_nothing_is_profiled(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    change = {"properties": {"configurationSettings": {"gpuObservability.enabled": "false"}}}
    azure.call("PATCH", EXTENSION, change)
    azure.settled(EXTENSION)
    assert "gpuObservability" in signals.profiles_missing(world_of(azure), CLUSTER)


def test_without_agent_pool_or_device_plugin_nothing_is_profiled(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    azure.delete(EXTENSION)
    assert "no Inspektor Gadget" in signals.profiles_missing(world_of(azure), CLUSTER)
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-device-plugin"
    kubernetes.call("DELETE", path)
    assert "device plugin" in signals.profiles_missing(world_of(azure), CLUSTER)
    azure.delete(POOL)
    assert "no node pool with GPUs" in signals.profiles_missing(world_of(azure), CLUSTER)


def test_a_device_plugin_must_tolerate_the_pools_taints(azure: Azure) -> None:
    azure.add_pool(scaleSetPriority="Spot")
    Kubernetes(azure).install_device_plugin(tolerate="sku")
    assert "device plugin" in signals.gpu_workload_missing(world_of(azure), CLUSTER)


def test_gpus_are_offered_once_the_plugin_has_registered_and_go_with_it(azure: Azure) -> None:
    azure.settings(latency=100)  # no time passes by itself
    pool_seconds, plugin_seconds = 300, 40
    Kubernetes(azure).install_device_plugin()
    body = {"count": 1, "vmSize": "Standard_NC24ads_A100_v4", "nodeTaints": ["sku=gpu:NoSchedule"]}
    assert azure.call("PUT", POOL, {"properties": body}).status_code == 201
    azure.advance(pool_seconds - 1)
    # The driver is part of making a node.
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Creating"
    azure.advance(1)
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Succeeded"
    assert "yet to register" in signals.gpu_workload_missing(world_of(azure), CLUSTER)
    azure.advance(plugin_seconds)
    assert signals.gpu_workload_missing(world_of(azure), CLUSTER) == ""
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-device-plugin"
    Kubernetes(azure).call("DELETE", path)
    assert "no device plugin" in signals.gpu_workload_missing(world_of(azure), CLUSTER)
    azure.settings(latency=0)


# --- metrics -------------------------------------------------------------------------------------


def test_metrics_flow_once_the_collection_rule_is_associated(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    assert "no collection rule" in signals.metrics_missing(world_of(azure), CLUSTER, WORKSPACE)
    collect(azure)
    assert signals.metrics_missing(world_of(azure), CLUSTER, WORKSPACE) == ""
    azure.delete(ASSOCIATION)
    assert signals.metrics_missing(world_of(azure), CLUSTER, WORKSPACE) != ""


def test_an_agent_without_azure_monitor_sends_no_metrics(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    azure.delete(EXTENSION)
    azure.install_agent(azure_monitor="false")
    collect(azure)
    assert "PodMonitor" in signals.metrics_missing(world_of(azure), CLUSTER, WORKSPACE)


# --- roles ---------------------------------------------------------------------------------------


def test_a_data_role_takes_effect_when_it_has_propagated(azure: Azure) -> None:
    identity = as_text(dig(azure.get(GRAFANA), "identity", "principalId"))
    viewer = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
    azure.settings(latency=1)
    definitions = f"{GROUP}/providers/Microsoft.Authorization/roleDefinitions"
    properties = {
        "roleDefinitionId": f"{definitions}/{viewer}",
        "principalId": identity,
        "principalType": "ServicePrincipal",
    }
    name = "aaaaaaaa-0000-4000-8000-000000000002"
    path = f"{GROUP}/providers/Microsoft.Authorization/roleAssignments/{name}"
    assert azure.call("PUT", path, {"properties": properties}).status_code == 201
    assert not roles.holds(world_of(azure), identity, GRAFANA, {viewer})
    azure.advance(120)
    assert roles.holds(world_of(azure), identity, GRAFANA, {viewer})
    azure.settings(latency=0)
