"""The shipped stack ``sandbox`` on the real engine: cluster, Grafana and workspace are made too."""

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.simulation import Simulation
from tests.engine.whole_life import WholeLife, live

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def sandbox(sim: Simulation) -> WholeLife:
    return live(sim, "sandbox")


def _made(sandbox: WholeLife, type_name: str) -> JsonObject:
    """The stack's own resource of a type; others of it exist besides."""
    (found,) = [
        body
        for key, body in sandbox.resources.items()
        if "/resourcegroups/rg-gpuobs-sandbox/" in key.lower()
        and as_text(body.get("type")).lower() == type_name.lower()
    ]
    return found


def test_the_preview_says_exactly_what_up_does(sandbox: WholeLife) -> None:
    assert sandbox.preview.ops() == sandbox.up.ops()
    assert set(sandbox.up.ops().values()) == {"create"}


def test_everything_is_made(sandbox: WholeLife) -> None:
    made = {step.type for step in sandbox.up.changes}
    assert made >= {
        "azure-native:resources:ResourceGroup",
        "azure-native:containerservice:ManagedCluster",
        "azure-native:monitor:AzureMonitorWorkspace",
        "azure-native:dashboard:Grafana",
        "azure-native:authorization:RoleAssignment",
    }


@pytest.mark.handles("inline-and-separate-pools")
def test_the_gpu_pool_stands_beside_the_clusters_own_and_neither_removes_the_other(
    sandbox: WholeLife,
) -> None:
    cluster = _made(sandbox, "Microsoft.ContainerService/managedClusters")
    pools = [pool["name"] for pool in as_objects(dig(cluster, "properties", "agentPoolProfiles"))]
    assert sorted(map(as_text, pools)) == ["gpu", "system"]
    # The second `up` does not want to put one of the lists back.
    assert [str(step) for step in sandbox.again.changes] == []


def test_grafanas_new_identity_may_read_the_new_workspace(sandbox: WholeLife) -> None:
    grafana = _made(sandbox, "Microsoft.Dashboard/grafana")
    principal = dig(grafana, "identity", "principalId")
    scopes = [
        as_text(dig(body, "properties", "scope"))
        for body in sandbox.resources.values()
        if dig(body, "properties", "principalId") == principal
    ]
    assert [scope.split("/")[-2].lower() for scope in scopes] == ["accounts"]


def test_the_endpoint_is_approved_and_has_an_address(sandbox: WholeLife) -> None:
    assert dig(sandbox.outputs, "privateEndpoint", "state") == "Approved"
    assert dig(sandbox.outputs, "privateEndpoint", "privateIp")


def test_names_come_from_the_stack(sandbox: WholeLife) -> None:
    uids = as_object(sandbox.outputs["dataSourceUids"])
    assert set(uids) == {"pyroscope", "prometheus"}
    assert all("sandbox" in as_text(uid) for uid in uids.values())
    assert "sandbox" in as_text(sandbox.outputs["dashboardUrl"])


def test_the_data_flows_from_the_agent_to_grafana(sandbox: WholeLife) -> None:
    assert "The signal arrives." in sandbox.signal
    assert "_allocate_kv_cache_tensors" in sandbox.hotspots


def test_a_second_up_changes_nothing(sandbox: WholeLife) -> None:
    assert [str(step) for step in sandbox.again.changes] == []


@pytest.mark.handles("stale-pools-after-refresh")
def test_a_refresh_learns_of_the_clusters_new_pool_which_the_next_up_forgets_again(
    sandbox: WholeLife,
) -> None:
    learned = [("update cluster-cluster", ("agentPoolProfiles",))]
    # And the mark on the namespace, which a command made.
    marked = [("update inspektor-gadget-namespace", ("metadata",))]
    found = sorted((str(step), step.diffs) for step in sandbox.refresh.changes)
    assert found == [*learned, *marked]
    assert [(str(step), step.diffs) for step in sandbox.preview_after_refresh.changes] == learned


@pytest.mark.handles("cluster-before-endpoint")
def test_the_cluster_goes_after_the_endpoint_that_holds_its_private_link(
    sandbox: WholeLife,
) -> None:
    order = sandbox.destroy.order("delete")
    assert order.index("private-endpoint-endpoint") < order.index("cluster-cluster")
    assert order.index("cluster-cluster") < order.index("resource-group")


@pytest.mark.handles("things-left-behind")
def test_destroy_leaves_azure_as_it_was_before(sandbox: WholeLife) -> None:
    assert sandbox.left_in_azure == []
    assert sandbox.left_in_state == []


def test_no_command_warns(sandbox: WholeLife) -> None:
    said = [
        sandbox.preview,
        sandbox.up,
        sandbox.again,
        sandbox.refresh,
        sandbox.preview_after_refresh,
        sandbox.destroy,
    ]
    assert [line for outcome in said for line in outcome.diagnostics] == []
