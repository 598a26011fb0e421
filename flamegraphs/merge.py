"""Adds profiles of one unit into one: parts of a long window, or two types of the same meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flamegraphs.names import Kind
from flamegraphs.profile import (
    Batch,
    FrameArray,
    Functions,
    IntArray,
    Profile,
    Stacks,
    offsets_of,
)


@dataclass(frozen=True)
class _Chain:
    """Stacks of several profiles, one profile after another, over a common table of functions."""

    parts: Sequence[Stacks]
    tables: Sequence[FrameArray]
    """For each part, the place of its functions in the common table."""

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        starts = offsets_of(np.array([len(part) for part in self.parts], np.int64))
        for place, (part, table) in enumerate(zip(self.parts, self.tables, strict=True)):
            chosen = None
            if samples is not None:
                first, last = np.searchsorted(samples, starts[place : place + 2])
                chosen = samples[first:last] - starts[place]
            for batch in part.batches(chosen):
                yield replace(batch, frames=table[batch.frames])


def merge(profiles: Sequence[Profile]) -> Profile:
    """Return one profile with the samples of all; facts and notes are those of the first."""
    if len(profiles) == 1:
        return profiles[0]
    functions = Functions()
    truncated: list[int] = []
    tables: list[FrameArray] = []
    for profile in profiles:
        table = np.array([functions.index(name) for name in profile.functions], np.int32)
        truncated += table[profile.kinds == Kind.TRUNCATED].tolist()
        tables.append(table)
    names, kinds = functions.table(truncated)
    first = profiles[0]
    stacks = _Chain([profile.stacks for profile in profiles], tables)
    return replace(first, functions=names, kinds=kinds, stacks=stacks)
