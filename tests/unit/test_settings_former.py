"""A stack file for an earlier version still loads, with a note that names the new spelling."""

import pytest

from infra.settings import NewGrafana, with_current_spellings
from tests.unit.stack_files import CREATED, faults, settings


def grafana(**section: object) -> dict[str, object]:
    return {**CREATED, "grafana": section}


@pytest.mark.parametrize("adopt", [True, False])
def test_adopting_was_a_setting_of_the_data_sources(adopt: bool) -> None:
    old = grafana(create={}, dataSources={"adopt": adopt, "pyroscope": {"name": "profiles"}})

    sections, notes = with_current_spellings(old)

    read = settings(sections).grafana
    assert read.adopt is adopt
    assert read.data_sources.pyroscope.name == "profiles"
    (note,) = notes
    assert "grafana.dataSources.adopt" in note
    assert "gpuobs:grafana.adopt" in note


def test_the_tier_of_a_new_workspace_was_a_setting() -> None:
    sections, notes = with_current_spellings(grafana(create={"tier": "Standard", "name": "g-mine"}))

    assert settings(sections).grafana.create == NewGrafana(name="g-mine")
    (note,) = notes
    assert "grafana.create.tier" in note
    assert "without `tier`" in note


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"create": {"tier": "Essential"}}, "grafana.create.tier"),
        (
            {"create": {}, "adopt": True, "dataSources": {"adopt": False}},
            "grafana.dataSources.adopt",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_and_not_dropped(
    section: dict[str, object], path: str
) -> None:
    sections, notes = with_current_spellings(grafana(**section))

    assert not notes
    assert set(faults(sections)) == {path}


@pytest.mark.parametrize("section", [None, "text", {"create": None}, {"dataSources": []}])
def test_a_section_in_another_shape_is_left_to_the_reader(section: object) -> None:
    sections, notes = with_current_spellings({**CREATED, "grafana": section})

    assert not notes
    assert sections["grafana"] == section
