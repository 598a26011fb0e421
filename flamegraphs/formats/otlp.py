"""Reads OTLP profiles, as protobuf or as JSON: what the agent pushes, and collectors save.

The format is opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto, 1.8
and later. All profiles of a file share one dictionary: a stack is a list of locations, a location
lines, a line a function, each an index into a table whose first entry means none. A sample's values
moved from field 2 to field 4 in 1.10; which one it is follows from the fields' wire types.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np

from contract.agent import SAMPLE_TYPE, SAMPLE_UNIT
from contract.json import as_object
from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import wire
from flamegraphs.formats.collect import Collector, whole
from flamegraphs.names import UNKNOWN_NAME
from flamegraphs.profile import IntArray, Profile, recorded

_T = TypeVar("_T")
_ALLOCATIONS = (SAMPLE_TYPE, SAMPLE_UNIT)


@dataclass(frozen=True)
class _Location:
    mapping: int
    address: int
    functions: Sequence[int]


@dataclass(frozen=True)
class _Dictionary:
    """The tables that all profiles of a file share."""

    string: Callable[[int], str]
    functions: Sequence[int]
    """The name of each function."""
    locations: Sequence[_Location]
    mappings: Sequence[tuple[int, int, int]]
    """Start, offset in the file, and name of each."""
    stacks: Sequence[Sequence[int]]


@dataclass(frozen=True)
class _Measured:
    """One profile of a file."""

    kind: int
    unit: int
    start: int
    duration: int
    samples: Iterator[tuple[int, int]]
    """Stack and value of each."""


def read(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read the protobuf form; raises `NotAProfileError` where it is none."""
    found = _Messages.of(data, budget)
    scopes = found.inside(1, "resource").inside(2, "scope")
    profiles = scopes.inside(2, "profile")
    dictionary = _binary_dictionary(found.inside(2, "dictionary"), budget)
    return _added_up(
        [_binary_profile(one, budget) for one in profiles.each()], dictionary, sample_type, budget
    )


def read_document(
    document: Mapping[str, object], sample_type: str | None, budget: Budget
) -> Profile:
    """Read the JSON form."""
    dictionary = _json_dictionary(as_object(document.get("dictionary")))
    profiles = [
        _json_profile(profile)
        for resource in _objects(document, "resourceProfiles")
        for scope in _objects(resource, "scopeProfiles")
        for profile in _objects(scope, "profiles")
    ]
    return _added_up(profiles, dictionary, sample_type, budget)


def _added_up(
    profiles: Sequence[_Measured], dictionary: _Dictionary, wanted: str | None, budget: Budget
) -> Profile:
    """Add up the profiles of one sample type."""
    kinds = [(dictionary.string(p.kind), dictionary.string(p.unit)) for p in profiles]
    if not kinds:
        raise NotAProfileError("It holds no profile.")
    names = list(dict.fromkeys(kinds))
    if wanted is not None:
        chosen = next((pair for pair in names if wanted in (pair[0], "/".join(pair))), None)
        if chosen is None:
            listed = ", ".join(name for name, _ in names)
            raise NotAProfileError(f"It has no values of type {wanted!r}, but {listed}.")
    else:
        chosen = _ALLOCATIONS if _ALLOCATIONS in names else names[-1]
    found = Collector(budget)
    stacks = _Stacks(dictionary, budget)
    facts: dict[str, str] = {}
    for profile, kind in zip(profiles, kinds, strict=True):
        if kind == chosen:
            facts = facts or recorded(profile.start, profile.duration)
            for stack, value in profile.samples:
                found.add(stacks.names(stack), value)
    notes: list[str] = []
    if len(names) > 1 and wanted is None:
        listed = ", ".join(name for name, _ in names)
        notes.append(
            f"The file has several values a stack ({listed}); this is {chosen[0]!r}. Choose "
            "another with --sample-type."
        )
    return found.profile(*chosen, facts, notes)


class _Stacks:
    """The names of each stack, put together once."""

    def __init__(self, dictionary: _Dictionary, budget: Budget) -> None:
        self._dictionary = dictionary
        self._budget = budget
        self._known: dict[int, list[str]] = {}

    def names(self, index: int) -> list[str]:
        """Leaf first."""
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._build(index)
        return known

    def _build(self, index: int) -> list[str]:
        tables = self._dictionary
        if not tables.stacks and index:
            raise NotAProfileError(
                "It has no table of stacks: it is OTLP profiles 1.7 or older, which is not read."
            )
        names: list[str] = []
        for place in _at(tables.stacks, index, "stack") if tables.stacks else ():
            location = _at(tables.locations, place, "location")
            self._budget.take(
                "frames",
                memory=16 * len(location.functions) + 16,
                steps=20 * len(location.functions) + 20,
            )
            functions = [_at(tables.functions, f, "function") for f in location.functions if f]
            names += [tables.string(name) for name in functions] or [self._unnamed(location)]
            if len(names) > MAX_STACK:
                raise NotAProfileError("A stack has more frames than one of a program.")
        return names

    def _unnamed(self, location: _Location) -> str:
        tables = self._dictionary
        if location.mapping:
            start, offset, file = _at(tables.mappings, location.mapping, "mapping")
            library = tables.string(file).rsplit("/", 1)[-1]
            if library and location.address >= start:
                return f"{library}+{location.address - start + offset:#x}"
        return f"{location.address:#x}" if location.address else UNKNOWN_NAME


def _at(table: Sequence[_T], index: int, what: str) -> _T:
    if not 0 <= index < len(table):
        raise NotAProfileError(f"It refers to {what} {index}, but has {len(table)}.")
    return table[index]


# ---- protobuf ----


@dataclass(frozen=True)
class _Messages:
    """Messages of one kind within a file, all of them read in step."""

    data: bytes | bytearray
    payload: wire.ByteArray
    starts: IntArray
    ends: IntArray
    what: str
    budget: Budget

    @classmethod
    def of(cls, data: bytes | bytearray, budget: Budget) -> "_Messages":
        """The whole file as one message."""
        payload = np.frombuffer(bytes(data) + bytes(wire.PADDING), np.uint8)
        starts, ends = np.array([0], np.int64), np.array([len(data)], np.int64)
        return cls(data, payload, starts, ends, "profile", budget)

    def pieces(self, wanted: Mapping[int, wire.Kind]) -> dict[int, wire.Pieces]:
        return wire.fields(self.payload, self.starts, self.ends, wanted, self.budget, self.what)

    def inside(self, field: int, what: str) -> "_Messages":
        """The messages of a field, of all these messages."""
        return self.at(self.pieces({field: "bytes"})[field], what)

    def at(self, pieces: wire.Pieces, what: str) -> "_Messages":
        return _Messages(self.data, self.payload, pieces.starts, pieces.ends, what, self.budget)

    def each(self) -> "Iterator[_Messages]":
        for place in range(len(self.starts)):
            one = slice(place, place + 1)
            yield _Messages(
                self.data, self.payload, self.starts[one], self.ends[one], self.what, self.budget
            )

    def columns(self, *numbers: int) -> list[list[int]]:
        """Numbers of each message, a column each."""
        wanted: dict[int, wire.Kind] = dict.fromkeys(numbers, "number")
        found = self.pieces(wanted)
        return [self.column(found[n]) for n in numbers]

    def column(self, pieces: wire.Pieces) -> list[int]:
        self.budget.take("numbers", memory=40 * len(self.starts), steps=2 * len(self.starts))
        values = wire.scalar(self.payload, pieces, len(self.starts), self.what)
        return cast("list[int]", values.view(np.int64).tolist())

    def lists(self, pieces: wire.Pieces) -> list[list[int]]:
        """A list of numbers of each message."""
        values, counts = wire.numbers(self.payload, pieces, len(self.starts), self.what)
        self.budget.take(
            "numbers",
            memory=40 * len(values) + 64 * len(counts),
            steps=4 * len(values) + 10 * len(counts),
        )
        every: list[int] = values.view(np.int64).tolist()
        ends: list[int] = np.cumsum(counts).tolist()
        return [every[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _binary_dictionary(found: _Messages, budget: Budget) -> _Dictionary:
    tables = found.pieces({1: "bytes", 2: "bytes", 3: "bytes", 5: "bytes", 7: "bytes"})
    names = found.at(tables[3], "function").columns(1)[0]
    located = found.at(tables[2], "location")
    parts = located.pieces({1: "number", 2: "number", 3: "bytes"})
    lines = located.at(parts[3], "line").columns(1)[0]
    counts = np.bincount(parts[3].rows, minlength=len(located.starts))
    ends: list[int] = np.cumsum(counts).tolist()
    budget.take("locations", memory=250 * len(ends), steps=50 * len(ends))
    locations = [
        _Location(mapping, address % 2**64, lines[a:b])
        for mapping, address, a, b in zip(
            located.column(parts[1]), located.column(parts[2]), [0, *ends], ends, strict=False
        )
    ]
    mappings = list(zip(*found.at(tables[1], "mapping").columns(1, 3, 4), strict=True))
    stacked = found.at(tables[7], "stack")
    stacks = stacked.lists(stacked.pieces({1: "numbers"})[1])
    texts = tables[5]

    def string(index: int) -> str:
        if not 0 <= index < max(len(texts.rows), 1):
            raise NotAProfileError(f"It refers to name {index}, but has {len(texts.rows)}.")
        if not len(texts.rows):
            return ""
        part = found.data[int(texts.starts[index]) : int(texts.ends[index])]
        budget.take("names", memory=4 * len(part), steps=len(part) + 20)
        return part.decode("utf-8", "replace")

    return _Dictionary(string, names, locations, mappings, stacks)


def _binary_profile(found: _Messages, budget: Budget) -> _Measured:
    parts = found.pieces({1: "bytes", 2: "bytes", 3: "fixed64", 4: "number"})
    types = found.at(parts[1], "sample type")
    if len(types.starts) > 1:
        raise NotAProfileError("It is OTLP profiles 1.7 or older, which is not read.")
    kinds, units = types.columns(1, 2)
    start = int.from_bytes(
        b"".join(
            bytes(found.data[a:b])
            for a, b in zip(parts[3].starts[:1], parts[3].ends[:1], strict=True)
        ),
        "little",
    )
    samples = found.at(parts[2], "sample")
    duration = found.column(parts[4])[0]
    return _Measured(
        kinds[0] if kinds else 0,
        units[0] if units else 0,
        start,
        duration,
        _binary_samples(samples),
    )


def _binary_samples(samples: _Messages) -> Iterator[tuple[int, int]]:
    moved = _values_have_moved(samples)
    numbers = 4 if moved else 2
    parts = samples.pieces({1: "number", numbers: "numbers", 5: "bytes"})
    stacks, values = samples.column(parts[1]), samples.lists(parts[numbers])
    times = np.bincount(parts[5].rows, parts[5].ends - parts[5].starts, len(stacks))
    for stack, mine, length in zip(stacks, values, times.tolist(), strict=True):
        # Without a value, each moment counts as one.
        yield stack, sum(mine) if mine else int(length) // 8


def _values_have_moved(samples: _Messages) -> bool:
    """Whether values are in field 4 (1.10 and later), where 1.9 has one number, a link."""
    for place in range(min(len(samples.starts), 1_000)):
        begin, end = int(samples.starts[place]), int(samples.ends[place])
        tags, _, _ = wire.top_level(bytes(samples.data[begin:end]), samples.budget)
        if (tags == 4 << 3 | 2).any() or (tags == 3 << 3).any():
            return True
        if (tags == 3 << 3 | 2).any() or (tags == 4 << 3).any():
            return False
    return False


# ---- JSON ----


def _json_dictionary(found: Mapping[str, object]) -> _Dictionary:
    strings = found.get("stringTable")
    texts = cast("list[object]", strings) if isinstance(strings, list) else []

    def string(index: int) -> str:
        if not texts and not index:
            return ""
        text = _at(texts, index, "name")
        return text if isinstance(text, str) else ""

    return _Dictionary(
        string,
        [_number(item, "nameStrindex") for item in _objects(found, "functionTable")],
        [
            _Location(
                _number(item, "mappingIndex"),
                _number(item, "address"),
                [
                    _number(line, "functionIndex")
                    for line in (_objects(item, "lines") or _objects(item, "line"))
                ],
            )
            for item in _objects(found, "locationTable")
        ],
        [
            (
                _number(item, "memoryStart"),
                _number(item, "fileOffset"),
                _number(item, "filenameStrindex"),
            )
            for item in _objects(found, "mappingTable")
        ],
        [_numbers(item, "locationIndices") for item in _objects(found, "stackTable")],
    )


def _json_profile(found: Mapping[str, object]) -> _Measured:
    kind = as_object(found.get("sampleType"))
    return _Measured(
        _number(kind, "typeStrindex"),
        _number(kind, "unitStrindex"),
        _number(found, "timeUnixNano"),
        _number(found, "durationNano"),
        _json_samples(found),
    )


def _json_samples(found: Mapping[str, object]) -> Iterator[tuple[int, int]]:
    for sample in _objects(found, "samples") or _objects(found, "sample"):
        values = _numbers(sample, "values")
        moments = _numbers(sample, "timestampsUnixNano")
        yield _number(sample, "stackIndex"), sum(values) if values else len(moments)


def _number(owner: Mapping[str, object], key: str) -> int:
    return whole(owner.get(key, 0), key)


def _numbers(owner: Mapping[str, object], key: str) -> list[int]:
    value = owner.get(key)
    return (
        [whole(item, key) for item in cast("list[object]", value)]
        if isinstance(value, list)
        else []
    )


def _objects(owner: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = owner.get(key)
    return (
        [as_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []
    )
