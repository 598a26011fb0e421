"""Another uid or folder on Grafana: looked for first, then moved; nothing that is shown is gone."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from simulator.demo import differences, stable
from simulator.values import JsonObject, as_objects, as_text, dig
from tests.engine.changes import STACK, apply, order, touched
from tests.engine.portal import DASHBOARD, Portal
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

GPU = "AdvancedGPUObservability"
SOURCE, SHOWN = "data-sources-pyroscope", "dashboard-dashboard"
UIDS = ("grafana.dataSources.pyroscope.uid", "grafana.dashboard.uid")


@dataclass(frozen=True)
class Taken:
    """Both uids are changed to ones that somebody else has."""

    preview: Outcome
    up: Outcome
    """Without a preview."""
    changed: list[str]


@pytest.fixture(scope="module")
def taken(sim: Simulation, person: Portal) -> Taken:
    sim.up(STACK)
    source = {"type": "prometheus", "access": "proxy", "url": "http://example.org"}
    answer = person.grafana("POST", "/api/datasources", {**source, "name": "A", "uid": "their-a"})
    assert answer.status_code == 200, answer.text
    theirs: JsonObject = {"dashboard": {"title": "Theirs", "uid": "their-b"}}
    assert person.grafana("POST", "/api/dashboards/db", theirs).status_code == 200
    before = stable(sim.inspect())
    sim.stack_file(STACK, dict(zip(UIDS, ("their-a", "their-b"), strict=True)))
    preview, up = sim.preview(STACK, check=False), sim.up(STACK, check=False)
    return Taken(preview, up, differences(before, stable(sim.inspect())))


def test_uids_of_somebody_elses_are_refused_by_the_preview_all_at_once(taken: Taken) -> None:
    for outcome in (taken.preview, taken.up):
        assert not outcome.ok
        assert "gpuobs:grafana.dataSources.pyroscope.uid (on Grafana" in outcome.output
        assert "the data source 'A' (uid 'their-a') is somebody else's there" in outcome.output
        assert "gpuobs:grafana.dashboard.uid (on Grafana" in outcome.output
        assert "the dashboard 'Theirs' (uid 'their-b') is somebody else's there" in outcome.output
        assert "gpuobs:grafana.adopt: true" in outcome.output


def test_where_it_says_that_nothing_was_changed_nothing_was(taken: Taken) -> None:
    assert "Nothing was changed." in taken.up.output
    assert taken.up.changes == []
    assert taken.changed == []


# --- other uids ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moved(sim: Simulation, taken: Taken) -> Outcome:
    del taken
    in_folder = {"grafana.folder": "GPU", **dict.fromkeys(UIDS)}
    sim.stack_file(STACK, in_folder, like=STACK)
    sim.up(STACK)
    return apply(sim, dict(zip(UIDS, ("moved-source", "moved-dashboard"), strict=True)))


def test_the_new_ones_are_made_before_the_old_ones_go_and_the_dashboard_shows_one_that_is_there(
    moved: Outcome,
) -> None:
    assert order(moved)[:2] == [f"+ {SOURCE}", f"+ {SHOWN}"]
    assert sorted(order(moved)[2:]) == [f"- {SHOWN}", f"- {SOURCE}"]


def test_names_titles_and_folders_are_what_they_were(
    moved: Outcome, sim: Simulation, person: Portal
) -> None:
    del moved
    source = person.source("moved-source")
    assert source["name"] == "local-pyroscope"
    assert dig(sim.outputs(), "dataSourceUids", "pyroscope") == "moved-source"
    assert not person.source("local-pyroscope")
    assert not person.dashboard(GPU)
    meta = dig(person.grafana("GET", DASHBOARD + "moved-dashboard").json(), "meta")
    assert dig(meta, "folderTitle") == "GPU"


def test_a_dashboard_that_was_made_anew_under_the_old_ones_folder_mark_takes_the_folder_along(
    moved: Outcome, sim: Simulation, person: Portal
) -> None:
    del moved
    apply(sim, {"grafana.folder": None})
    assert person.folders() == []


# --- folders -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Journey:
    """In and out of folders, one change after the other."""

    titles: Sequence[Sequence[str]]
    """The folders' titles after each change."""
    within: Sequence[str]
    """The title of the dashboard's folder after each change."""
    versions: Sequence[int]
    """How many versions the dashboard has after each."""


@pytest.fixture(scope="module")
def journey(sim: Simulation, person: Portal, moved: Outcome) -> Journey:
    del moved
    sim.stack_file(STACK, {"grafana.folder": None, "grafana.dashboard.uid": GPU})
    sim.up(STACK)
    answer = person.grafana("POST", "/api/folders", {"title": "Shared", "uid": "shared"})
    assert answer.status_code == 200, answer.text
    titles: list[list[str]] = []
    within: list[str] = []
    versions: list[int] = []
    for title in ("GPU", "GPU team", "Shared", None):
        assert touched(apply(sim, {"grafana.folder": title})) == {SHOWN: "update"}
        assert touched(sim.preview(STACK)) == {}
        titles.append(sorted(as_text(one["title"]) for one in person.folders()))
        meta = dig(person.grafana("GET", DASHBOARD + GPU).json(), "meta")
        within.append(as_text(dig(meta, "folderTitle")))
        kept = person.grafana("GET", f"{DASHBOARD}{GPU}/versions").json()
        versions.append(len(as_objects(dig(kept, "versions"))))
    return Journey(titles, within, versions)


def test_a_change_of_the_folders_title_is_seen_in_grafana(journey: Journey) -> None:
    assert journey.titles[:2] == [["GPU", "Shared"], ["GPU team", "Shared"]]
    assert journey.within[:2] == ["GPU", "GPU team"]


def test_a_folder_of_the_wanted_title_that_exists_is_used_not_doubled_and_stays(
    journey: Journey,
) -> None:
    assert journey.titles[2:] == [["Shared"], ["Shared"]]
    assert journey.within[2:] == ["Shared", "General"]


def test_moving_in_and_out_of_folders_keeps_the_dashboards_versions(journey: Journey) -> None:
    first = journey.versions[0]
    assert journey.versions == [first, first + 1, first + 2, first + 3]


def test_a_folder_that_was_renamed_by_hand_gets_its_title_back(
    journey: Journey, sim: Simulation, person: Portal
) -> None:
    del journey
    apply(sim, {"grafana.folder": "GPU"})
    (uid,) = (as_text(one["uid"]) for one in person.folders() if one["title"] == "GPU")
    renamed = {"title": "Mine", "overwrite": True}
    assert person.grafana("PUT", f"/api/folders/{uid}", renamed).status_code == 200
    assert touched(sim.preview(STACK)) == {SHOWN: "update"}
    sim.up(STACK)
    assert sorted(as_text(one["title"]) for one in person.folders()) == ["GPU", "Shared"]


def test_destroy_leaves_the_folder_of_others_and_nothing_of_its_own(
    journey: Journey, sim: Simulation, person: Portal
) -> None:
    del journey
    sim.destroy(STACK)
    assert [one["title"] for one in person.folders()] == ["Shared"]
    assert person.source("their-a")
    assert not person.source("moved-source")
