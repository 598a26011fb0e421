"""The part of PromQL that the simulated Prometheus understands, and the series behind it."""

import pytest

from simulator.prometheus.promql import QueryError, Vector, evaluate, parse
from simulator.prometheus.selectors import Selector, selects
from simulator.prometheus.series import series_of
from simulator.pyroscope.profile import observations

ELEMENTS: Vector = [
    ({"__name__": "up", "job": "a", "pod": "1"}, 1.0),
    ({"__name__": "up", "job": "a", "pod": "2"}, 3.0),
    ({"__name__": "up", "job": "b", "pod": "3"}, 8.0),
]


def _select(selector: Selector) -> Vector:
    return [(labels, value) for labels, value in ELEMENTS if selects(selector, labels)]


UNDERSTOOD: list[tuple[str, Vector | float]] = [
    ("1+1", 2.0),
    (" 3 ", 3.0),
    ("vector(1)", [({}, 1.0)]),
    ("up", ELEMENTS),
    ('up{job="b"}', ELEMENTS[2:]),
    ('{__name__=~"u.*",pod!="1"}', ELEMENTS[1:]),
    ("count(up)", [({}, 3.0)]),
    ('sum(up{job="a"})', [({}, 4.0)]),
    ("sum by (job) (up)", [({"job": "a"}, 4.0), ({"job": "b"}, 8.0)]),
    ("max(up) by (job)", [({"job": "a"}, 3.0), ({"job": "b"}, 8.0)]),
    ("min without (pod) (up)", [({"job": "a"}, 1.0), ({"job": "b"}, 8.0)]),
    ('avg(up{job=~"a|b"})', [({}, 4.0)]),
    ("count(absent_metric)", []),
]


@pytest.mark.parametrize(("query", "expected"), UNDERSTOOD)
def test_what_is_understood_is_evaluated_exactly(query: str, expected: Vector | float) -> None:
    assert evaluate(parse(query), _select) == expected


@pytest.mark.parametrize(
    "query",
    [
        "",
        "rate(up[5m])",
        "up - up",
        "sum(rate(up[5m]))",
        "topk(3, up)",
        "up > 0",
        "up offset 5m",
        "1 - 1",
        "sum by (job) (up) by (pod)",
        "sum(up, up)",
        "up{job}",
        "{}",
        '{job=~".*"}',
        "sum by (1) (up)",
        "sum(sum(up))",
        'count(up{job="a"}) + count(up{job="b"})',
    ],
)
def test_anything_else_is_refused_rather_than_answered_wrongly(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query)


def test_a_process_that_never_freed_has_no_series_of_frees() -> None:
    freed = {
        series.labels["k8s_podname"]
        for series in series_of("aks-dev")
        if series.labels["__name__"] == "mem_free_bytes_total"
    }
    assert freed == {"notebook-0"}


def test_each_allocation_is_counted_as_the_driver_and_as_the_runtime_see_it() -> None:
    values = {
        series.labels["otel_scope_name"]: series.value(0)
        for series in series_of("aks-dev")
        if series.labels["__name__"] == "mem_alloc_bytes_total"
        and series.labels["k8s_podname"] == "vllm-0"
    }
    assert set(values) == {"libcuda_mem_stats", "libcudart_mem_stats"}
    assert len(set(values.values())) == 1


def test_metrics_count_what_profiles_do_not_see() -> None:
    profiled = sum(item.bytes for item in observations(0, 0) if item.process.pod == "vllm-0")
    counted = [
        series.value(0)
        for series in series_of("aks-dev")
        if series.labels["__name__"] == "mem_alloc_bytes_total"
        and series.labels["k8s_podname"] == "vllm-0"
    ]
    assert all(value is not None and value > profiled for value in counted)


def test_counters_only_grow_and_frees_never_exceed_allocations() -> None:
    by_name = {
        series.labels["__name__"]: series
        for series in series_of("aks-dev")
        if series.labels["k8s_podname"] == "notebook-0"
    }
    allocated, freed = by_name["mem_alloc_bytes_total"], by_name["mem_free_bytes_total"]
    assert freed.value(0) is None, "nothing is freed before the second allocation"
    previous = 0
    for at in range(900, 9000, 300):
        total, free = allocated.value(at), freed.value(at)
        assert total is not None
        assert free is not None
        assert previous <= total
        assert 0 < free < total
        previous = total
