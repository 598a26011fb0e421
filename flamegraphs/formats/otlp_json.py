"""Reads OTLP profiles as JSON, as protobuf's own mapping writes them, of every definition."""

from collections.abc import Iterator, Mapping
from typing import cast

from contract.json import as_object
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import whole
from flamegraphs.formats.otlp import (
    Location,
    Measured,
    Slices,
    Stacks,
    Tables,
    added_up,
    check_types,
    of_type,
)
from flamegraphs.profile import Profile

_Object = Mapping[str, object]


def read(document: _Object, sample_type: str | None, budget: Budget) -> Profile:
    """Read a document; raises `NotAProfileError` where it is none."""
    profiles = [
        profile
        for resource in _objects(document, "resourceProfiles")
        for scope in _objects(resource, "scopeProfiles")
        for profile in _objects(scope, "profiles")
    ]
    dictionary = as_object(document.get("dictionary"))
    if any("locationIndices" in one or _is_list(one, "sampleType") for one in profiles):
        shared = dictionary or document
        measured = [found for one in profiles for found in _sliced(one, shared, budget)]
    else:
        tables = _tables(dictionary, first=1)
        lists = [_numbers(item, "locationIndices") for item in _objects(dictionary, "stackTable")]
        stacks = Stacks(tables, lists, budget)
        measured = [_stacked(one, tables, stacks) for one in profiles]
    return added_up(measured, sample_type, budget)


def _tables(found: _Object, first: int = 0) -> Tables:
    """Tables of an object; entries in front of the ``first`` mean none."""
    strings = found.get("stringTable")
    texts = cast("list[object]", strings) if isinstance(strings, list) else []

    def string(index: int) -> str:
        if not texts and not index:
            return ""
        if not 0 <= index < len(texts):
            raise NotAProfileError(f"It refers to name {index}, but has {len(texts)}.")
        text = texts[index]
        return text if isinstance(text, str) else ""

    return Tables(
        string,
        [
            _number(item, "nameStrindex") or _number(item, "systemNameStrindex")
            for item in _objects(found, "functionTable")
        ],
        [_location(item, first) for item in _objects(found, "locationTable")],
        [
            (
                _number(item, "memoryStart"),
                _number(item, "fileOffset"),
                _number(item, "filenameStrindex"),
            )
            for item in _objects(found, "mappingTable")
        ],
    )


def _location(found: _Object, first: int) -> Location:
    mapping = _number(found, "mappingIndex") if "mappingIndex" in found else None
    lines = _objects(found, "lines") or _objects(found, "line")
    functions = [_number(line, "functionIndex") for line in lines]
    return Location(
        mapping if mapping is not None and mapping >= first else None,
        _number(found, "address"),
        [function for function in functions if function >= first],
    )


def _stacked(profile: _Object, tables: Tables, stacks: Stacks) -> Measured:
    return Measured(
        _kind(as_object(profile.get("sampleType")), tables),
        False,
        _number(profile, "timeUnixNano"),
        _number(profile, "durationNano"),
        stacks,
        _values(profile),
    )


def _values(profile: _Object) -> Iterator[tuple[int, int]]:
    for sample in _objects(profile, "samples") or _objects(profile, "sample"):
        values = _numbers(sample, "values")
        moments = _numbers(sample, "timestampsUnixNano")
        yield _number(sample, "stackIndex"), sum(values) if values else len(moments)


def _sliced(profile: _Object, shared: _Object, budget: Budget) -> Iterator[Measured]:
    """A profile of 1.7 or older, with tables of its own or shared ones."""
    tables = _tables(profile if "stringTable" in profile else shared)
    kinds = _objects(profile, "sampleType")
    default = _number(profile, "defaultSampleTypeIndex")
    if "defaultSampleTypeStrindex" in profile:
        name = _number(profile, "defaultSampleTypeStrindex")
        names = [_number(kind, "typeStrindex") for kind in kinds]
        default = names.index(name) if name in names else len(kinds) - 1
    samples = _objects(profile, "sample")
    spans = [
        (_number(item, "locationsStartIndex"), _number(item, "locationsLength")) for item in samples
    ]
    stacks = Stacks(tables, Slices(_numbers(profile, "locationIndices"), spans), budget)
    values = [_numbers(item, "value") for item in samples]
    types = [_kind(kind, tables) for kind in kinds]
    check_types(types)
    for place, kind in enumerate(types):
        yield Measured(
            kind,
            place == default,
            _number(profile, "timeNanos"),
            _number(profile, "durationNanos"),
            stacks,
            of_type(range(len(samples)), values, place, len(kinds)),
        )


def _kind(found: _Object, tables: Tables) -> tuple[str, str]:
    number = (_number(found, key) for key in ("typeStrindex", "unitStrindex"))
    name, unit = map(tables.string, number)
    return name, unit


def _number(owner: _Object, key: str) -> int:
    return whole(owner.get(key, 0), key)


def _numbers(owner: _Object, key: str) -> list[int]:
    value = owner.get(key)
    if not isinstance(value, list):
        return []
    return [whole(item, key) for item in cast("list[object]", value)]


def _is_list(owner: _Object, key: str) -> bool:
    return isinstance(owner.get(key), list)


def _objects(owner: _Object, key: str) -> list[_Object]:
    value = owner.get(key)
    if not isinstance(value, list):
        return []
    return [as_object(item) for item in cast("list[object]", value)]
