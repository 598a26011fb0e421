"""Describing what a resource provider accepts: a small vocabulary, and its checks.

A description is a tree of :class:`Field`. ``required``, ``create_only`` and ``read_only`` mean what
they mean in Azure's API specifications; read-only values in a request are ignored, as ARM does. A
property that the tree does not have is refused, and so is one that the API version of the request
does not have yet: ``since`` names the first of the served versions with it, and :func:`as_of` takes
it out of the answers to the others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.values import JsonObject, as_list, as_object, clone, is_list, is_object


@dataclass(frozen=True)
class Field:
    """One property."""

    kind: str
    """text, number, integer, flag, list, map, object, anything."""
    required: bool = False
    create_only: bool = False
    read_only: bool = False
    default: object = None
    values: tuple[str, ...] = ()
    """Allowed texts, compared without case and stored as written here."""
    pattern: str = ""
    fields: Mapping[str, "Field"] = field(default_factory=dict[str, "Field"])
    item: "Field | None" = None
    blank: bool = False
    """Whether the empty text is taken for no text at all, i.e. for the default."""
    since: str = ""
    """The first API version that has it; empty: all that are served."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a value."""

    path: str
    message: str
    kind: str
    """``missing``, ``unknown``, ``type`` or ``value``."""


def text(
    *values: str,
    pattern: str = "",
    required: bool = False,
    create_only: bool = False,
    default: str | None = None,
    blank: bool = False,
    since: str = "",
) -> Field:
    """A string, one of ``values`` if there are any, matching ``pattern`` whole if there is one."""
    return Field(
        "text",
        required,
        create_only,
        False,
        default,
        values,
        pattern,
        blank=blank,
        since=since,
    )


def integer(*, required: bool = False, create_only: bool = False, default: object = None) -> Field:
    """A whole number."""
    return Field("integer", required, create_only, False, default)


def number(*, default: object = None) -> Field:
    """A number."""
    return Field("number", default=default)


def flag(*, default: object = None, create_only: bool = False, since: str = "") -> Field:
    """A boolean."""
    return Field("flag", create_only=create_only, default=default, since=since)


def items(item: Field, *, required: bool = False, create_only: bool = False) -> Field:
    """An array."""
    return Field("list", required, create_only, item=item)


def texts() -> Field:
    """An array of strings."""
    return items(text())


def mapping(item: Field | None = None) -> Field:
    """An object with free keys; strings unless ``item`` says otherwise."""
    return Field("map", item=item or text())


def record(
    fields: Mapping[str, Field],
    *,
    required: bool = False,
    create_only: bool = False,
    since: str = "",
) -> Field:
    """An object with these properties only."""
    return Field("object", required, create_only, fields=fields, since=since)


def anything(*, create_only: bool = False, since: str = "") -> Field:
    """A value that is accepted and kept; the simulator does not look into it."""
    return Field("anything", create_only=create_only, since=since)


def computed(*names: str) -> dict[str, Field]:
    """Read-only properties: what a request says of them is ignored."""
    return {name: Field("anything", read_only=True) for name in names}


TAGS = mapping()


def envelope(properties: Field, **more: Field) -> Field:
    """A tracked resource: location (required, create-only), tags, properties."""
    return record(
        {
            "location": text(required=True, create_only=True),
            "tags": TAGS,
            "properties": properties,
            **more,
            **ENVELOPE,
        }
    )


ENVELOPE = computed("id", "name", "type", "etag", "systemData")
"""What every resource has and nobody sets."""


def problems(rule: Field, value: object, version: str = "", path: str = "") -> list[Problem]:
    """What is wrong with ``value`` in a request of this API version (empty: of the newest)."""
    where = path or "the request"
    if rule.read_only:
        return []
    if value is None:
        return [_missing(path)] if rule.required else []
    match rule.kind:
        case "text":
            return _text_problems(rule, value, path)
        case "integer" if isinstance(value, bool) or not isinstance(value, int):
            return [_mistyped(path, value, "an integer")]
        case "number" if isinstance(value, bool) or not isinstance(value, (int, float)):
            return [_mistyped(path, value, "a number")]
        case "flag" if not isinstance(value, bool):
            return [_mistyped(path, value, "a boolean")]
        case "list":
            if not is_list(value):
                return [Problem(path, f"The value of {where} is not an array.", "type")]
            found: list[Problem] = []
            for index, item in enumerate(value):
                found += problems(rule.item or anything(), item, version, f"{path}[{index}]")
            return found
        case "map" | "object":
            return _object_problems(rule, value, version, path)
        case _:
            return []


def unknown(rule: Field, value: object, version: str) -> list[Problem]:
    """The members of ``value`` that API version ``version`` does not have."""
    return [item for item in problems(rule, value, version) if item.kind == "unknown"]


def _missing(path: str) -> Problem:
    where = path or "the request"
    return Problem(path, f"Required parameter {where} is missing (null).", "missing")


def _mistyped(path: str, value: object, wanted: str) -> Problem:
    return Problem(path, f"The value of {path} is not {wanted}: {value!r}.", "type")


def _text_problems(rule: Field, value: object, path: str) -> list[Problem]:
    if not isinstance(value, str):
        return [_mistyped(path, value, "a string")]
    if rule.blank and not value:
        return []
    if rule.values and value.lower() not in [item.lower() for item in rule.values]:
        allowed = ", ".join(rule.values)
        return [Problem(path, f"The value '{value}' of {path} is not one of {allowed}.", "value")]
    if rule.pattern and not re.fullmatch(rule.pattern, value):
        message = f"The value '{value}' of {path} does not match the pattern {rule.pattern}."
        return [Problem(path, message, "value")]
    return []


def _object_problems(rule: Field, value: object, version: str, path: str) -> list[Problem]:
    if not is_object(value):
        where = path or "the request"
        return [Problem(path, f"The value of {where} is not an object.", "type")]
    prefix = f"{path}." if path else ""
    found: list[Problem] = []
    if rule.kind == "map":
        for key, item in value.items():
            found += problems(rule.item or anything(), item, version, f"{prefix}{key}")
        return found
    for key in value:
        if key not in rule.fields or _too_new(rule.fields[key], version):
            message = f"Could not find member '{prefix}{key}' on object of this type."
            found.append(Problem(f"{prefix}{key}", message, "unknown"))
    for key, below in rule.fields.items():
        if key in value:
            found += problems(below, value[key], version, f"{prefix}{key}")
        elif below.required:
            found.append(_missing(f"{prefix}{key}"))
    return found


def _too_new(rule: Field, version: str) -> bool:
    # Versions are dates, so they compare as texts.
    return bool(version) and rule.since > version


def as_of(rule: Field, value: object, version: str) -> object:
    """``value`` without the members that API version ``version`` does not have."""
    if rule.kind == "list" and rule.item is not None and is_list(value):
        return [as_of(rule.item, item, version) for item in value]
    if rule.kind != "object" or not is_object(value):
        return value
    return {
        key: as_of(rule.fields[key], item, version) if key in rule.fields else item
        for key, item in value.items()
        if key not in rule.fields or not _too_new(rule.fields[key], version)
    }


def accepted(rule: Field, value: object) -> object:
    """``value`` as the service stores it: nulls and read-only parts dropped, defaults added."""
    if rule.kind == "text" and rule.values and isinstance(value, str):
        return next(item for item in rule.values if item.lower() == value.lower())
    if rule.kind == "list" and rule.item is not None:
        return [accepted(rule.item, item) for item in as_list(value)]
    if rule.kind != "object":
        return clone(value)
    given = as_object(value)
    stored: JsonObject = {}
    for key, below in rule.fields.items():
        if below.read_only:
            continue
        if given.get(key) is not None and not (below.blank and given[key] == ""):
            stored[key] = accepted(below, given[key])
        elif below.default is not None:
            stored[key] = clone(below.default)
        elif below.kind == "object" and _has_default(below):
            stored[key] = accepted(below, {})
    return stored


def _has_default(rule: Field) -> bool:
    return any(
        below.default is not None or (below.kind == "object" and _has_default(below))
        for below in rule.fields.values()
    )


def keep_computed(rule: Field, old: JsonObject, new: JsonObject) -> None:
    """Carry the read-only values of ``old`` over to ``new``."""
    for key, below in rule.fields.items():
        if below.read_only:
            if key in old and key not in new:
                new[key] = old[key]
        elif below.kind == "object" and is_object(old.get(key)):
            if is_object(new.get(key)):
                keep_computed(below, as_object(old[key]), as_object(new[key]))
            else:
                kept: JsonObject = {}
                keep_computed(below, as_object(old[key]), kept)
                if kept:
                    new[key] = kept


def forbidden_changes(rule: Field, old: object, new: object, path: str = "") -> list[str]:
    """The paths of create-only properties that differ between two stored values."""
    if rule.create_only:
        return [] if _same(old, new) else [path]
    if rule.kind != "object":
        return []
    before, after = as_object(old), as_object(new)
    found: list[str] = []
    for key, below in rule.fields.items():
        if below.read_only or key not in after:
            continue
        below_path = f"{path}.{key}" if path else key
        found += forbidden_changes(below, before.get(key), after.get(key), below_path)
    return found


def _same(old: object, new: object) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        return _flat(old) == _flat(new)
    if is_list(old) and is_list(new):
        return len(old) == len(new) and all(map(_same, old, new))
    return old == new


def _flat(value: str) -> str:
    return value.lower() if value.startswith("/") else value.lower().replace(" ", "")
