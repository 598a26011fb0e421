"""Which functions a measurement belongs to: raw self, attributed self, and total.

- *self*: the values of the stacks whose leaf is the function. All of them add up to the whole.
- *attributed self*: the same, but given to the nearest named function when the leaf is native code,
  a trampoline or unknown: the function somebody can change. Where a stack has no named function,
  its value goes to `UNRESOLVED`; what a server cut away goes to `TRUNCATED`. These add up, too.
- *total*: the values of the stacks the function is on, each once, however often it recurses.

Not here: the table on the terminal (`report`), what changed between two profiles (`diff`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from flamegraphs.fingerprints import fingerprints, weights
from flamegraphs.names import Kind
from flamegraphs.profile import Batch, IntArray, Profile, magnitude

UNRESOLVED = "(unresolved)"
TRUNCATED = "(truncated)"
_SLOTS = np.uint32(2**18)
_SPREAD = np.uint32(0x9E3779B1)
"""An odd number, so that neighbouring samples fall far apart (Knuth's multiplicative hashing)."""


class Row(NamedTuple):
    """One function, or one of the two buckets; all values in the profile's unit."""

    name: str
    kind: Kind | None
    """None for a bucket."""
    attributed: int
    raw: int
    total: int


@dataclass(frozen=True)
class Rows(Sequence[Row]):
    """Rows in order, made when they are asked for: of tens of thousands few are ever seen."""

    names: Sequence[str]
    """Of all functions, and behind them those of the buckets."""
    kinds: NDArray[np.uint8]
    """Of the functions."""
    figures: IntArray
    """Attributed self, raw self and total of each name."""
    order: IntArray
    """Places of names."""

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return list(self._made(self.order[index]))
        return next(self._made(self.order[[index]]))

    def __iter__(self) -> Iterator[Row]:
        return self._made(self.order)

    def _made(self, places: IntArray) -> Iterator[Row]:
        chosen: list[int] = places.tolist()
        figures: list[list[int]] = self.figures[:, places].T.tolist()
        for place, (attributed, raw, total) in zip(chosen, figures, strict=True):
            kind = Kind(self.kinds[place]) if place < len(self.kinds) else None
            yield Row(self.names[place], kind, attributed, raw, total)


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
    table = np.empty(_SLOTS, np.int32)
    whole = 0
    for batch in profile.stacks.batches():
        leaves = batch.frames[batch.offsets[:-1]]
        owner = _owners(batch, profile.kinds, count)
        owners.append(owner.astype(np.int32))
        whole += magnitude(batch.values)
        np.add.at(raw, leaves, batch.values)
        np.add.at(attributed, owner, batch.values)
        np.add.at(total, batch.frames, np.repeat(batch.values, np.diff(batch.offsets)))
        functions, rows = _repeated(batch, count, table)
        np.subtract.at(total, functions, batch.values[rows])
    rows = _rows(profile, attributed, raw, total)
    stack, value = _heaviest(profile, owners, rows)
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
    frame_kinds = kinds.take(batch.frames)
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


def _repeated(batch: Batch, count: int, table: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Each function that stands once more on a sample's stack, with the sample.

    Found in a hash table, in which each slot is held by the last frame that falls on it. The others
    there are the same function of the same sample, or strays; only strays are sorted.
    """
    rows = np.repeat(np.arange(len(batch.values), dtype=np.uint32), np.diff(batch.offsets))
    slots = rows * _SPREAD  # of 32 bits: what is beyond is dropped
    slots += batch.frames.view(np.uint32)
    slots &= _SLOTS - np.uint32(1)
    places = np.arange(len(slots), dtype=np.int32)
    table[slots] = places
    holders = table.take(slots)
    others = np.flatnonzero(holders != places)
    mine, held = (
        rows[at].astype(np.int64) * count + batch.frames[at] for at in (others, holders[others])
    )
    strays = np.sort(mine[mine != held])
    again = np.append(mine[mine == held], strays[1:][strays[1:] == strays[:-1]])
    return again % count, again // count


def _rows(profile: Profile, attributed: IntArray, raw: IntArray, total: IntArray) -> Rows:
    names = [*profile.functions, UNRESOLVED, TRUNCATED]
    buckets = attributed[len(raw) :]
    figures = np.array(
        [attributed, np.append(raw, np.zeros_like(buckets)), np.append(total, buckets)]
    )
    seen = np.flatnonzero(figures.any(axis=0))
    order = seen[np.lexsort(-figures[::-1, seen])]
    # Equal ones stand side by side now; among them the name decides.
    same = (figures[:, order[1:]] == figures[:, order[:-1]]).all(axis=0)
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    group: list[int] = np.append(0, np.cumsum(~same))[tied].tolist()
    places: list[int] = order[tied].tolist()
    by_name = sorted(zip(group, [names[place] for place in places], places, strict=True))
    order[tied] = [place for _, _, place in by_name]
    return Rows(names, profile.kinds, figures, order)


def _heaviest(
    profile: Profile, owners: Sequence[NDArray[np.int32]], rows: Rows
) -> tuple[list[str], int]:
    """The stack, root first, that most of the first row's value came by, and that value."""
    if not rows:
        return [], 0
    mine = np.flatnonzero(np.concatenate(owners) == rows.order[0])
    if not len(mine):  # nothing is its own: all values are 0, or below
        return [], 0
    marks = np.empty(len(mine), np.uint64)
    values = np.empty(len(mine), np.int64)
    done = 0
    drawn = weights(len(profile.functions))
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
