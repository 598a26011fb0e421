"""Two stacks, each with its cluster, on one Grafana; and objects there that are nobody's."""

from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_object, as_text, dig
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

PUBLISHED = "local-pyroscope"
PROD = {"name": "aks-prod", "resourceGroup": "rg-prod"}


# --- default names -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Both stacks with the names that are theirs by default."""

    up: dict[str, Outcome]
    outputs: dict[str, JsonObject]
    dev_preview: Outcome
    """Of the first, after the second was made."""


@pytest.fixture(scope="module")
def pair(sim: Simulation) -> Pair:
    for stack in ("dev", "prod"):
        sim.stack_file(stack, like="dev")
        sim.stack_file(stack, {"grafana.dataSources": None, "grafana.dashboard": None})
    sim.stack_file("prod", {"cluster.existing": PROD})
    up = {stack: sim.up(stack) for stack in ("dev", "prod")}
    outputs = {stack: sim.outputs(stack) for stack in up}
    return Pair(up, outputs, dev_preview=sim.preview("dev"))


@pytest.mark.handles("fixed-names-collide")
def test_two_stacks_with_default_names_share_a_grafana(pair: Pair, person: Portal) -> None:
    uids = [
        as_text(uid) for one in pair.outputs.values() for uid in as_object(uids_of(one)).values()
    ]
    assert len(set(uids)) == 4
    assert {source for source in uids if person.source(source)} == set(uids)
    assert len({as_text(one["dashboardUrl"]) for one in pair.outputs.values()}) == 2
    assert len(person.kind("managedPrivateEndpoints")) == 2


def test_the_second_stack_changes_nothing_of_the_first(pair: Pair) -> None:
    assert pair.dev_preview.ops() == {}


def uids_of(outputs: JsonObject) -> JsonObject:
    return as_object(outputs["dataSourceUids"])


# --- the same names ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collision:
    """The second stack wants the first one's source; and one that a person made."""

    anothers: Outcome
    nobodys: Outcome
    before: JsonObject
    after: JsonObject
    by_hand: JsonObject
    adopted: Outcome


@pytest.fixture(scope="module")
def collision(sim: Simulation, person: Portal, pair: Pair) -> Collision:
    dev = as_text(uids_of(pair.outputs["dev"])["pyroscope"])
    before = person.source(dev)
    sim.stack_file("prod", {"grafana.dataSources.pyroscope": {"name": dev, "uid": dev}})
    anothers = sim.up("prod", check=False)
    after = person.source(dev)
    made = person.grafana(
        "POST",
        "/api/datasources",
        {
            "name": PUBLISHED,
            "uid": PUBLISHED,
            "type": "grafana-pyroscope-datasource",
            "access": "proxy",
            "url": "http://10.9.9.9:4040",
        },
    )
    assert made.status_code == 200, made.text
    named = {"name": PUBLISHED, "uid": PUBLISHED}
    sim.stack_file("prod", {"grafana.dataSources.pyroscope": named})
    nobodys = sim.up("prod", check=False)
    by_hand = person.source(PUBLISHED)
    sim.stack_file("prod", {"grafana.adopt": True})
    return Collision(anothers, nobodys, before, after, by_hand, adopted=sim.up("prod"))


@pytest.mark.handles("source-name-taken")
@pytest.mark.handles("fixed-names-collide")
def test_a_source_of_another_stack_is_refused_naming_its_owner_and_stays(
    collision: Collision,
) -> None:
    outcome = collision.anothers
    assert outcome.status != 0
    assert "is somebody else's there" in outcome.output
    assert "its owner is stack 'dev' of project 'gpuobs'" in outcome.output
    assert "/managedclusters/aks-dev" in outcome.output
    assert collision.after == collision.before


@pytest.mark.handles("source-name-taken")
def test_a_source_made_by_hand_is_refused_and_stays(collision: Collision) -> None:
    assert collision.nobodys.status != 0
    assert "an unknown owner" in collision.nobodys.output
    assert "adopt: true" in collision.nobodys.output
    assert collision.by_hand["url"] == "http://10.9.9.9:4040"


@pytest.mark.handles("source-name-taken")
def test_a_source_made_by_hand_is_taken_over_where_the_settings_say_so(
    collision: Collision, pair: Pair, person: Portal
) -> None:
    assert collision.adopted.ok
    source = person.source(PUBLISHED)
    address = as_text(dig(pair.outputs["prod"], "privateEndpoint", "privateIp"))
    assert source["url"] == f"http://{address}:4040"
    assert dig(source, "jsonData", "gpuobs", "owner", "stack") == "prod"


# --- one of them goes ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Alone:
    """The first stack after the second was destroyed."""

    destroy: Outcome
    preview: Outcome
    signal: str


@pytest.fixture(scope="module")
def alone(sim: Simulation, collision: Collision) -> Alone:
    del collision
    destroy = sim.destroy("prod")
    request = sim.pulumi("stack", "output", "signalCheck", "--json", "--stack", "dev").output
    done = sim.run("sh", "operations/run", "check-signal", stdin=request)
    return Alone(destroy, sim.preview("dev"), done.stdout + done.stderr)


@pytest.mark.handles("fixed-names-collide")
def test_destroying_one_leaves_the_others_sources_dashboard_and_data(
    alone: Alone, pair: Pair, person: Portal
) -> None:
    assert alone.preview.ops() == {}
    assert "The signal arrives." in alone.signal
    dashboard = as_text(pair.outputs["dev"]["dashboardUrl"]).rsplit("/", 1)[-1]
    assert person.dashboard(dashboard)
    assert len(person.kind("managedPrivateEndpoints")) == 1


def test_destroying_takes_all_of_its_own(alone: Alone, pair: Pair, person: Portal) -> None:
    del alone
    gone = [*map(as_text, uids_of(pair.outputs["prod"]).values()), PUBLISHED]
    assert [uid for uid in gone if person.source(uid)] == []
    dashboard = as_text(pair.outputs["prod"]["dashboardUrl"]).rsplit("/", 1)[-1]
    assert person.dashboard(dashboard) == {}
