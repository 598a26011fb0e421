import numpy as np
import pytest
from hypothesis import given

from flamegraphs.formats import pprof
from flamegraphs.hotspots import TRUNCATED, UNRESOLVED, hotspots
from flamegraphs.profile import held
from flamegraphs.report import hotspots_text
from tests.flamegraphs.profiles import (
    Stacks,
    hotspots_of,
    obvious_sums,
    pprof_bytes,
    profile_of,
    stacks,
    stacks_of,
    sums,
)


def test_recursion_counts_once() -> None:
    found = hotspots_of([(["a", "b", "a"], 10)])
    assert [(row.name, row.raw, row.total) for row in found.rows] == [("a", 10, 10), ("b", 0, 10)]


@given(stacks)
def test_self_adds_up_to_the_whole(given_stacks: Stacks) -> None:
    found = hotspots_of(given_stacks)
    whole = sum(value for _, value in given_stacks)
    assert found.total == whole
    assert sum(row.raw for row in found.rows) == whole


@given(stacks)
def test_attributed_self_and_the_buckets_add_up_to_the_whole(given_stacks: Stacks) -> None:
    found = hotspots_of(given_stacks)
    assert sum(row.attributed for row in found.rows) == found.total


@given(stacks)
def test_every_figure_is_what_adding_up_stack_by_stack_gives(given_stacks: Stacks) -> None:
    assert sums(hotspots_of(given_stacks)) == obvious_sums(given_stacks)


def test_native_leaves_count_for_the_nearest_named_function() -> None:
    stack = ["0x7f1", "libcuda.so+0x1", "<unknown>", "<interpreter trampoline>", "", "A > f", "g"]
    found = hotspots_of([(stack, 55)])
    first = found.rows[0]
    assert (first.name, first.attributed, first.raw) == ("A.f", 55, 0)
    assert {row.name: row.raw for row in found.rows if row.raw} == {"0x7f1": 55}


def test_a_stack_without_a_named_function_goes_to_the_unresolved_bucket() -> None:
    found = hotspots_of([(["0x1", "<unknown>"], 3), (["f"], 1)])
    assert (found.rows[0].name, found.rows[0].attributed) == (UNRESOLVED, 3)
    assert found.unresolved == 3


def test_the_named_function_of_the_next_stack_takes_nothing() -> None:
    found = hotspots_of([(["0x1"], 3), (["f"], 1)])
    assert {row.name: row.attributed for row in found.rows if row.attributed} == {
        UNRESOLVED: 3,
        "f": 1,
    }


def test_a_function_called_like_a_bucket_is_still_a_function() -> None:
    found = hotspots_of([(["0x1"], 3), ([UNRESOLVED], 4), ([TRUNCATED], 1)])
    assert [(row.name, row.kind is None, row.attributed) for row in found.rows[:3]] == [
        (UNRESOLVED, False, 4),
        (UNRESOLVED, True, 3),
        (TRUNCATED, False, 1),
    ]


def test_the_stack_shown_is_the_one_most_of_the_largest_came_by() -> None:
    # One sample is the largest, but the other stack has more in two samples.
    found = hotspots_of(
        [
            (["0x1", "f", "one"], 50),
            (["0x1", "f", "two"], 30),
            (["0x1", "f", "two"], 30),
            (["g"], 60),
        ]
    )
    assert found.rows[0].name == "f"
    assert (list(found.stack), found.stack_value) == (["two", "f", "0x1"], 60)


def test_equal_spellings_are_one_function() -> None:
    found = hotspots_of([(["A > f"], 1), (["A.f"], 2), (["[3] A / f"], 4), (["A → f"], 8)])
    assert [(row.name, row.raw, row.total) for row in found.rows] == [("A.f", 15, 15)]


@pytest.mark.parametrize("value", [2**53 + 1, 2**60 + 1, 2**62 - 1])
def test_large_values_are_added_exactly(value: int) -> None:
    found = hotspots_of([(["f"], value), (["f", "g"], 1), (["g"], 3)])
    assert sums(found) == obvious_sums([(["f"], value), (["f", "g"], 1), (["g"], 3)])


def test_equal_figures_are_in_the_order_of_names() -> None:
    found = hotspots(profile_of([(["f", "c"], 2), (["e", "b"], 2), (["d", "a"], 3)]))
    assert [row.name for row in found.rows] == ["d", "e", "f", "a", "b", "c"]
    assert [found.rows[n] for n in (0, -1)] == [found.rows[:1][0], [*found.rows][-1]]


def test_hundreds_of_thousands_of_functions_are_distinguished() -> None:
    # More functions than fit a 32-bit key together with the number of the stack.
    many: Stacks = [([f"f{n}", "root", "root"], n) for n in range(200_000)]
    found = hotspots_of(many)
    assert {row.name: row.total for row in found.rows}["root"] == sum(range(200_000))
    assert found.rows[0].name == "f199999"


def test_a_count_is_written_as_what_is_counted() -> None:
    samples = profile_of([(["f"], 3), (["f"], 4)], unit="count", sample_type="samples")
    assert samples.counted == "samples"
    text = hotspots_text(hotspots(samples), limit=5, gpu_memory=1)
    assert "7 samples in 2 stacks" in text
    assert profile_of([(["f"], 3)]).counted == "bytes"
    assert profile_of([(["f"], 3)], unit="count", sample_type="").counted == "count"


@given(stacks)
def test_a_profile_that_is_held_is_the_same(given_stacks: Stacks) -> None:
    read = pprof.read(pprof_bytes(given_stacks))
    kept = held(read)
    assert stacks_of(kept) == stacks_of(read)
    assert sums(hotspots(kept)) == sums(hotspots(read))
    some = np.arange(0, len(read.stacks), 2)
    for one, other in zip(kept.stacks.batches(some), read.stacks.batches(some), strict=True):
        assert one.frames.tolist() == other.frames.tolist()
        assert one.values.tolist() == other.values.tolist()


def test_deep_stacks_that_are_held_come_in_small_batches() -> None:
    deep = held(profile_of([([f"f{n}"] * 20_000, n + 1) for n in range(40)]))
    for chosen in (None, np.arange(0, 40, 3)):
        batches = [*deep.stacks.batches(chosen)]
        assert max(len(batch.frames) for batch in batches) <= 2**18
        values = [value for batch in batches for value in batch.values.tolist()]
        assert values == list(range(1, 41, 1 if chosen is None else 3))


def test_where_nothing_but_a_caller_is_left_there_is_no_stack_to_show() -> None:
    found = hotspots_of([(["a", "main"], -5), (["b", "main"], 0), (["c", "main"], -1)])
    assert found.is_difference
    assert (found.rows[0].name, found.rows[0].attributed) == ("main", 0)
    assert (found.stack, found.stack_value) == ([], 0)
