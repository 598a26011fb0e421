"""Values as Grafana's panels write them, as far as this dashboard's units go."""

from datetime import UTC, datetime
from typing import Final

_PREFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti")


def text(value: object, unit: str) -> str:
    """A value in a unit of Grafana's."""
    if value is None:
        return ""
    if unit == "string" or isinstance(value, str):
        return str(value)
    number = float(str(value))
    if unit in ("bytes", "binBps"):
        return _binary(number) + ("/s" if unit == "binBps" else "")
    if unit == "percent":
        return f"{number:.1f}%"
    if unit == "dateTimeAsIso":
        return datetime.fromtimestamp(number / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{number:g}"


def _binary(number: float) -> str:
    power = 0
    while abs(number) >= 1024 and power < len(_PREFIXES) - 1:
        number /= 1024
        power += 1
    return f"{number:.3g} {_PREFIXES[power]}B"
