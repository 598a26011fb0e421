"""The span of time a profile is asked for."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flamegraphs.errors import UsageError

_RELATIVE = re.compile(r"now(?:-(\d{1,6})([smhdw]))?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_MAX_EPOCH = 2**33


@dataclass(frozen=True)
class Window:
    """From ``start`` up to ``end``, both in UTC."""

    start: datetime
    end: datetime

    @property
    def milliseconds(self) -> tuple[int, int]:
        """Start and end as Pyroscope takes them."""
        return _milliseconds(self.start), _milliseconds(self.end)

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{moment_text(self.start)} to {moment_text(self.end)} ({length_text(self.length)})"

    def pieces(self, longest: timedelta) -> list["Window"]:
        """Cut it into windows of at most ``longest``, one after another."""
        pieces: list[Window] = []
        start = self.start
        while start < self.end:
            end = min(start + longest, self.end)
            pieces.append(Window(start, end))
            start = end
        return pieces


def window(start: str, end: str, now: datetime) -> Window:
    """Read two moments: ``now``, ``now-90m``, RFC 3339, or seconds since the epoch.

    Raises `UsageError` where one cannot be read, or the end is not after the start.
    """
    found = Window(_moment(start, now), _moment(end, now))
    if found.start >= found.end:
        raise UsageError(f"The window ends before it starts: {start} to {end}.")
    return found


def _moment(text: str, now: datetime) -> datetime:
    if match := _RELATIVE.fullmatch(text):
        count, unit = match.groups()
        return now - timedelta(seconds=int(count) * _SECONDS[unit]) if count else now
    if text.isdecimal() and int(text) < _MAX_EPOCH:
        return datetime.fromtimestamp(int(text), UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time; write now, now-90m, 2026-05-01T12:00:00Z or seconds since "
            "1970."
        ) from None
    # A time without a zone is the reader's own, as in every clock on their machine.
    return moment.astimezone(UTC)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def moment_text(moment: datetime) -> str:
    """Write a moment: ``2026-05-01 12:00:00Z``."""
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")


def length_text(length: timedelta) -> str:
    """Write a span of time: ``1 h 30 min``; of less than a second in milliseconds."""
    seconds = int(length.total_seconds())
    if not seconds and length:
        return f"{length / timedelta(milliseconds=1):.3g} ms"
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"
