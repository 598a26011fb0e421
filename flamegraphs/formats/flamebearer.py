"""Reads Pyroscope's flame graph JSON ("flamebearer"), in both forms its API answers with.

``/pyroscope/render`` has plain numbers in ``flamebearer.levels``; ``SelectMergeStacktraces`` has
``flamegraph.levels[].values`` with numbers as strings. A level is a row of nodes of four numbers:
distance from the end of the node before, total, self, index of the name.

A server merges what is too small to send into nodes called ``other``. They are kept, as what has
been cut from the answer, never as a function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contract.json import as_object, as_text, is_list, is_object
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.json_text import load
from flamegraphs.profile import MAX_TOTAL, Functions, Profile, hold, trim_roots

_OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Node:
    start: int
    total: int
    name: str
    parent: "_Node | None"
    depth: int


_Found = tuple[_Node, int, str | None]
"""A node, a value, and the name of the child whose value it is where that was not sent."""


class _Write(Protocol):
    def __call__(self, node: _Node, value: int, extra: str | None = None) -> None: ...


def read(data: bytes) -> Profile:
    """Read a flame graph; raises `NotAProfileError` where it is none, or its nodes do not fit."""
    budget = Budget(len(data))
    return of(load(data, budget), budget)


def of(answer: object, budget: Budget) -> Profile:
    """The same, of JSON that is loaded already."""
    document = as_object(answer)
    metadata = as_object(document.get("metadata"))
    if metadata.get("format") == "double" or "leftTicks" in document:
        raise NotAProfileError(
            "It is a comparison of two profiles; give the two to `diff` instead."
        )
    graph = as_object(document.get("flamebearer") or document.get("flamegraph") or document)
    names: object = graph.get("names")
    levels: object = graph.get("levels")
    # Zero fields are left out: a flame graph of nothing is `{}`.
    if answer in ({}, {"flamegraph": {}}, {"flamebearer": {}}):
        return Profile([], np.zeros(0, np.uint8), hold([], []), "", "")
    if not is_list(names) or not is_list(levels):
        raise NotAProfileError("Its JSON is not a flame graph: `names` and `levels` are missing.")
    stacks, values, functions, truncated = _stacks(
        [_name(name) for name in names],
        [_numbers(level) for level in levels],
        budget,
    )
    table, kinds = functions.table(truncated)
    profile = Profile(table, kinds, hold(stacks, values), as_text(metadata.get("name")), "")
    return profile.measured_in(as_text(metadata.get("units")))


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise NotAProfileError("The flame graph has something other than text for a name.")
    return value


def _numbers(level: object) -> list[int]:
    # A level without nodes comes as an object without `values`.
    values = level.get("values", []) if is_object(level) else level
    if not is_list(values):
        raise NotAProfileError("A level of the flame graph is not a list of numbers.")
    numbers: list[int] = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise NotAProfileError(
                f"A level of the flame graph has {str(value)[:40]} for a number."
            )
        try:
            number = int(value)
        except ValueError:
            raise NotAProfileError("A level of the flame graph has text for a number.") from None
        if not 0 <= number <= MAX_TOTAL:
            raise NotAProfileError(f"A level of the flame graph has {number}: out of range.")
        numbers.append(number)
    if len(numbers) % 4:
        raise NotAProfileError("A level of the flame graph is not made of nodes of four numbers.")
    return numbers


def _stacks(
    names: Sequence[str], levels: Sequence[Sequence[int]], budget: Budget
) -> tuple[list[list[int]], list[int], Functions, set[int]]:
    found: list[_Found] = []

    def write(node: _Node, value: int, extra: str | None = None) -> None:
        # Counted before any stack is written out: a deep graph has far more frames than nodes.
        budget.take("frames", memory=20 * (node.depth + 1), steps=12 * (node.depth + 1))
        found.append((node, value, extra))

    above: list[_Node] = []
    missing: list[int] = []
    for depth, level in enumerate(levels):
        here: list[_Node] = []
        covered = [0] * len(above)
        budget.take("nodes", memory=72 * len(level), steps=25 * len(level) + 50)
        place = end = 0
        left_over: list[int] = []
        for at in range(0, len(level), 4):
            gap, total, own, name = level[at : at + 4]
            start, end = end + gap, end + gap + total
            if name >= len(names):
                raise NotAProfileError(f"A node has name {name}, but there are {len(names)} names.")
            if own > total or end > MAX_TOTAL:
                raise NotAProfileError(
                    f"A node of {names[name]!r} is larger than what it is part of."
                )
            parent = None
            if depth:
                while place < len(above) and end > above[place].start + above[place].total:
                    place += 1
                if place == len(above) or start < above[place].start:
                    if total == 0:
                        continue
                    raise NotAProfileError(f"A node of {names[name]!r} lies under no other.")
                parent = above[place]
                covered[place] += total
            elif at:
                raise NotAProfileError("Its first level has more than the one node for the whole.")
            node = _Node(start, total, names[name], parent, depth)
            here.append(node)
            left_over.append(total - own)
            if own:
                write(node, own)
        _write_missing(above, missing, covered, write)
        above, missing = here, left_over
    _write_missing(above, missing, [0] * len(above), write)
    return _stacks_of(found)


def _stacks_of(
    found: Sequence[_Found],
) -> tuple[list[list[int]], list[int], Functions, set[int]]:
    functions = Functions()
    truncated: set[int] = set()
    stacks: list[list[int]] = []
    values: list[int] = []
    for node, value, extra in found:
        stack = [extra] if extra else []
        step: _Node | None = node
        while step and step.parent:  # the root, "total", is no function
            stack.append(step.name)
            step = step.parent
        indices = [functions.index(name) for name in trim_roots(stack)]
        if stack and stack[0] == _OTHER:
            truncated.add(indices[0])
        stacks.append(indices)
        values.append(value)
    return stacks, values, functions, truncated


def _write_missing(
    nodes: Sequence[_Node], children: Sequence[int], covered: Sequence[int], write: _Write
) -> None:
    """Keep what nodes have for children that were not sent."""
    for node, expected, sent in zip(nodes, children, covered, strict=True):
        if sent > expected:
            raise NotAProfileError(f"The parts of {node.name!r} are more than the whole.")
        if sent < expected:
            write(node, expected - sent, _OTHER)
