import pytest
from hypothesis import given

from flamegraphs.diff import Limit, diff, exceeds, growth_text
from flamegraphs.errors import UsageError
from flamegraphs.hotspots import hotspots
from tests.flamegraphs.profiles import Stacks, hotspots_of, profile_of, stacks


def test_growth_and_shrinkage_are_sorted_by_size() -> None:
    before = hotspots_of([(["0x1", "keeps"], 5), (["shrinks"], 90), (["gone"], 1)])
    after = hotspots_of([(["keeps"], 5), (["0x2", "shrinks"], 20), (["new"], 3)])
    found = diff(before, after)
    assert [(c.name, c.growth) for c in found.changes if c.growth] == [
        ("shrinks", -70),
        ("new", 3),
        ("gone", -1),
    ]
    assert found.growth == -68


@given(stacks, stacks)
def test_the_changes_add_up_to_the_change_of_the_whole(old: Stacks, new: Stacks) -> None:
    found = diff(hotspots_of(old), hotspots_of(new))
    assert sum(change.growth for change in found.changes) == found.growth


@given(stacks)
def test_a_profile_does_not_differ_from_itself(given_stacks: Stacks) -> None:
    assert not diff(hotspots_of(given_stacks), hotspots_of(given_stacks)).changes


def test_different_units_are_not_compared() -> None:
    seconds = hotspots(profile_of([(["f"], 1)], unit="nanoseconds"))
    with pytest.raises(UsageError, match=r"measures malloc in bytes, .* malloc in nanoseconds"):
        diff(hotspots_of([(["f"], 1)]), seconds)


@pytest.mark.parametrize(
    ("limit", "after", "fails"),
    [
        ("10%", 110, False),
        ("10%", 111, True),
        ("0%", 100, False),
        ("0 %", 101, True),
        ("10", 110, False),
        ("10B", 111, True),
        ("1kB", 1_100, False),
        ("1KiB", 1_124, False),
        ("1KiB", 1_125, True),
        ("0", 50, False),
    ],
)
def test_a_limit_is_a_part_of_the_first_whole_or_an_amount(
    limit: str, after: int, fails: bool
) -> None:
    found = diff(hotspots_of([(["f"], 100)]), hotspots_of([(["f"], after)]))
    assert exceeds(found, Limit.parse(limit)) is fails


@pytest.mark.parametrize("text", ["", "%", "ten", "-5%", "-5", "nan%", "inf%", "5 apples", "1.2.3"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a size|not a limit|could not convert"):
        Limit.parse(text)


def test_growth_from_nothing_has_no_percentage() -> None:
    found = diff(hotspots_of([(["f"], 0)]), hotspots_of([(["f"], 1)]))
    assert growth_text(found) == "from nothing"
    assert exceeds(found, Limit.parse("1000%"))
