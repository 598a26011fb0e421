import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import folded
from flamegraphs.names import NO_STACK
from flamegraphs.render import folded as writer
from tests.flamegraphs.profiles import Stacks, profile_of, stacks, stacks_of


def test_lines_are_read_root_first_and_equal_ones_stay_apart_or_not_but_add_up() -> None:
    read = folded.read(b"root;middle;leaf 5\nroot;middle;leaf 2\n\n# a comment\nroot -1\n")
    assert stacks_of(read) == {("leaf", "middle", "root"): 7, ("root",): -1}


def test_names_may_hold_spaces_and_numbers() -> None:
    read = folded.read(b"<module>;Foo > bar;std::map<int, long> 12 5\r\n")
    assert stacks_of(read) == {("std::map<int, long> 12", "Foo.bar", "<module>"): 5}


def test_empty_root_frames_are_left_out() -> None:
    assert stacks_of(folded.read(b";;f;g 5\n")) == {("g", "f"): 5}
    assert stacks_of(folded.read(b"; ; 5\n; 3\n 2\n")) == {(NO_STACK,): 10}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a;b", "Line 1 does not end in a whole number"),
        (b"a;b 1.5", "Line 1 does not end"),
        (b"a;b 1_000", "Line 1 does not end"),
        (b"a;b --1", "Line 1 does not end"),
        (b"a;b " + b"9" * 5_000, "Line 1 does not end"),
        ("a;b \N{ARABIC-INDIC DIGIT THREE}".encode(), "Line 1 does not end"),
        (b"a 1\na\xff 2", "Line 2 is not UTF-8"),
        (b"# nothing\n", "no line with a stack"),
        (b"a 9223372036854775807\nb 1", "64 bits"),
    ],
)
def test_a_line_that_is_no_stack_is_named(line: bytes, reason: str) -> None:
    with pytest.raises(NotAProfileError, match=reason):
        folded.read(line)


@given(stacks)
def test_what_is_written_is_read_back(given_stacks: Stacks) -> None:
    written = b"".join(writer.write(profile_of(given_stacks)))
    assert stacks_of(folded.read(written)) == stacks_of(profile_of(given_stacks))


@given(st.binary(max_size=200))
def test_any_bytes_are_stacks_or_one_clear_error(data: bytes) -> None:
    try:
        read = folded.read(data)
    except NotAProfileError:
        return
    assert len(read.stacks)


def test_what_separates_frames_is_replaced_in_names() -> None:
    given_stacks: Stacks = [(["a;b", "#c\nd"], 1)]
    assert b"".join(writer.write(profile_of(given_stacks))) == b"#c_d;a:b 1\n"
