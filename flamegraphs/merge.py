"""Brings profiles together: one table of functions for several, or one profile of all.

What is added into one has one unit: parts of a long window, or two types of the same meaning.
"""

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
class _Renamed:
    """Stacks of a profile over another table of functions."""

    stacks: Stacks
    table: FrameArray
    """The place of each of its functions in that table."""

    def __len__(self) -> int:
        return len(self.stacks)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        for batch in self.stacks.batches(samples):
            yield replace(batch, frames=self.table[batch.frames])


@dataclass(frozen=True)
class _Chain:
    """Stacks of several profiles of one table of functions, one profile after another."""

    parts: Sequence[Stacks]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        starts = offsets_of(np.array([len(part) for part in self.parts], np.int64))
        for place, part in enumerate(self.parts):
            chosen = None
            if samples is not None:
                first, last = np.searchsorted(samples, starts[place : place + 2])
                chosen = samples[first:last] - starts[place]
            yield from part.batches(chosen)


def common_functions(profiles: Sequence[Profile]) -> list[Profile]:
    """Return the same profiles over one table of functions."""
    if all(profile.functions is profiles[0].functions for profile in profiles):
        return list(profiles)
    functions = Functions()
    truncated: list[int] = []
    tables: list[FrameArray] = []
    for profile in profiles:
        table = np.array([functions.index(name) for name in profile.functions], np.int32)
        truncated += table[profile.kinds == Kind.TRUNCATED].tolist()
        tables.append(table)
    names, kinds = functions.table(truncated)
    return [
        replace(profile, functions=names, kinds=kinds, stacks=_Renamed(profile.stacks, table))
        for profile, table in zip(profiles, tables, strict=True)
    ]


def merge(profiles: Sequence[Profile]) -> Profile:
    """Return one profile with the samples of all; facts and notes are those of the first."""
    if len(profiles) == 1:
        return profiles[0]
    alike = common_functions(profiles)
    stacks = _Chain([profile.stacks for profile in alike])
    return replace(alike[0], stacks=stacks)
