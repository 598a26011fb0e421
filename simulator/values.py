"""Reading and changing JSON values without losing their types.

JSON objects travel through the simulator as ``dict[str, object]``; these functions narrow what is
inside them. None of them raises for a value of another shape: they answer the empty one.
"""

from collections.abc import Mapping
from typing import TypeGuard

JsonObject = dict[str, object]


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether ``value`` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether ``value`` is a JSON array."""
    return isinstance(value, list)


def as_object(value: object) -> JsonObject:
    """``value`` if it is a JSON object (the same one, not a copy), else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[object]:
    """``value`` if it is a JSON array (the same one, not a copy), else an empty one."""
    return value if is_list(value) else []


def as_objects(value: object) -> list[JsonObject]:
    """The JSON objects in the array ``value``."""
    return [item for item in as_list(value) if is_object(item)]


def as_text(value: object, default: str = "") -> str:
    """``value`` if it is a string, else ``default``."""
    return value if isinstance(value, str) else default


def as_number(value: object, default: float = 0) -> float:
    """``value`` if it is a number, else ``default``; a boolean is no number."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def as_integer(value: object, default: int = 0) -> int:
    """``value`` as an integer if it is a number, else ``default``."""
    return int(as_number(value, default))


def dig(value: object, *path: str) -> object:
    """The value under ``path``, or None where a key is missing."""
    for key in path:
        value = as_object(value).get(key)
    return value


def bury(target: JsonObject, value: object, *path: str) -> None:
    """Set ``value`` under ``path``, making the objects on the way."""
    for key in path[:-1]:
        below = target.get(key)
        if not is_object(below):
            below = {}
            target[key] = below
        target = below
    target[path[-1]] = value


def clone(value: object) -> object:
    """A deep copy of a JSON value."""
    if is_object(value):
        return {key: clone(item) for key, item in value.items()}
    if is_list(value):
        return [clone(item) for item in value]
    return value


def clone_object(value: Mapping[str, object]) -> JsonObject:
    """A deep copy of a JSON object."""
    return {key: clone(item) for key, item in value.items()}


def merge_patch(target: object, patch: object) -> object:
    """``patch`` applied to ``target`` as a JSON merge patch (RFC 7396); neither is changed."""
    if not is_object(patch):
        return clone(patch)
    merged = clone_object(as_object(target))
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def texts(value: object) -> list[str]:
    """The strings in the array ``value``."""
    return [item for item in as_list(value) if isinstance(item, str)]


def text_map(value: object) -> dict[str, str]:
    """The string values of the object ``value``, by key."""
    return {key: item for key, item in as_object(value).items() if isinstance(item, str)}
