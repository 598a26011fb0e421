"""What pydantic says about a value, in words for the person who wrote the stack file."""

import difflib
from collections.abc import Iterable
from typing import Any, get_args

from pydantic_core import ErrorDetails

from infra.faults import Fault, shown
from infra.settings.descriptions import descriptions
from infra.settings.section import RULE_ERROR, Section

Parts = tuple[str | int, ...]
"""Where a value is below its section, as in ``("taints", 0)``."""

_WHY_TYPE = "the setting would not mean what it says."
_EXPECTED = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "dict": "a mapping (`key: value` lines)",
    "mapping": "a mapping (`key: value` lines)",
    "model": "a mapping (`key: value` lines)",
    "list": "a list",
    "tuple": "a list",
    "sequence": "a list",
    "enum": "one of the names below",
}


def dotted(section: str, parts: Parts) -> str:
    """The path of a value as messages write it: ``gpuPool.taints[0]``."""
    path = section
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path


def parts_of(detail: ErrorDetails) -> Parts:
    """Where the error is; pydantic's mark for a mapping's key is left out."""
    return tuple(part for part in detail["loc"] if part != "[key]")


def fault_of(detail: ErrorDetails, path: str, kind: type[Section], root: type[Section]) -> Fault:
    """The fault that pydantic's ``detail`` tells of; ``kind`` is the section read, at ``path``."""
    error, value = detail["type"], detail["input"]
    parts = parts_of(detail)
    if error == RULE_ERROR:
        context = detail.get("ctx", {})
        return Fault(
            path=path,
            value=shown(value, path),
            rule=str(context["rule"]),
            why=str(context["why"]),
            fix=str(context["fix"]),
        )
    if error == "extra_forbidden":
        return _unknown_key(path, str(parts[-1]), section_at(kind, parts[:-1]) or kind, root)
    if error == "missing":
        return Fault(
            path=path,
            rule="needed",
            why="it has no default.",
            fix=f"write `{parts[-1]}: ...`; it is {_description(kind, parts)}",
        )
    return _wrong_type(detail, path, _description(kind, parts))


def _unknown_key(path: str, key: str, section: type[Section], root: type[Section]) -> Fault:
    known = keys_of(section)
    nearest = nearest_key(key, known)
    elsewhere = [] if nearest else sorted(_places_of(key, root))
    if nearest:
        fix = f"did you mean `{nearest}`?"
    elif elsewhere:
        fix = f"did you mean `gpuobs:{elsewhere[0]}`?"
    else:
        fix = "leave it out; known here: " + ", ".join(known)
    return Fault(
        path=path,
        rule="a setting that exists",
        why="a misspelled setting would be ignored and its default used.",
        fix=fix,
    )


def _wrong_type(detail: ErrorDetails, path: str, description: str) -> Fault:
    error, value = detail["type"], detail["input"]
    family = error.partition("_")[0]
    if error == "is_instance_of":
        family = str(detail.get("ctx", {}).get("class", "")).lower()
    rule = _EXPECTED.get(family, "a value of another kind")
    fix = f"it is {description}"
    if family == "enum":
        names = str(detail.get("ctx", {}).get("expected", "")).replace("'", "")
        rule = f"one of {names.replace(' or ', ', ')}"
        fix = "write one of these, with the same capitals"
        if value is None and "None" in names:
            fix = 'write "None" in quotes: YAML reads null and ~ as no value'
        elif nearest := nearest_key(str(value), names.replace(" or ", ", ").split(", ")):
            fix = f"did you mean {nearest}?"
    elif value is None:
        fix = "leave the key out for the default, or write a value"
    elif family == "string" and isinstance(value, bool | int | float):
        fix = f"put it in quotes; YAML read it as {shown(value)}, and 1.20 as 1.2"
    elif family in ("list", "tuple", "sequence") and isinstance(value, str):
        fix = f"write it as a list: [{shown(value)}]"
    return Fault(path=path, value=shown(value, path), rule=rule, why=_WHY_TYPE, fix=fix)


# --- what the sections know --------------------------------------------------------------------


def keys_of(section: type[Section]) -> list[str]:
    """The keys of a section as the stack file spells them."""
    return [field.alias or name for name, field in section.model_fields.items()]


def nearest_key(key: str, known: Iterable[str]) -> str | None:
    """The known key that ``key`` most likely means: other capitals, hyphens, a letter off."""
    plain = {name.lower(): name for name in known}
    found = difflib.get_close_matches(
        key.lower().replace("-", "").replace("_", ""), plain, n=1, cutoff=0.7
    )
    return plain[found[0]] if found else None


def section_at(kind: type[Section], parts: Parts) -> type[Section] | None:
    """The section that ``parts`` lead to from ``kind``, None where they lead to a plain value."""
    current: type[Section] | None = kind
    for part in parts:
        if isinstance(part, int) or current is None:
            continue
        field = _field(current, part)
        current = _section_in(field.annotation) if field is not None else None
    return current


def _description(kind: type[Section], parts: Parts) -> str:
    names = [part for part in parts if isinstance(part, str)]
    while names:
        section = section_at(kind, tuple(names[:-1]))
        description = _described(section, names[-1]) if section is not None else ""
        if description:
            first = " ".join(description.split()).partition(". ")[0].rstrip(".")
            return f"“{first}”"
        names.pop()
    return "a part of this section"


def _described(section: type[Section], key: str) -> str:
    by_name = descriptions(section)
    return next(
        (
            by_name.get(name, "")
            for name, f in section.model_fields.items()
            if key in (f.alias, name)
        ),
        "",
    )


def _field(section: type[Section], key: str) -> Any:
    return next(
        (f for name, f in section.model_fields.items() if key in (f.alias, name)),
        None,
    )


def _section_in(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for part in get_args(annotation):
        if (found := _section_in(part)) is not None:
            return found
    return None


def _places_of(key: str, root: type[Section], at: str = "") -> Iterable[str]:
    for name, field in root.model_fields.items():
        path = f"{at}.{field.alias or name}".lstrip(".")
        if at and (field.alias or name) == key:
            yield path
        if (inner := _section_in(field.annotation)) is not None:
            yield from _places_of(key, inner, path)
