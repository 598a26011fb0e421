"""Micro-services that the cluster cannot hold are refused before the first of them is made."""

from typing import Any

import pytest

from contract.messages.survey import NodeSize, PoolFacts, Presence, Survey
from infra.preflight.capacity import Room, requests, total, unplaced
from infra.settings import Settings
from tests.unit.stack_files import CREATED, settings
from tests.unit.test_preflight import (
    ABSENT_CLUSTER,
    AKS_DEV,
    asked,
    checked,
    faults,
    with_cluster,
)

SIZES = {
    "standard_d4s_v5": NodeSize(cores=4, memory_gib=16),
    "standard_d8s_v5": NodeSize(cores=8, memory_gib=32),
    "standard_d2s_v5": NodeSize(cores=2, memory_gib=8),
}
MADE: dict[str, object] = {"mode": "distributed", "storage": {"blob": {}, "onDestroy": "delete"}}
SMALL = {
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
}
EVERYTHING_SMALL = dict.fromkeys(
    (
        *("distributor", "ingester", "queryFrontend", "queryScheduler", "querier"),
        *("storeGateway", "compactor"),
    ),
    SMALL,
)


def distributed(**pyroscope: Any) -> Settings:
    return settings(pyroscope={"mode": "distributed", "storage": {"blob": {}}, **pyroscope})


def pool(name: str = "system", size: str = "Standard_D8s_v5", **facts: Any) -> PoolFacts:
    given: dict[str, Any] = {"count": 3, "vm_size": size, **facts}
    return PoolFacts(name=name, mode="System", **given)


def survey(*pools: PoolFacts, untainted: tuple[str, ...] = ("system",), **cluster: Any) -> Survey:
    facts = {"issuer_url": "https://issuer", "workload_identity": True, **cluster}
    found = with_cluster(pools=pools, untainted_pools=untainted, **facts)
    return found.model_copy(update={"node_sizes": SIZES})


def test_the_sizes_of_nodes_are_asked_for_where_they_matter() -> None:
    assert asked(distributed()).size_nodes
    assert not asked(settings()).size_nodes
    made = settings(CREATED, pyroscope=MADE)
    assert asked(made).node_vm_size == "Standard_D4s_v5"


def test_the_charts_sizes_come_to_thirteen_cores_and_seventy_four_gibibytes() -> None:
    everything = total(requests(distributed()))
    assert str(everything) == "13.4 vCPUs and 74.2 GiB"


def test_a_cluster_that_holds_them_is_no_matter() -> None:
    assert checked(survey(pool(count=4)), distributed()).warnings == ()
    assert faults(survey(pool(count=1)), settings()) == []


def test_the_sum_what_there_is_and_the_line_that_adds_nodes_are_said() -> None:
    (found,) = faults(survey(pool(size="Standard_D4s_v5", count=2)), distributed())
    assert "requests 13.4 vCPUs and 74.2 GiB" in found
    assert "(2 of Standard_D4s_v5 in system) have 7.7 vCPUs and 30.5 GiB" in found
    assert (
        f"az aks nodepool add --cluster-name {AKS_DEV.removeprefix('--name ')} --name profiles "
        "--node-vm-size Standard_D8s_v5 --node-count 3"
    ) in found
    assert "gpuobs:pyroscope: { components: { ingester:" in found


def test_the_autoscaler_may_add_the_nodes() -> None:
    assert faults(survey(pool(count=1, min_count=1, max_count=4)), distributed()) == []
    assert faults(survey(pool(count=1, min_count=1, max_count=2)), distributed())


def test_nodes_that_pyroscope_does_not_tolerate_are_not_counted() -> None:
    tainted = pool("gpu", count=9, taints=("sku=gpu:NoSchedule",))
    (found,) = faults(survey(pool(count=1), tainted), distributed())
    assert "1 of Standard_D8s_v5 in system)" in found
    toleration = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    assert faults(survey(pool(count=1), tainted), distributed(tolerations=[toleration])) == []
    windows = pool("win", count=9, os_sku="Windows2022")
    assert faults(survey(pool(count=1), windows), distributed(tolerations=[toleration]))


def test_nodes_that_pyroscope_does_not_select_are_not_counted() -> None:
    mine = pool("mine", count=4, labels={"profiles": "yes"})
    both = survey(pool(count=9), mine, untainted=("system", "mine"))
    assert faults(both, distributed(nodeSelector={"profiles": "yes"})) == []
    (found,) = faults(both, distributed(nodeSelector={"profiles": "no"}))
    assert "(none) have 0.0 vCPUs" in found
    assert faults(both, distributed(nodeSelector={"agentpool": "mine"})) == []
    # What Kubernetes itself puts on every node is not known here.
    assert faults(both, distributed(nodeSelector={"kubernetes.io/os": "linux"})) == []


def test_a_pod_that_is_larger_than_every_node_is_named() -> None:
    (found,) = faults(survey(pool(size="Standard_D2s_v5", count=30)), distributed())
    assert "the largest pod 1.0 vCPUs and 8.0 GiB" in found


def test_a_sum_that_fits_and_pods_that_do_not_are_a_warning() -> None:
    # One of the large pods on each node, nine of them, and five nodes.
    found = checked(survey(pool(size="Standard_D4s_v5", count=5)), distributed())
    (warning,) = found.warnings
    assert "but 4 of 18 pods may find no node with room enough" in warning
    assert "az aks nodepool add" in warning


def test_fewer_nodes_than_ingesters_are_warned_of() -> None:
    (warning,) = checked(survey(pool(count=2)), distributed(components=EVERYTHING_SMALL)).warnings
    assert "ingesters share the 2 nodes" in warning


def test_a_cluster_that_is_yet_to_be_made_is_measured_by_its_system_pool() -> None:
    made = settings(CREATED, pyroscope=MADE)
    absent = Survey(cluster=ABSENT_CLUSTER, node_sizes=SIZES, resource_group=Presence.ABSENT)
    (found,) = faults(absent, made)
    assert (
        "write gpuobs:cluster: { create: { systemPool: { vmSize: Standard_D8s_v5, count: 3 } } }"
    ) in found


@pytest.mark.parametrize("facts", [{"provisions_nodes": True}, {"sku": "Base"}])
def test_where_nodes_come_by_themselves_or_are_not_known_nothing_is_said(
    facts: dict[str, Any],
) -> None:
    found = survey(pool(count=1), **facts)
    if not facts.get("provisions_nodes"):
        found = found.model_copy(update={"node_sizes": {}})
    assert faults(found, distributed()) == []


def test_pods_are_placed_as_long_as_a_node_has_both_cores_and_memory() -> None:
    node = Room(cores=2, gib=4)
    assert unplaced([Room(cores=1, gib=3), Room(cores=1, gib=1)], [node]) == []
    assert unplaced([Room(cores=1, gib=3), Room(cores=1, gib=2)], [node]) == [Room(cores=1, gib=2)]
    assert unplaced([Room(cores=2, gib=1), Room(cores=1, gib=1)], [node]) == [Room(cores=1, gib=1)]
