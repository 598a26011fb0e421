"""The tree a flame graph draws: one node for each distinct path from the root.

A tree of a million unique stacks has tens of millions of nodes and a screen has a few thousand
pixels, so what is too narrow to be seen is gathered, below its parent, in one node `NOT_DRAWN`.
Values are never lost: a node's total is its self and the totals of its children.
"""

from dataclasses import dataclass

import numpy as np

from flamegraphs.errors import UsageError
from flamegraphs.profile import FrameArray, IntArray, Profile, offsets_of

NOT_DRAWN = -1
"""The function of a node that stands for narrow ones."""
ROOT = -2
"""The function of the root."""
MAX_NODES = 20_000
MAX_DEPTH = 512
_GROWN_WHOLE = 500_000
"""Frames of all stacks together."""


@dataclass(frozen=True)
class Node:
    """One block; ``parent`` is the place of a node before this one, -1 for the root."""

    parent: int
    depth: int
    function: int
    own: int
    total: int


@dataclass(frozen=True)
class Tree:
    """All nodes, parents before children, the widest of siblings first."""

    profile: Profile
    nodes: list[Node]

    def name(self, node: Node) -> str:
        """What to write on a block."""
        if node.function == ROOT:
            return "all"
        return (
            "(not drawn)" if node.function == NOT_DRAWN else self.profile.functions[node.function]
        )


def tree(profile: Profile, max_nodes: int = MAX_NODES) -> Tree:
    """Build the tree of a profile, with at most about ``max_nodes`` nodes.

    Raises `UsageError` for negative values, which have no width.
    """
    frames, offsets, values = _all(profile)
    if (values < 0).any():
        raise UsageError("The profile has negative values (a difference?), which cannot be drawn.")
    whole = int(values.sum())
    # Narrow blocks are kept to zoom into where the tree can be grown whole and they fit.
    smallest = 0 if len(frames) <= _GROWN_WHOLE else whole // max_nodes
    nodes = _grow(frames, offsets, values, len(profile.functions), smallest)
    # The root and what is not drawn remain even where nothing else fits.
    while len(nodes) > max_nodes and smallest <= whole:
        widths = np.array([node.total for node in nodes])
        wide_enough = int(np.partition(widths, -max_nodes)[-max_nodes])
        # Many nodes may be equally wide: go up by a quarter at least.
        smallest = max(smallest * 5 // 4 + 1, wide_enough)
        nodes = _grow(frames, offsets, values, len(profile.functions), smallest)
    return Tree(profile, nodes)


def _all(profile: Profile) -> tuple[FrameArray, IntArray, IntArray]:
    frames: list[FrameArray] = [np.zeros(0, np.int32)]
    lengths: list[IntArray] = [np.zeros(0, np.int64)]
    values: list[IntArray] = [np.zeros(0, np.int64)]
    for batch in profile.stacks.batches():
        frames.append(batch.frames)
        lengths.append(np.diff(batch.offsets))
        values.append(batch.values)
    return np.concatenate(frames), offsets_of(np.concatenate(lengths)), np.concatenate(values)


def _grow(
    frames: FrameArray, offsets: IntArray, values: IntArray, functions: int, smallest: int
) -> list[Node]:
    """Add one level after another, dropping samples whose node is narrower than ``smallest``."""
    whole = int(values.sum())
    nodes = [Node(-1, 0, ROOT, 0, whole)]
    own = {0: 0}
    samples = np.flatnonzero(values)
    node_of = np.zeros(len(samples), np.int64)
    depth = 0
    while len(samples):
        depth += 1
        frame = frames[offsets[samples + 1] - depth].astype(np.int64)
        if depth > MAX_DEPTH:
            frame[:] = functions
        keys, group = np.unique(node_of * (functions + 1) + frame, return_inverse=True)
        totals = np.zeros(len(keys), np.int64)
        np.add.at(totals, group, values[samples])
        parents, names = np.divmod(keys, functions + 1)
        drawn = (totals >= smallest) & (names < functions)
        place = np.full(len(keys), -1, np.int64)
        order = np.lexsort((names, -totals, parents))
        for key in order[drawn[order]].tolist():
            place[key] = len(nodes)
            own[len(nodes)] = 0
            nodes.append(Node(int(parents[key]), depth, int(names[key]), 0, int(totals[key])))
        _gather(nodes, depth, parents[~drawn], totals[~drawn])
        node_of = place[group]
        ends = (offsets[samples + 1] - offsets[samples] == depth) & (node_of >= 0)
        for node, value in zip(node_of[ends].tolist(), values[samples[ends]].tolist(), strict=True):
            own[node] += value
        going = (node_of >= 0) & ~ends
        samples, node_of = samples[going], node_of[going]
    return [
        Node(node.parent, node.depth, node.function, own.get(place, node.total), node.total)
        for place, node in enumerate(nodes)
    ]


def _gather(nodes: list[Node], depth: int, parents: IntArray, totals: IntArray) -> None:
    """Put narrow children into one node for each parent; all it has is its own."""
    unique, group = np.unique(parents, return_inverse=True)
    sums = np.zeros(len(unique), np.int64)
    np.add.at(sums, group, totals)
    for parent, total in zip(unique.tolist(), sums.tolist(), strict=True):
        nodes.append(Node(parent, depth, NOT_DRAWN, total, total))
