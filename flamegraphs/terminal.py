"""The one way that text takes to a terminal, and with it whatever a file or a server calls things.

Names, units, labels, file names and a server's own words may hold control characters, which move
the cursor or change colours, and marks that turn the direction of writing around. All of them are
shown as escapes. A line is escaped as a whole, so a name cannot begin another line either.
"""

import contextlib
import os
import sys
from collections.abc import Iterable

from flamegraphs.errors import FlameGraphError

_LONGEST = 4_000
"""Characters of one line; a name can have millions."""


def shown(line: str) -> str:
    """Return one line with everything that a terminal does not simply print as an escape."""
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}... ({len(line) - _LONGEST:,} more characters)"
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def text(lines: Iterable[str]) -> str:
    """Join lines, each of them as it is `shown`."""
    return "".join(shown(line) + "\n" for line in lines)


def write(content: str) -> None:
    """Write a report to standard output.

    What the terminal's encoding lacks becomes an escape, too. Raises as `write_bytes` does.
    """
    encoding = (sys.stdout and sys.stdout.encoding) or "utf-8"
    write_bytes([content.encode(encoding, "backslashreplace")])


def write_bytes(parts: Iterable[bytes]) -> None:
    """Write bytes to standard output; raises `FlameGraphError` where it does not take them.

    A reader that has seen enough (`head`, a pager) is no error: BrokenPipeError is passed on.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by the caller
        raise FlameGraphError("standard output: cannot be written: it is closed.")
    try:
        sys.stdout.flush()
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise not_written(error) from error


def not_written(error: OSError) -> FlameGraphError:
    """Give up standard output, which did not take something, and say why."""
    silence_output()
    return FlameGraphError(f"standard output: cannot be written: {error.strerror or error}.")


def complain(message: str) -> None:
    """Write one line to standard error, if there is one that takes it."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(shown(message) + "\n")
        sys.stderr.flush()


def silence_output() -> None:
    """Send what is still held back to nowhere, so that the end of the process does not fail."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
