"""Simulated time, in seconds since the simulated Azure began.

Durations of the services are given in simulated seconds. The factor says how much wall time one
simulated second takes: 1 is real time, 0.01 a hundredth of it. With 0 nothing takes wall time: the
clock stands still and jumps to whatever is due next.

Dates in answers are real ones (:func:`timestamp`): clients compare them with their own clock.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """The simulated clock; ``wall`` gives monotonic seconds."""

    def __init__(
        self, factor: float, begin: float = 0.0, wall: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._factor = factor
        self._base = begin
        self._anchor = wall()

    @property
    def factor(self) -> float:
        """Wall seconds for one simulated second."""
        return self._factor

    def now(self) -> float:
        """The simulated seconds passed so far."""
        if self._factor == 0:
            return self._base
        return self._base + (self._wall() - self._anchor) / self._factor

    def change_factor(self, factor: float) -> None:
        """Go on from now with another factor."""
        self._base, self._anchor, self._factor = self.now(), self._wall(), factor

    def jump(self, to: float) -> None:
        """Move forward to ``to``; never back."""
        if to > self.now():
            self._base, self._anchor = to, self._wall()


def timestamp() -> str:
    """The real time as Azure writes it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
