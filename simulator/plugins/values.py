"""Property values as the engine sends them, as plain Python and back.

Objects are ``dict``, lists ``list``; whole numbers are ``int``, since the wire knows only floats
and ARM refuses ``1.0`` where it wants ``1``. A value not known before an update is
:data:`UNKNOWN`; a secret is :class:`Secret` where the caller wants to keep it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import cast

from google.protobuf import json_format, struct_pb2

Object = dict[str, object]

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a marker of the protocol
_UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class Unknown(Enum):
    """The type of :data:`UNKNOWN`, which has no other value."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
"""Stands for a value that only the update will know; a preview may hold it at any depth."""


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in state and hides in what it prints."""

    value: object


def as_object(value: object) -> Object:
    """``value`` if it is an object, otherwise an empty one."""
    return cast(Object, value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """``value`` if it is a list, otherwise an empty one."""
    return cast(list[object], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """``value`` if it is text, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def decode(struct: struct_pb2.Struct, *, keep_secrets: bool = False) -> Object:
    """The properties in ``struct``; nulls are left out as the published plugins do."""
    raw = cast(Object, json_format.MessageToDict(struct))
    return {
        key: _from_wire(item, keep_secrets=keep_secrets)
        for key, item in raw.items()
        if item is not None
    }


def _from_wire(value: object, *, keep_secrets: bool) -> object:
    if value == _UNKNOWN_TEXT:
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_from_wire(item, keep_secrets=keep_secrets) for item in cast(list[object], value)]
    if isinstance(value, dict):
        fields = cast(Object, value)
        if fields.get(_SIGNATURE) == _SECRET:
            inner = _from_wire(fields.get("value"), keep_secrets=keep_secrets)
            return Secret(inner) if keep_secrets else inner
        return {
            key: _from_wire(item, keep_secrets=keep_secrets)
            for key, item in fields.items()
            if item is not None
        }
    return value


def encode(properties: Mapping[str, object]) -> struct_pb2.Struct:
    """``properties`` as the engine expects them."""
    struct = struct_pb2.Struct()
    struct.update({key: _to_wire(item) for key, item in properties.items() if item is not None})
    return struct


def _to_wire(value: object) -> object:
    if isinstance(value, Unknown):
        return _UNKNOWN_TEXT
    if isinstance(value, Secret):
        return {_SIGNATURE: _SECRET, "value": _to_wire(value.value)}
    if isinstance(value, list | tuple):
        return [_to_wire(item) for item in cast(list[object], value)]
    if isinstance(value, dict):
        fields = cast(Object, value)
        return {key: _to_wire(item) for key, item in fields.items() if item is not None}
    return value


def has_unknowns(value: object) -> bool:
    """Whether ``value`` or anything in it is known only after an update."""
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Secret):
        return has_unknowns(value.value)
    if isinstance(value, dict):
        return any(has_unknowns(item) for item in cast(Object, value).values())
    if isinstance(value, list):
        return any(has_unknowns(item) for item in cast(list[object], value))
    return False


def has_secrets(value: object) -> bool:
    """Whether ``value`` or anything in it is secret."""
    if isinstance(value, Secret):
        return True
    if isinstance(value, dict):
        return any(has_secrets(item) for item in cast(Object, value).values())
    if isinstance(value, list):
        return any(has_secrets(item) for item in cast(list[object], value))
    return False


def plain(value: object) -> object:
    """``value`` with every secret replaced by what it holds."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in cast(Object, value).items()}
    if isinstance(value, list):
        return [plain(item) for item in cast(list[object], value)]
    return value
