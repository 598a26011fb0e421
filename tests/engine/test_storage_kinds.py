"""Where a live stack keeps profiles is changed: in the pod, on a disk, on a disk and in Blob."""

from collections.abc import Mapping

import pytest

from tests.engine.changes import STACK, apply, order, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

RELEASE = "pyroscope-release"


@pytest.fixture(scope="module")
def live(sim: Simulation, person: Portal) -> Simulation:
    """A deployed stack that keeps profiles in the pod, on a cluster whose pods can sign in."""
    person.let_pods_sign_in()
    sim.up(STACK)
    return sim


def change(live: Simulation, storage: Mapping[str, object] | None) -> Outcome:
    outcome = apply(live, {"pyroscope.storage": storage})
    assert touched(live.up(STACK)) == {}
    return outcome


def test_from_the_pod_to_a_disk_the_release_is_made_anew_and_what_is_lost_is_said(
    live: Simulation, person: Portal
) -> None:
    assert person.profiled_in_hour() > 0
    outcome = change(live, {"disk": {}})
    assert "Profiles are in the pod and will be on the disk. Those in the pod are lost" in (
        outcome.output
    )
    assert touched(outcome)[RELEASE] == "replace"
    done = order(outcome)
    assert done.index(f"- {RELEASE}") < done.index(f"+ {RELEASE}")


def test_from_a_disk_to_blob_the_server_only_restarts(live: Simulation, person: Portal) -> None:
    before = person.profiled_in_hour()
    outcome = change(live, {"disk": {}, "blob": {}})
    assert "The server restarts. What the disk holds stays on it" in outcome.output
    assert touched(outcome)[RELEASE] == "update"
    assert [step.name for step in outcome.changes].index("profile-storage-role") < [
        step.name for step in outcome.changes
    ].index(RELEASE)
    assert person.profiled_in_hour() >= before


def test_from_blob_back_to_the_disk_it_restarts_and_the_account_stays_or_goes_as_was_said(
    live: Simulation, person: Portal
) -> None:
    outcome = change(live, {"disk": {}})
    assert "will be on the disk. The server restarts, and writes what it still holds to Blob" in (
        outcome.output
    )
    assert touched(outcome)[RELEASE] == "update"
    done = [str(step) for step in outcome.changes]
    assert done.index(f"update {RELEASE}") < done.index("delete profile-storage-role")
    assert len(person.kind("storageAccounts")) == 1, "by default it stays"


def test_from_a_disk_back_to_the_pod_the_disks_claim_stays(
    live: Simulation, person: Portal
) -> None:
    outcome = change(live, None)
    assert "will be in the pod. The release is deleted and made again" in outcome.output
    assert "The disk's claim and what is on it stay" in outcome.output
    assert touched(outcome)[RELEASE] == "replace"
    path = "/api/v1/namespaces/gadget/persistentvolumeclaims/data-pyroscope-0"
    assert Kubernetes(person).call("GET", path).is_success
