"""The difference between two sets of inputs, property by property, as azure-native sees it.

What replaces is as in azure-native's diff.go: a changed value at a path that replaces, or anywhere
inside an object at such a path; a key that comes or goes only if its own path replaces; items of an
array never by their array's path, so an array that changes is sent in place.
"""

from simulator.plugins.differences import Replaces, child
from simulator.plugins.properties import Secret, Unknown, is_list
from simulator.plugins.provider import Kind
from simulator.values import as_object, is_object


def compare(old: object, new: object, replaces: Replaces) -> dict[str, Kind]:
    """Every property path at which ``new`` differs from ``old``.

    An unknown value counts as changed, since it may.
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
    if is_object(old) and is_object(new):
        inside: dict[str, Kind] = {}
        _compare_objects(as_object(old), as_object(new), path, pattern, replaces, inside)
        for here, kind in inside.items():
            changed = kind is Kind.UPDATE and replaces(pattern)
            found[here] = Kind.UPDATE_REPLACE if changed else kind
    elif is_list(old) and is_list(new):
        _compare_lists(old, new, path, pattern, replaces, found)
    elif isinstance(new, Unknown) or old != new:
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
        here = f"{path}[{index}]"
        if index >= len(old):
            found[here] = Kind.ADD
        elif index >= len(new):
            found[here] = Kind.DELETE
        else:
            _compare_values(old[index], new[index], here, f"{pattern}[]", replaces, found)
