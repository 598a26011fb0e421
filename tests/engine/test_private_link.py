"""The private link among other people: those who are connected to it, and other clusters'."""

from dataclasses import dataclass

import pytest
import yaml

from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_text, dig
from tests.engine.changes import touched
from tests.engine.portal import Portal, resource_group
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import GRAFANA

pytestmark = pytest.mark.engine

NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
SHARED = {"pyroscope.privateLink": {"resourceGroup": "rg-links", "name": "profiles"}}
OTHERS = f"{GRAFANA}/managedPrivateEndpoints/somebody-elses"
"""Somebody else's endpoint, on the same Grafana."""


# --- two clusters, one group for private links, one name ------------------------------------------


@dataclass(frozen=True)
class Shared:
    """`dev` has the name; `prod`, in another cluster, wants it too."""

    up: Outcome
    again: Outcome
    other: Outcome
    """A preview of ``prod``."""
    other_name: Outcome
    destroy_other: Outcome
    destroy: Outcome
    left: list[str]


@pytest.fixture(scope="module")
def shared(sim: Simulation, person: Portal) -> Shared:
    sim.stack_file("dev", SHARED, like="dev")
    cluster = {"name": "aks-prod", "resourceGroup": "rg-prod"}
    sim.stack_file("prod", {**SHARED, "cluster.existing": cluster}, like="dev")
    sim.stack_file("prod", {"grafana.dataSources": None, "grafana.dashboard": None})
    person.put(resource_group("rg-links"), {"location": "westeurope"})
    for number, name in enumerate(("dev", "prod")):
        may_make_links(person, f"aks-{name}", number)
    up, again = sim.up("dev"), sim.up("dev")
    other = sim.preview("prod", check=False)
    sim.stack_file("prod", {"pyroscope.privateLink.name": "profiles-of-prod"})
    other_name = sim.up("prod", check=False)
    destroy_other, destroy = sim.destroy("prod", check=False), sim.destroy("dev", check=False)
    return Shared(
        up, again, other, other_name, destroy_other, destroy, person.kind("privateLinkServices")
    )


def may_make_links(person: Portal, cluster: str, number: int) -> None:
    """Give the cluster's identity the role in the shared group."""
    scope = resource_group("rg-links")
    found = person.get(person.find(f"/managedClusters/{cluster}"))
    role = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{NETWORK_CONTRIBUTOR}"
    properties: JsonObject = {
        "roleDefinitionId": role,
        "principalId": dig(found, "identity", "principalId"),
        "principalType": "ServicePrincipal",
    }
    name = f"aaaaaaaa-0000-4000-8000-00000000000{number}"
    person.put(
        f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}",
        {"properties": properties},
    )


def test_a_private_link_in_a_group_of_ones_own_is_found_to_be_ones_own(shared: Shared) -> None:
    assert shared.up.ok, shared.up.output
    assert shared.again.ops() == {}


def test_a_private_link_of_another_cluster_is_found_at_preview(shared: Shared) -> None:
    assert shared.other.status != 0
    assert "Private Link Service profiles in group rg-links" in shared.other.output
    assert "another cluster's, with its load balancer in group MC_rg-dev_aks-dev" in (
        shared.other.output
    )
    assert "connection delete" not in shared.other.output


def test_with_another_name_both_are_deployed_and_destroyed(shared: Shared) -> None:
    for outcome in (shared.other_name, shared.destroy_other, shared.destroy):
        assert outcome.ok, outcome.output
    assert shared.left == []


# --- somebody else is connected -------------------------------------------------------------------


@dataclass(frozen=True)
class Protected:
    """Somebody else is connected; `destroy` with the protection, and without it."""

    held: Outcome
    unprotected: Outcome
    """An `up` of the wait alone, with the setting."""
    destroy: Outcome
    left: list[JsonObject]
    links: list[str]
    others: str
    """What somebody else's endpoint shows in the end."""


@pytest.fixture(scope="module")
def protected(sim: Simulation, person: Portal, shared: Shared) -> Protected:
    del shared
    sim.stack_file("dev", {"pyroscope.privateLink": None})
    sim.up()
    properties = {"privateLinkResourceId": person.private_link(), "requestMessage": "me too"}
    person.put(OTHERS, {"location": "westeurope", "properties": properties})
    held = sim.destroy(check=False)
    sim.stack_file("dev", {"pyroscope.privateLink": {"protectConnections": False}})
    unprotected = sim.up("dev", "--target", "**::pyroscope-private-link-ready", check=False)
    destroy = sim.destroy(check=False)
    refreshed = person.call("POST", f"{GRAFANA}/refreshManagedPrivateEndpoints")
    person.follow(refreshed.headers["Azure-AsyncOperation"])
    others = dig(person.get(OTHERS), "properties", "connectionState", "status")
    person.delete(OTHERS)
    return Protected(
        held,
        unprotected,
        destroy,
        sim.state(),
        person.kind("privateLinkServices"),
        as_text(others),
    )


def test_destroy_stops_at_somebody_elses_connection_and_leaves_it(protected: Protected) -> None:
    assert protected.held.status != 0
    assert "others are connected to the Private Link Service" in protected.held.output
    assert "grafana-grafana-dev-somebody-elses (Pending, 'me too')" in protected.held.output
    assert "would cut them off" in protected.held.output


def test_the_line_of_the_message_takes_the_protection_off_and_touches_nothing_else(
    protected: Protected,
) -> None:
    assert protected.unprotected.ok, protected.unprotected.output
    assert touched(protected.unprotected) == {"pyroscope-private-link-ready": "update"}


def test_without_the_protection_destroy_ends_and_says_whom_it_cut_off(
    protected: Protected,
) -> None:
    assert protected.destroy.ok, protected.destroy.output
    assert "goes the connection of" in protected.destroy.output
    assert protected.left == []
    assert protected.links == []
    assert protected.others == "Disconnected"


# --- where it is tried ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Elsewhere:
    """Grafana in another region, where Azure refuses the endpoint; and in another cloud."""

    preview: Outcome
    up: Outcome
    other_cloud: Outcome
    own_subscription: Outcome
    """A preview with the visibility of one's own subscription alone."""


@pytest.fixture(scope="module")
def elsewhere(sim: Simulation, protected: Protected) -> Elsewhere:
    del protected
    sim.stack_file("dev", {"pyroscope.privateLink": {"visibility": [SUBSCRIPTION_ID]}})
    own_subscription = sim.preview(check=False)
    sim.stack_file("dev", {"pyroscope.privateLink": None})
    refusal = {"code": "LinkRegionNotSupported", "message": "Not in this region."}
    sim.faults(
        {
            "service": "arm",
            "method": "GET",
            "path": ".*/grafana/grafana-dev",
            "count": None,
            "then": {"patch": {"location": "northeurope"}},
        },
        {
            "service": "arm",
            "method": "PUT",
            "path": ".*/managedPrivateEndpoints/[^/]+",
            "count": None,
            "then": {"status": 400, "body": {"error": refusal}},
        },
    )
    preview, up = sim.preview(), sim.up(check=False)
    sim.faults()
    sim.destroy()
    file = sim.stack_file("dev")
    document = as_object(yaml.safe_load(file.read_text()))
    as_object(document["config"])["azure-native:environment"] = "usgovernment"
    file.write_text(yaml.safe_dump(document))
    other_cloud = sim.preview(check=False)
    return Elsewhere(preview, up, other_cloud, own_subscription)


def test_two_regions_are_told_at_preview_with_what_is_tried_and_what_would_fail(
    elsewhere: Elsewhere,
) -> None:
    (warning,) = [text for text in elsewhere.preview.diagnostics if "northeurope" in text]
    assert "tried in northeurope, Grafana's region" in warning
    assert "`private-endpoint-endpoint` fails with Azure's error" in warning
    assert elsewhere.up.status != 0
    assert "LinkRegionNotSupported" in elsewhere.up.output
    assert elsewhere.up.step("private-endpoint-endpoint").failed


def test_another_cloud_is_refused_by_name_at_preview(elsewhere: Elsewhere) -> None:
    assert elsewhere.other_cloud.status != 0
    assert "azure-native:environment = usgovernment" in elsewhere.other_cloud.output
    assert "pulumi config rm azure-native:environment" in elsewhere.other_cloud.output
    assert "Traceback" not in elsewhere.other_cloud.output


def test_ones_own_subscription_alone_is_refused_at_preview_where_no_setting_names_it(
    elsewhere: Elsewhere,
) -> None:
    assert elsewhere.own_subscription.status != 0
    assert "gpuobs:pyroscope.privateLink.visibility" in elsewhere.own_subscription.output
    assert "not your own subscription alone" in elsewhere.own_subscription.output
