"""The protobuf wire format, as far as a profile and a request for one need it.

Values are unsigned: nothing that is encoded or read here is ever negative.
"""

from collections.abc import Iterable

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are not a protobuf message."""


def integer(number: int, value: int) -> bytes:
    """An integer field; nothing where it is zero."""
    return _varint(number << 3) + _varint(value) if value else b""


def message(number: int, payload: bytes) -> bytes:
    """A field that holds a message, a string or packed values."""
    return _varint(number << 3 | _LENGTH) + _varint(len(payload)) + payload


def packed(number: int, values: Iterable[int]) -> bytes:
    """A packed repeated integer field."""
    return message(number, b"".join(_varint(value) for value in values))


def read(encoded: bytes) -> dict[int, int | bytes]:
    """The fields of a message by number; of a repeated one the last.

    Raises:
        WireError: the bytes end early or hold an unknown wire type.
    """
    fields: dict[int, int | bytes] = {}
    position = 0
    while position < len(encoded):
        key, position = _read_varint(encoded, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            fields[number], position = _read_varint(encoded, position)
            continue
        if kind == _LENGTH:
            size, position = _read_varint(encoded, position)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise WireError(f"wire type {kind} is not known")
        if position + size > len(encoded):
            raise WireError("unexpected end of the message")
        fields[number] = encoded[position : position + size]
        position += size
    return fields


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _read_varint(encoded: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(encoded):
        byte = encoded[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
    raise WireError("unexpected end of the message")
