"""What two states of one simulated Azure differ in, but for what every life of a thing has anew."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from simulator.values import is_list, is_object

VOLATILE: Final = frozenset(
    {
        "calls",
        # Of a pod's template, with the time of a restart in it; the template is compared itself.
        "controller-revision-hash",
        "createdAt",
        "createdBy",
        "createdOn",
        "created",
        "etag",
        "generation",
        "iteration",
        "lastModifiedAt",
        "lastModifiedBy",
        "linkIdentifier",
        # A record of Helm's: packed, with times in it. What it says is among the releases, too.
        "release",
        "resourceVersion",
        "updated",
        "updatedOn",
        "version",
    }
)
"""Members that a second making of the same thing has otherwise."""
_REPLACED: Final = (
    (re.compile(r"\b[0-9a-f]{12}-[0-9a-f]{8}\b"), "REVISION"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I), "GUID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"), "DATE"),
    (re.compile(r"(?<![\w.])10\.\d+\.\d+\.\d+(?!\d)"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{24,64}\b"), "DIGEST"),
)
_IN_VALUES: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{4,12}(?![0-9a-f])")
"""Short digests and random endings, in host names and annotations."""
_SEEDED: Final = ("11111111-1111", "22222222-2222", "72f988bf-0000")


def normal(value: object) -> object:
    """The value as it is in every life."""
    if is_object(value):
        return {
            _text(key): "..." if key in VOLATILE or _is_number(key, one) else normal(one)
            for key, one in value.items()
            if key != "calls"
        }
    if is_list(value):
        return [normal(one) for one in value if not _is_record(one)]
    if not isinstance(value, str):
        return value
    if value.startswith("{"):  # a document, whose members have no order
        with suppress(ValueError):
            return normal(json.loads(value))
    return _IN_VALUES.sub("HEX", _text(value))


def _is_record(value: object) -> bool:
    """A record of Helm's: one more after each attempt. The releases themselves are compared."""
    return is_object(value) and value.get("type") == "helm.sh/release.v1"


def _is_number(key: str, value: object) -> bool:
    return key == "id" and isinstance(value, int)


def _text(text: str) -> str:
    for pattern, word in _REPLACED:
        text = pattern.sub(
            lambda found, word=word: found[0] if found[0].startswith(_SEEDED) else word, text
        )
    return text


def differences(before: object, after: object, most: int = 8) -> list[str]:
    """Where two normal values differ, as sentences; at most so many."""
    found: list[str] = []
    for one in _differ(before, after, ""):
        found.append(one)
        if len(found) == most:
            return [*found[:-1], "and more"]
    return found


def _differ(before: object, after: object, path: str) -> Iterator[str]:
    if is_object(before) and is_object(after):
        for key in sorted({*before, *after}):
            if key not in before:
                yield f"{path}/{key} is there"
            elif key not in after:
                yield f"{path}/{key} is missing"
            else:
                yield from _differ(before[key], after[key], f"{path}/{key}")
    elif is_list(before) and is_list(after) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differ(one, other, f"{path}[{number}]")
    elif before != after:
        yield f"{path} is {_short(after)}, not {_short(before)}"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) < 80 else f"{text[:77]}..."
