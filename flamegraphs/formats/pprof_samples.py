"""The samples of a pprof file: bytes that are decoded some thousand at a time, when asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import wire
from flamegraphs.formats.pprof_locations import Locations
from flamegraphs.formats.wire import ByteArray
from flamegraphs.profile import (
    Batch,
    FrameArray,
    IntArray,
    check_total,
    cuts,
    magnitude,
    offsets_of,
)

_BATCH_SAMPLES = 1024
_BATCH_BYTES = 2**18


@dataclass(frozen=True)
class Reader:
    """Turns the bytes of samples into stacks of functions."""

    locations: Locations
    values_each: int
    value_index: int
    no_stack: int
    nameless: int | None
    """The function without a name, where there is one."""
    budget: Budget

    def decode(self, payload: ByteArray, starts: IntArray, ends: IntArray) -> Batch:
        """Return the samples at these places; raises `NotAProfileError` where one is damaged."""
        count = len(starts)
        found = wire.fields(
            payload, starts, ends, {1: "numbers", 2: "numbers"}, self.budget, "sample"
        )
        (ids, id_counts), (numbers, number_counts) = wire.lists(
            payload, [found[1], found[2]], count, "sample"
        )
        if (number_counts != self.values_each).any():
            wrong = int(number_counts[number_counts != self.values_each][0])
            raise NotAProfileError(
                f"A sample has {wrong} values where {self.values_each} are declared."
            )
        values = numbers.view(np.int64)[self.value_index :: self.values_each].copy()
        frames, lengths = self._functions(ids, id_counts)
        return Batch(frames, offsets_of(lengths), values)

    def _functions(
        self, ids: NDArray[np.uint64], id_counts: IntArray
    ) -> tuple[FrameArray, IntArray]:
        frames, lengths = self.locations.stacks(ids, id_counts, self.budget)
        if len(lengths) and int(lengths.max()) > MAX_STACK:
            raise NotAProfileError(f"A sample has {int(lengths.max()):,} frames: not a stack.")
        if self.nameless is not None:
            frames, lengths = _without_nameless_roots(frames, lengths, self.nameless)
        if (lengths == 0).any():
            at = offsets_of(lengths)[:-1][lengths == 0]
            frames = np.insert(frames, at, self.no_stack)
            lengths = np.maximum(lengths, 1)
        return frames, lengths


def _without_nameless_roots(
    frames: FrameArray, lengths: IntArray, nameless: int
) -> tuple[FrameArray, IntArray]:
    """Drop the frame without a name that some agents add at the root (see `trim_roots`)."""
    while True:
        ends = offsets_of(lengths)[1:]
        filled = lengths > 0
        drop = ends[filled] - 1
        drop = drop[frames[drop] == nameless]
        if not len(drop):
            return frames, lengths
        keep = np.ones(len(frames), bool)
        keep[drop] = False
        lengths = lengths - np.isin(ends - 1, drop) * filled
        frames = frames[keep]


class Samples:
    """The samples of a file, decoded as often as they are asked for."""

    def __init__(
        self, data: bytes | bytearray, starts: IntArray, ends: IntArray, reader: Reader
    ) -> None:
        self._data = data
        self._starts = starts
        self._ends = ends
        self._reader = reader

    def __len__(self) -> int:
        return len(self._starts)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        starts = self._starts if samples is None else self._starts[samples]
        ends = self._ends if samples is None else self._ends[samples]
        total = 0
        for begin, end in cuts(offsets_of(ends - starts), _BATCH_SAMPLES, _BATCH_BYTES):
            batch = self._decode(starts[begin:end], ends[begin:end])
            total += magnitude(batch.values)
            check_total(total)
            yield batch

    def _decode(self, starts: IntArray, ends: IntArray) -> Batch:
        begin, end = int(starts[0]), int(ends[-1])
        if end - begin < 2 * _BATCH_BYTES:
            payload = np.frombuffer(self._data, np.uint8)[begin:end]
            return self._reader.decode(payload, starts - begin, ends - begin)
        # These lie far apart.
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        payload, offsets = wire.padded([bytes(self._data[start:end]) for start, end in spans])
        return self._reader.decode(payload, offsets[:-1], offsets[1:])
