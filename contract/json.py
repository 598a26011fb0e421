"""Reading JSON whose shape somebody else decides, without ``Any`` leaking out.

What Python's own reader takes beyond the standard is no JSON here: ``NaN`` and its like, and halves
of surrogate pairs, which no text that is passed on can hold (RFC 8259, 6 and 8.2). What is absent,
null or of another type reads as empty; who must know the difference asks for the value itself.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn, TypeGuard, cast

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_SURROGATE_BYTES = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What may be half of a pair; a whole one, escaped, also looks like this."""


def parse(text: str | bytes) -> object:
    """What ``text`` holds; None where it is not JSON, or nested too deeply to be read."""
    suspect = _SURROGATE.search(text) if isinstance(text, str) else _SURROGATE_BYTES.search(text)
    try:
        found = cast("object", json.loads(text, parse_constant=_refuse))
        if suspect:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether ``value`` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether ``value`` is a JSON list."""
    return isinstance(value, list)


def as_object(value: object) -> dict[str, object]:
    """``value`` itself where it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[object]:
    """``value`` itself where it is a JSON list, else an empty one."""
    return value if is_list(value) else []


def as_objects(value: object) -> list[dict[str, object]]:
    """The objects of the list ``value``; what else is in it is passed over."""
    return [one for one in as_list(value) if is_object(one)]


def as_text(value: object) -> str:
    """``value`` itself where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


_LARGEST = 2**63
"""Integers of services have 64 bits; a larger one is no float either."""


class Document:
    """A JSON object, read by path."""

    def __init__(self, value: object) -> None:
        self._fields: Mapping[str, object] = as_object(value)

    @classmethod
    def parse(cls, text: str | bytes) -> "Document":
        """The document in ``text``; an empty one where ``text`` is not a JSON object."""
        return cls(parse(text))

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
            here = as_object(here).get(key)
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
        """The whole number at ``path``, also from a decimal string; none that no service sends."""
        found = self.value(*path)
        if isinstance(found, bool):
            return None
        if isinstance(found, float):
            found = int(found) if math.isfinite(found) else None
        if isinstance(found, str):
            try:
                found = int(found)
            except ValueError:
                return None
        return found if isinstance(found, int) and abs(found) <= _LARGEST else None

    def child(self, *path: str) -> "Document":
        """The object at ``path``."""
        return Document(self.value(*path))

    def texts(self, *path: str) -> tuple[str, ...]:
        """The strings of the list at ``path``."""
        return tuple(entry for entry in as_list(self.value(*path)) if isinstance(entry, str))

    def children(self, *path: str) -> Iterator["Document"]:
        """The objects of the list at ``path``, without empty ones."""
        return (Document(one) for one in as_objects(self.value(*path)) if one)
