"""The fields of a pprof file: where everything in it stands, and its strings.

Nothing is read before it is asked for, and then numbers of all messages of a kind at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import wire
from flamegraphs.formats.wire import ByteArray
from flamegraphs.profile import IntArray

TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING = 1, 2, 3, 4, 5, 6
TIME, DURATION, DEFAULT_TYPE = 9, 10, 14
"""Fields of a profile."""


@dataclass(frozen=True)
class Tables:
    """Everything in a file but its samples, found but not yet read."""

    data: bytes | bytearray
    payload: ByteArray
    tags: NDArray[np.uint8]
    starts: IntArray
    ends: IntArray
    strings: tuple[IntArray, IntArray]
    budget: Budget

    @classmethod
    def of(cls, data: bytes | bytearray, budget: Budget) -> "Tables":
        """Find the fields of a file; raises `NotAProfileError` where it is damaged or too large."""
        tags, starts, ends = wire.top_level(data, budget)
        mine = tags == STRING << 3 | 2
        # The first is always empty, also where a file has none.
        strings = starts[mine], ends[mine]
        if not mine.any():
            strings = np.zeros(1, np.int64), np.zeros(1, np.int64)
        return cls(data, np.frombuffer(data, np.uint8), tags, starts, ends, strings, budget)

    def edges(self, field: int) -> tuple[IntArray, IntArray]:
        """Where the messages of a field start and end."""
        mine = self.tags == field << 3 | 2
        return self.starts[mine], self.ends[mine]

    def count(self, field: int) -> int:
        """How many messages of a field there are."""
        return int(np.count_nonzero(self.tags == field << 3 | 2))

    def number(self, field: int) -> int:
        """A number of the profile itself, or 0."""
        mine = np.flatnonzero(self.tags == field << 3)
        return wire.varint(self.data, int(self.starts[mine[-1]]))[0] if len(mine) else 0

    def columns(self, field: int, what: str, *numbers: int) -> list[NDArray[np.uint64]]:
        """Numbers of each message of a field, a column each."""
        starts, ends = self.edges(field)
        wanted: dict[int, wire.Kind] = dict.fromkeys(numbers, "number")
        found = wire.fields(self.payload, starts, ends, wanted, self.budget, what)
        return [wire.scalar(self.payload, found[n], len(starts), what) for n in numbers]

    def string(self, index: int) -> str:
        """The name at a place; raises `NotAProfileError` where there is none."""
        return self.texts(np.array([index % 2**64], np.uint64))[0]

    def texts(self, indices: NDArray[np.uint64]) -> list[str]:
        """The names at places in the table of strings."""
        at = self._places(indices)
        starts, ends = (edges[at] for edges in self.strings)
        size = int((ends - starts).sum())
        self.budget.take("names", memory=4 * size + 60 * len(at), steps=size + 20 * len(at))
        return [
            self.data[start:end].decode("utf-8", "replace")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def are_empty(self, indices: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these names have no character."""
        at = self._places(indices)
        starts, ends = self.strings
        return starts[at] == ends[at]

    def _places(self, indices: NDArray[np.uint64]) -> IntArray:
        count = len(self.strings[0])
        wrong = np.flatnonzero(indices >= count)
        if len(wrong):
            shown = int(indices[wrong[0]].astype(np.int64))
            raise NotAProfileError(f"It refers to name {shown}, but has {count}.")
        return indices.astype(np.int64)
