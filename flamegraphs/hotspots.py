"""Which functions a measurement belongs to: raw self, attributed self, and total.

- *self*: the values of the stacks whose leaf is the function. All of them add up to the whole.
- *attributed self*: the same, but given to the nearest named function when the leaf is native code,
  a trampoline or unknown: the function somebody can change. Where a stack has no named function,
  its value goes to `UNRESOLVED`; what a server cut away goes to `TRUNCATED`. These add up, too.
- *total*: the values of the stacks the function is on, each once, however often it recurses.

Not here: the table on the terminal (`report`), what changed between two profiles (`diff`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flamegraphs.fingerprints import fingerprints, weights
from flamegraphs.names import Kind
from flamegraphs.profile import Batch, FrameArray, IntArray, Profile, magnitude

UNRESOLVED = "(unresolved)"
TRUNCATED = "(truncated)"


@dataclass(frozen=True)
class Row:
    """One function, or one of the two buckets; all values in the profile's unit."""

    name: str
    kind: Kind | None
    """None for a bucket."""
    attributed: int
    raw: int
    total: int


@dataclass(frozen=True)
class Hotspots:
    """The answer for one profile."""

    profile: Profile
    rows: Sequence[Row]
    """Largest attributed self first, then largest self, then largest total, then by name."""
    total: int
    """The root: the sum of all values."""
    magnitude: int
    """The sum of all values without their signs: what shares are parts of, so that none is more
    than the whole. It is the total unless the profile is a difference."""
    samples: int
    unresolved: int
    truncated: int
    stack: Sequence[str]
    """Root first: the heaviest stack of the first row; empty where nothing was measured."""
    stack_value: int

    @property
    def is_difference(self) -> bool:
        """Whether values are below zero: what one profile has less of than another."""
        return self.magnitude != self.total

    def share(self, value: int) -> float:
        """A value as a part of the whole, between -1 and 1; 0 of an empty whole."""
        return share(value, self.magnitude)


def hotspots(profile: Profile) -> Hotspots:
    """Add up a profile; reads all its stacks once, and those of the first row once more."""
    count = len(profile.functions)
    raw = np.zeros(count, np.int64)
    total = np.zeros(count, np.int64)
    # The last two places are the buckets.
    attributed = np.zeros(count + 2, np.int64)
    owners: list[NDArray[np.int32]] = []
    whole = 0
    for batch in profile.stacks.batches():
        leaves = batch.frames[batch.offsets[:-1]]
        owner = _owners(batch, profile.kinds, count)
        owners.append(owner.astype(np.int32))
        whole += magnitude(batch.values)
        raw += _sums(leaves, batch.values, count)
        attributed += _sums(owner, batch.values, count + 2)
        functions, rows = _distinct(batch, count)
        total += _sums(functions, batch.values[rows], count)
    rows = _rows(profile, attributed, raw, total)
    stack, value = _heaviest(profile, np.concatenate(owners or [np.zeros(0, np.int32)]), rows)
    return Hotspots(
        profile=profile,
        rows=rows,
        total=int(raw.sum()),
        magnitude=whole,
        samples=len(profile.stacks),
        unresolved=int(attributed[count]),
        truncated=int(attributed[count + 1]),
        stack=stack,
        stack_value=value,
    )


def _owners(batch: Batch, kinds: NDArray[np.uint8], count: int) -> IntArray:
    """The function each sample is attributed to, or the place of a bucket."""
    leaves = batch.frames[batch.offsets[:-1]].astype(np.int64)
    frame_kinds = kinds[batch.frames]
    passed = np.flatnonzero(frame_kinds[batch.offsets[:-1]] != Kind.NAMED)
    if not len(passed):
        return leaves
    named = np.flatnonzero(frame_kinds == Kind.NAMED)
    place = np.searchsorted(named, batch.offsets[passed])
    # A frame past the last named one stands for "none"; so does one of a later stack.
    nearest = np.append(named, len(batch.frames))[place]
    has_name = nearest < batch.offsets[passed + 1]
    owner = np.full(len(passed), count, np.int64)
    owner[has_name] = batch.frames[nearest[has_name]]
    # What was cut away may have had names of its own: its parent is not to blame.
    owner[frame_kinds[batch.offsets[passed]] == Kind.TRUNCATED] = count + 1
    leaves[passed] = owner
    return leaves


def _distinct(batch: Batch, count: int) -> "tuple[IntArray | FrameArray, IntArray | FrameArray]":
    """Each function of each sample once, with the sample."""
    bits = count.bit_length()
    narrow = len(batch.values) << bits < 2**31
    keys = batch.frames.astype(np.int32 if narrow else np.int64)
    keys |= np.repeat(
        np.arange(len(batch.values), dtype=keys.dtype) << bits, np.diff(batch.offsets)
    )
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    keys = keys[first]
    return keys & ((1 << bits) - 1), keys >> bits


def _sums(places: IntArray | FrameArray, values: IntArray, count: int) -> IntArray:
    """Sum of values by place, exact: `numpy.bincount` alone adds in floating point."""
    if len(values) and len(values) * max(abs(int(values.max())), abs(int(values.min()))) >= 2**53:
        exact = np.zeros(count, np.int64)
        np.add.at(exact, places, values)
        return exact
    return np.bincount(places, values, count).astype(np.int64)


def _rows(profile: Profile, attributed: IntArray, raw: IntArray, total: IntArray) -> list[Row]:
    count = len(profile.functions)
    seen = np.flatnonzero((total != 0) | (raw != 0) | (attributed[:count] != 0))
    rows = [
        Row(name, Kind(kind), own, leaf, whole)
        for name, kind, own, leaf, whole in zip(
            (profile.functions[i] for i in seen.tolist()),
            profile.kinds[seen].tolist(),
            attributed[seen].tolist(),
            raw[seen].tolist(),
            total[seen].tolist(),
            strict=True,
        )
    ]
    for name, value in zip((UNRESOLVED, TRUNCATED), attributed[count:].tolist(), strict=True):
        if value:
            rows.append(Row(name, None, value, 0, value))
    rows.sort(key=lambda row: (-row.attributed, -row.raw, -row.total, row.name))
    return rows


def _heaviest(
    profile: Profile, owners: NDArray[np.int32], rows: Sequence[Row]
) -> tuple[list[str], int]:
    """The stack, root first, that most of the first row's value came by, and that value."""
    if not rows:
        return [], 0
    count = len(profile.functions)
    places = {UNRESOLVED: count, TRUNCATED: count + 1}
    top = rows[0]
    place = places[top.name] if top.kind is None else profile.functions.index(top.name)
    mine = np.flatnonzero(owners == place)
    if not len(mine):  # nothing is its own: all values are 0, or below
        return [], 0
    marks = np.empty(len(mine), np.uint64)
    values = np.empty(len(mine), np.int64)
    done = 0
    drawn = weights(count)
    for batch in profile.stacks.batches(mine):
        upto = done + len(batch.values)
        marks[done:upto] = fingerprints(batch, drawn)
        values[done:upto] = batch.values
        done = upto
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, group, values)
    best = int(sums.argmax())
    batch = next(iter(profile.stacks.batches(mine[first[best : best + 1]])))
    frames: list[int] = batch.frames[::-1].tolist()
    return [profile.functions[frame] for frame in frames], int(sums[best])


def share(value: int, total: int) -> float:
    """A fraction of the whole; 0 of an empty whole."""
    return value / total if total else 0.0
