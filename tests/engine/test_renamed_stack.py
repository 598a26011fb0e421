"""`pulumi stack rename` of a stack that is up: its names and its objects stay its own."""

from dataclasses import dataclass

import pytest

from simulator.values import JsonObject, as_object
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

LINE = "pulumi config set --path gpuobs:azure.namedAfter dev --stack renamed"


@dataclass(frozen=True)
class Renamed:
    """A stack that is up, renamed, gone on with, and destroyed."""

    preview: Outcome
    refused: Outcome
    was: JsonObject
    unchanged: JsonObject
    """Azure after the update that was refused."""
    kept: Outcome
    """The update with the setting."""
    gone: Outcome
    left: JsonObject
    at_first: JsonObject


@pytest.fixture(scope="module")
def renamed(sim: Simulation) -> Renamed:
    at_first = _world(sim)
    file = sim.stack_file("dev", {"grafana.folder": "GPU"}, like="dev")
    sim.up()
    was = _world(sim)
    done = sim.pulumi("stack", "rename", "renamed", "--stack", "dev")
    assert done.ok, done.output
    # The session hands out copies of stack files; in a checkout the command renames it.
    file.rename(file.with_name("Pulumi.renamed.yaml"))
    preview = sim.preview("renamed", check=False)
    refused = sim.up("renamed", check=False)
    unchanged = _world(sim)
    sim.stack_file("renamed", {"azure.namedAfter": "dev"})
    kept = sim.up("renamed", check=False)
    gone = sim.destroy("renamed", check=False)
    return Renamed(preview, refused, was, unchanged, kept, gone, _world(sim), at_first)


def _world(sim: Simulation) -> JsonObject:
    found = sim.inspect()
    return {"resources": sorted(as_object(found["resources"])), "grafana": found["grafana"]}


def test_the_first_up_stops_before_it_changes_anything_and_prints_the_setting_that_keeps_all(
    renamed: Renamed,
) -> None:
    for outcome in (renamed.preview, renamed.refused):
        assert outcome.status != 0
        assert outcome.ops() == {}
        assert "this stack was deployed as `dev`, and is called `renamed` now" in outcome.output
        assert LINE in outcome.output
    assert renamed.unchanged == renamed.was


def test_with_the_setting_up_changes_nothing(renamed: Renamed) -> None:
    assert renamed.kept.ok, renamed.kept.output
    assert renamed.kept.ops() == {}


def test_destroy_takes_all_of_it_away_under_the_new_name(renamed: Renamed) -> None:
    assert renamed.gone.ok, renamed.gone.output
    assert renamed.left == renamed.at_first
