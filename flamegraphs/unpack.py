"""Unpacks gzip while it is read, so that packed and unpacked bytes are never held side by side."""

import zlib
from collections.abc import Iterable

from flamegraphs.budget import MAX_FILE
from flamegraphs.errors import NotAProfileError

GZIP = b"\x1f\x8b"
_PIECE = 2**20


def unpack(chunks: Iterable[bytes], limit: int = MAX_FILE) -> bytearray:
    """Join chunks of a file, unpacking gzip (of one or several members), up to ``limit`` bytes.

    Raises `NotAProfileError` where there is more, or where gzip data are damaged or cut short.
    """
    found = bytearray()
    packed: bool | None = None
    reader = _Members(found, limit)
    for chunk in chunks:
        if packed is None:
            packed = chunk.startswith(GZIP)
        if packed:
            reader.feed(chunk)
        else:
            found += chunk
            if len(found) > limit:
                raise NotAProfileError(f"It is larger than the {limit >> 20} MiB that are read.")
    if packed:
        reader.end()
    return found


class _Members:
    """The members of a gzip file, one after another."""

    def __init__(self, found: bytearray, limit: int) -> None:
        self._found = found
        self._limit = limit
        self._member = zlib.decompressobj(wbits=31)
        self._fresh = True
        """Nothing has been fed to this member."""
        self._first = True
        self._ended = False
        """Zeros follow: padding, as tapes have it."""

    def feed(self, chunk: bytes) -> None:
        """Unpack one chunk; a member may end and another begin anywhere in it."""
        while chunk:
            if self._ended or (self._fresh and not self._first and chunk[0] == 0):
                self._ended = True
            if self._ended or (self._fresh and chunk[0] != GZIP[0]):
                if not self._ended or chunk.strip(b"\0"):
                    raise NotAProfileError("Bytes that are not gzip follow its compressed part.")
                return
            self._fresh = False
            chunk = self._unpack(chunk)

    def _unpack(self, chunk: bytes) -> bytes:
        """Unpack what belongs to the member at hand; return what follows it."""
        while True:
            try:
                part = self._member.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise NotAProfileError(f"Its gzip data are damaged ({error}).") from error
            self._found += part
            if len(self._found) > self._limit:
                raise NotAProfileError(
                    f"It unpacks to more than the {self._limit >> 20} MiB that are read."
                )
            if self._member.eof:
                rest = self._member.unused_data
                self._member = zlib.decompressobj(wbits=31)
                self._fresh, self._first = True, False
                return rest
            chunk = self._member.unconsumed_tail
            # A full piece may leave something to write although nothing is left to read.
            if not chunk and len(part) < _PIECE:
                return b""

    def end(self) -> None:
        """Raise `NotAProfileError` where the last member has not ended."""
        if not self._fresh:
            raise NotAProfileError("It is cut short: the gzip data end before their end mark.")
