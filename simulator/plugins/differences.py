"""The difference between two sets of inputs, property by property."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simulator.plugins.properties import Secret, Unknown, is_list
from simulator.plugins.provider import Kind
from simulator.values import as_object, is_object

Replaces = Callable[[str], bool]
"""Whether a change at this path, indices written ``[]``, needs a replacement."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in the inputs a value is."""

    path: str = ""
    pattern: str = ""
    """The path with its indices written ``[]``."""
    objects: tuple[str, ...] = ()
    """Patterns of the objects around it, outermost first; the inputs themselves left out."""
    arrays: tuple[str, ...] = ()
    """Patterns of the arrays around it."""

    @property
    def is_item(self) -> bool:
        """Whether it is an item of an array."""
        return self.pattern.endswith("[]")

    def key(self, name: str) -> "Place":
        """Where the value of a key of the object here is."""
        inside = bool(self.pattern)
        return Place(
            path=child(self.path, name),
            pattern=f"{self.pattern}.{name}" if inside else name,
            objects=(*self.objects, self.pattern) if inside else self.objects,
            arrays=self.arrays,
        )

    def item(self, index: int) -> "Place":
        """Where an item of the array here is."""
        return Place(
            path=f"{self.path}[{index}]",
            pattern=f"{self.pattern}[]",
            objects=self.objects,
            arrays=(*self.arrays, self.pattern),
        )


IsReplaced = Callable[[Place, Kind], bool]
"""Whether a value that comes, goes or changes (``ADD``, ``DELETE``, ``UPDATE``) needs a
replacement: a provider's own rule."""

_REPLACING = {
    Kind.ADD: Kind.ADD_REPLACE,
    Kind.DELETE: Kind.DELETE_REPLACE,
    Kind.UPDATE: Kind.UPDATE_REPLACE,
}


def compare(old: object, new: object, replaces: Replaces) -> dict[str, Kind]:
    """Every property path at which ``new`` differs from ``old``.

    An unknown value counts as changed, since it may. A path inside a replaced property replaces.
    """
    return compare_by(
        old,
        new,
        lambda place, _: any(map(replaces, (*place.objects, *place.arrays, place.pattern))),
    )


def compare_by(old: object, new: object, is_replaced: IsReplaced) -> dict[str, Kind]:
    """The same by another rule of what needs a replacement."""
    return {
        place.path: _REPLACING[kind] if is_replaced(place, kind) else kind
        for place, kind in _in_objects(as_object(old), as_object(new), Place())
    }


_Changes = Iterator[tuple[Place, Kind]]


def _in_objects(old: dict[str, object], new: dict[str, object], place: Place) -> _Changes:
    for key in sorted(old.keys() | new.keys()):
        here = place.key(key)
        if key not in old:
            yield here, Kind.ADD
        elif key not in new:
            yield here, Kind.DELETE
        else:
            yield from _in_values(old[key], new[key], here)


def _in_values(old: object, new: object, place: Place) -> _Changes:
    if isinstance(old, Secret):
        old = old.value
    if isinstance(new, Secret):
        new = new.value
    if is_object(old) and is_object(new):
        yield from _in_objects(as_object(old), as_object(new), place)
    elif is_list(old) and is_list(new):
        yield from _in_lists(old, new, place)
    elif isinstance(new, Unknown) or old != new:
        yield place, Kind.UPDATE


def _in_lists(old: list[object], new: list[object], place: Place) -> _Changes:
    for index in range(max(len(old), len(new))):
        here = place.item(index)
        if index >= len(old):
            yield here, Kind.ADD
        elif index >= len(new):
            yield here, Kind.DELETE
        else:
            yield from _in_values(old[index], new[index], here)


def child(path: str, key: str) -> str:
    """The path of a key of the object at ``path``."""
    if not key.replace("_", "").replace("-", "").isalnum():
        # The engine's own notation for keys that hold dots or slashes.
        return f'{path}["{key}"]' if path else f'["{key}"]'
    return f"{path}.{key}" if path else key
