"""A number for each stack: the same for equal stacks and, as good as surely, only for those.

Weights are drawn anew in each process, so no file can be made whose different stacks look alike.
"""

import os

import numpy as np
from numpy.typing import NDArray

from flamegraphs.profile import Batch, IntArray, Profile

Weights = NDArray[np.uint64]


def weights(functions: int) -> Weights:
    """A random number for each function."""
    return np.frombuffer(os.urandom(8 * functions), np.uint64)


def fingerprints(batch: Batch, weights: Weights) -> NDArray[np.uint64]:
    """The fingerprint of each stack of a batch."""
    lengths = np.diff(batch.offsets)
    depth = np.arange(len(batch.frames)) - np.repeat(batch.offsets[:-1], lengths)
    steps = (2 * depth + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (weights[batch.frames] ^ steps) * (steps | np.uint64(1))
    mixed ^= mixed >> np.uint64(29)
    return np.add.reduceat(mixed, batch.offsets[:-1])


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
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, values)
    order = np.argsort(first)
    return first[order], sums[order]
