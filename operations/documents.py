"""Reading JSON documents whose shape a service decides, without ``Any`` leaking out."""

import json
from collections.abc import Iterator, Mapping
from typing import cast


class Document:
    """A JSON object, read by path; what is absent, null or of another type reads as empty."""

    def __init__(self, value: object) -> None:
        self._fields: Mapping[str, object] = _fields(value)

    @classmethod
    def parse(cls, text: str | bytes) -> "Document":
        """The document in ``text``; an empty one where ``text`` is not a JSON object."""
        try:
            return cls(json.loads(text))
        except ValueError:
            return cls({})

    def __bool__(self) -> bool:
        return bool(self._fields)

    @property
    def fields(self) -> Mapping[str, object]:
        """The object itself."""
        return self._fields

    def value(self, *path: str) -> object:
        """What is at ``path``; None where the path ends before."""
        here: object = self._fields
        for key in path:
            here = _fields(here).get(key)
        return here

    def text(self, *path: str) -> str:
        """The string at ``path``; numbers are written out."""
        found = self.value(*path)
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            return ""
        return str(found)

    def flag(self, *path: str) -> bool:
        """Whether ``path`` holds true."""
        return self.value(*path) is True

    def integer(self, *path: str) -> int | None:
        """The whole number at ``path``, also from a decimal string."""
        found = self.value(*path)
        if isinstance(found, bool):
            return None
        if isinstance(found, float):
            return int(found)
        if isinstance(found, int):
            return found
        if isinstance(found, str):
            try:
                return int(found)
            except ValueError:
                return None
        return None

    def child(self, *path: str) -> "Document":
        """The object at ``path``."""
        return Document(self.value(*path))

    def texts(self, *path: str) -> tuple[str, ...]:
        """The strings of the list at ``path``."""
        return tuple(entry for entry in entries(self.value(*path)) if isinstance(entry, str))

    def children(self, *path: str) -> Iterator["Document"]:
        """The objects of the list at ``path``."""
        return (Document(one) for one in entries(self.value(*path)) if _fields(one))


def entries(value: object) -> list[object]:
    """The entries of a JSON list; none where ``value`` is no list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
