"""A number for each stack: the same for equal stacks and, as good as surely, only for those.

Weights are drawn anew in each process, so no file can be made whose different stacks look alike.
"""

import os

import numpy as np
from numpy.typing import NDArray

from flamegraphs.profile import Batch, IntArray, Profile

Weights = NDArray[np.uint64]


def weights(functions: int) -> Weights:
    """A random number for each function, and one more, from which those of depths are made."""
    return np.frombuffer(os.urandom(8 * (functions + 1)), np.uint64)


def fingerprints(batch: Batch, weights: Weights) -> NDArray[np.uint64]:
    """The fingerprint of each stack of a batch: its functions' numbers times those of depths."""
    lengths = np.diff(batch.offsets)
    depth = np.arange(len(batch.frames)) - np.repeat(batch.offsets[:-1], lengths)
    by_depth = _mixed(weights[-1] + np.arange(int(lengths.max()), dtype=np.uint64))
    return np.add.reduceat(weights.take(batch.frames) * by_depth.take(depth), batch.offsets[:-1])


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """As good as random for consecutive numbers (splitmix64: doi.org/10.1145/2660193.2660195)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def distinct(profile: Profile) -> tuple[IntArray, IntArray]:
    """The place of the first of each group of equal stacks, ascending, and the group's value."""
    drawn = weights(len(profile.functions))
    marks = np.empty(len(profile.stacks), np.uint64)
    values = np.empty(len(profile.stacks), np.int64)
    done = 0
    for batch in profile.stacks.batches():
        upto = done + len(batch.values)
        marks[done:upto] = fingerprints(batch, drawn)
        values[done:upto] = batch.values
        done = upto
    # Most programs that write profiles have added equal stacks up, and sorting alone is fast.
    ordered = np.sort(marks)
    if (ordered[1:] != ordered[:-1]).all():
        return np.arange(len(marks)), values
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, values)
    order = np.argsort(first)
    return first[order], sums[order]
