"""Call trees and their flamebearer encoding, as Pyroscope's querier answers them.

A level is a flat list of nodes, four numbers each: distance from the end of the node before it (or
from 0), total, self, index of the name. The first name is ``total``. Children are in the order of
their names. Where a tree has more nodes than asked for, the smallest siblings merge into ``other``.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

ROOT_NAME = "total"
TRUNCATED_NAME = "other"

Stack = tuple[str, ...]
"""Function names, outermost first."""


@dataclass
class Node:
    """A function in the context of its callers; values in the profile's unit."""

    name: str
    self_value: int = 0
    total: int = 0
    children: "dict[str, Node]" = field(default_factory=dict[str, "Node"])

    def ordered(self) -> "list[Node]":
        """The children in the order in which they are encoded."""
        return [self.children[name] for name in sorted(self.children)]


@dataclass(frozen=True)
class Flamebearer:
    """An encoded tree; ``levels`` hold 4 numbers a node, 7 in a comparison."""

    names: list[str]
    levels: list[list[int]]
    total: int
    max_self: int


@dataclass(frozen=True)
class Comparison:
    """Two trees encoded into one, and the totals of both sides."""

    flamebearer: Flamebearer
    left_total: int
    right_total: int


def build_tree(stacks: Iterable[tuple[Stack, int]]) -> Node:
    """Merge ``(stack, value)`` pairs into a tree whose root holds everything."""
    root = Node(ROOT_NAME)
    for stack, value in stacks:
        node = root
        node.total += value
        for name in stack:
            node = node.children.setdefault(name, Node(name))
            node.total += value
        node.self_value += value
    return root


def truncate(root: Node, max_nodes: int) -> Node:
    """Keep the ``max_nodes`` largest nodes; below a kept node the rest becomes ``other``.

    ``max_nodes`` of 0 or less keeps everything.
    """
    totals = [node.total for node in _descendants(root)]
    if max_nodes <= 0 or len(totals) <= max_nodes:
        return root
    smallest = heapq.nlargest(max_nodes, totals)[-1]
    return _without_smaller(root, smallest)


def _without_smaller(node: Node, smallest: int) -> Node:
    kept = Node(node.name, node.self_value, node.total)
    merged = 0
    for child in node.ordered():
        # A child that is called ``other`` already stands for truncated ones.
        if child.total < smallest or child.name == TRUNCATED_NAME:
            merged += child.total
        else:
            kept.children[child.name] = _without_smaller(child, smallest)
    if merged:
        kept.children[TRUNCATED_NAME] = Node(TRUNCATED_NAME, merged, merged)
    return kept


def _descendants(node: Node) -> Iterator[Node]:
    waiting = list(node.children.values())
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found.children.values())


class _Names:
    """Indices of names in order of first use."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self._index: dict[str, int] = {}

    def index(self, name: str) -> int:
        if name not in self._index:
            self._index[name] = len(self.listed)
            self.listed.append(name)
        return self._index[name]


def encode(root: Node) -> Flamebearer:
    """Encode a tree; a tree without samples is one level of zeros."""
    names = _Names()
    levels: list[list[int]] = []
    row = [(0, root)]
    max_self = 0
    while row:
        values: list[int] = []
        below: list[tuple[int, Node]] = []
        end = 0
        for x, node in row:
            values += [x - end, node.total, node.self_value, names.index(node.name)]
            end = x + node.total
            max_self = max(max_self, node.self_value)
            # Self comes first: children start to its right, as Pyroscope lays them out.
            child_x = x + node.self_value
            for child in node.ordered():
                below.append((child_x, child))
                child_x += child.total
        levels.append(values)
        row = below
    return Flamebearer(names.listed, levels, root.total, max_self)


def compare(left: Node, right: Node) -> Comparison:
    """Encode two trees into one: a node is present if it is in either."""
    names = _Names()
    levels: list[list[int]] = []
    row = [(0, left, 0, right)]
    max_self = 0
    while row:
        values: list[int] = []
        below: list[tuple[int, Node, int, Node]] = []
        left_end = right_end = 0
        for left_x, left_node, right_x, right_node in row:
            values += [left_x - left_end, left_node.total, left_node.self_value]
            values += [right_x - right_end, right_node.total, right_node.self_value]
            values.append(names.index(left_node.name))
            left_end = left_x + left_node.total
            right_end = right_x + right_node.total
            max_self = max(max_self, left_node.self_value, right_node.self_value)
            left_x += left_node.self_value
            right_x += right_node.self_value
            for name in sorted(left_node.children.keys() | right_node.children.keys()):
                left_child = left_node.children.get(name, Node(name))
                right_child = right_node.children.get(name, Node(name))
                below.append((left_x, left_child, right_x, right_child))
                left_x += left_child.total
                right_x += right_child.total
        levels.append(values)
        row = below
    whole = Flamebearer(names.listed, levels, left.total + right.total, max_self)
    return Comparison(whole, left.total, right.total)
