"""What a stack file takes away of the project file's settings is said."""

import pytest

from infra.settings.project_file import lost_settings

PROJECT = """
name: gpuobs
config:
  gpuobs:cluster:
    value: { existing: { name: aks, resourceGroup: rg }, credentials: admin }
  grafana: { default: { create: { majorVersion: "13" }, folder: GPU } }
  other:key: { value: { a: 1 } }
"""


def test_a_section_that_only_the_project_file_has_loses_nothing() -> None:
    sections = {
        "cluster": {"existing": {"name": "aks", "resourceGroup": "rg"}, "credentials": "admin"},
        "grafana": {"create": {"majorVersion": "13"}, "folder": "GPU"},
    }
    assert list(lost_settings(PROJECT, sections)) == []


def test_what_a_stack_files_section_leaves_out_is_named_with_its_path() -> None:
    sections = {"cluster": {"existing": {"name": "other"}}, "grafana": {"folder": "GPU"}}
    cluster, grafana = lost_settings(PROJECT, sections)
    assert "`existing.resourceGroup`, `credentials` of gpuobs:cluster" in cluster
    assert "`create` of gpuobs:grafana" in grafana


def test_the_other_of_two_alternatives_is_not_lost_but_chosen() -> None:
    sections = {"grafana": {"existing": {"name": "g", "resourceGroup": "rg"}, "folder": "GPU"}}
    assert list(lost_settings(PROJECT, sections)) == []


@pytest.mark.parametrize("text", ["", "config: [", "config: 1", "config: { gpuobs:cluster: 1 }"])
def test_a_file_that_sets_nothing_says_nothing(text: str) -> None:
    assert list(lost_settings(text, {"cluster": {"existing": {}}})) == []
