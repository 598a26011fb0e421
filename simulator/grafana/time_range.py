"""The time range of a query, in all the ways in which clients write it.

Milliseconds of the Unix epoch, as text or number; a duration before now as Go writes it
(``1h30m``); ``now`` with terms and a rounding (``now-1d/d``), where the end of a range is rounded
up; a date (Grafana's ``pkg/tsdb/legacydata/time_range.go`` and go-datemath, which it hands the rest
to).
"""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from simulator.grafana.errors import GrafanaError

_UNITS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "M": timedelta(days=30),
    "y": timedelta(days=365),
}
"""Months and years are those of thirty and 365 days: no test needs the calendar's."""
_RELATIVE: Final = re.compile(r"now(?P<terms>(?:[-+]\d+[smhdwMy])*)(?:/(?P<unit>[smhdwMy]))?")
_DURATION: Final = re.compile(r"-?(?:\d+(?:\.\d+)?[hms])+")


def milliseconds(given: object, *, end: bool = False) -> int:
    """Milliseconds of the Unix epoch that a ``from``, or with ``end`` a ``to``, means.

    Raises:
        GrafanaError: 400 for anything else.
    """
    text = str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else ""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    found = _relative(text, end=end) or _before_now(text) or _date(text)
    if found is None:
        raise GrafanaError(400, f"invalid time range: {given!r}")
    return int(found.timestamp() * 1000)


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def _relative(text: str, *, end: bool) -> datetime | None:
    read = _RELATIVE.fullmatch(text)
    if read is None:
        return None
    moment = _now()
    for sign, count, unit in re.findall(r"([-+])(\d+)([smhdwMy])", read["terms"]):
        moment += (-1 if sign == "-" else 1) * int(count) * _UNITS[unit]
    return _rounded(moment, read["unit"], end=end) if read["unit"] else moment


def _rounded(moment: datetime, unit: str, *, end: bool) -> datetime:
    begin = moment.replace(microsecond=0)
    if unit != "s":
        begin = begin.replace(second=0)
    if unit not in ("s", "m"):
        begin = begin.replace(minute=0)
    if unit not in ("s", "m", "h"):
        begin = begin.replace(hour=0)
    if unit == "w":
        begin -= timedelta(days=begin.weekday())
    elif unit in ("M", "y"):
        begin = begin.replace(day=1, month=1 if unit == "y" else begin.month)
    return begin + _UNITS[unit] - timedelta(milliseconds=1) if end else begin


def _before_now(text: str) -> datetime | None:
    if not _DURATION.fullmatch(text):
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    span = sum((float(count) * _UNITS[unit] for count, unit in parts), timedelta())
    return _now() + span if text.startswith("-") else _now() - span


def _date(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
