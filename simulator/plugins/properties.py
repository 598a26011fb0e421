"""Property values as the engine sends them, as plain Python and back.

Objects are ``dict``, lists ``list``; whole numbers are ``int``, since the wire knows only floats
and ARM refuses ``1.0`` where it wants ``1``. A value not known before an update is
:data:`UNKNOWN`; a secret is :class:`Secret` where the caller wants to keep it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeGuard, cast

from google.protobuf import json_format, struct_pb2

from simulator.values import JsonObject as Object
from simulator.values import is_object

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


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether ``value`` is a list."""
    return isinstance(value, list)


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
    if is_list(value):
        return [_from_wire(item, keep_secrets=keep_secrets) for item in value]
    if is_object(value):
        fields = value
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
    wire = {key: _to_wire(item) for key, item in properties.items() if item is not None}
    return json_format.ParseDict(wire, struct_pb2.Struct())


def _to_wire(value: object) -> object:
    if isinstance(value, Unknown):
        return _UNKNOWN_TEXT
    if isinstance(value, Secret):
        return {_SIGNATURE: _SECRET, "value": _to_wire(value.value)}
    if is_list(value):
        return [_to_wire(item) for item in value]
    if is_object(value):
        fields = value
        return {key: _to_wire(item) for key, item in fields.items() if item is not None}
    return value


def has_unknowns(value: object) -> bool:
    """Whether ``value`` or anything in it is known only after an update."""
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Secret):
        return has_unknowns(value.value)
    if is_object(value):
        return any(has_unknowns(item) for item in value.values())
    if is_list(value):
        return any(has_unknowns(item) for item in value)
    return False


def has_secrets(value: object) -> bool:
    """Whether ``value`` or anything in it is secret."""
    if isinstance(value, Secret):
        return True
    if is_object(value):
        return any(has_secrets(item) for item in value.values())
    if is_list(value):
        return any(has_secrets(item) for item in value)
    return False


def plain(value: object) -> object:
    """``value`` with every secret replaced by what it holds."""
    if isinstance(value, Secret):
        return plain(value.value)
    if is_object(value):
        return {key: plain(item) for key, item in value.items()}
    if is_list(value):
        return [plain(item) for item in value]
    return value
