"""Reads pprof files, plain or in gzip (of one or several members), fast and in bounded memory.

Samples stay bytes that numpy decodes some thousand at a time, whenever they are asked for
(`wire`); of the tables, only what is used is built.

The format is that of github.com/google/pprof, proto/profile.proto. Ids are not positions, lists
may be packed or not, ``line[0]`` is the innermost of inlined functions, and functions are merged by
name.

Not here: labels (filters belong to the server that has the index), and ``drop_frames``: no bytes
are ever dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import sample_types, wire
from flamegraphs.formats.wire import ByteArray
from flamegraphs.names import NO_STACK, UNKNOWN_NAME
from flamegraphs.profile import (
    Batch,
    FrameArray,
    Functions,
    IntArray,
    Profile,
    check_total,
    cuts,
    magnitude,
    offsets_of,
    ranges,
    recorded,
)
from flamegraphs.unpack import unpack

_BATCH_SAMPLES = 1024
_BATCH_BYTES = 2**18
_MAX_TYPES = 64
_MAX_SAMPLE = 2**20
"""Bytes of one sample."""
_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME, _DURATION, _DEFAULT_TYPE = 9, 10, 14
"""Fields of a profile."""


def read(data: bytes, sample_type: str | None = None) -> Profile:
    """Read a pprof file, packed or not; see `parse`."""
    return parse(unpack([data]), sample_type, Budget(len(data)))


def parse(data: bytearray | bytes, sample_type: str | None, budget: Budget) -> Profile:
    """Read an unpacked pprof file.

    ``sample_type`` is the value to take, see `sample_types.choose`.

    Raises `NotAProfileError` where the bytes are not a profile, are cut short or beyond the budget.
    """
    tables = _Tables.of(data, budget)
    types = _sample_types(tables)
    default = sample_types.named(types, tables.string(tables.number(_DEFAULT_TYPE)))
    chosen, notes = sample_types.choose(types, default, sample_type)
    functions, locations = _read_tables(tables, budget)
    no_stack = functions.index(NO_STACK)
    table, kinds = functions.table()
    empty = table.index("") if "" in table else None
    facts = recorded(tables.number(_TIME), tables.number(_DURATION))
    starts, ends = tables.edges(_SAMPLE)
    if len(starts) and (longest := int((ends - starts).max())) > _MAX_SAMPLE:
        raise NotAProfileError(f"A sample has {longest:,} bytes: not a stack.")

    def measure(index: int) -> Profile:
        reader = _Reader(locations, len(types), index, no_stack, empty, budget)
        name, unit = types[index]
        stacks = _Samples(data, starts, ends, reader)
        return Profile(table, kinds, stacks, name, "", facts).measured_in(unit)

    others = [measure(index) for index in range(len(types)) if index != chosen]
    return replace(measure(chosen), notes=notes, others=others)


@dataclass(frozen=True)
class _Tables:
    """Everything in a file but its samples, found but not yet read."""

    data: bytes | bytearray
    payload: ByteArray
    tags: NDArray[np.uint8]
    starts: IntArray
    ends: IntArray
    strings: tuple[IntArray, IntArray]
    budget: Budget

    @classmethod
    def of(cls, data: bytes | bytearray, budget: Budget) -> "_Tables":
        tags, starts, ends = wire.top_level(data, budget)
        mine = tags == _STRING << 3 | 2
        # The first is always empty, also where a file has none.
        strings = starts[mine], ends[mine]
        if not mine.any():
            strings = np.zeros(1, np.int64), np.zeros(1, np.int64)
        return cls(data, np.frombuffer(data, np.uint8), tags, starts, ends, strings, budget)

    def edges(self, field: int) -> tuple[IntArray, IntArray]:
        """Where the messages of a field start and end."""
        mine = self.tags == field << 3 | 2
        return self.starts[mine], self.ends[mine]

    def count(self, field: int) -> int:
        return int(np.count_nonzero(self.tags == field << 3 | 2))

    def number(self, field: int) -> int:
        """A number of the profile itself, or 0."""
        mine = np.flatnonzero(self.tags == field << 3)
        return wire.varint(self.data, int(self.starts[mine[-1]]))[0] if len(mine) else 0

    def columns(self, field: int, what: str, *numbers: int) -> list[NDArray[np.uint64]]:
        """Numbers of each message of a field, a column each."""
        starts, ends = self.edges(field)
        wanted: dict[int, wire.Kind] = dict.fromkeys(numbers, "number")
        found = wire.fields(self.payload, starts, ends, wanted, self.budget, what)
        return [wire.scalar(self.payload, found[n], len(starts), what) for n in numbers]

    def string(self, index: int) -> str:
        return self.texts(np.array([index % 2**64], np.uint64))[0]

    def texts(self, indices: NDArray[np.uint64]) -> list[str]:
        """The names at places in the table of strings."""
        at = self._places(indices)
        starts, ends = (edges[at] for edges in self.strings)
        size = int((ends - starts).sum())
        self.budget.take("names", memory=4 * size + 60 * len(at), steps=size + 20 * len(at))
        return [
            self.data[start:end].decode("utf-8", "replace")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def are_empty(self, indices: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these names have no character."""
        at = self._places(indices)
        starts, ends = self.strings
        return starts[at] == ends[at]

    def _places(self, indices: NDArray[np.uint64]) -> IntArray:
        count = len(self.strings[0])
        wrong = np.flatnonzero(indices >= count)
        if len(wrong):
            shown = int(indices[wrong[0]].astype(np.int64))
            raise NotAProfileError(f"It refers to name {shown}, but has {count}.")
        return indices.astype(np.int64)


def _sample_types(tables: _Tables) -> list[tuple[str, str]]:
    """Name and unit of each value of a sample."""
    count = tables.count(_TYPE)
    if not count:
        raise NotAProfileError("It does not state what its samples measure (no sample type).")
    if count > _MAX_TYPES:
        raise NotAProfileError(f"It has {count:,} sample types: not a measurement.")
    names, units = tables.columns(_TYPE, "sample type", 1, 2)
    return [
        (tables.string(name), tables.string(unit))
        for name, unit in zip(names.tolist(), units.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class _Locations:
    """Which functions stand at each location, innermost first."""

    ids: NDArray[np.uint64] | None
    """Ascending, a place each; None where a location's id is its place."""
    starts: IntArray
    """Where the functions of each place begin in `functions`."""
    counts: IntArray
    """How many they are; 0 where there is no such location."""
    functions: FrameArray

    def stacks(
        self, ids: NDArray[np.uint64], lengths: IntArray, budget: Budget
    ) -> tuple[FrameArray, IntArray]:
        """Return the functions at locations of samples, and how many each sample has.

        Raises `NotAProfileError` for a location that is not there.
        """
        places = self._find(ids)
        counts = self.counts.take(places)
        if not counts.all():
            raise NotAProfileError(
                f"A sample refers to location {int(ids[counts == 0][0])}, which the file does not "
                "have."
            )
        before = offsets_of(counts)
        # Counted before they are built: one location may stand for thousands of inlined functions.
        budget.take("frames", steps=2 * int(before[-1]))
        frames = self.functions.take(ranges(self.starts.take(places), counts))
        return frames, np.diff(before[offsets_of(lengths)])

    def _find(self, ids: NDArray[np.uint64]) -> IntArray:
        if self.ids is None:
            return np.minimum(ids, np.uint64(len(self.counts) - 1)).view(np.int64)
        found = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        # The last place is that of no location.
        return np.where(self.ids[found] == ids, found, len(self.counts) - 1)


def _read_tables(tables: _Tables, budget: Budget) -> tuple[Functions, _Locations]:
    functions = Functions()
    ids, places = _read_functions(tables, functions, budget)
    starts, ends = tables.edges(_LOCATION)
    found = wire.fields(
        tables.payload,
        starts,
        ends,
        {1: "number", 2: "number", 3: "number", 4: "bytes"},
        budget,
        "location",
    )
    location_ids, mappings, addresses = (
        wire.scalar(tables.payload, found[n], len(starts), "location") for n in (1, 2, 3)
    )
    lines = found[4]
    line = wire.fields(tables.payload, lines.starts, lines.ends, {1: "number"}, budget, "line")
    wanted = wire.scalar(tables.payload, line[1], len(lines.rows), "line")
    flat = _functions_of(wanted, ids, places, location_ids, lines.rows)
    count = np.bincount(lines.rows, minlength=len(starts)).astype(np.int64)
    bare = np.flatnonzero(count == 0)
    if len(bare):
        unnamed = _unnamed(tables, functions, mappings[bare], addresses[bare], budget)
        flat = np.insert(flat, offsets_of(count)[bare], unnamed)
        count[bare] = 1
    return functions, _by_id(location_ids, count, flat)


def _read_functions(
    tables: _Tables, functions: Functions, budget: Budget
) -> tuple[NDArray[np.uint64], FrameArray]:
    """The ids of the file's functions, ascending, and the place of each one's name."""
    ids, names, system_names = tables.columns(_FUNCTION, "function", 1, 2, 3)
    order = _unique(ids, "function")
    names, every = np.unique(
        np.where(tables.are_empty(names), system_names, names)[order], return_inverse=True
    )
    budget.take("functions", memory=300 * len(names), steps=100 * len(names))
    places = np.array([functions.index(text) for text in tables.texts(names)], np.int32)
    return ids[order], places[every]


def _unique(ids: NDArray[np.uint64], what: str) -> IntArray:
    """Return the order of ascending ids; raises `NotAProfileError` where one stands twice."""
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(twice):
        raise NotAProfileError(f"It has two {what}s of id {int(ids[order[twice[0]]])}.")
    return order


def _functions_of(
    wanted: NDArray[np.uint64],
    ids: NDArray[np.uint64],
    functions: FrameArray,
    locations: NDArray[np.uint64],
    rows: IntArray,
) -> FrameArray:
    """The function of each line of a location."""
    if not len(wanted):
        return np.zeros(0, np.int32)
    place = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    missing = np.flatnonzero(ids[place] != wanted) if len(ids) else np.zeros(1, np.int64)
    if len(missing):
        raise NotAProfileError(
            f"Location {int(locations[rows[missing[0]]])} refers to function "
            f"{int(wanted[missing[0]])}, which the file does not have."
        )
    return functions[place]


def _unnamed(
    tables: _Tables,
    functions: Functions,
    mappings: NDArray[np.uint64],
    addresses: NDArray[np.uint64],
    budget: Budget,
) -> list[int]:
    """Functions for locations without any, named by library and offset, or by address."""
    columns = tables.columns(_MAPPING, "mapping", 1, 2, 4, 5)
    _unique(columns[0], "mapping")
    budget.take("locations", memory=300 * len(mappings), steps=150 * len(mappings))
    known = dict(
        zip(columns[0].tolist(), zip(*(c.tolist() for c in columns[1:]), strict=True), strict=True)
    )
    found: list[int] = []
    libraries: dict[int, str] = {}
    for mapping, address in zip(mappings.tolist(), addresses.tolist(), strict=True):
        start, offset, file = known.get(mapping, (0, 0, 0))
        if file not in libraries:
            libraries[file] = tables.string(file).rsplit("/", 1)[-1]
            budget.take("names", memory=4 * len(libraries[file]))
        library = libraries[file]
        if library and address >= start:
            name = f"{library}+{address - start + offset:#x}"
        else:
            name = f"{address:#x}" if address else UNKNOWN_NAME
        budget.take("names", memory=2 * len(name), steps=len(name) // 8)
        found.append(functions.exact(name))
    return found


def _by_id(ids: NDArray[np.uint64], count: IntArray, flat: FrameArray) -> _Locations:
    order = _unique(ids, "location")
    first = offsets_of(count)[:-1][order]
    ids, count = ids[order], count[order]
    largest = int(ids[-1]) if len(ids) else 0
    close = largest <= 8 * len(ids) + 4096
    places = ids.view(np.int64) if close else np.arange(len(ids))
    # One more than the largest: whatever is beyond lands on a place that is never filled.
    size = (largest if close else len(ids)) + 2
    starts, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    starts[places], counts[places] = first, count
    return _Locations(None if close else ids, starts, counts, flat)


@dataclass(frozen=True)
class _Reader:
    """Turns the bytes of samples into stacks of functions."""

    locations: _Locations
    values_each: int
    value_index: int
    no_stack: int
    nameless: int | None
    """The function without a name, where there is one."""
    budget: Budget

    def decode(self, payload: ByteArray, starts: IntArray, ends: IntArray) -> Batch:
        count = len(starts)
        found = wire.fields(
            payload, starts, ends, {1: "numbers", 2: "numbers"}, self.budget, "sample"
        )
        (ids, id_counts), (numbers, number_counts) = wire.lists(
            payload, [found[1], found[2]], count, "sample"
        )
        if (number_counts != self.values_each).any():
            wrong = int(number_counts[number_counts != self.values_each][0])
            raise NotAProfileError(
                f"A sample has {wrong} values where {self.values_each} are declared."
            )
        values = numbers.view(np.int64)[self.value_index :: self.values_each].copy()
        frames, lengths = self._functions(ids, id_counts)
        return Batch(frames, offsets_of(lengths), values)

    def _functions(
        self, ids: NDArray[np.uint64], id_counts: IntArray
    ) -> tuple[FrameArray, IntArray]:
        frames, lengths = self.locations.stacks(ids, id_counts, self.budget)
        if len(lengths) and int(lengths.max()) > MAX_STACK:
            raise NotAProfileError(f"A sample has {int(lengths.max()):,} frames: not a stack.")
        if self.nameless is not None:
            frames, lengths = _without_nameless_roots(frames, lengths, self.nameless)
        if (lengths == 0).any():
            at = offsets_of(lengths)[:-1][lengths == 0]
            frames = np.insert(frames, at, self.no_stack)
            lengths = np.maximum(lengths, 1)
        return frames, lengths


def _without_nameless_roots(
    frames: FrameArray, lengths: IntArray, nameless: int
) -> tuple[FrameArray, IntArray]:
    """Drop the frame without a name that some agents add at the root (see `trim_roots`)."""
    while True:
        ends = offsets_of(lengths)[1:]
        filled = lengths > 0
        drop = ends[filled] - 1
        drop = drop[frames[drop] == nameless]
        if not len(drop):
            return frames, lengths
        keep = np.ones(len(frames), bool)
        keep[drop] = False
        lengths = lengths - np.isin(ends - 1, drop) * filled
        frames = frames[keep]


class _Samples:
    """The samples of a file, decoded as often as they are asked for."""

    def __init__(
        self, data: bytes | bytearray, starts: IntArray, ends: IntArray, reader: _Reader
    ) -> None:
        self._data = data
        self._starts = starts
        self._ends = ends
        self._reader = reader

    def __len__(self) -> int:
        return len(self._starts)

    def batches(self, samples: IntArray | None = None) -> Iterator[Batch]:
        """See `Stacks`."""
        starts = self._starts if samples is None else self._starts[samples]
        ends = self._ends if samples is None else self._ends[samples]
        total = 0
        for begin, end in cuts(offsets_of(ends - starts), _BATCH_SAMPLES, _BATCH_BYTES):
            batch = self._decode(starts[begin:end], ends[begin:end])
            total += magnitude(batch.values)
            check_total(total)
            yield batch

    def _decode(self, starts: IntArray, ends: IntArray) -> Batch:
        begin, end = int(starts[0]), int(ends[-1])
        if end - begin < 2 * _BATCH_BYTES:
            payload = np.frombuffer(self._data, np.uint8)[begin:end]
            return self._reader.decode(payload, starts - begin, ends - begin)
        # These lie far apart.
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        payload, offsets = wire.padded([bytes(self._data[start:end]) for start, end in spans])
        return self._reader.decode(payload, offsets[:-1], offsets[1:])
