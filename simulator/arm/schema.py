"""Describing what a resource provider accepts: a small vocabulary, and its checks.

A description is a tree of :class:`Field`. ``required``, ``create_only`` and ``read_only`` mean what
they mean in Azure's API specifications; read-only values in a request are ignored, as ARM does. A
property that the tree does not have is refused.
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


def text(
    *values: str,
    pattern: str = "",
    required: bool = False,
    create_only: bool = False,
    default: str | None = None,
) -> Field:
    """A string, one of ``values`` if there are any, matching ``pattern`` whole if there is one."""
    return Field("text", required, create_only, False, default, values, pattern)


def integer(*, required: bool = False, create_only: bool = False, default: object = None) -> Field:
    """A whole number."""
    return Field("integer", required, create_only, False, default)


def number(*, default: object = None) -> Field:
    """A number."""
    return Field("number", default=default)


def flag(*, default: object = None, create_only: bool = False) -> Field:
    """A boolean."""
    return Field("flag", create_only=create_only, default=default)


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
    fields: Mapping[str, Field], *, required: bool = False, create_only: bool = False
) -> Field:
    """An object with these properties only."""
    return Field("object", required, create_only, fields=fields)


def anything() -> Field:
    """A value that the simulator does not look into."""
    return Field("anything")


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


def problems(rule: Field, value: object, path: str = "") -> list[str]:
    """Sentences on what is wrong with ``value``; none if it is acceptable."""
    where = path or "the request"
    if rule.read_only:
        return []
    if value is None:
        return [f"Required parameter {where} is missing (null)."] if rule.required else []
    match rule.kind:
        case "text":
            return _text_problems(rule, value, where)
        case "integer" if isinstance(value, bool) or not isinstance(value, int):
            return [f"The value of {where} is not an integer: {value!r}."]
        case "number" if isinstance(value, bool) or not isinstance(value, (int, float)):
            return [f"The value of {where} is not a number: {value!r}."]
        case "flag" if not isinstance(value, bool):
            return [f"The value of {where} is not a boolean: {value!r}."]
        case "list":
            if not is_list(value):
                return [f"The value of {where} is not an array."]
            found: list[str] = []
            for index, item in enumerate(value):
                found += problems(rule.item or anything(), item, f"{path}[{index}]")
            return found
        case "map" | "object":
            return _object_problems(rule, value, path, where)
        case _:
            return []


def _text_problems(rule: Field, value: object, where: str) -> list[str]:
    if not isinstance(value, str):
        return [f"The value of {where} is not a string: {value!r}."]
    if rule.values and value.lower() not in [item.lower() for item in rule.values]:
        return [f"The value '{value}' of {where} is not one of {', '.join(rule.values)}."]
    if rule.pattern and not re.fullmatch(rule.pattern, value):
        return [f"The value '{value}' of {where} does not match the pattern {rule.pattern}."]
    return []


def _object_problems(rule: Field, value: object, path: str, where: str) -> list[str]:
    if not is_object(value):
        return [f"The value of {where} is not an object."]
    prefix = f"{path}." if path else ""
    found: list[str] = []
    if rule.kind == "map":
        for key, item in value.items():
            found += problems(rule.item or anything(), item, f"{prefix}{key}")
        return found
    for key in value:
        if key not in rule.fields:
            found.append(f"Could not find member '{prefix}{key}' on object of this type.")
    for key, below in rule.fields.items():
        if key in value:
            found += problems(below, value[key], f"{prefix}{key}")
        elif below.required:
            found.append(f"Required parameter {prefix}{key} is missing (null).")
    return found


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
        if given.get(key) is not None:
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
