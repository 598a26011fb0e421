"""Standard streams in UTF-8, whatever the locale of the machine: JSON is, and so are messages."""

import sys
from io import TextIOWrapper


def use_utf8() -> None:
    """Read and write UTF-8; what standard error cannot take is written as an escape."""
    for stream, errors in (
        (sys.stdin, "strict"),
        (sys.stdout, "strict"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
