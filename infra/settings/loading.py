"""From the sections of a stack file to settings, or to everything that is wrong with them.

A wrong value must not hide another fault. So whatever cannot be read is reported, taken out, and
the rest is read again; then the rules over several values are asked about what was read. Pydantic
does the reading; :mod:`infra.settings.translation` puts its words into ours.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from infra.faults import ConfigurationError, Fault, shown
from infra.settings.section import Section, as_mapping
from infra.settings.translation import Parts, dotted, fault_of, nearest_key, parts_of
from infra.settings.tree import Settings

NAMESPACE = "gpuobs"
"""The project's name: what every section's key starts with in a stack file."""

_MOST_LEVELS = 100
"""Of lists and mappings in one another; a chart's values have about ten."""
_SECTIONS = {field.alias or name: name for name, field in Settings.model_fields.items()}


def sections_of(configuration: Mapping[str, str], namespace: str = NAMESPACE) -> dict[str, object]:
    """The sections in a Pulumi program's flat configuration (full key -> text, objects as JSON)."""
    prefix = f"{namespace}:"
    return {
        key.removeprefix(prefix): _parsed(text)
        for key, text in configuration.items()
        if key.startswith(prefix)
    }


def load(sections: Mapping[str, object], secret_sections: Collection[str] = ()) -> Settings:
    """The settings that ``sections`` (name in camelCase -> structured value) describe.

    ``secret_sections`` names those that hold an encrypted value; they are refused unread.

    Raises:
        ConfigurationError: with every fault there is.
    """
    faults = [_unknown_section(key) for key in sections if key not in _SECTIONS]
    read: dict[str, Section] = {}
    lost: list[str] = []
    for key, name in _SECTIONS.items():
        field = Settings.model_fields[name]
        value = sections.get(key)
        if _is_deeper(value, _MOST_LEVELS):
            faults.append(_deep_section(key))
            lost.append(key)
        elif key in secret_sections or _holds_ciphertext(value):
            faults.append(_secret_section(key))
            lost.append(key)
        elif value is not None:
            section = _read(cast("type[Section]", field.annotation), key, value, faults, lost)
            if section is not None:
                read[name] = section
        elif field.is_required():
            faults.append(_missing_section(key))
            lost.append(key)
        else:
            read[name] = field.get_default()
    for name, section in read.items():
        faults += _rule_violations(section, Settings.model_fields[name].alias or name, lost)
    # The sections that could not be read at all have no say in the rules between sections.
    settings = Settings.model_construct(None, **cast("dict[str, Any]", read))
    if len(read) == len(_SECTIONS):
        faults += _rules_of(settings, "", lost)
    if faults:
        raise ConfigurationError(_in_order(faults))
    return settings


def _parsed(text: str) -> object:
    # A section without a value reaches the program as an empty text.
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# --- reading one section -----------------------------------------------------------------------


def _read(
    kind: type[Section], key: str, value: object, faults: list[Fault], lost: list[str]
) -> Section | None:
    """The section, without what had to be taken out; adds to ``faults`` and ``lost`` paths."""
    adapter = TypeAdapter(kind)
    while True:
        try:
            return adapter.validate_python(value, by_alias=True, by_name=False)
        except ValidationError as error:
            details = error.errors(include_url=False)
        unreadable: list[Parts] = []
        taken_out = tuple(lost)
        for detail in details:
            parts = parts_of(detail)
            path = dotted(key, parts)
            if not _within(path, taken_out):
                faults.append(fault_of(detail, f"{NAMESPACE}:{path}", kind, Settings))
            # A required value that is missing takes what it belongs to with it, an item its list:
            # the numbers of the other items would no longer be those of the stack file.
            if detail["type"] == "missing":
                parts = parts[:-1]
            parts = tuple(takewhile(lambda part: isinstance(part, str), parts))
            # A key that nobody reads is nothing that a rule could miss.
            if detail["type"] != "extra_forbidden" or parts != parts_of(detail):
                lost.append(dotted(key, parts))
            unreadable.append(parts)
        if () in unreadable:
            return None
        value = _without(value, unreadable)


def _without(value: object, paths: Iterable[Parts]) -> object:
    """``value``, nested mappings, with what is at ``paths`` taken out."""
    by_first: dict[str | int, list[Parts]] = {}
    for path in paths:
        by_first.setdefault(path[0], []).append(path[1:])
    return {
        key: _without(item, by_first[key]) if key in by_first else item
        for key, item in cast("dict[str, object]", value).items()
        if () not in by_first.get(key, [])
    }


# --- rules over several values -----------------------------------------------------------------


def _rule_violations(section: Section, path: str, lost: Collection[str]) -> Iterator[Fault]:
    """The broken rules of a section and of all sections in it."""
    yield from _rules_of(section, path, lost)
    for name, field in type(section).model_fields.items():
        value: object = getattr(section, name)
        at = f"{path}.{field.alias or name}"
        if isinstance(value, Section):
            yield from _rule_violations(value, at, lost)
        elif isinstance(value, list | tuple):
            for number, item in enumerate(cast("list[object]", value)):
                if isinstance(item, Section):
                    yield from _rule_violations(item, f"{at}[{number}]", lost)


def _rules_of(section: Section, path: str, lost: Collection[str]) -> Iterator[Fault]:
    for broken in section.rule_violations():
        read = [f"{path}.{field}".lstrip(".") for field in broken.fields]
        if any(_within(place, lost) or _within_any(lost, place) for place in read):
            continue
        at = f"{path}.{broken.relative_path}".strip(".")
        value = "" if broken.value is None else shown(broken.value, at)
        yield Fault(
            path=f"{NAMESPACE}:{at}",
            value=value,
            rule=broken.rule,
            why=broken.why,
            fix=broken.fix,
        )


def _within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


def _within_any(paths: Iterable[str], place: str) -> bool:
    return any(_within(path, [place]) for path in paths)


# --- faults of whole sections ------------------------------------------------------------------


def _unknown_section(key: str) -> Fault:
    nearest = nearest_key(key, _SECTIONS)
    known = ", ".join(f"{NAMESPACE}:{name}" for name in _SECTIONS)
    return Fault(
        path=f"{NAMESPACE}:{key}",
        rule="a section that exists",
        why="a misspelled section would be ignored and its defaults used.",
        fix=f"did you mean `{NAMESPACE}:{nearest}`?"
        if nearest
        else f"leave it out; known: {known}",
    )


def _missing_section(key: str) -> Fault:
    return Fault(
        path=f"{NAMESPACE}:{key}",
        rule="needed: exactly one of `existing` and `create`",
        why=f"the stack must know which {key} it works with.",
        fix=f"write {NAMESPACE}:{key}: {{ existing: {{ name: NAME, resourceGroup: GROUP }} }}, or "
        f"{NAMESPACE}:{key}: {{ create: {{}} }} for a new one",
    )


def _deep_section(key: str) -> Fault:
    return Fault(
        path=f"{NAMESPACE}:{key}",
        rule=f"lists and mappings at most {_MOST_LEVELS} levels deep",
        why="nothing that a stack needs is nested like this, and it cannot be read.",
        fix="look for brackets or indentation that repeat by mistake",
    )


def _secret_section(key: str) -> Fault:
    return Fault(
        path=f"{NAMESPACE}:{key}",
        rule="no encrypted value (`secure:`) in a section",
        why="settings become names, annotations and chart values, which Azure and the cluster "
        "store and show in plain text: the value would not stay secret.",
        fix="write the value in plain text if it is no secret, otherwise leave it out",
    )


def _is_deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings are in one another over more than ``levels``."""
    level = [value]
    for _ in range(levels):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return cast("Iterable[object]", value)
    return (as_mapping(value) or {}).values()


def _holds_ciphertext(value: object) -> bool:
    """Whether a stack file's ``secure: ...`` is anywhere in ``value``."""
    if isinstance(value, list | tuple):
        return any(_holds_ciphertext(item) for item in cast("list[object]", value))
    mapping = as_mapping(value) or {}
    if list(mapping) == ["secure"] and isinstance(mapping["secure"], str):
        return True
    return any(_holds_ciphertext(item) for item in mapping.values())


def _in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Each fault once, in the order of the sections."""
    order = list(_SECTIONS)

    def place(fault: Fault) -> int:
        section = fault.path.removeprefix(f"{NAMESPACE}:").partition(".")[0]
        return order.index(section) if section in order else len(order)

    return sorted(dict.fromkeys(faults), key=place)
