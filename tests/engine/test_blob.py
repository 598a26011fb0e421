"""Profiles in Azure Blob Storage: one life of a stack, up, again, down, and up once more."""

import json
import time

import pytest

from simulator.values import as_text, dig
from tests.engine.changes import STACK, apply, order, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_distributed import objects
from tests.simulator.azure import GROUP

pytestmark = pytest.mark.engine

NAME = "gpuobsdev64f81e24"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/{NAME}"
OURS = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/ours1"
ROLE = "profile-storage-role"
RELEASE = "pyroscope-release"


@pytest.fixture(scope="module")
def first(sim: Simulation, person: Portal) -> Outcome:
    """The first `up`, on a cluster whose pods can sign in."""
    person.let_pods_sign_in()
    sim.stack_file(STACK, {"pyroscope.storage": {"blob": {}}})
    return sim.up(STACK)


def test_everything_is_there_before_the_release_and_nothing_holds_a_key(
    first: Outcome, person: Portal
) -> None:
    made = order(first)
    before = [f"+ profile-storage-{what}" for what in ("account", "container", "trust", "role")]
    assert all(made.index(one) < made.index(f"+ {RELEASE}") for one in before)
    assert dig(person.get(ACCOUNT), "properties", "allowSharedKeyAccess") is False
    assert "pyroscope-start" in first.ops()


def test_a_second_up_changes_nothing(first: Outcome, sim: Simulation) -> None:
    assert touched(sim.up(STACK)) == {}


@pytest.fixture(scope="module")
def written(first: Outcome, person: Portal) -> tuple[int, int]:
    """An instant, and what Pyroscope had of the time before it."""
    now = int(time.time() * 1000)
    return now, person.profiled_in_hour(now)


def test_destroy_takes_the_release_first_and_leaves_the_account_with_its_profiles(
    written: tuple[int, int], sim: Simulation, person: Portal
) -> None:
    gone = sim.destroy(STACK)
    deleted = order(gone)
    assert deleted.index(f"- {RELEASE}") < deleted.index(f"- {ROLE}")
    assert "stays, with the profiles in container profiles" in gone.output
    assert (
        "az storage account delete --name gpuobsdev64f81e24 --resource-group rg-dev" in gone.output
    )
    assert person.get(f"{ACCOUNT}/blobServices/default/containers/profiles")
    assert person.kind("userAssignedIdentities") == []


def test_the_next_up_finds_the_account_by_its_mark_and_shows_the_profiles_in_it(
    written: tuple[int, int], sim: Simulation, person: Portal
) -> None:
    again = sim.up(STACK)
    assert "profile-storage-account" not in again.ops()
    assert ROLE in again.ops()
    assert touched(sim.up(STACK)) == {}
    until, total = written
    assert person.profiled_in_hour(until) == total > 0


def test_a_container_of_ones_own_takes_its_place_and_gets_a_role_of_its_own(
    sim: Simulation, person: Portal
) -> None:
    """The release is told of it when the new role is there, and before the old one goes."""
    account = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    person.call("PUT", OURS, {**account, "properties": {}})
    person.settled(OURS)
    person.put(f"{OURS}/blobServices/default/containers/gpu", {"properties": {}})
    existing = {"account": "ours1", "resourceGroup": "rg-dev", "container": "gpu"}
    outcome = apply(sim, {"pyroscope.storage": {"blob": {"existing": existing}}})
    assert touched(outcome) == {
        ROLE: "replace",
        RELEASE: "update",
        "profile-storage-kept": "delete",
        "pyroscope-start": "update",
    }
    done = [str(step) for step in outcome.changes]
    new, told, old = (
        done.index(f"{op} {name}")
        for op, name in (
            ("create-replacement", ROLE),
            ("update", RELEASE),
            ("delete-replaced", ROLE),
        )
    )
    assert new < told < old, done
    container = f"{OURS}/blobServices/default/containers/gpu"
    roles = [key.lower() for key in person.kind("roleAssignments")]
    assert [key for key in roles if key.startswith(container.lower())]
    (written,) = [
        one
        for one in objects(person, "ConfigMap")
        if dig(one, "metadata", "name") == "pyroscope-config"
    ]
    bucket = json.loads(as_text(dig(written, "data", "config.yaml")))["storage"]["azure"]
    assert (bucket["account_name"], bucket["container_name"]) == ("ours1", "gpu")
    sim.destroy(STACK)
    assert person.get(container)


def test_an_account_goes_with_the_stack_where_the_stack_file_says_so(
    sim: Simulation, person: Portal
) -> None:
    person.delete(ACCOUNT)
    sim.stack_file(STACK, {"pyroscope.storage": {"blob": {}, "onDestroy": "delete"}})
    sim.up(STACK)
    assert person.get(ACCOUNT)
    gone = sim.destroy(STACK)
    assert person.call("GET", ACCOUNT).status_code == 404
    assert "stays, with the profiles" not in gone.output


def test_the_production_stack_keeps_profiles_in_blob_and_tells_somebody(
    sim: Simulation, person: Portal
) -> None:
    made = sim.up("prod").ops()
    assert {ROLE, "alerts-rule-group"} <= set(made)
    assert touched(sim.up("prod")) == {}
    sim.destroy("prod")
    assert len(person.kind("storageAccounts")) == 2, "ours, and the one that stays"
