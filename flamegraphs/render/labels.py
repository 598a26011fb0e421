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


CHANGES = (
    *("#2c68ad", "#6a9fd0", "#a9cbe6", "#d8e6f1"),
    "#eceae6",
    *("#fae0d2", "#f5b799", "#e0795f", "#b92732"),
)
"""From gone (blue) over unchanged to new (red): two colours that the colour-blind tell apart."""
_STEPS = (0.01, 0.1, 0.5)
"""The least change of each step between, as a part of what was there before."""


def step(before: int, after: int) -> int:
    """The place of a change in `CHANGES`."""
    if before == after:
        return 4
    if not before or not after:
        return 0 if before else 8
    part = (after - before) / before
    size = sum(abs(part) >= least for least in _STEPS)
    return 4 + size if part > 0 else 4 - size


def change(tree: Tree, old: Node, new: Node, *, binary: bool) -> str:
    """What a node was, is, and by how much it changed, in one line."""
    unit = tree.profile.counted
    growth = new.total - old.total
    sign = "+" if growth > 0 else ""
    parts = [amount(value, unit, binary=binary) for value in (old.total, new.total, growth)]
    return f"total {parts[0]} → {parts[1]}, {sign}{parts[2]}"


def values(tree: Tree, node: Node, *, binary: bool) -> str:
    """Total, share and self in one line."""
    unit = tree.profile.counted
    whole = tree.nodes[0].total
    part = percent(node.total / whole) if whole else percent(0)
    total = amount(node.total, unit, binary=binary)
    return f"total {total} ({part}), self {amount(node.own, unit, binary=binary)}"
