"""What a block says: its colour, its text, its numbers; shared by the page and the picture."""

import zlib

from flamegraphs.names import Kind
from flamegraphs.tree import NOT_DRAWN, ROOT, Node, Tree
from flamegraphs.units import amount, percent

KINDS = ("named", "native", "trampoline", "unknown", "truncated", "root", "rest", "bucket")
HUES = 8
"""Number of colours among named functions."""


def kind(tree: Tree, node: Node) -> str:
    """One of `KINDS`."""
    if node.function == ROOT:
        return "root"
    if node.function == NOT_DRAWN:
        return "rest"
    return Kind(int(tree.profile.kinds[node.function])).name.lower()


def hue(name: str) -> int:
    """The colour of a named function: methods of one class share theirs, in every picture."""
    owner = name.rpartition(".")[0] or name
    return zlib.crc32(owner.encode("utf-8", "replace")) % HUES


def values(tree: Tree, node: Node, *, binary: bool) -> str:
    """Total, share and self in one line."""
    unit = tree.profile.unit
    whole = tree.nodes[0].total
    part = percent(node.total / whole) if whole else percent(0)
    total = amount(node.total, unit, binary=binary)
    return f"total {total} ({part}), self {amount(node.own, unit, binary=binary)}"
