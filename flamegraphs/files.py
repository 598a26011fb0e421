"""Reads a profile from a file, whatever of the known formats it is in.

The format is recognised by the content, never by the name. Every error names the file, also one
that shows up only when samples are decoded.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

from flamegraphs import sniff
from flamegraphs.budget import MAX_FILE, Budget
from flamegraphs.errors import FlameGraphError, NotAProfileError, UsageError
from flamegraphs.profile import Batch, IntArray, Profile, Stacks
from flamegraphs.sniff import Format
from flamegraphs.unpack import GZIP, unpack

STDIN = "-"
_CHUNK = 2**18
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_file(
    path: str,
    sample_type: str | None = None,
    unit: str | None = None,
    name: str | None = None,
    budget: Budget | None = None,
) -> Profile:
    """Read the file at ``path``, or standard input for ``-``.

    ``unit`` is taken where the file does not state its own; ``name`` is what messages call the
    file; ``budget`` is what it shares with another that is held at the same time.

    Raises `NotAProfileError`, naming the file, for whatever is wrong with it, and `UsageError`
    where it states another unit.
    """
    name = name or name_of(path)
    try:
        with _open(path) as file:
            profile = read(_chunks(file), _size(file), sample_type, unit, budget)
    except OSError as error:
        raise NotAProfileError(f"{name}: cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise NotAProfileError(f"{name}: does not fit into this machine's memory.") from error
    except NotAProfileError as error:
        raise NotAProfileError(f"{name}: not a profile that can be read. {error}") from error
    except FlameGraphError as error:
        raise type(error)(f"{name}: {error}") from error
    others = [_from(other, path, name) for other in profile.others]
    return replace(_from(profile, path, name), others=others)


def _from(profile: Profile, path: str, name: str) -> Profile:
    facts = {"source": name_of(path), **profile.facts}
    return replace(profile, facts=facts, stacks=_Named(profile.stacks, name))


def name_of(path: str) -> str:
    """What messages call the file at ``path``."""
    return "standard input" if path == STDIN else path


def read(
    chunks: Iterable[bytes],
    size: int | None,
    sample_type: str | None = None,
    unit: str | None = None,
    budget: Budget | None = None,
) -> Profile:
    """Read a profile in any known format from the pieces of a file of ``size`` bytes.

    ``size`` is None for a pipe: what has come through it counts. Raises `NotAProfileError`, and
    `UsageError` where it states another unit.
    """
    arrived = 0

    def counted() -> Iterator[bytes]:
        nonlocal arrived
        for chunk in chunks:
            arrived += len(chunk)
            yield chunk

    data = unpack(counted())
    budget = budget or Budget()
    budget.allow(arrived if size is None else size)
    return _read(data, sample_type, unit, budget)


def _read(data: bytearray, sample_type: str | None, unit: str | None, budget: Budget) -> Profile:
    if not data:
        raise NotAProfileError("It is empty.")
    _refuse_foreign(bytes(data[: sniff.HEAD]))
    budget.take("bytes", memory=len(data))
    data = _utf8(data, budget)
    head = bytes(data[: sniff.HEAD])
    if not head.strip():
        raise NotAProfileError("It holds nothing but white space.")
    profile = _parse(data, head, sample_type, budget)
    if unit is not None and not profile.unit:
        profile = profile.measured_in(unit)
    elif unit is not None and replace(profile, unit="").measured_in(unit).unit != profile.unit:
        raise UsageError(f"it says itself that it measures {profile.unit}, not {unit}.")
    return profile


def _parse(data: bytearray, head: bytes, sample_type: str | None, budget: Budget) -> Profile:
    # Imports are here because each format has its own needs, and most runs read one.
    match sniff.format_of(head):
        case Format.PPROF:
            from flamegraphs.formats import pprof

            return pprof.parse(data, sample_type, budget)
        case Format.OTLP:
            from flamegraphs.formats import otlp_protobuf

            return otlp_protobuf.read(data, sample_type, budget)
        case Format.PICKLE:
            from flamegraphs.formats import torch_snapshot

            return torch_snapshot.read(data, sample_type, budget)
        case Format.JSON:
            from flamegraphs.formats import documents

            return documents.read(data, sample_type, budget)
        case Format.MEMRAY_CSV:
            from flamegraphs.formats import memray

            return memray.read_csv(data, sample_type, budget)
        case Format.PERF_SCRIPT:
            from flamegraphs.formats import perf_script

            return perf_script.read(data, sample_type, budget)
        case Format.FOLDED:
            return _read_folded(data, head, sample_type, budget)
        case None:
            raise NotAProfileError(f"It is a binary file of an unknown format. {sniff.SUPPORTED}")


def _read_folded(data: bytearray, head: bytes, sample_type: str | None, budget: Budget) -> Profile:
    from flamegraphs.formats import folded

    try:
        profile = folded.read(data, budget)
    except NotAProfileError as error:
        if table := sniff.table_of(head):
            raise NotAProfileError(f"It seems to be {table}. {sniff.SUPPORTED}") from error
        raise
    if sample_type is not None:
        raise NotAProfileError(
            f"Folded stacks do not name what they measure; there is no {sample_type!r} to choose."
        )
    return profile


def _refuse_foreign(head: bytes) -> None:
    if what := sniff.foreign(head):
        raise NotAProfileError(f"It seems to be {what}. {sniff.SUPPORTED}")


def _utf8(data: bytearray, budget: Budget) -> bytearray:
    """Drop a byte-order mark; PowerShell's ``>`` writes UTF-16."""
    if data.startswith(_UTF8_MARK):
        del data[: len(_UTF8_MARK)]
    elif data.startswith(_UTF16_MARKS):
        budget.take("text", memory=4 * len(data))
        try:
            return bytearray(data.decode("utf-16").encode())
        except UnicodeError as error:
            raise NotAProfileError("It begins as UTF-16, but is not.") from error
    return data


# ---- opening ----


def _open(path: str) -> BinaryIO:
    if path == STDIN:
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed
            raise NotAProfileError("It is closed.")
        file = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    elif _URL.match(path):
        raise UsageError(
            "it is an address, not a file. Download it first; a server is asked with --pyroscope "
            "or --grafana."
        )
    else:
        # A FIFO that nobody writes to would hold us up for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        os.set_blocking(handle, True)
        file = os.fdopen(handle, "rb", buffering=0)
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty()):
        file.close()
        raise NotAProfileError("It is a device, not a file.")
    if os.fstat(file.fileno()).st_size > MAX_FILE:
        file.close()
        raise NotAProfileError(f"It is larger than the {MAX_FILE >> 20} MiB that are read.")
    return file


def _size(file: BinaryIO) -> int | None:
    """Bytes of the file as it is stored; holes of a sparse file are not, and a pipe stores none."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        return None
    return min(status.st_size, getattr(status, "st_blocks", 2**40) * 512 + 2**12)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in pieces, after a look at how it begins."""
    first = b""
    while len(first) < sniff.HEAD and (more := file.read(_CHUNK)):
        first += more
    if not first.startswith(GZIP) and first:
        _refuse_foreign(first[: sniff.HEAD])
    yield from chain([first], iter(lambda: file.read(_CHUNK), b""))


@dataclass(frozen=True)
class _Named:
    """Stacks whose errors name the file that they come from."""

    stacks: Stacks
    name: str

    def __len__(self) -> int:
        return len(self.stacks)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        try:
            yield from self.stacks.batches(samples)
        except NotAProfileError as error:
            raise NotAProfileError(
                f"{self.name}: not a profile that can be read. {error}"
            ) from error
