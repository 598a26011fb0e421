from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.errors import UsageError
from flamegraphs.tree import MAX_DEPTH, NOT_DRAWN, Tree, tree
from tests.flamegraphs.profiles import Stacks, profile_of, stacks, stacks_of


def own_by_path(drawn: Tree) -> "Counter[tuple[str, ...]]":
    """Self of every path, leaf first."""
    found: Counter[tuple[str, ...]] = Counter()
    paths: list[tuple[str, ...]] = []
    for node in drawn.nodes:
        path = () if node.parent < 0 else (drawn.name(node), *paths[node.parent])
        paths.append(path)
        found[path] += node.own
    return +found


@given(stacks)
def test_the_self_of_every_path_is_the_value_of_that_stack(given_stacks: Stacks) -> None:
    assert own_by_path(tree(profile_of(given_stacks))) == +stacks_of(profile_of(given_stacks))


@given(stacks, st.integers(1, 40))
def test_a_node_is_its_self_and_its_children_however_much_is_left_out(
    given_stacks: Stacks, most: int
) -> None:
    drawn = tree(profile_of(given_stacks), most)
    children: Counter[int] = Counter()
    for node in drawn.nodes:
        children[node.parent] += node.total
    assert all(node.total == node.own + children[n] for n, node in enumerate(drawn.nodes))
    assert drawn.nodes[0].total == sum(value for _, value in given_stacks)


def test_parents_come_before_children_and_the_widest_sibling_first() -> None:
    drawn = tree(profile_of([(["small", "main"], 1), (["wide", "main"], 5), (["x"], 9)]))
    assert [drawn.name(node) for node in drawn.nodes] == ["all", "x", "main", "wide", "small"]


def test_what_is_too_narrow_is_one_block_below_its_parent() -> None:
    many: Stacks = [([f"f{n}", "main"], 1) for n in range(5_000)] + [(["wide", "main"], 10**6)]
    drawn = tree(profile_of(many), 100)
    assert len(drawn.nodes) <= 100
    rest = [node for node in drawn.nodes if node.function == NOT_DRAWN]
    assert [(drawn.name(drawn.nodes[node.parent]), node.total) for node in rest] == [
        ("main", 5_000)
    ]


def test_thousands_of_equally_wide_blocks_still_end_below_the_limit() -> None:
    drawn = tree(profile_of([([f"f{n}"], 1) for n in range(3_000)]), 1_000)
    assert len(drawn.nodes) <= 1_000
    assert drawn.nodes[0].total == 3_000


def test_a_stack_deeper_than_any_screen_is_cut_and_its_value_kept() -> None:
    drawn = tree(profile_of([(["f"] * (MAX_DEPTH + 100), 7)]))
    assert max(node.depth for node in drawn.nodes) == MAX_DEPTH + 1
    assert drawn.nodes[-1].function == NOT_DRAWN
    assert sum(node.own for node in drawn.nodes) == 7


def test_negative_values_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match="negative"):
        tree(profile_of([(["f"], -1)]))
