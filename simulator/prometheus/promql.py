"""The part of PromQL that health checks and signal checks use, evaluated exactly.

Understood: numbers and their sums (``1+1``), ``vector(1)``, instant selectors, and ``sum``,
``count``, ``min``, ``max`` and ``avg`` of one selector, with ``by`` or ``without``. Anything else
is refused by :class:`QueryError`: better no answer than a wrong one. Dashboards are tested on a
real Prometheus.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from simulator.prometheus.selectors import (
    METRIC_NAME,
    Selector,
    SelectorError,
    parse_selector,
)

Labels = dict[str, str]
Vector = list[tuple[Labels, float]]


class QueryError(ValueError):
    """A query that is wrong or beyond what is understood here."""


@dataclass(frozen=True)
class Scalar:
    """A number."""

    value: float


@dataclass(frozen=True)
class VectorOf:
    """``vector(n)``: one element without labels."""

    value: float


@dataclass(frozen=True)
class Select:
    """An instant selector."""

    selector: Selector


@dataclass(frozen=True)
class Aggregate:
    """An aggregation of a selector; without grouping everything is one group."""

    operation: str
    selector: Selector
    labels: tuple[str, ...] = ()
    without: bool = False


Query = Scalar | VectorOf | Select | Aggregate

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SUM = re.compile(rf"\s*({_NUMBER})(?:\s*\+\s*({_NUMBER}))?\s*")
_VECTOR = re.compile(rf"\s*vector\s*\(\s*({_NUMBER})\s*\)\s*")
_GROUPING = r"(?P<{0}>by|without)\s*\((?P<{0}_labels>[^()]*)\)"
_AGGREGATE = re.compile(
    r"\s*(?P<operation>sum|count|min|max|avg)\s*"
    rf"(?:{_GROUPING.format('before')}\s*)?"
    r"\((?P<selector>[^()\[\]]*(?:\{.*\})?\s*)\)\s*"
    rf"(?:{_GROUPING.format('after')}\s*)?",
    re.S,
)
_SELECTOR = re.compile(r"\s*(?:[a-zA-Z_:][a-zA-Z0-9_:]*\s*(?:\{.*\})?|\{.*\})\s*", re.S)
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

_OPERATIONS: Mapping[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "count": len,
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
}


def parse(text: str) -> Query:
    """Read a query.

    Raises:
        QueryError: it is not PromQL, or PromQL beyond what this module understands.
    """
    if not text.strip():
        raise QueryError("no expression found in input")
    if added := _SUM.fullmatch(text):
        return Scalar(float(added[1]) + float(added[2] or 0))
    if vector := _VECTOR.fullmatch(text):
        return VectorOf(float(vector[1]))
    if aggregate := _AGGREGATE.fullmatch(text):
        return _aggregate(aggregate, text)
    if _SELECTOR.fullmatch(text):
        return Select(_selector(text))
    raise QueryError(
        f"the simulated Prometheus does not understand {text!r}: it knows numbers, vector(n),"
        " selectors, and sum, count, min, max or avg of one selector"
    )


def _aggregate(match: re.Match[str], text: str) -> Aggregate:
    if match["before"] and match["after"]:
        raise QueryError(f"aggregation {text!r} has two groupings")
    named = match["before_labels"] if match["before"] else match["after_labels"]
    labels = tuple(label.strip() for label in (named or "").split(",") if label.strip())
    for label in labels:
        if _LABEL.fullmatch(label) is None:
            raise QueryError(f"unexpected {label!r} in grouping, expected label")
    grouping = match["before"] or match["after"]
    return Aggregate(
        match["operation"], _selector(match["selector"]), labels, grouping == "without"
    )


def _selector(text: str) -> Selector:
    try:
        selector = parse_selector(text)
    except SelectorError as error:
        raise QueryError(str(error)) from error
    if all(matcher.matches({}) for matcher in selector):
        raise QueryError("vector selector must contain at least one non-empty matcher")
    return selector


def evaluate(query: Query, select: Callable[[Selector], Vector]) -> Vector | float:
    """Evaluate at one instant; ``select`` answers the elements of a selector at that instant."""
    match query:
        case Scalar(value):
            return value
        case VectorOf(value):
            return [({}, value)]
        case Select(selector):
            return select(selector)
        case Aggregate():
            return _grouped(query, select(query.selector))


def _grouped(query: Aggregate, vector: Vector) -> Vector:
    groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for labels, value in vector:
        groups.setdefault(_group(query, labels.items()), []).append(value)
    operation = _OPERATIONS[query.operation]
    return [(dict(group), float(operation(values))) for group, values in groups.items()]


def _group(query: Aggregate, items: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if query.without:
        excluded = {METRIC_NAME, *query.labels}
        return tuple(sorted((name, value) for name, value in items if name not in excluded))
    return tuple(sorted((name, value) for name, value in items if name in query.labels))
