"""The service ``querier.v1.QuerierService`` of Pyroscope 1.15, as JSON.

Times are milliseconds of the Unix epoch; 64-bit integers are strings in JSON and may be numbers in
requests; fields that are zero are left out of answers, and unknown ones of requests ignored.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.prometheus.selectors import (
    Matcher,
    Operator,
    Selector,
    SelectorError,
    parse_selector,
    selects,
)
from simulator.pyroscope import pprof
from simulator.pyroscope.flamebearer import (
    Flamebearer,
    Node,
    build_tree,
    compare,
    encode,
    truncate,
)
from simulator.pyroscope.limits import text_of
from simulator.pyroscope.store import ProfileStore, ProfileType, StoredProfile

DEFAULT_MAX_NODES = 8192
"""``limits.max_flamegraph_nodes_default``."""


class QueryError(Exception):
    """An error of the Connect protocol: a code such as ``invalid_argument`` and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _TimeRange(_Body):
    start: int = 0
    end: int = 0


class _Matchers(_TimeRange):
    matchers: tuple[str, ...] = ()


class _LabelValues(_Matchers):
    name: str = ""


class _Series(_Matchers):
    label_names: tuple[str, ...] = Field(default=(), alias="labelNames")


class _Select(_TimeRange):
    profile_type: str = Field(default="", alias="profileTypeID")
    label_selector: str = Field(default="", alias="labelSelector")
    max_nodes: int = Field(default=0, alias="maxNodes")
    format: str | int = 0


class _SelectSeries(_Select):
    step: float = 0
    group_by: tuple[str, ...] = Field(default=(), alias="groupBy")


class _Diff(_Body):
    left: _Select = _Select()
    right: _Select = _Select()


Answer = dict[str, object]


class Querier:
    """Answers the methods of the service from one store.

    Every method raises :class:`QueryError` for a request that Pyroscope refuses.
    """

    def __init__(self, store: ProfileStore) -> None:
        self._store = store
        self.methods: Mapping[str, Callable[[object], Answer]] = {
            "ProfileTypes": self.profile_types,
            "LabelNames": self.label_names,
            "LabelValues": self.label_values,
            "Series": self.series,
            "SelectSeries": self.select_series,
            "SelectMergeStacktraces": self.select_merge_stacktraces,
            "SelectMergeProfile": self.select_merge_profile,
            "Diff": self.diff,
        }

    def profile_types(self, body: object) -> Answer:
        """The types of the profiles in the window; without a window, of all of them."""
        request = _parse(_TimeRange, body)
        found = {
            ProfileType.parse(stored.labels["__profile_type__"])
            for stored in self._metadata(request, ())
        }
        listed = [
            _without_zeros(
                {
                    "ID": kind.id,
                    "name": kind.name,
                    "sampleType": kind.sample_type,
                    "sampleUnit": kind.sample_unit,
                    "periodType": kind.period_type,
                    "periodUnit": kind.period_unit,
                }
            )
            for kind in sorted(found, key=lambda kind: kind.id)
        ]
        return _without_zeros({"profileTypes": listed})

    def label_names(self, body: object) -> Answer:
        """The names of the labels of the profiles in the window."""
        request = _parse(_Matchers, body)
        names = {name for stored in self._matched(request) for name in stored.labels}
        return _without_zeros({"names": sorted(names)})

    def label_values(self, body: object) -> Answer:
        """The values of one label."""
        request = _parse(_LabelValues, body)
        if not request.name:
            raise QueryError("invalid_argument", "name is required")
        labels = [stored.labels for stored in self._matched(request)]
        values = {found[request.name] for found in labels if request.name in found}
        return _without_zeros({"names": sorted(values)})

    def series(self, body: object) -> Answer:
        """The distinct label sets, reduced to ``labelNames`` where some are given."""
        request = _parse(_Series, body)
        found = {
            _label_set(stored.labels, request.label_names or None)
            for stored in self._matched(request)
        }
        sets = [{"labels": _label_pairs(labels)} for labels in sorted(found) if labels]
        return _without_zeros({"labelsSet": sets})

    def select_series(self, body: object) -> Answer:
        """Bytes by step and group; a point holds what happened in the step that ends at it."""
        request = _parse(_SelectSeries, body)
        if request.step <= 0:
            raise QueryError("invalid_argument", "step must be positive")
        step_ms = int(request.step * 1000)
        groups: dict[tuple[tuple[str, str], ...], dict[int, int]] = {}
        for stored in self._selected(request):
            points = groups.setdefault(_label_set(stored.labels, request.group_by), {})
            steps = -(-(stored.at_ms - request.start) // step_ms)
            at = request.start + steps * step_ms
            points[at] = points.get(at, 0) + stored.value
        series = [
            _without_zeros(
                {
                    "labels": _label_pairs(labels),
                    "points": [
                        {"value": float(value), "timestamp": str(at)}
                        for at, value in sorted(points.items())
                    ],
                }
            )
            for labels, points in sorted(groups.items())
        ]
        return _without_zeros({"series": series})

    def select_merge_stacktraces(self, body: object) -> Answer:
        """One flame graph of everything selected."""
        request = _parse(_Select, body)
        if request.format not in (0, 1, "PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH"):
            raise QueryError("unimplemented", "only the flame graph format is simulated")
        return {"flamegraph": _flamegraph(self.flamebearer(request))}

    def select_merge_profile(self, body: object) -> Answer:
        """Everything selected as one ``google.v1.Profile``; an empty object without data."""
        profile = self.merged_profile(body)
        return {} if profile is None else pprof.to_json(profile)

    def diff(self, body: object) -> Answer:
        """A flame graph of two selections, seven numbers a node."""
        request = _parse(_Diff, body)
        compared = compare(self._tree(request.left), self._tree(request.right))
        return {
            "flamegraph": _without_zeros(
                {
                    **_flamegraph(compared.flamebearer),
                    "leftTicks": str(compared.left_total),
                    "rightTicks": str(compared.right_total),
                }
            )
        }

    def merged_profile(self, body: object) -> pprof.Profile | None:
        """What :meth:`select_merge_profile` encodes; None without data."""
        request = _parse(_Select, body)
        stacks = [(stored.stack, stored.value) for stored in self._selected(request)]
        if not stacks:
            return None
        if request.max_nodes > 0:
            stacks = list(_stacks(truncate(build_tree(stacks), request.max_nodes)))
        kind = ProfileType.parse(request.profile_type)
        return pprof.build_profile(
            stacks,
            sample_type=(kind.sample_type, kind.sample_unit),
            period_type=(kind.period_type, kind.period_unit),
            time_nanos=request.end * 1_000_000,
            duration_nanos=(request.end - request.start) * 1_000_000,
        )

    def render(
        self, profile_type: str, label_selector: str, start: int, end: int, max_nodes: int
    ) -> Flamebearer:
        """The flame graph that ``/pyroscope/render`` answers."""
        return self.flamebearer(
            _Select(
                start=start,
                end=end,
                profileTypeID=profile_type,
                labelSelector=label_selector,
                maxNodes=max_nodes,
            )
        )

    def flamebearer(self, request: _Select) -> Flamebearer:
        """The encoded tree of everything selected."""
        return encode(self._tree(request))

    def _tree(self, request: _Select) -> Node:
        tree = build_tree((stored.stack, stored.value) for stored in self._selected(request))
        return truncate(tree, request.max_nodes or DEFAULT_MAX_NODES)

    def _selected(self, request: _Select) -> Iterable[StoredProfile]:
        self._check_range(request)
        try:
            kind = ProfileType.parse(request.profile_type)
        except ValueError as error:
            raise QueryError("invalid_argument", str(error)) from error
        selector = _selector(request.label_selector)
        of_type = Matcher("__profile_type__", Operator.EQUAL, kind.id)
        return self._store.read(request.start, request.end, (of_type, *selector))

    def _matched(self, request: _Matchers) -> list[StoredProfile]:
        selectors = [_selector(text) for text in request.matchers] or [()]
        return [
            stored
            for stored in self._metadata(request, ())
            if any(selects(selector, stored.labels) for selector in selectors)
        ]

    def _metadata(self, request: _TimeRange, selector: Selector) -> Iterable[StoredProfile]:
        if request.start == 0 and request.end == 0:
            return self._store.read(0, 2**62, selector)
        self._check_range(request)
        return self._store.read(request.start, request.end, selector)

    def _check_range(self, request: _TimeRange) -> None:
        if request.start <= 0 or request.end <= 0:
            raise QueryError("invalid_argument", "missing time range in the query")
        if request.start > request.end:
            raise QueryError("invalid_argument", "invalid time range: the start is after the end")
        limit = self._store.limits.effective.query_length
        if limit and request.end - request.start > 1000 * limit:
            hours = (request.end - request.start) / 3_600_000
            raise QueryError(
                "invalid_argument",
                "the query time range exceeds the limit"
                f" (max_query_length, actual: {hours:.2f}h, limit: {text_of(limit)})",
            )


Body = TypeVar("Body", bound=BaseModel)


def _parse(model: type[Body], body: object) -> Body:
    try:
        return model.model_validate(body if body is not None else {})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"unmarshal message: proto: field {where or 'message'}: {first['msg']}"
        raise QueryError("invalid_argument", message) from error


def _selector(text: str) -> Selector:
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise QueryError("invalid_argument", f"parse error: {error}") from error


def _label_set(
    labels: Mapping[str, str], names: Iterable[str] | None
) -> tuple[tuple[str, str], ...]:
    kept = labels if names is None else [name for name in names if name in labels]
    return tuple(sorted((name, labels[name]) for name in kept))


def _label_pairs(labels: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in labels]


def _flamegraph(encoded: Flamebearer) -> Answer:
    return _without_zeros(
        {
            "names": encoded.names,
            "levels": [{"values": [str(value) for value in level]} for level in encoded.levels],
            "total": str(encoded.total),
            "maxSelf": str(encoded.max_self),
        }
    )


def _without_zeros(message: Answer) -> Answer:
    return {key: value for key, value in message.items() if value not in ("", "0", [], None)}


def _stacks(node: Node, callers: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], int]]:
    for child in node.ordered():
        stack = (*callers, child.name)
        if child.self_value:
            yield stack, child.self_value
        yield from _stacks(child, stack)
