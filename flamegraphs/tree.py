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
_EVERY = 16
"""Of so many samples one is grown to find out how wide the smallest node may be."""
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
        smallest = 0
        if len(self.frames) > _GROWN_WHOLE:
            smallest = self._estimated(whole, max_nodes, from_leaf)
        grown = self._fitting(self.weights, smallest, max_nodes, from_leaf)
        return _measured(self.profiles, grown, self.values)

    def _estimated(self, whole: int, max_nodes: int, from_leaf: bool) -> int:
        """How wide the smallest node may be, learnt from some of the samples.

        Finding out takes several attempts, and those are cheap.
        """
        some = np.zeros_like(self.weights)
        some[::_EVERY] = self.weights[::_EVERY]
        part = int(some.sum())
        if len(some) < _EVERY * max_nodes or not part:
            return whole // max_nodes
        grown = self._fitting(some, part // max_nodes, max_nodes, from_leaf)
        return grown.smallest * whole // part

    def _fitting(
        self, weights: IntArray, smallest: int, max_nodes: int, from_leaf: bool
    ) -> "_Growth":
        """Grow with wider and wider smallest nodes until no more than ``max_nodes`` are left."""
        whole = int(weights.sum())
        while True:
            grown = _Growth(len(self.profiles[0].functions), smallest, whole)
            grown.grow(self.frames, self.offsets, weights, from_leaf)
            # The root and what is not drawn remain even where nothing else fits.
            if grown.count <= max_nodes or smallest > whole:
                return grown
            wide_enough = int(np.partition(grown.nodes[3], -max_nodes)[-max_nodes])
            # Many nodes may be equally wide: go up by a quarter at least.
            smallest = max(smallest * 5 // 4 + 1, wide_enough)


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
    """A tree while it grows: its nodes by level, and the node that each sample ends in."""

    def __init__(self, functions: int, smallest: int, whole: int) -> None:
        self.functions = functions
        self.smallest = smallest
        self.count = 0
        self.levels: list[IntArray] = []
        """Of the nodes of each: parent, depth, function, weight, widest and gathered."""
        self.ends: IntArray = np.zeros(0, np.int64)
        self._add(np.array([[-1], [0], [ROOT], [whole], [NOT_DRAWN], [0]]))

    @property
    def nodes(self) -> IntArray:
        """The columns of all nodes."""
        return np.concatenate(self.levels, axis=1)

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
            going = np.flatnonzero(drawn[group] & (lengths > depth))
            samples, node_of = samples[going], node_of[going]

    def _add_level(
        self, depth: int, keys: IntArray, totals: IntArray
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the node of each (parent, function), and whether it is drawn itself."""
        parents, names = np.divmod(keys, self.functions + 1)
        drawn = (totals >= self.smallest) & (names < self.functions)
        order = np.lexsort((names, -totals, parents))
        wide, narrow = order[drawn[order]], order[~drawn[order]]
        place = np.empty(len(keys), np.int64)
        place[wide] = self._add(_level(parents[wide], depth, names[wide], totals[wide]))
        if len(narrow):
            edges = self._cuts(parents[narrow], totals[narrow])
            sums = np.add.reduceat(totals[narrow], edges)
            sizes = np.diff(edges, append=len(narrow))
            first = narrow[edges]
            level = _level(parents[first], depth, NOT_DRAWN, sums)
            is_function = names[first] < self.functions
            level[4:, is_function] = names[first][is_function], sizes[is_function]
            place[narrow] = np.repeat(self._add(level), sizes)
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

    def _add(self, level: IntArray) -> IntArray:
        """Add nodes; return their places."""
        self.levels.append(level)
        start, self.count = self.count, self.count + len(level[0])
        return np.arange(start, self.count)


def _level(parent: IntArray, depth: int, function: IntArray | int, weight: IntArray) -> IntArray:
    """Columns of nodes of one depth that stand for no others."""
    level = np.zeros((6, len(parent)), np.int64)
    level[0], level[1], level[2], level[3], level[4] = parent, depth, function, weight, NOT_DRAWN
    return level


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
    parents, depths, functions, _, widest, gathered = grown.nodes.tolist()
    found: list[Tree] = []
    for profile, samples in zip(profiles, _samples_of(profiles), strict=True):
        own = np.zeros(grown.count, np.int64)
        np.add.at(own, grown.ends[samples], values[samples])
        owns: list[int] = own.tolist()
        totals = owns.copy()
        for node in range(grown.count - 1, 0, -1):
            totals[parents[node]] += totals[node]
        columns = (parents, depths, functions, owns, totals, widest, gathered)
        found.append(Tree(profile, [Node(*node) for node in zip(*columns, strict=True)]))
    return found
