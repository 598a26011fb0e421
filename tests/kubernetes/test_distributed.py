"""Pyroscope as micro-services by the real Helm and provider: made, changed to and from, removed."""

import pytest

from simulator.values import JsonObject, as_object, as_objects, dig
from tests.engine.changes import order, touched
from tests.engine.portal import portal_of
from tests.engine.simulation import Simulation
from tests.engine.test_distributed import CHAIN, COMPONENTS, POOL, SERVICE, in_order
from tests.kubernetes.cluster import GADGET, PREFIX, Cluster, name_of

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

SERVICES = f"{GADGET}/services"
BUDGETS = "/apis/policy/v1/namespaces/gadget/poddisruptionbudgets"
APPS = "/apis/apps/v1/namespaces/gadget"
NAMES = {f"pyroscope-{component}" for component in COMPONENTS}


def listed(cluster: Cluster, path: str) -> dict[str, JsonObject]:
    return {name_of(one): one for one in as_objects(cluster.get(path)["items"])}


def workloads(cluster: Cluster) -> dict[str, JsonObject]:
    return listed(cluster, f"{APPS}/statefulsets") | listed(cluster, f"{APPS}/deployments")


@pytest.fixture(scope="module", autouse=True)
def deployed(real: Simulation) -> None:
    """The micro-services, on a cluster whose pods can sign in and that has nodes for them."""
    with portal_of(real) as azure:
        azure.let_pods_sign_in()
        size = {"mode": "User", "vmSize": "Standard_D8s_v5", "count": 3, "osType": "Linux"}
        azure.put(POOL, {"properties": size})
    real.stack_file("dev", {"pyroscope.storage": {"blob": {}}, "pyroscope.mode": "distributed"})
    real.up()


def test_the_chart_makes_each_component_with_its_budget_and_spread(cluster: Cluster) -> None:
    found = workloads(cluster)
    assert set(found) == NAMES == set(listed(cluster, BUDGETS))
    for component in COMPONENTS:
        workload = found[f"pyroscope-{component}"]
        pod = as_object(dig(workload, "spec", "template", "spec"))
        spread = as_objects(pod["topologySpreadConstraints"])
        assert [one["topologyKey"] for one in spread] == [
            "topology.kubernetes.io/zone",
            "kubernetes.io/hostname",
        ]
        labels = as_object(dig(spread[0], "labelSelector", "matchLabels"))
        assert (
            labels.items()
            <= as_object(dig(workload, "spec", "template", "metadata", "labels")).items()
        )
        arguments = as_objects(pod["containers"])[0]["args"]
        assert f"-target={component}" in str(arguments)
        assert "-distributor.replication-factor=3" in str(arguments)
    claims = listed(cluster, f"{GADGET}/persistentvolumeclaims")
    assert set(claims) == {f"data-pyroscope-ingester-{number}" for number in range(3)}


def test_one_service_has_a_load_balancer_and_the_private_link_and_the_agents_leads_inwards(
    cluster: Cluster,
) -> None:
    found = listed(cluster, SERVICES)
    balanced = {name for name, one in found.items() if dig(one, "spec", "type") == "LoadBalancer"}
    linked = {
        name
        for name, one in found.items()
        if f"{PREFIX}pls-name" in as_object(dig(one, "metadata", "annotations"))
    }
    assert balanced == linked == {"pyroscope-query-frontend"}
    own = found["pyroscope"]
    selected = as_object(dig(own, "spec", "selector"))
    assert selected["app.kubernetes.io/component"] == "distributor"
    labels = dig(
        workloads(cluster)["pyroscope-distributor"], "spec", "template", "metadata", "labels"
    )
    assert selected.items() <= as_object(labels).items()


def test_a_second_up_changes_nothing_also_after_a_refresh(real: Simulation) -> None:
    assert touched(real.up()) == {}
    assert touched(real.up("dev", "--refresh")) == {}


def test_back_to_one_server_in_order(real: Simulation, cluster: Cluster) -> None:
    real.stack_file("dev", {"pyroscope.mode": None})
    outcome = real.up()
    assert touched(outcome) == {**CHAIN, SERVICE: "replace"}
    in_order(outcome, SERVICE)
    assert set(workloads(cluster)) == {"pyroscope"}
    assert dig(listed(cluster, SERVICES)["pyroscope"], "spec", "type") == "LoadBalancer"
    assert touched(real.up()) == {}


def test_to_micro_services_again_in_order(real: Simulation, cluster: Cluster) -> None:
    real.stack_file("dev", {"pyroscope.mode": "distributed"})
    outcome = real.up()
    assert touched(outcome) == {**CHAIN, SERVICE: "create"}
    in_order(outcome)
    assert set(workloads(cluster)) == NAMES
    assert touched(real.up()) == {}


def test_what_it_holds_is_written_before_its_rights_go(real: Simulation) -> None:
    """An API server keeps pods that are ending, though Helm has forgotten the release."""
    real.control("POST", "settings", {"flushSeconds": 300})
    real.latency(0.02)
    gone = real.destroy()
    real.latency(0)
    assert "Pyroscope is still writing what it holds: pyroscope-ingester-0" in gone.output
    done = order(gone)
    steps = ("pyroscope-release", "pyroscope-stopped", "profile-storage-role")
    assert [done.index(f"- {name}") for name in steps] == sorted(
        done.index(f"- {name}") for name in steps
    )
