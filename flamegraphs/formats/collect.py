"""Collects stacks one after another into a profile, within a budget."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from sys import getsizeof

import numpy as np

from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.profile import Functions, HeldStacks, Profile, check_total, trim_roots


class Collector:
    """Stacks of one sample type, as they are read."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._functions = Functions()
        self._truncated: set[int] = set()
        self._frames = array("i")
        self._offsets = array("q", [0])
        self._values = array("q")
        self._total = 0

    def __len__(self) -> int:
        return len(self._values)

    def add(self, stack: Sequence[str], value: int, *, truncated: bool = False) -> None:
        """Add a stack, leaf first; ``truncated`` says that its leaf is no function.

        Raises `NotAProfileError` where it is no stack, or all values leave 64 bits.
        """
        if len(stack) > MAX_STACK:
            raise NotAProfileError(f"A stack has {len(stack):,} frames: not one of a program.")
        self._budget.take("frames", memory=8 * len(stack) + 24, steps=100 + 12 * len(stack))
        self._total += abs(value)
        check_total(self._total)
        known = len(self._functions)
        frames = [self._functions.index(name) for name in trim_roots(list(stack))]
        if len(self._functions) > known:
            self._take_names(len(self._functions) - known)
        if truncated:
            self._truncated.add(frames[0])
        self._frames.extend(frames)
        self._offsets.append(len(self._frames))
        self._values.append(value)

    def _take_names(self, count: int) -> None:
        """Names are what is kept of a stack's text, each of them once."""
        size = sum(map(getsizeof, self._functions.newest(count)))
        self._budget.take("names", memory=size + 150 * count, steps=20 * count)

    def profile(
        self,
        sample_type: str,
        unit: str,
        facts: Mapping[str, str] | None = None,
        notes: Iterable[str] = (),
        further: Iterable[str] = (),
    ) -> Profile:
        """Return what was collected; ``unit`` as the format spells it, ``further`` all types."""
        table, kinds = self._functions.table(self._truncated)
        stacks = HeldStacks(
            np.array(self._frames, np.int32),
            np.array(self._offsets, np.int64),
            np.array(self._values, np.int64),
        )
        profile = Profile(
            *(table, kinds, stacks, sample_type, ""),
            facts=dict(facts or {}),
            notes=list(notes),
            further_types=[name for name in further if name != sample_type],
        )
        return profile.measured_in(unit)


def choose(wanted: str | None, names: Sequence[str], default: str) -> str:
    """Return the sample type to read; raises `NotAProfileError` where ``wanted`` is not there."""
    if wanted is None:
        return default
    if wanted not in names:
        listed = ", ".join(name or "one without a name" for name in names)
        raise NotAProfileError(f"It has no values of type {wanted!r}, but {listed}.")
    return wanted


def whole(value: object, what: str) -> int:
    """Return a whole number; raises `NotAProfileError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise NotAProfileError(f"It has {str(value)[:40]!r} for {what}.")
    if isinstance(value, float):
        if not math.isfinite(value) or not value.is_integer():
            raise NotAProfileError(f"It has {value!r} for {what}, which is not a whole number.")
        return int(value)
    try:
        return int(value)
    except ValueError:
        raise NotAProfileError(f"It has {str(value)[:40]!r} for {what}.") from None
