"""Reads folded stacks: one line a stack, root first, ``a;b;c 123``.

The format is that of Brendan Gregg's FlameGraph scripts, which many profilers write; py-spy calls
it raw, austin and perf's scripts collapsed. Lines that start with ``#`` and empty lines are passed
over. Equal lines are read once and counted.
"""

import re
from collections import Counter
from collections.abc import Iterator

from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import Collector
from flamegraphs.profile import Profile

_PIECE = 2**20
_MAX_LINE = 2**23
_COUNT = re.compile(rb"-?[0-9]{1,20}")
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")


def read(data: bytes | bytearray, budget: Budget | None = None) -> Profile:
    """Read folded stacks in UTF-8; the format does not say what its numbers are.

    Raises `NotAProfileError` for a line that is not a stack and a whole number.
    """
    budget = budget or Budget(len(data))
    found = Collector(budget)
    columns = 0
    for lines in _pieces(data, budget):
        for line, times in lines.items():
            if not (stripped := line.strip()) or line.startswith(b"#"):
                continue
            try:
                stack, value, two = _parse(stripped, budget)
                found.add(stack, value * times)
            except NotAProfileError as error:
                what = str(error)
                what = what[2:] if what.startswith("It ") else f": {what}"
                raise NotAProfileError(f"Line {_number_of(data, line)}{what}") from None
            columns += two
    if not len(found):
        raise NotAProfileError("It has no line with a stack and a number.")
    notes: list[str] = []
    if columns == len(found):
        if columns > 1:
            raise NotAProfileError(
                "Every line ends in two numbers: it compares two profiles (difffolded.pl). Give "
                "the two to `diff` instead."
            )
        notes.append("The line ends in two numbers; the first is read as part of a name.")
    return found.profile("", "", notes=notes)


def _pieces(data: bytes | bytearray, budget: Budget) -> "Iterator[Counter[bytes]]":
    """Yield some lines at a time, in the order of the first of equal ones, with how often."""
    position = 0
    while position < len(data):
        end = data.rfind(b"\n", position, position + _PIECE) + 1
        if not end:
            end = data.find(b"\n", position + _PIECE, position + _MAX_LINE) + 1 or len(data)
            if end - position > _MAX_LINE:
                number = data.count(b"\n", 0, position) + 1
                raise NotAProfileError(
                    f"Line {number} has more than {_MAX_LINE >> 20} MiB: not a stack."
                )
        lines = bytes(data[position:end]).split(b"\n")
        budget.take("lines", steps=6 * len(lines))
        yield Counter(lines)
        position = end


def _parse(line: bytes, budget: Budget) -> tuple[list[str], int, bool]:
    """Return the names leaf first, the value, and whether a second number precedes it."""
    space = max(line.rfind(b" "), line.rfind(b"\t"))
    stack, count = line[: max(space, 0)], line[space + 1 :]
    if not _COUNT.fullmatch(count):
        if _NUMBER.fullmatch(count):
            raise NotAProfileError(
                f"It does not end in a whole number, but in {count.decode()[:30]}."
            )
        raise NotAProfileError("It does not end in a whole number.")
    depth = stack.count(b";") + 1
    if depth > MAX_STACK:
        raise NotAProfileError(f"It has {depth:,} frames: not a stack.")
    budget.take("frames", steps=100 + 8 * depth)
    try:
        names = stack.decode().split(";")[::-1]
    except UnicodeDecodeError as error:
        raise NotAProfileError("It is not UTF-8 text.") from error
    before = stack.rstrip().rpartition(b" ")
    two = bool(before[1]) and bool(_NUMBER.fullmatch(before[2]))
    return names, int(count), two


def _number_of(data: bytes | bytearray, line: bytes) -> int:
    at = 0 if data.startswith(line) else data.find(b"\n" + line) + 1
    return data.count(b"\n", 0, at) + 1
