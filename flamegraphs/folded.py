"""Reads folded stacks: one line a stack, root first, ``a;b;c 123``.

The format is that of Brendan Gregg's FlameGraph scripts, which many profilers write. Lines that
start with ``#`` and empty lines are passed over.
"""

import io
from array import array

import numpy as np

from flamegraphs.errors import NotAProfileError
from flamegraphs.profile import (
    MAX_TOTAL,
    Functions,
    HeldStacks,
    Profile,
    trim_roots,
)


def read(data: bytes) -> Profile:
    """Read folded stacks in UTF-8; the format does not say what its numbers are.

    Raises `NotAProfileError` for a line that is not a stack and a whole number.
    """
    functions = Functions()
    frames, offsets, values = array("i"), array("q", [0]), array("q")
    total = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        stack, value = _parse(line, number)
        total += abs(value)
        if total > MAX_TOTAL:
            raise NotAProfileError(f"Line {number}: the values add up to more than 64 bits hold.")
        frames.extend([functions.index(name) for name in trim_roots(stack[::-1])])
        offsets.append(len(frames))
        values.append(value)
    if not values:
        raise NotAProfileError("It has no line with a stack and a number.")
    table, kinds = functions.table()
    stacks = HeldStacks(
        np.array(frames, np.int32), np.array(offsets, np.int64), np.array(values, np.int64)
    )
    return Profile(table, kinds, stacks, "", "")


def _parse(line: bytes, number: int) -> tuple[list[str], int]:
    stack, _, count = line.rstrip().rpartition(b" ")
    # int() also takes `1_000`, blanks and other alphabets' digits.
    if not count.lstrip(b"-").isdigit() or len(count) > 20:
        raise NotAProfileError(f"Line {number} does not end in a whole number.")
    try:
        names = stack.decode().split(";")
    except UnicodeDecodeError as error:
        raise NotAProfileError(f"Line {number} is not UTF-8 text.") from error
    try:
        return names, int(count)
    except ValueError:
        raise NotAProfileError(f"Line {number} does not end in a whole number.") from None
