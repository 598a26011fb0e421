"""Reads OTLP profiles as protobuf: what the agent pushes, and collectors save.

Which definition they follow (see `otlp`) is told by the kinds of their fields, because none of them
says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import wire
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
from flamegraphs.profile import IntArray, Profile


@dataclass(frozen=True)
class _Layout:
    """The fields of a message that has the tables."""

    mappings: int
    locations: int
    functions: int
    strings: int

    @property
    def wanted(self) -> dict[int, wire.Kind]:
        """The same, as `wire.fields` takes them."""
        numbers = (self.mappings, self.locations, self.functions, self.strings)
        return dict.fromkeys(numbers, "bytes")


_IN_PROFILE = _Layout(3, 4, 6, 10)
_IN_FILE = _Layout(2, 3, 4, 6)
_DICTIONARY = _Layout(1, 2, 3, 5)
_STACKS = 7
"""Field of the dictionary; `attribute_units` in 1.7."""


def read(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read a file; raises `NotAProfileError` where it is none."""
    found = _Messages.of(data, budget)
    top = found.pieces(dict.fromkeys(range(1, 7), "bytes"))
    scopes = found.at(top[1], "resource").inside(2, "scope")
    profiles = [_Profile(one) for one in scopes.inside(2, "profile").each()]
    dictionary = found.at(top[2], "dictionary")
    if any(len(top[number].rows) for number in range(3, 7)):
        measured = _sliced(profiles, _tables(found, _IN_FILE))
    elif len(top[2].rows) and any(one.has_locations() for one in profiles):
        measured = _sliced(profiles, _tables(dictionary, _DICTIONARY))
    elif not len(top[2].rows) and any(one.has_tables() for one in profiles):
        measured = _with_tables(profiles)
    else:
        measured = _stacked(profiles, dictionary)
    return added_up(list(measured), sample_type, budget)


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
        budget.take("bytes", memory=len(data))
        payload = np.zeros(len(data) + wire.PADDING, np.uint8)
        payload[: len(data)] = np.frombuffer(data, np.uint8)
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
        self.budget.take("numbers", memory=40 * len(self.starts), steps=2 * len(self.starts) + 500)
        values = wire.scalar(self.payload, pieces, len(self.starts), self.what)
        return cast("list[int]", values.view(np.int64).tolist())

    def lists(self, pieces: wire.Pieces) -> list[list[int]]:
        """A list of numbers of each message."""
        values, counts = wire.numbers(self.payload, pieces, len(self.starts), self.what)
        self.budget.take(
            "numbers",
            memory=40 * len(values) + 64 * len(counts),
            steps=4 * len(values) + 10 * len(counts) + 2_000,
        )
        every: list[int] = values.view(np.int64).tolist()
        ends: list[int] = np.cumsum(counts).tolist()
        return [every[a:b] for a, b in zip([0, *ends], ends, strict=False)]


class _Profile:
    """The fields of one profile, whatever they mean there."""

    def __init__(self, message: _Messages) -> None:
        self.message = message
        # One after another, not in step: each costs numpy's calls, however small it is.
        message.budget.take("profiles", memory=2_000, steps=5_000)
        begin, end = int(message.starts[0]), int(message.ends[0])
        self._tags, starts, ends = wire.top_level(message.data[begin:end], message.budget)
        self._starts, self._ends = starts + begin, ends + begin

    def has_tables(self) -> bool:
        """Whether it has tables of its own, as until 1.5: later, fields 4 and 6 are numbers."""
        return bool(np.isin(self._tags, (4 << 3 | 2, 6 << 3 | 2)).any())

    def has_locations(self) -> bool:
        """Whether it has a list of locations, as until 1.7: later, field 3 is a fixed number."""
        return bool(np.isin(self._tags, (3 << 3, 3 << 3 | 2)).any()) or self._count(1) > 1

    def _count(self, number: int) -> int:
        return int(np.count_nonzero(self._tags >> 3 == number))

    def pieces(self, number: int, *wires: int) -> wire.Pieces:
        """Where a field stands; raises `NotAProfileError` where it is of another kind."""
        mine = np.flatnonzero(self._tags >> 3 == number)
        if not np.isin(self._tags[mine] & 7, wires).all():
            raise NotAProfileError("A profile is damaged: a field of it is of another kind.")
        return wire.Pieces(np.zeros(len(mine), np.int64), self._starts[mine], self._ends[mine])

    def inside(self, number: int, what: str) -> _Messages:
        """The messages of a field."""
        return self.message.at(self.pieces(number, 2), what)

    def number(self, number: int) -> int:
        """A number, or 0; of fields beyond 15 only the last four bits of their number are known."""
        mine = np.flatnonzero(
            self._tags == (number << 3 if number < 16 else number << 3 & 127 | 128)
        )
        if not len(mine):
            return 0
        return wire.varint(self.message.data, int(self._starts[mine[-1]]))[0]

    def moment(self) -> int:
        """Field 3 as a fixed number, or 0."""
        mine = self.pieces(3, 1)
        return int.from_bytes(
            b"".join(
                bytes(self.message.data[a:b])
                for a, b in zip(mine.starts[:1], mine.ends[:1], strict=True)
            ),
            "little",
        )


def _tables(found: _Messages, layout: _Layout, first: int = 0) -> Tables:
    """Tables of messages in fields; entries in front of the ``first`` mean none."""
    budget = found.budget
    tables = found.pieces(layout.wanted)
    names, system_names = found.at(tables[layout.functions], "function").columns(1, 2)
    located = found.at(tables[layout.locations], "location")
    parts = located.pieces({1: "number", 2: "number", 3: "bytes"})
    lines = located.at(parts[3], "line").columns(1)[0]
    counts = np.bincount(parts[3].rows, minlength=len(located.starts))
    ends: list[int] = np.cumsum(counts).tolist()
    budget.take("locations", memory=250 * len(ends), steps=50 * len(ends))
    has_mapping = np.zeros(len(ends), bool)
    has_mapping[parts[1].rows] = True
    locations = [
        Location(
            mapping if has and mapping >= first else None,
            address % 2**64,
            [line for line in lines[a:b] if line >= first],
        )
        for mapping, has, address, a, b in zip(
            located.column(parts[1]),
            has_mapping.tolist(),
            located.column(parts[2]),
            [0, *ends],
            ends,
            strict=False,
        )
    ]
    mapped = found.at(tables[layout.mappings], "mapping").columns(1, 3, 4)
    texts = tables[layout.strings]

    def string(index: int) -> str:
        if not 0 <= index < max(len(texts.rows), 1):
            raise NotAProfileError(f"It refers to name {index}, but has {len(texts.rows)}.")
        if not len(texts.rows):
            return ""
        part = found.data[int(texts.starts[index]) : int(texts.ends[index])]
        budget.take("names", memory=4 * len(part), steps=len(part) + 20)
        return part.decode("utf-8", "replace")

    functions = [name or system for name, system in zip(names, system_names, strict=True)]
    return Tables(string, functions, locations, list(zip(*mapped, strict=True)))


# ---- 1.8 and later: a profile has one sample type, a sample the index of a stack ----


def _stacked(profiles: Sequence[_Profile], dictionary: _Messages) -> Iterator[Measured]:
    tables = _tables(dictionary, _DICTIONARY, first=1)
    stacked = dictionary.inside(_STACKS, "stack")
    lists = stacked.lists(stacked.pieces({1: "numbers"})[1])
    stacks = Stacks(tables, lists, dictionary.budget)
    for one in profiles:
        kinds, units = one.inside(1, "sample type").columns(1, 2)
        kind = (tables.string(kinds[0]), tables.string(units[0])) if kinds else ("", "")
        samples = _values(one.inside(2, "sample"))
        yield Measured(kind, False, one.moment(), one.number(4), stacks, samples)


def _values(samples: _Messages) -> Iterator[tuple[int, int]]:
    numbers = 4 if _values_have_moved(samples) else 2
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


# ---- until 1.7: a sample is a slice of its profile's locations, and has a value for each type ----


def _sliced(profiles: Sequence[_Profile], tables: Tables) -> Iterator[Measured]:
    """Profiles of 1.6 and 1.7, which share tables."""
    for one in profiles:
        start, duration = one.number(4), one.number(5)
        default = one.number(9)
        yield from _slices(one, tables, 3, start, duration, default)


def _with_tables(profiles: Sequence[_Profile]) -> Iterator[Measured]:
    """Profiles of 1.4 and 1.5, which have tables of their own, and name their default."""
    for one in profiles:
        tables = _tables(one.message, _IN_PROFILE)
        start, duration = one.number(11), one.number(12)
        kinds = one.inside(1, "sample type").columns(1)[0]
        name = one.number(16)
        default = kinds.index(name) if name in kinds else len(kinds) - 1
        yield from _slices(one, tables, 5, start, duration, default)


def _slices(
    profile: _Profile, tables: Tables, locations: int, start: int, duration: int, default: int
) -> Iterator[Measured]:
    """One for each sample type; ``locations`` is the field that has them."""
    budget = profile.message.budget
    kinds, units = profile.inside(1, "sample type").columns(1, 2)
    types = [
        (tables.string(kind), tables.string(unit)) for kind, unit in zip(kinds, units, strict=True)
    ]
    check_types(types)
    samples = profile.inside(2, "sample")
    parts = samples.pieces({1: "number", 2: "number", 3: "numbers"})
    budget.take("samples", memory=250 * len(samples.starts), steps=50 * len(samples.starts))
    spans: dict[tuple[int, int], int] = {}
    stack_of = [
        spans.setdefault(span, len(spans))
        for span in zip(samples.column(parts[1]), samples.column(parts[2]), strict=True)
    ]
    listed = profile.message.lists(profile.pieces(locations, 0, 2))[0]
    stacks = Stacks(tables, Slices(listed, list(spans)), budget)
    values = samples.lists(parts[3])
    for place, kind in enumerate(types):
        found = of_type(stack_of, values, place, len(types))
        yield Measured(kind, place == default, start, duration, stacks, found)
