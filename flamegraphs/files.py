"""Reads a profile from a file, whatever of the known formats it is in.

The format is told from the content, never from the name: gzip and pprof are binary, Pyroscope's
flame graph is a JSON object, folded stacks are lines of text.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

from flamegraphs.errors import NotAProfileError, UsageError
from flamegraphs.limits import MAX_FILE
from flamegraphs.profile import Profile

STDIN = "-"
_GZIP = b"\x1f\x8b"
_TEXT_CONTROLS = b"\t\n\r\f"


def read_file(path: str, sample_type: str | None = None, unit: str | None = None) -> Profile:
    """Read the file at ``path``, or standard input for ``-``.

    ``unit`` is taken where the file does not state its own. Raises `NotAProfileError`, naming the
    file, for whatever is wrong with it, and `UsageError` where it states another unit.
    """
    name = "standard input" if path == STDIN else path
    try:
        # No name for the bytes here: once they are unpacked, the packed ones may go.
        profile = read_bytes(_bytes_of(path), sample_type)
    except OSError as error:
        raise NotAProfileError(f"{name}: cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise NotAProfileError(f"{name}: does not fit into this machine's memory.") from error
    except NotAProfileError as error:
        raise NotAProfileError(f"{name}: not a profile that can be read. {error}") from error
    if unit and profile.unit and unit != profile.unit:
        raise UsageError(f"{name}: it says itself that it measures {profile.unit}, not {unit}.")
    facts = {"source": name, **profile.facts}
    return replace(profile, unit=profile.unit or unit or "", facts=facts)


def read_bytes(data: bytes, sample_type: str | None = None) -> Profile:
    """Read a profile in any known format; raises `NotAProfileError`."""
    # Imports are here because each format has its own needs, and most runs read one.
    if data.startswith(_GZIP):
        from flamegraphs import pprof

        data = pprof.decompress(data)
    if not data:
        raise NotAProfileError("It is empty.")
    if _is_text(data[:4096]):
        if data.lstrip()[:1] == b"{":
            from flamegraphs import flamebearer

            return flamebearer.read(data)
        from flamegraphs import folded

        return folded.read(data)
    from flamegraphs import pprof

    return pprof.read(data, sample_type)


def _is_text(start: bytes) -> bool:
    """Tell text from pprof, whose first fields always hold small numbers."""
    return all(byte >= 32 or byte in _TEXT_CONTROLS for byte in start)


def _bytes_of(path: str) -> bytes:
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_FILE + 1)
    else:
        if os.path.isfile(path) and os.path.getsize(path) > MAX_FILE:
            raise NotAProfileError(f"It is larger than the {MAX_FILE >> 20} MiB that are read.")
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise NotAProfileError(f"It is larger than the {MAX_FILE >> 20} MiB that are read.")
    return data
