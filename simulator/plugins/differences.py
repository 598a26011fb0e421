"""The difference between two sets of inputs, property by property."""

from collections.abc import Callable

from simulator.plugins.properties import Secret, Unknown, is_list
from simulator.plugins.provider import Kind
from simulator.values import as_object, is_object

Replaces = Callable[[str], bool]
"""Whether a change at this path, indices written ``[]``, needs a replacement."""


def compare(old: object, new: object, replaces: Replaces) -> dict[str, Kind]:
    """Every property path at which ``new`` differs from ``old``.

    An unknown value counts as changed, since it may. A path inside a replaced property replaces.
    """
    found: dict[str, Kind] = {}
    _compare_objects(as_object(old), as_object(new), "", "", replaces, found)
    return found


def _compare_objects(
    old: dict[str, object],
    new: dict[str, object],
    path: str,
    pattern: str,
    replaces: Replaces,
    found: dict[str, Kind],
) -> None:
    for key in sorted(old.keys() | new.keys()):
        here = child(path, key)
        there = f"{pattern}.{key}" if pattern else key
        if key not in old:
            found[here] = Kind.ADD_REPLACE if replaces(there) else Kind.ADD
        elif key not in new:
            found[here] = Kind.DELETE_REPLACE if replaces(there) else Kind.DELETE
        else:
            _compare_values(old[key], new[key], here, there, replaces, found)


def _compare_values(
    old: object, new: object, path: str, pattern: str, replaces: Replaces, found: dict[str, Kind]
) -> None:
    if isinstance(old, Secret):
        old = old.value
    if isinstance(new, Secret):
        new = new.value
    if isinstance(new, Unknown):
        found[path] = Kind.UPDATE_REPLACE if replaces(pattern) else Kind.UPDATE
    elif is_object(old) and is_object(new):
        inner = _always if replaces(pattern) else replaces
        _compare_objects(as_object(old), as_object(new), path, pattern, inner, found)
    elif is_list(old) and is_list(new):
        inner = _always if replaces(pattern) else replaces
        _compare_lists(old, new, path, pattern, inner, found)
    elif old != new:
        found[path] = Kind.UPDATE_REPLACE if replaces(pattern) else Kind.UPDATE


def _compare_lists(
    old: list[object],
    new: list[object],
    path: str,
    pattern: str,
    replaces: Replaces,
    found: dict[str, Kind],
) -> None:
    for index in range(max(len(old), len(new))):
        here, there = f"{path}[{index}]", f"{pattern}[]"
        if index >= len(old):
            found[here] = Kind.ADD_REPLACE if replaces(there) else Kind.ADD
        elif index >= len(new):
            found[here] = Kind.DELETE_REPLACE if replaces(there) else Kind.DELETE
        else:
            _compare_values(old[index], new[index], here, there, replaces, found)


def _always(_path: str) -> bool:
    return True


def child(path: str, key: str) -> str:
    """The path of a key of the object at ``path``."""
    if not key.replace("_", "").replace("-", "").isalnum():
        # The engine's own notation for keys that hold dots or slashes.
        return f'{path}["{key}"]' if path else f'["{key}"]'
    return f"{path}.{key}" if path else key
