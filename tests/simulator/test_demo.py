"""The demo's proof: it holds for an Azure as it was before, and for no other."""

import copy

import pytest

from simulator.demo import differences, stable
from simulator.values import JsonObject

AZURE: JsonObject = {
    "resources": {"/a": {"id": "/a", "etag": "1", "properties": {"count": 2}}},
    "grafana": {"g": {"dataSources": [{"uid": "theirs"}], "dashboards": []}},
    "kubernetes": {"c": {"namespaces": ["default"], "releases": []}},
    "calls": 10,
}


def changed(path: tuple[str, ...], value: object) -> JsonObject:
    """:data:`AZURE` with another value under ``path``."""
    azure = copy.deepcopy(AZURE)
    below: JsonObject = azure
    for key in path[:-1]:
        below = below[key]  # type: ignore[assignment]
    below[path[-1]] = value
    return azure


@pytest.mark.parametrize(
    "azure",
    [
        changed(("calls",), 99),
        changed(("resources", "/a", "etag"), "2"),
        changed(("resources", "/a", "systemData"), {"lastModifiedAt": "now"}),
    ],
)
def test_what_always_differs_is_no_difference(azure: JsonObject) -> None:
    assert differences(stable(AZURE), stable(azure)) == []


@pytest.mark.parametrize(
    ("azure", "path"),
    [
        (changed(("resources", "/b"), {"id": "/b"}), "/resources//b"),
        (changed(("resources", "/a", "properties", "count"), 3), "/resources//a/properties/count"),
        (changed(("grafana", "g", "dataSources"), []), "/grafana/g/dataSources"),
        (changed(("kubernetes", "c", "namespaces"), ["gadget"]), "/kubernetes/c/namespaces"),
        (changed(("resources",), {}), "/resources//a"),
    ],
)
def test_anything_left_behind_or_taken_along_is_named(azure: JsonObject, path: str) -> None:
    assert differences(stable(AZURE), stable(azure)) == [path]
