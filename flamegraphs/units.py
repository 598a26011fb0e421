"""How amounts are written for people: scaled, with their unit, three digits that matter."""

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SIZES = {
    unit.lower(): base**power
    for base, units in ((1000, _DECIMAL), (1024, _BINARY))
    for power, unit in enumerate(units)
}
_SCALES = {
    "nanoseconds": ("ns", "µs", "ms", "s"),
    "nanogcu": ("n*GCU", "u*GCU", "m*GCU", "GCU", "k*GCU", "M*GCU", "G*GCU"),
}
"""Units by a thousand, up from the one that figures are kept in, as pprof writes them."""
_FAMILIES: tuple[tuple[str, dict[int, tuple[str, ...]]], ...] = (
    (
        "bytes",
        {
            1: ("b", "byte"),
            2**10: ("kb", "kbyte", "kilobyte", "kib", "kibibyte"),
            2**20: ("mb", "mbyte", "megabyte", "mib", "mebibyte"),
            2**30: ("gb", "gbyte", "gigabyte", "gib", "gibibyte"),
            2**40: ("tb", "tbyte", "terabyte", "tib", "tebibyte"),
            2**50: ("pb", "pbyte", "petabyte", "pib", "pebibyte"),
        },
    ),
    (
        "nanoseconds",
        {
            1: ("ns", "nanosecond"),
            10**3: ("\u03bcs", "\u00b5s", "us", "microsecond"),
            10**6: ("ms", "millisecond"),
            10**9: ("s", "sec", "second"),
            3600 * 10**9: ("hr", "hour"),
        },
    ),
    (  # Google's compute units; those beyond giga would leave 64 bits, and stay as they are
        "nanogcu",
        {
            1000**power: (f"{prefix}gcu",)
            for power, prefix in enumerate(("nano", "micro", "milli", "", "kilo", "mega", "giga"))
        },
    ),
)
_KNOWN = {
    alias: (unit, factor)
    for unit, sizes in _FAMILIES
    for factor, aliases in sizes.items()
    for alias in aliases
}


def canonical(unit: str) -> tuple[str, int]:
    """Return the unit that figures are kept in, and how many of it ``unit`` is.

    Names and sizes are pprof's own (its internal/measurement): kilobytes are 1024 bytes there, and
    a plural is the singular. A unit that is not known is its own.

    >>> canonical("kilobytes")
    ('bytes', 1024)
    """
    name = unit.strip().lower()
    if len(name) > 2:
        name = name.removesuffix("s")
    return _KNOWN.get(name, (unit.strip(), 1))


def amount(value: int, unit: str, *, binary: bool = False) -> str:
    """Write a value: ``55.1 GB``, or ``51.3 GiB`` with ``binary``; other units as they are.

    >>> amount(55_100_000_000, "bytes")
    '55.1 GB'
    """
    if value < 0:
        return "-" + amount(-value, unit, binary=binary)
    if unit == "bytes":
        base, units = (1024, _BINARY) if binary else (1000, _DECIMAL)
    elif unit in _SCALES:
        base, units = 1000, _SCALES[unit]
    else:
        return f"{value:,} {unit}".rstrip()
    power = 0
    # 999.5 would be written as 1000.
    while power + 1 < len(units) and value >= 0.9995 * base ** (power + 1):
        power += 1
    return f"{_digits(value / base**power, whole=power == 0)} {units[power]}"


def size(text: str) -> int:
    """Read ``512MiB``, ``80 GB`` or ``1048576`` as bytes; raises ValueError for anything else."""
    text = text.strip()
    number = text.rstrip("bBkKmMgGtTpPeEiI ")
    unit = text[len(number) :].strip().lower() or "b"
    if unit not in _SIZES or not number.replace(".", "", 1).isdecimal():
        raise ValueError(f"{text!r} is not a size; write it like 512MiB, 2GB or 1048576.")
    return int(float(number) * _SIZES[unit])


def unit_text(unit: str, *, binary: bool) -> str:
    """Explain the unit in a header."""
    if unit != "bytes":
        return unit or "not stated by the file"
    return "bytes; 1 GiB = 2^30 bytes" if binary else "bytes; 1 GB = 10^9 bytes"


def percent(fraction: float) -> str:
    """Write a share: ``92.4 %``."""
    return f"{100 * fraction:.1f} %"


def _digits(value: float, *, whole: bool) -> str:
    if whole or value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
