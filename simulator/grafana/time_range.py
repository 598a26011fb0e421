"""The time range of a query: ``now-1h``, or milliseconds of the Unix epoch."""

import re
import time

from simulator.grafana.errors import GrafanaError
from simulator.values import as_text

_RELATIVE = re.compile(r"now(?:-(?P<count>\d+)(?P<unit>[smhdw]))?")
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def milliseconds(text: object) -> int:
    """Milliseconds of the Unix epoch that a ``from`` or ``to`` means.

    Raises:
        GrafanaError: 400 for anything else.
    """
    found = _RELATIVE.fullmatch(as_text(text))
    if found is not None:
        count, unit = found["count"] or "0", found["unit"] or "s"
        return int(time.time() * 1000) - int(count) * _UNIT_MS[unit]
    if not as_text(text).isdigit():
        raise GrafanaError(400, f"invalid time range: {text!r}")
    return int(as_text(text))
