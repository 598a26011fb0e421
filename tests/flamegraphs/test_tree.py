from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.errors import UsageError
from flamegraphs.tree import MAX_DEPTH, NOT_DRAWN, Tree, tree, trees, trees_both_ways
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


def test_what_is_too_narrow_is_a_few_blocks_below_its_parent_that_name_the_widest() -> None:
    many: Stacks = [([f"f{n}", "main"], 1) for n in range(5_000)]
    drawn = tree(profile_of([*many, (["wide", "main"], 10**6)]), 100)
    assert len(drawn.nodes) <= 100
    rest = [node for node in drawn.nodes if node.function == NOT_DRAWN]
    assert {drawn.name(drawn.nodes[node.parent]) for node in rest} == {"main"}
    assert sum(node.total for node in rest) == 5_000
    assert sum(node.gathered for node in rest) == 5_000
    assert 40 < len(rest) < 100, "many narrow siblings are more than one grey block"
    assert drawn.name(rest[0]).startswith("(f0 and ")
    assert drawn.name(rest[0]).endswith(" more, not drawn further)")


def test_several_profiles_are_drawn_over_one_shape() -> None:
    before, after = (
        profile_of([(["a", "main"], 3), (["gone", "main"], 2)]),
        profile_of([(["new"], 4), (["a", "main"], 9)]),
    )
    old, new = trees([before, after])
    paths = [[t.name(node) for node in t.nodes] for t in (old, new)]
    assert paths[0] == paths[1] == ["all", "main", "new", "a", "gone"]
    assert [node.total for node in old.nodes] == [5, 5, 0, 3, 2]
    assert [node.total for node in new.nodes] == [13, 9, 4, 9, 0]


def test_sample_types_of_different_units_have_the_same_say_in_what_is_drawn() -> None:
    count = profile_of([(["often"], 1_000), *(([f"c{n}"], 1) for n in range(500))], "count")
    size = profile_of([(["large"], 10**9), *(([f"s{n}"], 1) for n in range(500))], "bytes")
    counts, sizes = trees([count, size], 100)
    names = {counts.name(node) for node in counts.nodes}
    assert {"often", "large"} <= names
    assert counts.nodes[0].total == 1_500
    assert sizes.nodes[0].total == 10**9 + 500


def test_thousands_of_equally_wide_blocks_still_end_below_the_limit() -> None:
    drawn = tree(profile_of([([f"f{n}"], 1) for n in range(3_000)]), 1_000)
    assert len(drawn.nodes) <= 1_000
    assert drawn.nodes[0].total == 3_000


def test_a_tree_that_is_cut_comes_with_one_from_the_leaves() -> None:
    wide: Stacks = [([f"leaf{n % 3}", f"f{n}", "main"], 1) for n in range(900)]
    (drawn,), inverted = trees_both_ways([profile_of(wide)], 100)
    assert inverted is not None
    assert "leaf0" not in {drawn.name(node) for node in drawn.nodes}
    first = {inverted[0].name(n): n.total for n in inverted[0].nodes if n.depth == 1}
    assert first == {"leaf0": 300, "leaf1": 300, "leaf2": 300}
    assert trees_both_ways([profile_of(wide)])[1] is None, "it can be made of the whole tree"


def test_a_tree_whose_paths_turned_around_are_very_many_comes_with_one_from_the_leaves() -> None:
    trunk = [f"f{n}" for n in range(60)]
    (drawn,), inverted = trees_both_ways(
        [profile_of([([f"leaf{n}", *trunk], 1) for n in range(900)])], 1_000
    )
    assert not any(node.function == NOT_DRAWN for node in drawn.nodes)
    assert inverted is not None
    assert len(inverted[0].nodes) <= 1_000
    assert sum(node.own for node in inverted[0].nodes) == 900


def test_a_stack_deeper_than_any_screen_is_cut_and_its_value_kept() -> None:
    drawn = tree(profile_of([(["f"] * (MAX_DEPTH + 100), 7)]))
    assert max(node.depth for node in drawn.nodes) == MAX_DEPTH + 1
    assert drawn.nodes[-1].function == NOT_DRAWN
    assert sum(node.own for node in drawn.nodes) == 7


def test_negative_values_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match="negative"):
        tree(profile_of([(["f"], -1)]))
