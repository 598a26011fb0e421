"""The difference between two sets of inputs, property by property, as azure-native sees it.

What replaces is as in azure-native's diff.go: a changed value at a path that replaces, or anywhere
inside an object at such a path; a key that comes or goes only if its own path replaces; items of an
array never by their array's path, so an array that changes is sent in place.
"""

from simulator.plugins.differences import Place, Replaces, compare_by
from simulator.plugins.provider import Kind


def compare(old: object, new: object, replaces: Replaces) -> dict[str, Kind]:
    """Every property path at which ``new`` differs from ``old``.

    An unknown value counts as changed, since it may.
    """

    def is_replaced(place: Place, kind: Kind) -> bool:
        if kind is Kind.UPDATE:
            return any(map(replaces, (*place.objects, place.pattern)))
        return not place.is_item and replaces(place.pattern)

    return compare_by(old, new, is_replaced)
