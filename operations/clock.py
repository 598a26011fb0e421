"""Waiting with a deadline: the one place that sleeps, retries and reports progress.

The SDKs' own retries and pollers are off (they have no total limit, see ``azure.py``), so every
call that may be repeated runs inside :func:`Clock.poll`.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TypeVar

from contract.messages.base import TIME_SCALE_VARIABLE
from operations.errors import ExitCode, OperationError

GIVE_UP_AFTER: Mapping[ExitCode, float] = {
    ExitCode.UNREACHABLE: 120.0,
    ExitCode.FORBIDDEN: 120.0,
}
"""Seconds in a row for which a kind of failure is waited through, where not until the deadline.

A network that is down should not cost a whole deadline; a role assigned a moment ago takes minutes.
"""

GIVE_UP_LOOKING_AFTER: Mapping[ExitCode, float] = {
    ExitCode.NOT_FOUND: 0.0,
    ExitCode.FORBIDDEN: 0.0,
    ExitCode.UNREACHABLE: 3.0,
}
"""The same for a look that a preview waits for, at what may not be reachable from here at all."""
LOOK_SECONDS = 20.0
"""For such a look at a service that is busy."""

CONNECT_SECONDS = 5.0
_SHORTEST_READ_SECONDS, _LONGEST_READ_SECONDS = 10.0, 30.0

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 10.0
_GROWTH = 1.6
_PROGRESS_EVERY = 15.0

T = TypeVar("T")

_ends: ContextVar[Callable[[], float] | None] = ContextVar("_ends", default=None)
"""Of the innermost :meth:`Clock.poll` that runs here: seconds until its end."""


def read_seconds() -> float:
    """How long a call may stay without a byte of its answer: not beyond the wait it is made in."""
    left = _ends.get()
    within = _LONGEST_READ_SECONDS if left is None else min(left(), _LONGEST_READ_SECONDS)
    return max(within, _SHORTEST_READ_SECONDS)


class Clock:
    """Time in unscaled seconds: what was slept as asked for, what was worked as measured."""

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale
        self._started = time.monotonic()
        self._asked = 0.0
        self._slept = 0.0

    @classmethod
    def from_environment(cls) -> "Clock":
        """The clock of this process; raises BAD_REQUEST for a scale that is no number >= 0."""
        text = os.environ.get(TIME_SCALE_VARIABLE, "") or "1"
        try:
            scale = float(text)
        except ValueError:
            scale = -1.0
        if not 0.0 <= scale < float("inf"):
            raise OperationError(
                ExitCode.BAD_REQUEST,
                f"{TIME_SCALE_VARIABLE}={text} is not a number of at least 0.",
                fix=f"unset {TIME_SCALE_VARIABLE}; only tests need it",
            )
        return cls(scale)

    def now(self) -> float:
        """Unscaled seconds since the clock was made."""
        return time.monotonic() - self._started - self._slept + self._asked

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` unscaled seconds pass."""
        before = time.monotonic()
        time.sleep(seconds * self._scale)
        self._slept += time.monotonic() - before
        self._asked += seconds

    def poll(
        self,
        probe: Callable[[], T],
        *,
        what: str,
        within: float,
        give_up_after: Mapping[ExitCode, float] = GIVE_UP_AFTER,
        quiet: bool = False,
    ) -> T:
        """The first answer of ``probe``, which raises a transient OperationError for "not yet".

        ``within`` is the deadline in seconds; ``give_up_after`` shortens it for some kinds of
        failure that follow one another. Raises the error of ``probe`` that is not transient or is
        not waited for at all; on expiry one of the last error's kind that says for how long and
        what was seen.
        """
        started = self.now()
        pause = _FIRST_PAUSE
        kind: ExitCode | None = None
        since = started
        reported: tuple[float, str] = (started, "")
        waited = False
        while True:
            mark = _ends.set(lambda: started + within - self.now())
            try:
                return probe()
            except OperationError as error:
                if not error.transient:
                    raise
                now = self.now()
                if error.kind is not kind:
                    kind, since = error.kind, now
                left = min(
                    started + within - now,
                    since + give_up_after.get(error.kind, within) - now,
                )
                if left <= 0 and not waited:
                    raise
                if left <= 0:
                    raise _expired(what, now - started, error) from error
                # Why something is absent takes a whole line of a service's words; it is reported at
                # the end.
                absent = error.kind is ExitCode.NOT_FOUND
                seen = error.happened.rstrip(".") if absent else error.sentence()
                advised = error.retry_after or 0.0
                if not quiet and (seen != reported[1] or now - reported[0] >= _PROGRESS_EVERY):
                    say(f"waiting for {what} ... {now - started:.0f} s, last seen: {seen}")
                    reported = (now, seen)
            finally:
                _ends.reset(mark)
            if not quiet and advised > _LONGEST_PAUSE:
                say(f"the service asks for {advised:.0f} s; {left:.0f} s are left")
            self.sleep(min(max(pause, advised), left))
            waited = True
            pause = min(pause * _GROWTH, _LONGEST_PAUSE)

    def look(self, probe: Callable[[], T], what: str) -> T:
        """What ``probe`` sees, for a preview: like :meth:`poll`, but soon and without a word."""
        return self.poll(
            probe,
            what=what,
            within=LOOK_SECONDS,
            give_up_after=GIVE_UP_LOOKING_AFTER,
            quiet=True,
        )


def _expired(what: str, waited: float, last: OperationError) -> OperationError:
    return OperationError(
        last.kind,
        f"Gave up waiting for {what} after {waited:.0f} s; last seen: {last.happened.rstrip('.')}.",
        why=last.why,
        fix=last.fix,
        service_code=last.service_code,
    )


def say(line: str) -> None:
    """A line for the person who watches; ``pulumi up`` shows it as it comes."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - progress belongs on stderr
