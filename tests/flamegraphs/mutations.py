"""Ways to change a profile's bytes: damage that any file can have, and growth that costs a reader.

Growth keeps what it can of the format: a field of protobuf that is repeated gets its messages'
lengths written anew, and an item of JSON stays one, so that a reader follows a file to its end.
"""

import contextlib
import gzip
import json
import random
from typing import cast

from flamegraphs.errors import NotAProfileError
from flamegraphs.unpack import GZIP, unpack
from tests.flamegraphs.generated import field

MOST = 100_000
"""Bytes of an input."""
_LARGEST = 2**26
"""Bytes of an input before gzip; `hostile` has larger ones."""
_INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x80",
    b"\x7f",
    b"\x0a",
    b"\x12",
    b"\xff" * 10,
    b"-1",
    b"9" * 25,
)


def damaged(data: bytes, chosen: random.Random) -> bytes:
    """Change a few places: flip, overwrite, insert, remove, repeat or cut."""
    changed = bytearray(data)
    for _ in range(chosen.randint(1, 4)):
        at = chosen.randrange(len(changed) + 1) if changed else 0
        length = chosen.choice((1, 1, 2, 8, 64))
        match chosen.randrange(6):
            case 0:
                if at < len(changed):
                    changed[at] ^= 1 << chosen.randrange(8)
            case 1:
                changed[at : at + 1] = chosen.choice(_INTERESTING)
            case 2:
                changed[at:at] = chosen.randbytes(length)
            case 3:
                del changed[at : at + length]
            case 4:
                changed[at:at] = changed[at : at + length] * chosen.choice((1, 2, 50))
            case _:
                del changed[at:]
    return bytes(changed[:MOST])


def grown(data: bytes, chosen: random.Random) -> bytes:
    """Repeat a piece, a field or an item many times."""
    ways = [_piece]
    if data[:1] in (b"{", b"["):
        ways.append(_json)
    elif data[:1] in (b"\x0a", b"\x12"):
        ways += [_field, _field, _field]
    return chosen.choice(ways)(data, chosen)


def packed(data: bytes) -> bytes:
    """The same, in gzip where it is too large."""
    return data if len(data) <= MOST else gzip.compress(data, 6, mtime=0)


def unpacked(data: bytes) -> bytes:
    """The same without gzip, if it can be unpacked."""
    if data.startswith(GZIP):
        with contextlib.suppress(NotAProfileError):
            return bytes(unpack([data], _LARGEST))
    return data


def _times(chosen: random.Random, length: int, room: int) -> int:
    return max(0, min(2 ** chosen.randint(4, 25), room // max(length, 1)))


def _piece(data: bytes, chosen: random.Random) -> bytes:
    at, length = chosen.randrange(len(data) + 1), chosen.choice((1, 2, 3, 4, 8, 32, 128, 2**12))
    piece = data[at : at + length]
    return data[:at] + piece * _times(chosen, len(piece), _LARGEST - len(data)) + data[at:]


# ---- protobuf ----

_Field = tuple[int, int | bytes]


def _fields(message: bytes) -> list[_Field] | None:
    """The fields of a message with their numbers, or None where it is none."""
    found: list[_Field] = []
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        value, at = _number(message, at)
        if tag >> 3 == 0 or tag & 7 not in (0, 2):
            return None
        if tag & 7 == 2:
            if at + value > len(message):
                return None
            found.append((tag >> 3, message[at : at + value]))
            at += value
        else:
            found.append((tag >> 3, value))
        if len(found) > 1_000:  # grown already: it costs more to take apart than to read
            return None
    return found


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    return 0, len(message) + 1


def _field(data: bytes, chosen: random.Random) -> bytes:
    """Repeat or change a field of a message, or of one within, however deep."""
    found = _fields(data)
    if not found:
        return _piece(data, chosen)
    at = chosen.randrange(len(found))
    number, value = found[at]
    if isinstance(value, bytes) and value and chosen.random() < 0.7:
        found[at] = number, _field(value, chosen)
    elif chosen.random() < 0.2:
        found[at] = number, chosen.choice((0, 1, 2**31, 2**63 - 1, b"", b"\x01" * 2**16))
    else:
        once = field(number, value)
        repeated = once * _times(chosen, len(once), _LARGEST - len(data))
        return b"".join(field(*one) for one in found[:at]) + repeated + _rest(found[at:])
    return _rest(found)


def _rest(found: list[_Field]) -> bytes:
    return b"".join(field(*one) for one in found)


# ---- JSON ----


def _json(data: bytes, chosen: random.Random) -> bytes:
    """Repeat an item of a list, or a text, or put lists around a value."""
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        return _piece(data, chosen)
    # A mark that is found again in the text: copies of objects would cost as much as reading them.
    holder: list[object] | dict[str, object] = [document]
    key: int | str = 0
    while True:
        value = cast("dict[int | str, object]", holder)[key]
        keys: list[int | str] = []
        if isinstance(value, dict):
            keys = list(cast("dict[int | str, object]", value))
        elif isinstance(value, list):
            keys = list(range(len(cast("list[object]", value))))
        if not keys or (holder != [document] and chosen.random() < 0.25):
            break
        holder, key = cast("dict[str, object]", value), chosen.choice(keys)
    mark = "\x01here\x01"
    cast("dict[int | str, object]", holder)[key] = mark
    around = json.dumps(document if holder != [document] else mark, separators=(",", ":")).encode()
    once = json.dumps(value, separators=(",", ":")).encode()
    count = _times(chosen, len(once) + 1, _LARGEST - len(data))
    if isinstance(holder, list) and chosen.random() < 0.7:
        new = b",".join([once] * max(count, 1))
    elif isinstance(value, str):
        new = b'"' + once[1:-1] * count + b'"'
    else:
        new = b"[" * min(count, 100_000) + once + b"]" * min(count, 100_000)
    return around.replace(json.dumps(mark).encode(), new)
