"""Whether memory grows: the rule of the leak alert, on a process' own history."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.reading import Points

LEAST_SECONDS: Final = 15 * 60.0
"""A shorter history says nothing about growth."""
LEAST_STEP: Final = 32 * 10**6
"""Bytes by which a quarter must lie above the one before: less is noise."""
LEAST_SHARE: Final = 0.002
"""The same, as a share of what is held."""
_QUARTERS: Final = 4


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a history shows."""

    enough: bool
    """Whether there is enough of it to say anything."""
    steady: bool = False
    """Whether the least that was held rose from each quarter to the next."""
    bytes_per_hour: float = 0
    """From the first quarter's least to the last one's."""
    at_start: float = 0
    """Share of the last value that was reached in the first tenth of the history."""


def growth(held: Points) -> Growth:
    """Look at a history (bytes by time in seconds, oldest first)."""
    if len(held) < 2 * _QUARTERS or held[-1][0] - held[0][0] < LEAST_SECONDS:
        return Growth(enough=False)
    first, last = held[0][0], held[-1][0]
    span = (last - first) / _QUARTERS
    floors = [
        min(
            value
            for at, value in held
            if first + number * span <= at <= first + (number + 1) * span
        )
        for number in range(_QUARTERS)
    ]
    step = max(LEAST_STEP, LEAST_SHARE * held[-1][1])
    # A start-up lies in the first quarter, whose least is before it.
    settled = _after_start(held)
    rising = _rises(floors, step) and _rises(_floors(settled), step)
    hours = (last - first) * (_QUARTERS - 1) / _QUARTERS / 3600
    early = max(value for at, value in held if at <= first + (last - first) / 10)
    return Growth(
        enough=True,
        steady=rising,
        bytes_per_hour=(floors[-1] - floors[0]) / hours if rising else 0.0,
        at_start=early / held[-1][1] if held[-1][1] else 0.0,
    )


def _floors(held: Points) -> Sequence[float]:
    size = max(1, len(held) // _QUARTERS)
    return [
        min(value for _, value in held[number * size : (number + 1) * size or None])
        for number in range(_QUARTERS)
        if held[number * size : (number + 1) * size]
    ]


def _after_start(held: Points) -> Points:
    """The history without its first tenth, in which a server takes what it is configured to."""
    return held[max(1, len(held) // 10) :]


def _rises(floors: Sequence[float], step: float) -> bool:
    return len(floors) == _QUARTERS and all(
        later - earlier >= step for earlier, later in itertools.pairwise(floors)
    )
