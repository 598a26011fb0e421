"""The pure parts of the mirror between a simulated cluster and a real API server."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from simulator.apiserver import chart_schema, helm_releases, provision
from simulator.apiserver.differences import difference
from simulator.home import Home, SessionError
from simulator.project import with_chart
from simulator.session import Options, open_azure
from simulator.values import JsonObject, as_object, dig, merge_patch

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES)


@given(before=OBJECTS, after=OBJECTS)
def test_a_difference_applied_to_the_one_state_gives_the_other(
    before: JsonObject, after: JsonObject
) -> None:
    assert merge_patch(before, difference(before, after)) == after


@given(state=OBJECTS)
def test_equal_states_differ_in_nothing(state: JsonObject) -> None:
    assert difference(state, json.loads(json.dumps(state))) == {}


def record(revision: int, status: str, namespace: str = "gadget") -> JsonObject:
    """A Secret as Helm writes it."""
    manifest = """---
# Source: pyroscope/templates/service.yaml
apiVersion: v1
kind: Service
metadata: {name: pyroscope, namespace: gadget}
---
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: pyroscope}
"""
    release = {
        "name": "pyroscope",
        "namespace": namespace,
        "version": revision,
        "info": {"status": status, "description": "context deadline exceeded"},
        "chart": {"metadata": {"name": "pyroscope", "version": "1.15.0", "appVersion": "1.14.1"}},
        "config": {"pyroscope": {"replicaCount": 1}},
        "manifest": manifest,
    }
    helms = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    return {
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {"name": f"sh.helm.release.v1.pyroscope.v{revision}"},
        "data": {"release": base64.b64encode(helms).decode()},
    }


def test_a_release_has_the_shape_of_the_simulated_api_servers() -> None:
    assert helm_releases.releases([record(1, "deployed")]) == {
        "gadget/pyroscope": {
            "namespace": "gadget",
            "name": "pyroscope",
            "chart": "pyroscope",
            "version": "1.15.0",
            "appVersion": "1.14.1",
            "values": {"pyroscope": {"replicaCount": 1}},
            "revision": 1,
            "status": "deployed",
            "message": "",
            "resources": ["v1/Service/gadget/pyroscope", "apps/v1/StatefulSet/gadget/pyroscope"],
        }
    }


def test_the_newest_revision_counts_whatever_the_order() -> None:
    records = [record(9, "superseded"), record(10, "failed"), record(2, "superseded")]
    (release,) = helm_releases.releases(records).values()
    assert (release["revision"], release["status"]) == (10, "failed")
    assert release["message"] == "context deadline exceeded"


def test_releases_of_one_name_in_two_namespaces_are_two_and_other_secrets_none() -> None:
    other: JsonObject = {"kind": "Secret", "type": "Opaque", "data": {"release": "eA=="}}
    found = helm_releases.releases([record(1, "deployed"), record(1, "failed", "other"), other])
    assert sorted(found) == ["gadget/pyroscope", "other/pyroscope"]


@pytest.mark.parametrize("source", ["oci", "repository", "path"])
def test_a_stack_file_that_names_its_chart_is_left_as_it_is(source: str) -> None:
    text = yaml.safe_dump({"config": {"gpuobs:pyroscope": {"chart": {source: "mine"}}}})
    assert with_chart(text, "stand-in") == text


@pytest.mark.parametrize(
    "pyroscope",
    [None, {}, {"chart": None}, {"imageTag": "1.15.0"}, {"chart": {"version": "1.15.0"}}],
)
def test_a_stack_file_without_a_chart_gets_the_stand_in(pyroscope: JsonObject | None) -> None:
    config: JsonObject = {"gpuobs:cluster": {"create": {}}}
    config["gpuobs:pyroscope"] = pyroscope
    changed = yaml.safe_load(with_chart(yaml.safe_dump({"config": config}), "stand-in"))
    assert dig(changed, "config", "gpuobs:pyroscope", "chart", "path") == "stand-in"
    assert as_object(dig(changed, "config"))["gpuobs:cluster"] == {"create": {}}
    for key in (pyroscope or {}).keys() - {"chart"}:
        assert dig(changed, "config", "gpuobs:pyroscope", key) == "1.15.0"


@pytest.mark.parametrize("real", [False, True])
def test_a_home_of_the_other_kind_is_refused_with_the_ways_out(tmp_path: Path, real: bool) -> None:
    home = Home(tmp_path / "home")
    home.azure.mkdir(parents=True)
    (home.azure / "world.json").write_text("{}")
    if real:
        (home.azure / provision.FILE).write_text("{}")
    with pytest.raises(SessionError) as refused:
        open_azure(home, Options(real_kubernetes=not real))
    kind = "real" if real else "simulated"
    assert f"Add --kubernetes {kind}" in str(refused.value)
    assert str(home.path) in str(refused.value)
    assert "--reset" in str(refused.value)


def test_the_stand_in_refuses_what_any_of_the_public_charts_ignores() -> None:
    assert chart_schema.FILE.read_text() == chart_schema.text(), (
        "python -m simulator.apiserver.chart_schema"
    )
    validator: Any = jsonschema.Draft7Validator(chart_schema.schema())
    component: JsonObject = {"kind": "Deployment", "service": {"annotations": {"a": "b"}}}
    assert validator.is_valid({"pyroscope": {"components": {"querier": component}}})
    assert validator.is_valid({"pyroscope": {"structuredConfig": {"anything": 1}}})
    ignored: list[JsonObject] = [
        {"pyroscope": {"podLabels": {}}},
        {"pyroscope": {"components": {"querier": {**component, "podLabels": {}}}}},
        {"pyroscope": {"components": {"querier": {}}}},
        # Of 1.18.1 and later, and of 1.15.1 and later.
        {"pyroscope": {"extraContainers": []}},
        {"architecture": {"microservices": {"enabled": True}}},
    ]
    assert [one for one in ignored if validator.is_valid(one)] == []
