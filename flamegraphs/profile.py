"""The common model of a profile: a table of functions, and stacks as arrays of indices into it.

Every format is read into this, and every answer is computed from it. Stacks are handed out in
batches, so that a profile of millions of samples is summed up without being held in memory twice.

Not here: what a function is attributed (`hotspots`), the tree (`tree`), any file format.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flamegraphs.errors import NotAProfileError
from flamegraphs.names import NO_STACK, Kind, kind_of, normalise
from flamegraphs.units import canonical
from flamegraphs.window import length_text, moment_text

IntArray = NDArray[np.int64]
FrameArray = NDArray[np.int32]
HeldFrames = NDArray[np.int32 | np.uint16]

CHOOSE_TYPE = "Choose another with --sample-type."
"""How the note ends that a file has several sample types."""
MAX_TOTAL = 2**63 - 1
"""Sums are kept in 64 bits; values that add up to more are refused rather than wrapped."""


@dataclass(frozen=True)
class Batch:
    """Some samples; stack ``i`` is ``frames[offsets[i]:offsets[i + 1]]``, leaf first, not empty."""

    frames: FrameArray
    offsets: IntArray
    values: IntArray

    def rows(self) -> IntArray:
        """The sample each entry of ``frames`` belongs to."""
        return np.repeat(np.arange(len(self.values)), np.diff(self.offsets))


class Stacks(Protocol):
    """Samples that can be read any number of times."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """Yield all samples, or those at the given ascending positions, in order."""
        ...


@dataclass(frozen=True)
class Profile:
    """One measurement of one unit over a set of stacks."""

    functions: Sequence[str]
    """Normalised names, each once."""
    kinds: NDArray[np.uint8]
    """The `Kind` of each function."""
    stacks: Stacks
    sample_type: str
    """What was counted, e.g. bytes allocated; empty where the format does not say."""
    unit: str
    """``bytes``, ``nanoseconds``, ``count``...; empty where the format does not say."""
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where it comes from, for the header of a report, in order: ``window``, ``selector``, ..."""
    notes: Sequence[str] = ()
    """What a reader has to know about how this was read."""
    others: "Sequence[Profile]" = ()
    """The other sample types of the same file, over the same functions and stacks."""
    further_types: Sequence[str] = ()
    """More sample types of the file, which is read again for each."""

    @property
    def counted(self) -> str:
        """What its values are written in: those of a count are samples or objects, by its type."""
        return self.sample_type if self.unit == "count" and self.sample_type else self.unit

    def measured_in(self, unit: str) -> "Profile":
        """The same with values in ``unit``, scaled to the unit that figures are kept in."""
        kept, factor = canonical(unit)
        stacks = self.stacks if factor == 1 else ScaledStacks(self.stacks, factor)
        return replace(self, unit=kept, stacks=stacks)


def recorded(start: int, duration: int) -> dict[str, str]:
    """Facts of when a profile began (nanoseconds since the epoch) and how long it took."""
    facts: dict[str, str] = {}
    if 0 < start < 2**62:
        facts["taken"] = moment_text(datetime.fromtimestamp(start // 10**9, UTC))
    if 0 < duration < 2**62:
        facts["duration"] = length_text(timedelta(microseconds=duration / 1000))
    return facts


class Functions:
    """Collects names into a table without repetition."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._index)

    def newest(self, count: int) -> Iterator[str]:
        """The names that came last, the last one first."""
        return islice(reversed(self._index), count)

    def index(self, name: str) -> int:
        """Return the place of a name in any of its spellings."""
        return self._index.setdefault(normalise(name), len(self._index))

    def exact(self, name: str) -> int:
        """Return the place of a name that is no function's and is left as it is."""
        return self._index.setdefault(name, len(self._index))

    def table(self, truncated: Iterable[int] = ()) -> tuple[list[str], NDArray[np.uint8]]:
        """Return the names and their kinds; ``truncated`` are the indices that are no function."""
        names = list(self._index)
        kinds = np.fromiter(map(kind_of, names), np.uint8, len(names))
        kinds[list(truncated)] = Kind.TRUNCATED
        return names, kinds


class HeldStacks:
    """Stacks held in memory as three arrays."""

    SAMPLES, FRAMES = 4096, 2**18
    """Most of a batch, unless one stack alone has more frames."""

    def __init__(self, frames: HeldFrames, offsets: IntArray, values: IntArray) -> None:
        self.frames, self.offsets, self.values = frames, offsets, values

    def __len__(self) -> int:
        return len(self.values)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        chosen = np.arange(len(self)) if samples is None else samples
        before = self.offsets
        if samples is not None:
            before = offsets_of(self.offsets[samples + 1] - self.offsets[samples])
        for start, end in cuts(before, self.SAMPLES, self.FRAMES):
            part = chosen[start:end]
            offsets = before[start : end + 1] - before[start]
            if samples is None:
                frames = self.frames[before[start] : before[end]]
            else:
                frames = self.frames[ranges(self.offsets[part], np.diff(offsets))]
            yield Batch(frames.astype(np.int32, copy=False), offsets, self.values[part])


def cuts(before: IntArray, most: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut things of sizes into parts: one at least, at most so many, and of so much together.

    ``before`` is the size of everything in front of each, and at its end that of all.
    """
    begin, count = 0, len(before) - 1
    while begin < count:
        full = int(np.searchsorted(before, int(before[begin]) + size, "right")) - 1
        end = max(begin + 1, min(full, begin + most, count))
        yield begin, end
        begin = end


def held(profile: "Profile") -> "Profile":
    """The same with its stacks decoded once and held in memory, for who reads them several times.

    Raises what reading them raises.
    """
    if isinstance(profile.stacks, HeldStacks):
        return profile
    count = len(profile.stacks)
    # Two bytes tell most tables of functions apart, and frames are most of what is held.
    kind = np.uint16 if len(profile.functions) <= 2**16 else np.int32
    frames: HeldFrames = np.empty(0, kind)
    lengths, values = np.empty(count, np.int32), np.empty(count, np.int64)
    used = done = 0
    for batch in profile.stacks.batches():
        read = done + len(batch.values)
        needed = used + len(batch.frames)
        if needed > len(frames):
            # As many as there will be, by those so far; pages that stay unused cost nothing.
            wider = np.empty(needed * count // read * 9 // 8 + 1, kind)
            wider[:used] = frames[:used]
            frames = wider
        frames[used:needed] = batch.frames
        lengths[done:read] = np.diff(batch.offsets)
        values[done:read] = batch.values
        used, done = needed, read
    return replace(profile, stacks=HeldStacks(frames[:used], offsets_of(lengths), values))


@dataclass(frozen=True)
class ScaledStacks:
    """Stacks with each value times a factor."""

    stacks: Stacks
    factor: int

    def __len__(self) -> int:
        return len(self.stacks)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`; raises `NotAProfileError` where values grow beyond 64 bits."""
        total = 0
        for batch in self.stacks.batches(samples):
            total += magnitude(batch.values) * self.factor
            check_total(total)
            yield replace(batch, values=batch.values * self.factor)


def check_total(total: int) -> None:
    """Raise `NotAProfileError` where absolute values add up to more than 64 bits hold."""
    if total > MAX_TOTAL:
        raise NotAProfileError("Its values add up to more than 64 bits hold: not a measurement.")


def magnitude(values: IntArray) -> int:
    """Sum of absolute values, exact whatever they are."""
    if len(values) == 0:
        return 0
    largest = max(abs(int(values.max())), abs(int(values.min())))
    if largest * len(values) < 2**63:
        return int(np.add.reduce(np.abs(values)))
    exact: list[int] = values.tolist()
    return sum(map(abs, exact))


def hold(stacks: Iterable[Sequence[int]], values: Sequence[int]) -> HeldStacks:
    """Pack stacks (leaf first) and their values into arrays."""
    held = list(stacks)
    lengths = np.fromiter(map(len, held), np.int64, len(held))
    frames = np.fromiter((frame for stack in held for frame in stack), np.int32)
    return HeldStacks(frames, offsets_of(lengths), np.array(values, np.int64))


def trim_roots(stack: list[str]) -> list[str]:
    """Drop the nameless frames that some agents append at the root of a leaf-first stack.

    A stack with no frame left keeps one, because its value still counts.
    """
    end = len(stack)
    while end and not stack[end - 1].strip():
        end -= 1
    return stack[:end] or [NO_STACK]


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return ``[start, start + length)`` of every pair, one after another."""
    before = offsets_of(lengths)
    found = np.repeat(starts - before[:-1], lengths)
    found += np.arange(len(found))
    return found


def reversed_frames(batch: Batch) -> FrameArray:
    """The frames of a batch with each stack root first."""
    lengths = np.diff(batch.offsets)
    edges = np.repeat(batch.offsets[1:] + batch.offsets[:-1] - 1, lengths)
    return batch.frames[edges - np.arange(len(batch.frames))]


def offsets_of(lengths: IntArray | FrameArray) -> IntArray:
    """Return where each of the consecutive pieces starts, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
