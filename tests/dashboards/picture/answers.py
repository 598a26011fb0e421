"""What each panel's queries answer, as Grafana would ask and hand them to the panel."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from simulator.pyroscope.querier import Querier
from tests.dashboards import prometheus
from tests.dashboards.grafana import ALL, EVERYTHING, Choice, Json, mapping, objects, promql
from tests.dashboards.grafana import pyroscope as selected
from tests.dashboards.picture import night

STEP: Final = 120
"""Seconds between the points of a graph: as wide as two pixels."""


@dataclass(frozen=True)
class Curve:
    """One line of a graph."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Answer:
    """What a panel shows; empty where it shows nothing."""

    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    curves: Sequence[Curve] = ()
    header: Sequence[str] = ()
    rows: Sequence[Mapping[str, object]] = ()
    flame: Json = field(default_factory=dict[str, object])


def answers(server: prometheus.Server, dashboard: Json) -> dict[int, Answer]:
    """By the panel's number."""
    profiles = Querier(night.store())
    return {
        int(str(panel["id"])): _answer(server, profiles, panel)
        for panel in objects(dashboard["panels"])
        if panel["type"] not in ("row", "text")
    }


def _answer(server: prometheus.Server, profiles: Querier, panel: Json) -> Answer:
    targets = objects(panel["targets"])
    if panel["type"] == "flamegraph":
        body = _of_profiles(profiles, targets[0])
        graph = profiles.methods["SelectMergeStacktraces"](body)
        return Answer(flame=mapping(mapping(graph)["flamegraph"]))
    if "profileTypeId" in targets[0]:
        return Answer(curves=_profile_curves(profiles, targets[0]))
    if panel["type"] == "timeseries":
        return Answer(curves=[curve for one in targets for curve in _curves(server, one)])
    found = {str(one["refId"]): _vector(server, one) for one in targets}
    if panel["type"] == "stat":
        return Answer(
            numbers={
                str(one["legendFormat"]): value
                for one in targets
                for _, value in found[str(one["refId"])]
            }
        )
    return _table(panel, found)


def _sent(target: Json) -> str:
    return promql(str(target["expr"]), EVERYTHING, rate_interval="4m", time_range="3h")


def _sorted(found: list[object]) -> list[Mapping[str, object]]:
    """By their labels: Prometheus promises no order."""
    listed = cast("list[Mapping[str, object]]", found)
    return sorted(listed, key=lambda one: sorted(mapping(one["metric"]).items(), key=str))


def _vector(server: prometheus.Server, target: Json) -> list[tuple[Mapping[str, str], float]]:
    found = _sorted(server.instant(_sent(target), night.END))
    return [
        (cast("Mapping[str, str]", one["metric"]), float(cast("list[str]", one["value"])[1]))
        for one in found
    ]


def _curves(server: prometheus.Server, target: Json) -> Iterator[Curve]:
    for one in _sorted(server.range(_sent(target), night.BEGIN, night.END, STEP)):
        labels = cast("Mapping[str, str]", one["metric"])
        values = cast("list[tuple[float, str]]", one["values"])
        name = _legend(str(target["legendFormat"]), labels)
        yield Curve(name, [(at, float(value)) for at, value in values])


def _legend(form: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), form).strip()


def _of_profiles(profiles: Querier, target: Json) -> dict[str, object]:
    span = {"start": night.BEGIN * 1000, "end": night.END * 1000}
    (kind,) = objects(mapping(profiles.methods["ProfileTypes"](span))["profileTypes"])
    chosen: dict[str, Choice] = {"profile_type": str(kind["ID"]), "namespace": ALL, "pod": ALL}
    return {
        **span,
        "profileTypeID": selected(str(target["profileTypeId"]), chosen),
        "labelSelector": selected(str(target["labelSelector"]), chosen),
    }


def _profile_curves(profiles: Querier, target: Json) -> list[Curve]:
    body = {**_of_profiles(profiles, target), "step": STEP, "groupBy": target["groupBy"]}
    return [
        Curve(
            str(objects(one["labels"])[0]["value"]),
            [
                (int(str(point["timestamp"])) / 1000, float(str(point["value"])))
                for point in objects(one["points"])
            ],
        )
        for one in objects(mapping(profiles.methods["SelectSeries"](body)).get("series"))
    ]


def _table(panel: Json, found: Mapping[str, list[tuple[Mapping[str, str], float]]]) -> Answer:
    """The frames joined on the labels that they share (``merge``), then named (``organize``)."""
    rows: list[dict[str, object]] = []
    for ref_id, vector in found.items():
        for labels, value in vector:
            alike = [
                row
                for row in rows
                if f"Value #{ref_id}" not in row
                and all(row.get(name, text) == text for name, text in labels.items())
            ]
            for row in alike or [_new(rows)]:
                row |= {**labels, f"Value #{ref_id}": value}
    options = [
        mapping(one["options"])
        for one in objects(panel["transformations"])
        if one["id"] == "organize"
    ]
    names = cast("Mapping[str, str]", options[0]["renameByName"])
    places = cast("Mapping[str, int]", options[0]["indexByName"])
    present = {name for row in rows for name in row}
    header = [names[name] for name in sorted(places, key=places.__getitem__) if name in present]
    shown = [{names[key]: value for key, value in row.items() if key in names} for row in rows]
    (order,) = objects(mapping(panel["options"])["sortBy"])
    shown.sort(key=lambda row: float(str(row.get(str(order["displayName"]), 0))), reverse=True)
    return Answer(header=header, rows=shown)


def _new(rows: list[dict[str, object]]) -> dict[str, object]:
    rows.append({})
    return rows[-1]
