"""The tree a flame graph draws: one node for each distinct path from the root.

A tree of a million unique stacks has tens of millions of nodes and a screen has a few thousand
pixels, so what is too narrow to be seen is gathered, below its parent, in nodes `NOT_DRAWN`.
Values are never lost: a node's total is its self and the totals of its children.

Several profiles can be drawn over one shape: the two sides of a comparison, or the sample types of
one file (`trees`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flamegraphs.errors import UsageError
from flamegraphs.merge import common_functions
from flamegraphs.profile import (
    MAX_TOTAL,
    FrameArray,
    HeldFrames,
    HeldStacks,
    IntArray,
    Profile,
    offsets_of,
)

NOT_DRAWN = -1
"""The function of a node that stands for narrow ones."""
ROOT = -2
"""The function of the root."""
MAX_NODES = 20_000
MAX_DEPTH = 512
_GROWN_WHOLE = 500_000
"""Frames of all stacks together."""
_TURNED = 5
"""How many times as many nodes as a tree has may be made by turning its paths around later."""


@dataclass(frozen=True)
class Node:
    """One block; ``parent`` is the place of a node before this one, -1 for the root."""

    parent: int
    depth: int
    function: int
    own: int
    total: int
    widest: int = NOT_DRAWN
    """Of a node `NOT_DRAWN`: the widest of the functions it stands for, if it stands for any."""
    gathered: int = 0
    """Of a node `NOT_DRAWN`: how many functions it stands for."""


@dataclass(frozen=True)
class Tree:
    """All nodes, parents before children, the widest of siblings first."""

    profile: Profile
    nodes: list[Node]

    def name(self, node: Node) -> str:
        """What to write on a block."""
        if node.function == ROOT:
            return "all"
        if node.function != NOT_DRAWN:
            return self.profile.functions[node.function]
        if node.widest == NOT_DRAWN:
            return f"(deeper than {MAX_DEPTH} frames)"
        more = f" and {node.gathered - 1:,} more" if node.gathered > 1 else ""
        return f"({self.profile.functions[node.widest]}{more}, not drawn further)"


def tree(profile: Profile, max_nodes: int = MAX_NODES) -> Tree:
    """Build the tree of a profile, with at most about ``max_nodes`` nodes.

    Raises `UsageError` for negative values, which have no width.
    """
    return trees([profile], max_nodes)[0]


def trees(profiles: Sequence[Profile], max_nodes: int = MAX_NODES) -> list[Tree]:
    """Build one tree a profile, all of one shape: a path that one profile lacks has 0 there.

    Raises `UsageError` for negative values, which have no width.
    """
    return _Paths.of(profiles).trees(max_nodes, from_leaf=False)


def trees_both_ways(
    profiles: Sequence[Profile], max_nodes: int = MAX_NODES
) -> tuple[list[Tree], list[Tree] | None]:
    """Build `trees`, and those from the leaves to the roots where they cannot be made of the first.

    That is where the first are cut, because what allocates is often just what was cut off; and
    where turning every path around would make many more nodes than ``max_nodes``.
    """
    paths = _Paths.of(profiles)
    drawn = paths.trees(max_nodes, from_leaf=False)
    is_cut = any(node.function == NOT_DRAWN for node in drawn[0].nodes)
    ends = {place for one in drawn for place, node in enumerate(one.nodes) if node.own}
    turned = sum(drawn[0].nodes[place].depth for place in ends)
    if is_cut or turned > _TURNED * max_nodes:
        return drawn, paths.trees(max_nodes, from_leaf=True)
    return drawn, None


@dataclass(frozen=True)
class _Paths:
    """All samples of all profiles, one after another."""

    profiles: Sequence[Profile]
    frames: HeldFrames
    offsets: IntArray
    values: IntArray
    weights: IntArray
    """What decides which paths are wide enough to be drawn."""

    @classmethod
    def of(cls, profiles: Sequence[Profile]) -> "_Paths":
        profiles = common_functions(profiles)
        frames, offsets, values = _all(profiles)
        if (values < 0).any():
            raise UsageError(
                "The profile has negative values (a difference?), which cannot be drawn."
            )
        return cls(profiles, frames, offsets, values, _weights(profiles, values, offsets))

    def trees(self, max_nodes: int, *, from_leaf: bool) -> list[Tree]:
        """Grow one shape for all profiles, and measure each in it."""
        whole = int(self.weights.sum())
        # Narrow blocks are kept to zoom into where the tree can be grown whole and they fit.
        smallest = 0 if len(self.frames) <= _GROWN_WHOLE else whole // max_nodes
        grown = self._grow(smallest, whole, from_leaf)
        # The root and what is not drawn remain even where nothing else fits.
        while len(grown.parent) > max_nodes and smallest <= whole:
            widths = np.array(grown.weight)
            wide_enough = int(np.partition(widths, -max_nodes)[-max_nodes])
            # Many nodes may be equally wide: go up by a quarter at least.
            smallest = max(smallest * 5 // 4 + 1, wide_enough)
            grown = self._grow(smallest, whole, from_leaf)
        return _measured(self.profiles, grown, self.values)

    def _grow(self, smallest: int, whole: int, from_leaf: bool) -> "_Growth":
        growth = _Growth(len(self.profiles[0].functions), smallest, whole)
        growth.grow(self.frames, self.offsets, self.weights, from_leaf)
        return growth


def _all(profiles: Sequence[Profile]) -> tuple[HeldFrames, IntArray, IntArray]:
    """All samples of all profiles, one after another."""
    if len(profiles) == 1 and isinstance(stacks := profiles[0].stacks, HeldStacks):
        return stacks.frames, stacks.offsets, stacks.values
    frames: list[FrameArray] = [np.zeros(0, np.int32)]
    lengths: list[IntArray] = [np.zeros(0, np.int64)]
    values: list[IntArray] = [np.zeros(0, np.int64)]
    for profile in profiles:
        for batch in profile.stacks.batches():
            frames.append(batch.frames)
            lengths.append(np.diff(batch.offsets))
            values.append(batch.values)
    return np.concatenate(frames), offsets_of(np.concatenate(lengths)), np.concatenate(values)


def _samples_of(profiles: Sequence[Profile]) -> list[slice]:
    """Where the samples of each profile stand among those of all."""
    starts: list[int] = offsets_of(np.array([len(p.stacks) for p in profiles], np.int64)).tolist()
    return [slice(start, end) for start, end in pairwise(starts)]


def _weights(profiles: Sequence[Profile], values: IntArray, offsets: IntArray) -> IntArray:
    """The width of each sample among those of all.

    Bytes are not added to counts: each unit has the same say.
    """
    wholes = [int(values[samples].sum()) for samples in _samples_of(profiles)]
    if len({profile.unit for profile in profiles}) == 1 and sum(wholes) <= MAX_TOTAL:
        return values
    weights = np.zeros(len(offsets) - 1, np.int64)
    for samples, whole in zip(_samples_of(profiles), wholes, strict=True):
        if whole:
            weights[samples] = np.ceil(values[samples] * (2.0**40 / whole)).astype(np.int64)
    return weights


class _Growth:
    """A tree while it grows: columns of its nodes, and the node that each sample ends in."""

    def __init__(self, functions: int, smallest: int, whole: int) -> None:
        self.functions = functions
        self.smallest = smallest
        self.parent = [-1]
        self.depth = [0]
        self.function = [ROOT]
        self.weight = [whole]
        self.gathered = {0: (NOT_DRAWN, 0)}
        self.ends: IntArray = np.zeros(0, np.int64)

    def grow(
        self, frames: HeldFrames, offsets: IntArray, weights: IntArray, from_leaf: bool
    ) -> None:
        """Add one level after another; samples end in nodes wide enough, or in gathered ones."""
        samples = np.flatnonzero(weights)
        self.ends = np.zeros(len(weights), np.int64)
        node_of = np.zeros(len(samples), np.int64)
        depth = 0
        while len(samples):
            depth += 1
            at = offsets[samples] + depth - 1 if from_leaf else offsets[samples + 1] - depth
            frame = frames[at].astype(np.int64)
            if depth > MAX_DEPTH:
                frame[:] = self.functions
            keys, group = _grouped(node_of * (self.functions + 1) + frame)
            totals = np.zeros(len(keys), np.int64)
            np.add.at(totals, group, weights[samples])
            place, drawn = self._add_level(depth, keys, totals)
            node_of = place[group]
            self.ends[samples] = node_of
            lengths = offsets[samples + 1] - offsets[samples]
            going = drawn[group] & (lengths > depth)
            samples, node_of = samples[going], node_of[going]

    def _add_level(
        self, depth: int, keys: IntArray, totals: IntArray
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the node of each (parent, function), and whether it is drawn itself."""
        parents, names = np.divmod(keys, self.functions + 1)
        drawn = (totals >= self.smallest) & (names < self.functions)
        place = np.full(len(keys), -1, np.int64)
        order = np.lexsort((names, -totals, parents))
        for key in order[drawn[order]].tolist():
            place[key] = len(self.parent)
            self._add(int(parents[key]), depth, int(names[key]), int(totals[key]))
        narrow = order[~drawn[order]]
        if len(narrow):
            edges = self._cuts(parents[narrow], totals[narrow])
            sums = np.add.reduceat(totals[narrow], edges)
            sizes = np.diff(edges, append=len(narrow))
            first = narrow[edges]
            place[narrow] = np.repeat(np.arange(len(edges)) + len(self.parent), sizes)
            for parent, widest, gathered, total in zip(
                parents[first].tolist(),
                names[first].tolist(),
                sizes.tolist(),
                sums.tolist(),
                strict=True,
            ):
                if widest < self.functions:
                    self.gathered[len(self.parent)] = widest, gathered
                self._add(parent, depth, NOT_DRAWN, total)
        return place, drawn

    def _cuts(self, parents: IntArray, totals: IntArray) -> IntArray:
        """Where to cut narrow siblings, widest first, into as few groups as are wide enough."""
        starts = np.flatnonzero(np.diff(parents, prepend=-1))
        ends = np.append(starts[1:], len(parents))
        sums = np.add.reduceat(totals, starts)
        groups = np.minimum(sums // max(self.smallest, 1), ends - starts)
        cuts = [starts]
        for many in np.flatnonzero(groups > 1).tolist():
            reached = np.cumsum(totals[starts[many] : ends[many]])
            count = int(groups[many])
            steps = np.arange(1, count, dtype=np.int64) * (int(sums[many]) // count)
            cuts.append(starts[many] + np.searchsorted(reached, steps) + 1)
        every = np.unique(np.concatenate(cuts))
        return every[every < len(parents)]

    def _add(self, parent: int, depth: int, function: int, weight: int) -> None:
        self.parent.append(parent)
        self.depth.append(depth)
        self.function.append(function)
        self.weight.append(weight)


def _grouped(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct keys, ascending, and the place of each key among them.

    Counting is ten times as fast as sorting where keys lie close together, as those of the first
    levels do.
    """
    span = int(keys.max()) + 1
    if span > 4 * len(keys) + 2**16:
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, places
    seen = np.zeros(span, bool)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def _measured(profiles: Sequence[Profile], grown: _Growth, values: IntArray) -> list[Tree]:
    count = len(grown.parent)
    found: list[Tree] = []
    for profile, samples in zip(profiles, _samples_of(profiles), strict=True):
        own = np.zeros(count, np.int64)
        np.add.at(own, grown.ends[samples], values[samples])
        owns: list[int] = own.tolist()
        totals = owns.copy()
        for node in range(count - 1, 0, -1):
            totals[grown.parent[node]] += totals[node]
        found.append(
            Tree(
                profile,
                [
                    Node(
                        grown.parent[node],
                        grown.depth[node],
                        grown.function[node],
                        owns[node],
                        totals[node],
                        *grown.gathered.get(node, (NOT_DRAWN, 0)),
                    )
                    for node in range(count)
                ],
            )
        )
    return found
