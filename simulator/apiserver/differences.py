"""Differences between two states of an object, as JSON merge patches (RFC 7396). Pure."""

from simulator.values import JsonObject, clone, is_object


def difference(before: JsonObject, after: JsonObject) -> JsonObject:
    """The merge patch that makes ``after`` from ``before``; empty if they are equal."""
    patch: JsonObject = {}
    for key in before.keys() - after.keys():
        patch[key] = None
    for key, value in after.items():
        old = before.get(key)
        if key not in before or old != value:
            if is_object(old) and is_object(value):
                patch[key] = difference(old, value)
            else:
                patch[key] = clone(value)
    return patch
