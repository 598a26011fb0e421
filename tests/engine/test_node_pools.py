"""Node pools on the second day: what the autoscaler, a person or a refresh moved is never undone.

AKS' answer of a cluster lists all its pools, and a refresh copies live values into the inputs that
the engine keeps. Whatever a later update sends of them must be what is so then.
"""

from collections.abc import Iterator

import pytest

from simulator.values import JsonObject, as_integer, as_object, as_objects, as_text, dig
from tests.engine.changes import touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

OWN = "sandbox"
CLUSTER = "cluster-cluster"
POOL = "gpu-pool-pool"
SYSTEM = "/agentPools/system"
GPU = "/agentPools/gpu"


# --- a cluster of the stack's own ----------------------------------------------------------------


@pytest.fixture(scope="module")
def own(sim: Simulation) -> Iterator[Simulation]:
    """A stack that makes its cluster, deployed."""
    sim.up(OWN)
    yield sim
    sim.destroy(OWN)


def apply(sim: Simulation, settings: dict[str, object], stack: str = OWN) -> Outcome:
    """Change the stack's file, and update."""
    sim.stack_file(stack, settings)
    return sim.up(stack)


def pool(sim: Simulation, ending: str) -> JsonObject:
    """The properties of the only pool whose id ends so, in a group of the stack's own."""
    (found,) = [
        as_object(body["properties"])
        for key, body in sim.resources().items()
        if key.endswith(ending) and "/rg-gpuobs-sandbox/" in key
    ]
    return found


def count(sim: Simulation, ending: str) -> int:
    """Its nodes."""
    return as_integer(pool(sim, ending)["count"])


def sent(sim: Simulation) -> list[JsonObject]:
    """The pools that the cluster's last request named: what the engine keeps as its inputs."""
    (cluster,) = [one for one in sim.state(OWN) if as_text(one["urn"]).endswith(f"::{CLUSTER}")]
    return as_objects(dig(cluster, "inputs", "agentPoolProfiles"))


def id_of(person: Portal, ending: str) -> str:
    """The pool's id."""
    (found,) = [
        key for key in person.kind("agentPools") if key.endswith(ending) and "gpuobs" in key
    ]
    return found


def by_hand(person: Portal, ending: str, **changes: object) -> None:
    """What a person does with ``az aks nodepool``: the pool as it is, but for ``changes``."""
    path = id_of(person, ending)
    properties = as_object(person.get(path)["properties"])
    settable = {
        key: value
        for key, value in properties.items()
        if key not in ("provisioningState", "powerState", "nodeImageVersion", "eTag")
        and key != "currentOrchestratorVersion"
    }
    person.put(path, {"properties": {**settable, **changes}})


@pytest.mark.handles("stale-pools-after-refresh")
def test_an_update_of_the_cluster_alone_leaves_the_gpu_pool_as_it_was_changed_after_a_refresh(
    own: Simulation,
) -> None:
    own.refresh(OWN)
    assert touched(apply(own, {"gpuPool.count": 2}))[POOL] == "update"
    outcome = apply(own, {"cluster.create.kubernetesVersion": "1.34"})
    assert touched(outcome) == {CLUSTER: "update"}
    assert count(own, GPU) == 2
    assert [one["name"] for one in sent(own)] == ["system"]
    assert touched(own.up(OWN)) == {}


@pytest.mark.handles("stale-pools-after-refresh")
def test_an_upgrade_of_the_cluster_leaves_its_nodes_to_whoever_upgrades_them(
    own: Simulation,
) -> None:
    assert pool(own, SYSTEM)["currentOrchestratorVersion"] == "1.33.3"
    assert not [one for one in sent(own) if "orchestratorVersion" in one]


@pytest.mark.handles("stale-pools-after-refresh")
def test_a_system_pool_that_was_scaled_by_hand_stays_so_and_no_other_pool_is_named(
    own: Simulation, person: Portal
) -> None:
    by_hand(person, SYSTEM, count=4, nodeLabels={"team": "platform"})
    own.refresh(OWN)
    outcome = apply(own, {"azure.tags": {"team": "ml"}})
    assert CLUSTER in touched(outcome)
    assert count(own, SYSTEM) == 4
    assert [(one["name"], one["count"], one["nodeLabels"]) for one in sent(own)] == [
        ("system", 4, {"team": "platform"})
    ]
    assert count(own, GPU) == 2
    assert touched(own.up(OWN)) == {}


@pytest.mark.handles("stale-pools-after-refresh")
def test_without_a_refresh_too(own: Simulation, person: Portal) -> None:
    by_hand(person, SYSTEM, count=3)
    apply(own, {"azure.tags": {"team": "research"}})
    assert count(own, SYSTEM) == 3


@pytest.mark.handles("stale-pools-after-refresh")
def test_a_gpu_pool_that_the_stack_gave_up_does_not_come_back(own: Simulation) -> None:
    own.refresh(OWN)
    apply(own, {"gpuPool.enabled": False, "azure.tags": {"team": "ml"}})
    assert not [key for key in own.resources() if "/rg-gpuobs-sandbox/" in key and GPU in key]
    own.refresh(OWN)
    apply(own, {"azure.tags": {"team": "research"}})
    assert [one["name"] for one in sent(own)] == ["system"]
    apply(own, {"gpuPool.enabled": None})


def test_a_system_pool_that_the_autoscaler_was_given_is_not_named_at_all(
    own: Simulation, person: Portal
) -> None:
    """Its number of nodes would be another one at every update."""
    by_hand(person, SYSTEM, enableAutoScaling=True, minCount=1, maxCount=5)
    own.refresh(OWN)
    apply(own, {"azure.tags": {"team": "ml"}})
    assert sent(own) == []
    autoscale(own, id_of(person, SYSTEM), 5)
    assert touched(own.preview(OWN)) == {}
    apply(own, {"azure.tags": {"team": "research"}})
    assert count(own, SYSTEM) == 5
    assert pool(own, SYSTEM)["enableAutoScaling"] is True


def test_an_upgrade_that_somebody_made_is_not_undone(own: Simulation, person: Portal) -> None:
    apply(own, {"cluster.create.kubernetesVersion": "1.33"})
    outcome = apply(own, {"azure.tags": {"team": "ml"}})
    (said,) = [line for line in outcome.diagnostics if "kubernetesVersion" in line]
    assert "runs Kubernetes 1.34.1" in said
    (cluster,) = [
        person.get(key) for key in person.kind("managedClusters") if "/rg-gpuobs-sandbox/" in key
    ]
    assert dig(cluster, "properties", "currentKubernetesVersion") == "1.34.1"


# --- an autoscaled pool --------------------------------------------------------------------------

DEV = "dev"
LIMITS: dict[str, object] = {"min": 0, "max": 6}


def autoscale(sim: Simulation, pool_id: str, nodes: int) -> None:
    """The cluster autoscaler moves."""
    sim.control("POST", "autoscale", {"pool": pool_id, "count": nodes})


class Autoscaled:
    """The pool of the stack ``dev``, which the autoscaler has."""

    def __init__(self, sim: Simulation, person: Portal) -> None:
        self.sim = sim
        self.person = person
        self.id = next(key for key in person.kind("agentPools") if key.endswith(f"aks-dev{GPU}"))

    def has(self) -> JsonObject:
        """Its properties."""
        return as_object(self.person.get(self.id)["properties"])

    def moves(self, nodes: int) -> None:
        """The autoscaler adds or takes nodes."""
        autoscale(self.sim, self.id, nodes)


@pytest.fixture(scope="module")
def autoscaled(sim: Simulation, person: Portal) -> Autoscaled:
    apply(sim, {"gpuPool": {"autoscaling": LIMITS}}, DEV)
    return Autoscaled(sim, person)


@pytest.mark.parametrize("refresh", [False, True], ids=["", "after-a-refresh"])
@pytest.mark.handles("stale-count")
def test_the_autoscalers_moves_alone_are_no_change(autoscaled: Autoscaled, refresh: bool) -> None:
    autoscaled.moves(4 if refresh else 3)
    if refresh:
        autoscaled.sim.refresh(DEV)
        autoscaled.moves(5)
    assert touched(autoscaled.sim.preview(DEV)) == {}
    assert touched(autoscaled.sim.up(DEV)) == {}
    assert autoscaled.has()["count"] == (5 if refresh else 3)


CHANGES: list[tuple[dict[str, object], bool]] = [
    ({"gpuPool.labels": {"team": "ml"}}, False),
    ({"gpuPool.labels": {"team": "research"}}, True),
    ({"gpuPool.taints": ["gpu=yes:NoSchedule"]}, True),
    ({"azure.tags": {"team": "ml"}}, False),
    ({"gpuPool.autoscaling": {"min": 1, "max": 5}}, True),
    # Beyond the number of nodes that there are.
    ({"gpuPool.autoscaling": {"min": 4, "max": 6}}, False),
    ({"gpuPool.autoscaling": {"min": 0, "max": 5}}, True),
    ({"gpuPool.labels": None}, True),
    ({"gpuPool.taints": None}, False),
    ({"azure.tags": None}, True),
]
"""What is changed, and whether after a refresh."""


@pytest.mark.parametrize(("change", "refresh"), CHANGES, ids=str)
@pytest.mark.handles("stale-count")
def test_another_change_says_how_many_nodes_there_are_by_now(
    autoscaled: Autoscaled, change: dict[str, object], refresh: bool
) -> None:
    if refresh:
        autoscaled.sim.refresh(DEV)
    nodes = 2 if autoscaled.has()["count"] == 3 else 3
    if autoscaled.has()["minCount"] != 4:
        autoscaled.moves(nodes)
    nodes = as_integer(autoscaled.has()["count"])
    assert touched(apply(autoscaled.sim, change, DEV))[POOL] == "update"
    assert autoscaled.has()["count"] == nodes
    assert touched(autoscaled.sim.preview(DEV)) == {}


@pytest.mark.handles("stale-count")
def test_a_pool_that_moved_meanwhile_is_refused_and_the_next_up_sends_the_new_number(
    autoscaled: Autoscaled,
) -> None:
    sim = autoscaled.sim
    apply(sim, {"gpuPool.autoscaling": LIMITS}, DEV)
    autoscaled.moves(2)
    # What is read just before is one node behind.
    stale: JsonObject = {"patch": {"properties": {"count": 1}}}
    sim.faults(
        {"service": "arm", "method": "GET", "path": f".*{GPU}", "count": None, "then": stale}
    )
    sim.stack_file(DEV, {"gpuPool.labels": {"team": "research"}})
    refused = sim.up(DEV, check=False)
    sim.faults()
    assert not refused.ok
    assert "Cannot manually scale AgentPool" in refused.output
    assert "run it again, and it says the new number" in refused.output
    assert touched(sim.up(DEV)) == {POOL: "update"}
    assert autoscaled.has()["nodeLabels"] == {"team": "research"}
    assert autoscaled.has()["count"] == 2
