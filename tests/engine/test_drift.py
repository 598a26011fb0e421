"""What people change by hand: shown by `preview` where it can be seen, and put back by `up`."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from simulator.values import as_object, as_objects, as_text, dig
from tests.engine.portal import DATA_SOURCE, Portal, portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, Kubernetes

pytestmark = pytest.mark.engine

PYROSCOPE = "local-pyroscope"
GPU = "AdvancedGPUObservability"


@dataclass(frozen=True)
class Deployed:
    """The stack while it is up, and a person who may change everything."""

    sim: Simulation
    person: Portal
    prometheus: str
    """Uid of the metrics' source."""
    address: str

    @property
    def endpoint(self) -> str:
        return self.person.kind("managedPrivateEndpoints")[0]

    def assert_unchanged(self) -> None:
        """Nothing differs, and Grafana reaches Pyroscope at an address."""
        assert self.sim.preview().ops() == {}
        source = self.person.source(PYROSCOPE)
        assert source["url"] == f"http://{self.address}:4040"
        assert self.person.health(PYROSCOPE).status_code == 200


@dataclass(frozen=True)
class Repair:
    """A preview of what was changed by hand, and the `up` after it."""

    preview: Outcome
    up: Outcome


@pytest.fixture(scope="module")
def deployed(sim: Simulation) -> Iterator[Deployed]:
    sim.stack_file("dev", {"grafana.folder": "GPU"}, like="dev")
    sim.up()
    outputs = sim.outputs()
    with portal_of(sim) as person:
        yield Deployed(
            sim,
            person,
            prometheus=as_text(dig(outputs, "dataSourceUids", "prometheus")),
            address=as_text(dig(outputs, "privateEndpoint", "privateIp")),
        )


# --- in Grafana --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_grafana(deployed: Deployed) -> Repair:
    person = deployed.person
    person.delete_in_grafana(DATA_SOURCE + PYROSCOPE)
    person.edit_source(deployed.prometheus, url="https://elsewhere.example")
    person.edit_dashboard(GPU, title="Mine")
    return Repair(deployed.sim.preview(), deployed.sim.up())


@pytest.mark.handles("source-deleted-by-hand")
def test_a_preview_shows_each_source_deleted_or_edited_and_each_dashboard_edited(
    in_grafana: Repair, deployed: Deployed
) -> None:
    assert in_grafana.preview.ops() == {
        "data-sources-pyroscope": "update",
        "data-sources-prometheus": "update",
        "dashboard-dashboard": "update",
    }
    assert {step.diffs for step in in_grafana.preview.changes} == {("environment",)}


@pytest.mark.handles("source-deleted-by-hand")
def test_up_puts_back_what_the_preview_showed(in_grafana: Repair, deployed: Deployed) -> None:
    assert in_grafana.up.ops() == in_grafana.preview.ops()
    assert deployed.person.source(PYROSCOPE)["url"] == f"http://{deployed.address}:4040"
    assert "elsewhere" not in as_text(deployed.person.source(deployed.prometheus)["url"])
    assert deployed.person.dashboard(GPU)["title"] != "Mine"


@pytest.fixture(scope="module")
def folder_deleted(in_grafana: Repair, deployed: Deployed) -> Repair:
    del in_grafana
    person = deployed.person
    person.edit_source(PYROSCOPE, url="http://:4040")
    (folder,) = person.folders()
    person.delete_in_grafana(f"/api/folders/{folder['uid']}")
    return Repair(deployed.sim.preview(), deployed.sim.up())


@pytest.mark.handles("address-read-before-refresh")
def test_a_source_edited_to_an_empty_host_and_a_deleted_folder_are_shown_and_put_back(
    folder_deleted: Repair, deployed: Deployed
) -> None:
    # What was repaired before is not in it any more.
    assert folder_deleted.preview.ops() == {
        "data-sources-pyroscope": "update",
        "dashboard-dashboard": "update",
    }
    assert folder_deleted.up.ops() == folder_deleted.preview.ops()
    assert [folder["title"] for folder in deployed.person.folders()] == ["GPU"]
    assert deployed.person.dashboard(GPU)
    assert deployed.person.source(PYROSCOPE)["url"] == f"http://{deployed.address}:4040"


def test_a_caller_who_may_not_look_gets_a_sentence_and_no_traceback(
    folder_deleted: Repair, deployed: Deployed
) -> None:
    del folder_deleted
    refused = {"status": 403, "body": {"message": "You need additional permissions"}}
    deployed.sim.faults(
        {
            "service": "grafana",
            "path": f".*{DATA_SOURCE}{PYROSCOPE}",
            "count": None,
            "then": refused,
        }
    )
    preview = deployed.sim.preview()
    deployed.sim.faults()
    assert "Traceback" not in preview.output
    (warning,) = preview.diagnostics
    assert warning.startswith("pyroscope: Could not look up the data source local-pyroscope: ")
    assert "You need additional permissions" in warning
    # Who cannot look cannot know that all is well.
    assert preview.ops() == {"data-sources-pyroscope": "update"}


def test_without_drift_detection_nothing_is_looked_for_and_turning_it_off_changes_nothing(
    folder_deleted: Repair, deployed: Deployed
) -> None:
    del folder_deleted
    sim, person = deployed.sim, deployed.person
    sim.stack_file("dev", {"grafana.driftDetection": False})
    person.edit_source(PYROSCOPE, url="http://10.0.0.9:4040")
    blind = sim.up()
    sim.stack_file("dev", {"grafana.driftDetection": None})
    assert blind.ops() == {}
    assert sim.up().ops() == {"data-sources-pyroscope": "update"}
    assert person.source(PYROSCOPE)["url"] == f"http://{deployed.address}:4040"


# --- on the private link -----------------------------------------------------------------------


@dataclass(frozen=True)
class Refusals:
    """What comes of a connection that a person rejected, removed, and deleted the endpoint of."""

    rejected: Outcome
    """A preview."""
    rejected_up: Outcome
    removed: Outcome
    """A preview."""
    removed_up: Outcome
    reconnected: str
    """State of the connection after it."""
    gone: Outcome
    """A preview."""
    gone_up: Outcome
    refreshed: Outcome


@pytest.fixture(scope="module")
def refused(deployed: Deployed, folder_deleted: Repair) -> Refusals:
    del folder_deleted
    sim, person = deployed.sim, deployed.person
    person.reject()
    rejected, rejected_up = sim.preview(), sim.up(check=False)
    answer = person.call("DELETE", person.private_link())
    assert answer.status_code == 400, "a service that something is connected to stays"
    person.call("DELETE", person.connection_id())
    sim.azure.control("POST", "advance", {"seconds": 60})
    removed, removed_up = sim.preview(), sim.up(check=False)
    state = dig(person.connection(), "properties", "privateLinkServiceConnectionState", "status")
    person.delete(deployed.endpoint)
    # Now nothing holds the service either; the cloud controller makes a new one.
    person.call("DELETE", person.private_link())
    gone, gone_up = sim.preview(), sim.up(check=False)
    return Refusals(
        rejected,
        rejected_up,
        removed,
        removed_up,
        as_text(state),
        gone,
        gone_up,
        refreshed=sim.up("dev", "--refresh"),
    )


def test_a_preview_shows_that_an_approval_is_not_in_force_any_more(refused: Refusals) -> None:
    for preview in (refused.rejected, refused.removed, refused.gone):
        assert preview.step("private-endpoint-approval").op == "update"
        assert preview.step("private-endpoint-approval").diffs == ("environment",)
        assert preview.diagnostics == ()


def test_a_rejected_connection_is_an_error_that_says_how_to_make_another(refused: Refusals) -> None:
    outcome = refused.rejected_up
    assert outcome.status != 0
    assert "is Rejected" in outcome.output
    assert "'not in my network'" in outcome.output
    assert "az resource delete --ids" in outcome.output
    assert "pulumi up --refresh" in outcome.output


def test_up_makes_our_own_endpoint_again_whose_connection_was_removed(refused: Refusals) -> None:
    outcome = refused.removed_up
    assert outcome.ok, outcome.output
    assert outcome.ops() == {"private-endpoint-approval": "update"}
    assert "has lost its connection" in outcome.output
    assert refused.reconnected == "Approved"


def test_an_endpoint_that_was_deleted_is_an_error_that_says_what_to_type(refused: Refusals) -> None:
    outcome = refused.gone_up
    assert outcome.status != 0
    assert "does not exist" in outcome.output
    assert "pulumi up --refresh" in outcome.output
    assert "Traceback" not in outcome.output


@pytest.mark.handles("address-read-before-refresh")
def test_up_with_refresh_makes_approves_and_addresses_a_new_endpoint(
    refused: Refusals, deployed: Deployed
) -> None:
    assert refused.refreshed.ops() == {
        "private-endpoint-endpoint": "create",
        "private-endpoint-approval": "update",
        "data-sources-pyroscope": "update",
    }
    deployed.assert_unchanged()


# --- in the cluster ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_cluster(refused: Refusals, deployed: Deployed) -> Repair:
    del refused
    person = deployed.person
    cluster = Kubernetes(person)
    person.delete(person.kind("extensions")[0])
    answer = cluster.call("DELETE", "/releases/gadget/pyroscope?wait=false")
    assert answer.status_code == 202
    return Repair(
        deployed.sim.preview("dev", "--refresh"), deployed.sim.up("dev", "--refresh", check=False)
    )


def test_a_preview_with_refresh_shows_a_removed_extension_and_a_removed_release(
    in_cluster: Repair,
) -> None:
    assert in_cluster.preview.ops()["inspektor-gadget-extension"] == "create"
    assert in_cluster.preview.ops()["pyroscope-release"] == "create"


def test_up_with_refresh_makes_a_removed_release_its_link_and_our_connection_to_it_anew(
    in_cluster: Repair, deployed: Deployed
) -> None:
    """With its Service the cloud controller deleted the private link, and Grafana's connection."""
    assert in_cluster.up.ok, in_cluster.up.output
    ops = in_cluster.up.ops()
    assert ops["inspektor-gadget-extension"] == "create"
    assert ops["pyroscope-release"] == "create"
    assert ops["private-endpoint-approval"] == "update"
    assert "has lost its connection" in in_cluster.up.output
    assert not set(ops) & {"private-endpoint-endpoint", "pyroscope-private-link-guard"}
    deployed.assert_unchanged()
    cluster = as_object(dig(deployed.sim.inspect(), "kubernetes", CLUSTER.lower()))
    assert [one["status"] for one in as_objects(cluster["releases"])] == ["deployed"]
