"""A server that is removed writes what it holds to Blob for as long as it takes, and nothing of it
is lost: its identity, its role and its successor come after it."""

from collections.abc import Iterator

import pytest

from tests.engine.changes import STACK, order
from tests.engine.portal import Portal
from tests.engine.simulation import Simulation
from tests.simulator.azure import CLUSTER, Kubernetes

pytestmark = pytest.mark.engine

WRITES = "Pyroscope is still writing what it holds: pyroscope-0"
POOL = f"{CLUSTER}/agentPools/profiles"


@pytest.fixture(scope="module")
def live(sim: Simulation, person: Portal) -> Simulation:
    """A deployed stack that keeps profiles in Blob, in a namespace that is not the stack's.

    A namespace of its own goes only when its last pod has ended, and would hold the rest up.
    """
    person.let_pods_sign_in()
    Kubernetes(person).make_namespace()
    size = {"mode": "User", "vmSize": "Standard_D8s_v5", "count": 3, "osType": "Linux"}
    person.put(POOL, {"properties": size})
    theirs = {"cluster.createNamespace": False}
    sim.stack_file(STACK, {"pyroscope.storage": {"blob": {}}, **theirs})
    sim.up(STACK)
    return sim


@pytest.fixture
def slow(live: Simulation) -> Iterator[Simulation]:
    """Its pods take five minutes to write."""
    live.control("POST", "settings", {"flushSeconds": 300})
    live.latency(0.02)
    yield live
    live.latency(0)
    live.control("POST", "settings", {"flushSeconds": 20})


def test_a_destroy_waits_for_it_with_its_rights_still_there_and_the_next_up_shows_everything(
    slow: Simulation, person: Portal
) -> None:
    before = person.profiled_in_hour()
    gone = slow.destroy(STACK)
    slow.latency(0)
    slow.up(STACK)
    assert person.profiled_in_hour() >= before > 0
    assert WRITES in gone.output
    done = order(gone)
    rights = ("profile-storage-role", "profile-storage-trust", "profile-storage-identity")
    ends = [done.index(f"- {name}") for name in ("pyroscope-release", "pyroscope-stopped")]
    assert ends == sorted(ends), done
    assert all(done.index(f"- {name}") > ends[-1] for name in rights), done


def test_a_change_to_micro_services_and_back_waits_for_it_before_the_new_server_is_made(
    slow: Simulation, person: Portal
) -> None:
    before = person.profiled_in_hour()
    for mode, last in (("distributed", "pyroscope-0"), (None, "pyroscope-ingester-0")):
        slow.stack_file(STACK, {"pyroscope.mode": mode})
        outcome = slow.up(STACK)
        assert f"Pyroscope is still writing what it holds: {last}" in outcome.output
        done = order(outcome)
        steps = ("- pyroscope-release", "- pyroscope-stopped", "+ pyroscope-release")
        assert [done.index(step) for step in steps] == sorted(done.index(step) for step in steps)
    assert person.profiled_in_hour() >= before > 0
