"""Every Pyroscope query of the dashboard is answered by the simulator, for each type id."""

import time
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from components.pyroscope_values import range_limits
from dashboards import DashboardOptions, build
from simulator.pyroscope.limits import limits_of
from simulator.pyroscope.querier import Querier, QueryError
from simulator.pyroscope.recordings import Recording, profile_type
from simulator.pyroscope.store import ProfileStore
from tests.dashboards.grafana import (
    ALL,
    Choice,
    Json,
    mapping,
    objects,
    options_after_regex,
    panels,
    pyroscope,
    variables,
)

NOW = int(time.time())
WINDOW = {"start": (NOW - 3600) * 1000, "end": NOW * 1000}

DASHBOARDS = {
    "with metrics": build(
        DashboardOptions(uid="gpu", title="GPU", pyroscope_uid="f", prometheus_uid="p")
    ),
    "without metrics": build(
        DashboardOptions(uid="gpu", title="GPU", pyroscope_uid="f", prometheus_uid=None)
    ),
}

VERSIONS = {
    "before 0.54": ((0, 53, 1), (1, 15, 0)),
    "from 0.54": ((0, 54, 0), (1, 15, 0)),
    "from 0.54 on a later server": ((0, 54, 0), (1, 19, 2)),
}


def recording(versions: str, start: float, end: float | None) -> Recording:
    return Recording(start, start, end, profile_type(*VERSIONS[versions]), "inspektor-gadget")


def querier(*recordings: Recording) -> Querier:
    return Querier(ProfileStore(recordings))


def ask(server: Querier, method: str, body: Mapping[str, object]) -> Json:
    return mapping(server.methods[method]({**WINDOW, **body}))


def offered_types(server: Querier, dashboard: Json) -> list[str]:
    """What the profile type variable offers, in its order."""
    variable = variables(dashboard)["profile_type"]
    found = objects(ask(server, "ProfileTypes", {}).get("profileTypes"))
    ids = [str(kind["ID"]) for kind in found]
    return sorted(options_after_regex(str(variable["regex"]), ids), reverse=True)


def profile_targets(dashboard: Json) -> list[Json]:
    return [
        target
        for panel in panels(dashboard)
        for target in objects(panel.get("targets"))
        if "profileTypeId" in target
    ]


def total(server: Querier, target: Json, chosen: Mapping[str, Choice]) -> int:
    """The bytes that a target's answer adds up to."""
    selection = {
        "profileTypeID": pyroscope(str(target["profileTypeId"]), chosen),
        "labelSelector": pyroscope(str(target["labelSelector"]), chosen),
    }
    if target["queryType"] == "profile":
        answer = ask(server, "SelectMergeStacktraces", selection)
        return int(str(mapping(answer["flamegraph"]).get("total", 0)))
    assert target["queryType"] == "metrics"
    body = selection | {"step": 60, "groupBy": target["groupBy"]}
    series = objects(ask(server, "SelectSeries", body).get("series"))
    return sum(
        int(cast("float", point["value"])) for one in series for point in objects(one["points"])
    )


def chosen(kind: str, namespace: Choice = ALL, pod: Choice = ALL) -> dict[str, Choice]:
    return {"profile_type": kind, "namespace": namespace, "pod": pod}


@pytest.mark.parametrize("dashboard", DASHBOARDS)
@pytest.mark.parametrize("versions", VERSIONS)
def test_every_profile_query_shows_bytes_with_the_type_that_is_discovered(
    dashboard: str, versions: str
) -> None:
    server = querier(recording(versions, NOW - 3600, None))
    (kind,) = offered_types(server, DASHBOARDS[dashboard])
    targets = profile_targets(DASHBOARDS[dashboard])
    assert {target["queryType"] for target in targets} == {"profile", "metrics"}
    totals = {total(server, target, chosen(kind)) for target in targets}
    assert len(totals) == 1, "the graph over time adds up to the flame graph"
    assert totals.pop() > 0


@pytest.mark.parametrize("versions", VERSIONS)
def test_a_pod_and_a_namespace_narrow_the_flame_graph(versions: str) -> None:
    server = querier(recording(versions, NOW - 3600, None))
    dashboard = DASHBOARDS["without metrics"]
    (kind,) = offered_types(server, dashboard)
    names: dict[str, list[str]] = {}
    for variable in ("namespace", "pod"):
        query = mapping(variables(dashboard)[variable]["query"])
        answer = ask(server, "LabelValues", {"name": query["labelName"]})
        names[variable] = [str(name) for name in cast("Sequence[object]", answer["names"])]
    (target,) = [one for one in profile_targets(dashboard) if one["queryType"] == "profile"]
    everything = total(server, target, chosen(kind))
    by_pod = [total(server, target, chosen(kind, pod=pod)) for pod in names["pod"]]
    assert all(bytes_of_pod > 0 for bytes_of_pod in by_pod)
    assert sum(by_pod) == everything
    assert total(server, target, chosen(kind, pod=names["pod"])) == everything
    assert total(server, target, chosen(kind, namespace=names["namespace"])) == everything
    assert total(server, target, chosen(kind, pod="absent")) == 0
    assert total(server, target, chosen(kind, namespace="absent")) == 0


def test_after_an_upgrade_in_the_range_each_type_shows_its_own_and_the_newer_comes_first() -> None:
    server = querier(
        recording("before 0.54", NOW - 3600, NOW - 1800),
        recording("from 0.54", NOW - 1800, None),
    )
    dashboard = DASHBOARDS["with metrics"]
    newer, older = offered_types(server, dashboard)
    assert newer == profile_type(*VERSIONS["from 0.54"])
    assert older == profile_type(*VERSIONS["before 0.54"])
    for target in profile_targets(dashboard):
        assert total(server, target, chosen(newer)) > 0
        assert total(server, target, chosen(older)) > 0


def test_the_range_from_a_process_start_is_answered_with_the_limits_that_the_stack_sets() -> None:
    begun = NOW - 31 * 86400 + 3600
    long_ago = recording("from 0.54", begun, begun + 60)
    body = {
        "profileTypeID": long_ago.profile_type,
        "labelSelector": "{}",
        "start": (begun - 7200) * 1000,
        "end": NOW * 1000,
    }
    said = mapping(mapping(range_limits({})["pyroscope"])["tenantOverrides"])
    limits = limits_of({}, {"overrides": said})
    server = Querier(ProfileStore([long_ago], limits=limits))
    graph = mapping(mapping(server.methods["SelectMergeStacktraces"](body))["flamegraph"])
    assert int(str(graph["total"])) > 0
    with pytest.raises(QueryError, match="max_query_length"):
        querier(long_ago).methods["SelectMergeStacktraces"](body)


def test_without_profiles_there_is_no_type_to_choose() -> None:
    assert offered_types(querier(), DASHBOARDS["with metrics"]) == []
