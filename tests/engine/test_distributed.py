"""Pyroscope as micro-services: up, no change, from one server and back, down."""

import time

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.changes import STACK, apply, order, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER

pytestmark = pytest.mark.engine

POOL = f"{CLUSTER}/agentPools/profiles"
RELEASE, SERVICE = "pyroscope-release", "pyroscope-agent-service"
GUARD, READY = "pyroscope-private-link-guard", "pyroscope-private-link-ready"
STOPPED = "pyroscope-stopped"
CHAIN = {
    "data-sources-pyroscope": "replace",
    "private-endpoint-approval": "replace",
    "private-endpoint-endpoint": "replace",
    READY: "replace",
    RELEASE: "replace",
    GUARD: "replace",
    STOPPED: "replace",
    "pyroscope-start": "update",
}
"""What a change of mode touches, but for the agent's own Service: that goes with the release, which
for the engine is the first half of a replacement, also where none follows."""
COMPONENTS = {
    *("distributor", "ingester", "query-frontend", "query-scheduler", "querier"),
    *("store-gateway", "compactor"),
}


def objects(person: Portal, kind: str) -> list[JsonObject]:
    """The objects of a kind in namespace ``gadget`` of the stack's cluster."""
    clusters = as_object(person.inspect()["kubernetes"])
    (held,) = [as_object(one) for key, one in clusters.items() if key.endswith("/aks-dev")]
    return [
        one
        for one in as_objects(held["objects"])
        if one["kind"] == kind and dig(one, "metadata", "namespace") == "gadget"
    ]


def names(person: Portal, kind: str) -> set[str]:
    return {as_text(dig(one, "metadata", "name")) for one in objects(person, kind)}


@pytest.fixture(scope="module")
def refused(sim: Simulation, person: Portal) -> Outcome:
    """A preview on a cluster whose pods can sign in, and whose nodes are too small."""
    person.let_pods_sign_in()
    sim.stack_file(STACK, {"pyroscope.storage": {"blob": {}}, "pyroscope.mode": "distributed"})
    return sim.preview(STACK, check=False)


def test_a_cluster_that_cannot_hold_them_is_refused_with_the_sum_and_the_line(
    refused: Outcome,
) -> None:
    assert not refused.ok
    assert "requests 13.4 vCPUs and 74.2 GiB" in refused.output
    assert "az aks nodepool add --cluster-name aks-dev" in refused.output


@pytest.fixture(scope="module")
def first(refused: Outcome, sim: Simulation, person: Portal) -> Outcome:
    """The first `up`, with the nodes that were asked for."""
    size = {"mode": "User", "vmSize": "Standard_D8s_v5", "count": 3, "osType": "Linux"}
    person.put(POOL, {"properties": size})
    return sim.up(STACK)


def test_every_component_is_there_with_its_budget_and_one_of_them_behind_the_private_link(
    first: Outcome, person: Portal
) -> None:
    workloads = names(person, "StatefulSet") | names(person, "Deployment")
    assert workloads == {f"pyroscope-{component}" for component in COMPONENTS}
    assert names(person, "PodDisruptionBudget") == workloads
    balanced = [
        one for one in objects(person, "Service") if dig(one, "spec", "type") == "LoadBalancer"
    ]
    assert [dig(one, "metadata", "name") for one in balanced] == ["pyroscope-query-frontend"]
    assert len(person.kind("privateLinkServices")) == 1
    claims = names(person, "PersistentVolumeClaim")
    assert claims == {f"data-pyroscope-ingester-{number}" for number in range(3)}


def test_the_agents_service_is_made_after_the_release_and_the_signal_arrives(
    first: Outcome, sim: Simulation
) -> None:
    made = order(first)
    assert made.index(f"+ {RELEASE}") < made.index(f"+ {SERVICE}")
    assert sim.outputs(STACK)["pyroscopeUrl"] == "http://pyroscope-query-frontend.gadget.svc:4040"
    said = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK)
    assert "The signal arrives." in said.stdout, said.stdout + said.stderr


def test_a_second_up_changes_nothing(first: Outcome, sim: Simulation) -> None:
    assert touched(sim.up(STACK)) == {}
    assert touched(sim.up(STACK, "--refresh")) == {}


def test_a_component_grows_in_place(first: Outcome, sim: Simulation, person: Portal) -> None:
    four = apply(sim, {"pyroscope.components": {"ingester": {"replicas": 4}}})
    assert touched(four) == {RELEASE: "update"}
    assert "data-pyroscope-ingester-3" in names(person, "PersistentVolumeClaim")
    sim.stack_file(STACK, {"pyroscope.components": None})
    sim.up(STACK)


def test_each_component_has_the_replicas_and_the_resources_that_are_set(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    wanted = {
        name: {"replicas": 4 + number % 2, "resources": {"requests": {"memory": f"{number}00Mi"}}}
        for number, name in enumerate(sorted(COMPONENTS), 1)
    }
    set_ = {_camel(name): one for name, one in wanted.items()}
    sim.stack_file(STACK, {"pyroscope.components": set_})
    sim.up(STACK)
    seen = {
        as_text(dig(one, "metadata", "name")).removeprefix("pyroscope-"): {
            "replicas": dig(one, "spec", "replicas"),
            "resources": as_objects(dig(one, "spec", "template", "spec", "containers"))[0].get(
                "resources"
            ),
        }
        for one in [*objects(person, "Deployment"), *objects(person, "StatefulSet")]
    }
    sim.stack_file(STACK, {"pyroscope.components": None})
    sim.up(STACK)
    assert seen == wanted


def _camel(name: str) -> str:
    """As the stack file spells a component."""
    first_word, *others = name.split("-")
    return first_word + "".join(map(str.capitalize, others))


def test_back_to_one_server_everything_goes_in_order_and_what_is_in_blob_is_shown(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    now = int(time.time() * 1000)
    before = person.profiled_in_hour(now)
    sim.stack_file(STACK, {"pyroscope.mode": None})
    foreseen = sim.preview(STACK)
    outcome = sim.up(STACK)
    assert "Pyroscope runs as micro-services and will run as one server." in foreseen.output
    assert touched(foreseen) == touched(outcome) == {**CHAIN, SERVICE: "replace"}
    in_order(outcome, SERVICE)
    assert names(person, "StatefulSet") == {"pyroscope"}
    assert person.profiled_in_hour(now) == before > 0
    assert touched(sim.up(STACK)) == {}


def test_to_micro_services_again_the_same_holds(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    now = int(time.time() * 1000)
    before = person.profiled_in_hour(now)
    sim.stack_file(STACK, {"pyroscope.mode": "distributed"})
    foreseen = sim.preview(STACK)
    outcome = sim.up(STACK)
    assert "an estimate is 5 to 20 minutes" in " ".join(foreseen.output.split())
    assert touched(foreseen) == touched(outcome) == {**CHAIN, SERVICE: "create"}
    in_order(outcome)
    assert person.profiled_in_hour(now) == before > 0
    assert touched(sim.up(STACK)) == {}


def test_destroy_takes_everything_and_leaves_the_profiles(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    gone = order(sim.destroy(STACK))
    assert gone.index(f"- {SERVICE}") < gone.index(f"- {RELEASE}") < gone.index(f"- {GUARD}")
    assert gone.index(f"- {RELEASE}") < gone.index("- profile-storage-role")
    assert person.kind("privateLinkServices") == []
    assert person.kind("storageAccounts")


def in_order(outcome: Outcome, *also: str) -> None:
    """Endpoint, wait, release and guard go in this order before any of them is made anew."""
    done = order(outcome)
    chain = ["private-endpoint-endpoint", READY, RELEASE, STOPPED, GUARD]
    gone = [done.index(f"- {name}") for name in chain]
    made = [done.index(f"+ {name}") for name in reversed(chain)]
    assert gone == sorted(gone), done
    assert made == sorted(made), done
    assert gone[-1] < made[0], done
    for name in also:
        assert done.index(f"- {name}") < done.index(f"+ {RELEASE}"), done
