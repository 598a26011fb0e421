"""Loads JSON after a look at what it would become: two bytes of text can be a hundred of memory."""

import json
import re

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError

_WIDE = re.compile(rb"[\xf0-\xf7]")
_WIDER_THAN_LATIN = re.compile(rb"[\xc4-\xf7]")


def load(data: bytes | bytearray, budget: Budget) -> object:
    """Return the value of a JSON text in UTF-8.

    Raises `NotAProfileError` where it is none, or would take more memory than the budget has.
    """
    # What CPython's objects take, from above: one astral character makes a text four bytes wide.
    width = 4 if _WIDE.search(data) else 2 if _WIDER_THAN_LATIN.search(data) else 1
    escaped = 3 if b"\\u" in data else 0
    numbers_and_texts = data.count(b",")
    lists, objects = data.count(b"["), data.count(b"{")
    memory = (
        (width + escaped) * len(data)
        + 48 * numbers_and_texts
        + 96 * lists
        + 240 * objects
        + 28 * data.count(b'"')
    )
    budget.take("values", memory=memory, steps=len(data) // 4 + 10 * numbers_and_texts)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotAProfileError(f"It is not JSON: {error}.") from error
