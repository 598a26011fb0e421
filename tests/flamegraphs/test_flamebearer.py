import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import flamebearer
from flamegraphs.hotspots import TRUNCATED, hotspots
from simulator.pyroscope.flamebearer import build_tree, encode, truncate
from tests.flamegraphs.profiles import Stacks, profile_of, stacks, stacks_of


def graph(levels: Sequence[object], names: Sequence[str] = ("total", "a", "b", "other")) -> bytes:
    return json.dumps({"flamegraph": {"names": list(names), "levels": list(levels)}}).encode()


def encoded(given_stacks: Stacks, max_nodes: int = 0) -> tuple[bytes, bytes]:
    """Pyroscope's two answers for these stacks."""
    tree = build_tree((tuple(reversed(stack)), value) for stack, value in given_stacks)
    found = encode(truncate(tree, max_nodes))
    rendered = {
        "flamebearer": {"names": found.names, "levels": found.levels, "numTicks": found.total},
        "metadata": {"format": "single", "units": "bytes", "name": "malloc"},
    }
    selected = {
        "names": found.names,
        "levels": [{"values": [str(number) for number in level]} for level in found.levels],
        "total": str(found.total),
    }
    return json.dumps(rendered).encode(), json.dumps({"flamegraph": selected}).encode()


@given(stacks)
def test_both_answers_of_a_server_are_read_to_the_same_stacks(given_stacks: Stacks) -> None:
    expected = +stacks_of(profile_of(given_stacks))
    for answer in encoded(given_stacks):
        assert +stacks_of(flamebearer.read(answer)) == expected


def test_the_unit_is_taken_where_the_answer_states_it() -> None:
    rendered, selected = (flamebearer.read(answer) for answer in encoded([(["f"], 1)]))
    assert (rendered.sample_type, rendered.unit) == ("malloc", "bytes")
    assert (selected.sample_type, selected.unit) == ("", "")


@given(stacks, st.integers(1, 6))
def test_what_a_server_cuts_away_is_truncation_and_never_lost(
    given_stacks: Stacks, nodes: int
) -> None:
    whole = sum(value for _, value in given_stacks)
    found = hotspots(flamebearer.read(encoded(given_stacks, nodes)[0]))
    assert found.total == whole
    assert sum(row.attributed for row in found.rows) == whole
    assert found.truncated == sum(row.raw for row in found.rows if row.name == "other")


def test_truncated_bytes_are_not_blamed_on_their_parent() -> None:
    found = hotspots(flamebearer.read(encoded([(["a", "main"], 9), (["b", "main"], 1)], 2)[0]))
    assert {row.name: row.attributed for row in found.rows if row.attributed} == {
        "a": 9,
        TRUNCATED: 1,
    }


def test_children_that_were_not_sent_count_as_truncated() -> None:
    found = hotspots(flamebearer.read(graph([[0, 10, 0, 0], [0, 6, 1, 1]])))
    assert (found.total, found.truncated) == (10, 9)


def test_a_window_without_samples_is_a_profile_without_stacks() -> None:
    assert not len(flamebearer.read(graph([[0, 0, 0, 0]])).stacks)
    assert not len(flamebearer.read(graph([])).stacks)
    assert not len(flamebearer.read(graph([{}])).stacks)
    assert not len(flamebearer.read(b"{}").stacks)
    assert not len(flamebearer.read(b'{"flamegraph": {}}').stacks)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not JSON"),
        (b"{" * 100_000, "not JSON"),
        (b"[]", "not a flame graph"),
        (b'{"flamegraph": {"names": 3, "levels": []}}', "not a flame graph"),
        (b'{"metadata": {"format": "double"}, "flamebearer": {}}', "comparison"),
        (graph([[0, 10, 0]]), "four numbers"),
        (graph([3]), "not a list"),
        (graph([[0, 10, 0, 9]]), "name 9"),
        (graph([[0, 10, 0, -1]]), "out of range"),
        (graph([[0, -10, 0, 0]]), "out of range"),
        (graph([[0, 1.5, 0, 0]]), "1.5 for a number"),
        (graph([[0, True, 0, 0]]), "True for a number"),
        (graph([[0, "x", 0, 0]]), "text for a number"),
        (graph([[0, "9" * 5_000, 0, 0]]), "text for a number"),
        (graph([[0, 2**70, 0, 0]]), "out of range"),
        (graph([[2**62, 2**62, 0, 0]]), "larger than"),
        (graph([[0, 10, 11, 0]]), "larger than"),
        (graph([[0, 10, 0, 0], [5, 6, 6, 1]]), "under no other"),
        (graph([[0, 10, 5, 0], [0, 6, 6, 1]]), "more than the whole"),
        (graph([[0, 10, 0, 0, 0, 5, 0, 1]]), "more than the one node"),
    ],
)
def test_json_that_is_no_flame_graph_is_refused_with_what_is_wrong(
    data: bytes, reason: str
) -> None:
    with pytest.raises(NotAProfileError, match=reason):
        flamebearer.read(data)


def test_a_graph_so_deep_that_its_stacks_would_fill_the_memory_is_refused() -> None:
    depth = 10_000
    levels = [[0, depth - n, 1, 0 if n == 0 else 1] for n in range(depth)]
    with pytest.raises(NotAProfileError, match="far more frames than a file of its size has"):
        flamebearer.read(graph(levels))
