"""A profile by the parts of an engine: shares of what was allocated in its window.

Never memory in use: a profile counts allocations, and frees are invisible in it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from flamegraphs.hotspots import UNRESOLVED
from flamegraphs.names import Kind
from flamegraphs.profile import Profile
from memory.vocabulary import Part, Vocabulary, part_of


@dataclass(frozen=True, kw_only=True)
class PartShare:
    """What was allocated for one part."""

    part: str
    bytes: int
    function: str
    """The function that allocated most of it: the nearest named one to the allocation."""
    function_bytes: int


@dataclass(frozen=True, kw_only=True)
class Allocated:
    """What a profile says, by part."""

    total: int
    parts: Sequence[PartShare]
    """Largest first."""

    def bytes_of(self, *parts: Part) -> int:
        """What was allocated for these parts."""
        return sum(one.bytes for one in self.parts if one.part in parts)

    def share(self, *parts: Part) -> float:
        """Their share of all, from 0 to 1."""
        return self.bytes_of(*parts) / self.total if self.total else 0.0


def allocated(profile: Profile, words: Vocabulary) -> Allocated:
    """Add up a profile by part; its stacks are read once."""
    known = [words.word(name) for name in profile.functions]
    by_part: dict[str, int] = defaultdict(int)
    by_function: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    total = 0
    for batch in profile.stacks.batches():
        offsets: list[int] = batch.offsets.tolist()
        frames: list[int] = batch.frames.tolist()
        values: list[int] = batch.values.tolist()
        for number, value in enumerate(values):
            stack = frames[offsets[number] : offsets[number + 1]]
            part = part_of(known[frame] for frame in stack)
            by_part[part] += value
            by_function[part][_owner(profile, stack)] += value
            total += value
    return Allocated(
        total=total,
        parts=[
            _share(part, size, by_function[part])
            for part, size in sorted(by_part.items(), key=lambda item: -item[1])
            if size
        ],
    )


def _owner(profile: Profile, stack: Sequence[int]) -> str:
    """The nearest named function to the allocation; a stack's frames begin with the leaf."""
    for frame in stack:
        if profile.kinds[frame] == Kind.NAMED:
            return profile.functions[frame]
    return UNRESOLVED


def _share(part: str, size: int, functions: dict[str, int]) -> PartShare:
    function = max(sorted(functions), key=lambda name: functions[name])
    return PartShare(part=part, bytes=size, function=function, function_bytes=functions[function])
