"""Reads Grafana data frames of a flame graph.

A panel's Inspect > Data > DataFrame JSON saves them, and Grafana's query API answers with them. The
four fields are those of Grafana's flame graph panel: ``level``, ``value``, ``self`` and
``label``, a row for each node, in the order of a walk from the root that goes deep first. A label
may be the index of a text in the field's configuration.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from contract.json import as_object
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import Collector, choose, whole
from flamegraphs.profile import Profile

_OTHER = "other"
_UNITS = {
    "bytes": "bytes",
    "decbytes": "bytes",
    "ns": "nanoseconds",
    "µs": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "short": "count",
    "none": "",
}
"""Grafana's unit ids and what they are called in profiles."""


def read(document: object, sample_type: str | None, budget: Budget) -> Profile:
    """Read a frame, a list of frames, or an answer of the query API with one of them.

    Raises `NotAProfileError` where there is none of a flame graph, or its rows are no tree.
    """
    frames = list(_frames(document))
    graphs = [columns for frame in frames if "level" in (columns := _columns(frame))]
    if not graphs:
        if errors := _errors(document):
            raise NotAProfileError(f"It is an error from Grafana, not a profile. It says: {errors}")
        raise NotAProfileError(
            f"It has {len(frames)} data frames, but none of a flame graph (with level, value, self "
            "and label)."
        )
    if len(graphs) > 1:
        raise NotAProfileError(f"It has {len(graphs)} flame graphs; save the query of one panel.")
    columns = graphs[0]
    if "valueRight" in columns:
        raise NotAProfileError(
            "It is a comparison of two profiles; give the two to `diff` instead."
        )
    choose(sample_type, [""], "")
    missing = [name for name in ("level", "value", "self", "label") if name not in columns]
    if missing:
        raise NotAProfileError(f"Its flame graph has no field {', '.join(missing)}.")
    return _profile(columns, budget)


class _Column:
    def __init__(self, field: Mapping[str, object], values: Sequence[object]) -> None:
        self.values = values
        config = as_object(field.get("config"))
        unit = config.get("unit")
        self.unit = unit if isinstance(unit, str) else ""
        enum = as_object(as_object(config.get("type")).get("enum")).get("text")
        self.texts = cast("list[object]", enum) if isinstance(enum, list) else None


def _profile(columns: Mapping[str, _Column], budget: Budget) -> Profile:
    level, value, own, label = (columns[name] for name in ("level", "value", "self", "label"))
    rows = len(level.values)
    if not rows == len(value.values) == len(own.values) == len(label.values):
        raise NotAProfileError("The fields of its flame graph have different lengths.")
    found = Collector(budget)
    path: list[str] = []
    open_values: list[int] = []
    for row in range(rows):
        depth = whole(level.values[row], "a level")
        total, self_value = whole(value.values[row], "a value"), whole(own.values[row], "a self")
        if not 0 <= depth <= len(path) or (depth == 0) != (row == 0):
            raise NotAProfileError(f"Row {row + 1} of its flame graph has no parent.")
        if not 0 <= self_value <= total:
            raise NotAProfileError(f"Row {row + 1} of its flame graph is larger than its whole.")
        _close(found, path, open_values, depth)
        if depth:
            open_values[-1] -= total
            if open_values[-1] < 0:
                raise NotAProfileError(f"The parts of {path[-1]!r} are more than the whole.")
        path.append(_text(label, row))
        open_values.append(total - self_value)
        if self_value and depth:
            stack = path[:0:-1]
            found.add(stack, self_value, truncated=stack[0] == _OTHER)
        elif self_value:
            found.add([_OTHER], self_value, truncated=True)
    _close(found, path, open_values, 0)
    unit = value.unit or own.unit
    return found.profile("", _UNITS.get(unit, unit))


def _close(found: Collector, path: list[str], open_values: list[int], depth: int) -> None:
    """Leave nodes; what one has for children that were not sent is kept, as cut away."""
    while len(path) > depth:
        if open_values[-1]:
            found.add([_OTHER, *path[:0:-1]], open_values[-1], truncated=True)
        path.pop()
        open_values.pop()


def _text(label: _Column, row: int) -> str:
    value = label.values[row]
    if label.texts is not None and isinstance(value, int) and 0 <= value < len(label.texts):
        value = label.texts[value]
    if not isinstance(value, str):
        raise NotAProfileError(f"Row {row + 1} of its flame graph has no text for a label.")
    return value


def _frames(document: object) -> Iterator[Mapping[str, object]]:
    if isinstance(document, list):
        for item in cast("list[object]", document):
            yield as_object(item)
        return
    found = as_object(document)
    if "results" in found:
        for result in as_object(found["results"]).values():
            yield from _frames(as_object(result).get("frames", []))
    elif "frames" in found:
        yield from _frames(found["frames"])
    else:
        yield found


def _columns(frame: Mapping[str, object]) -> dict[str, _Column]:
    """Columns by the names of their fields, in both forms that Grafana saves."""
    schema = as_object(frame.get("schema")) or frame
    values = as_object(frame.get("data")).get("values")
    fields = schema.get("fields")
    columns: dict[str, _Column] = {}
    for place, item in enumerate(cast("list[object]", fields) if isinstance(fields, list) else []):
        field = as_object(item)
        mine = field.get("values")
        if isinstance(values, list) and place < len(cast("list[object]", values)):
            mine = cast("list[object]", values)[place]
        if isinstance(mine, list) and isinstance(field.get("name"), str):
            columns[str(field["name"])] = _Column(field, cast("list[object]", mine))
    return columns


def _errors(document: object) -> str:
    results = as_object(as_object(document).get("results")).values()
    said = [
        str(as_object(result).get("error")) for result in results if as_object(result).get("error")
    ]
    return "; ".join(said)[:500]
