"""Reads pprof files, plain or in gzip (of one or several members), fast and in bounded memory.

A profile of a million samples has about that many small messages, and one Python object for each
is what makes a reader slow. So the file is split into records first; the tables (locations,
functions, names) go to protobuf, and the samples stay bytes that numpy decodes some thousand at a
time, whenever they are asked for.

The format is that of github.com/google/pprof, proto/profile.proto. Ids are not positions, lists
may be packed or not, ``line[0]`` is the innermost of inlined functions, and functions are merged by
name.

Not here: labels (filters belong to the server that has the index), and ``drop_frames``: no bytes
are ever dropped.
"""

import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from contract.agent import SAMPLE_TYPE, SAMPLE_UNIT
from flamegraphs import profile_pb2 as pb
from flamegraphs.errors import NotAProfileError
from flamegraphs.limits import MAX_FILE, MAX_SAMPLE, MAX_SAMPLES, MAX_TABLES
from flamegraphs.names import NO_STACK, UNKNOWN_NAME
from flamegraphs.profile import (
    MAX_TOTAL,
    Batch,
    FrameArray,
    Functions,
    IntArray,
    Profile,
    offsets_of,
    ranges,
)
from flamegraphs.window import length_text, moment_text

_BATCH_SAMPLES = 2048
_BATCH_BYTES = 2**18
_SAMPLE_TAG = 0x12
_MAX_VARINT = 10
_MAX_FIELDS = 48
"""Fields of a sample that are read in step with those of others; one with more is tidied first."""
_PADDING = 2 * _MAX_VARINT
"""Bytes after a batch: how far a damaged number at its end is followed before it is refused."""

ByteArray = NDArray[np.uint8]


def read(data: bytes, sample_type: str | None = None) -> Profile:
    """Read a pprof file.

    ``sample_type`` is the name of the value to take (e.g. ``inuse_space``); without it the
    agent's where there is one, else what the file names as its default, else the last, as
    ``go tool pprof`` has it.

    Raises `NotAProfileError` where the bytes are not a profile, are cut short or beyond the limits.
    """
    data = decompress(data)
    starts, ends, rest = _split(data)
    try:
        tables = pb.Profile.FromString(rest)
    except (DecodeError, RecursionError, MemoryError) as error:
        raise NotAProfileError("Its tables of functions and locations are damaged.") from error
    strings = [text.decode("utf-8", "replace") for text in tables.string_table]
    types = _sample_types(tables, strings)
    chosen, notes = _choose_type(types, _string(strings, tables.default_sample_type), sample_type)
    functions, locations = _read_tables(tables, strings)
    no_stack = functions.index(NO_STACK)
    table, kinds = functions.table()
    empty = functions.index("") if "" in table else None
    facts = _times(tables)

    def measure(index: int) -> Profile:
        reader = _Reader(locations, len(types), index, no_stack, empty)
        return Profile(table, kinds, _Samples(data, starts, ends, reader), *types[index], facts)

    others = [measure(index) for index in range(len(types)) if index != chosen]
    return replace(measure(chosen), notes=notes, others=others)


def decompress(data: bytes, limit: int = MAX_FILE) -> bytes:
    """Unpack gzip, all its members, up to ``limit`` bytes; anything else is returned as it is."""
    if not data.startswith(b"\x1f\x8b"):
        if len(data) > limit:
            raise NotAProfileError(f"It is larger than the {limit >> 20} MiB that are read.")
        return data
    parts: list[bytes] = []
    size = 0
    while data:
        if not data.startswith(b"\x1f\x8b"):
            if data.strip(b"\0"):
                raise NotAProfileError("Bytes that are not gzip follow its compressed part.")
            break
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, limit + 1 - size)
        except zlib.error as error:
            raise NotAProfileError(f"Its gzip data are damaged ({error}).") from error
        parts.append(part)
        size += len(part)
        if size > limit:
            raise NotAProfileError(f"It unpacks to more than the {limit >> 20} MiB that are read.")
        if not member.eof:
            raise NotAProfileError("It is cut short: the gzip data end before their end mark.")
        data = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _split(data: bytes) -> tuple[IntArray, IntArray, bytes]:
    """Return where each sample starts and ends, and everything else in one piece."""
    starts, ends = array("I"), array("I")
    add_start, add_end = starts.append, ends.append
    rest: list[bytes] = []
    rest_size = 0
    rest_start = position = 0
    end = len(data)
    try:
        while position < end:
            record = position
            tag = data[position]
            if tag != _SAMPLE_TAG:
                position = _skip_field(data, position)
                continue
            size = data[position + 1]
            position += 2
            if size > 127:
                byte = data[position]
                position += 1
                size += (byte << 7) - 128
                shift = 14
                while byte > 127:
                    byte = data[position]
                    position += 1
                    size += (byte << shift) - (1 << shift)
                    shift += 7
                    if shift > 70:
                        raise NotAProfileError(f"The number at byte {record + 1} does not end.")
            if rest_start < record:
                rest.append(data[rest_start:record])
                rest_size += record - rest_start
            if size > MAX_SAMPLE:
                _check_inside(record, position + size, end)
                raise NotAProfileError(
                    f"The sample at byte {record} has {size:,} bytes: not a stack."
                )
            add_start(position)
            position += size
            add_end(position)
            rest_start = position
    except IndexError:
        position = end + 1
    _check_inside(rest_start, position, end)
    rest.append(data[rest_start:])
    rest_size += end - rest_start
    if rest_size > MAX_TABLES:
        raise NotAProfileError(
            f"Its tables of names take {rest_size:,} bytes; more than {MAX_TABLES >> 20} MiB "
            "are not read."
        )
    if len(starts) > MAX_SAMPLES:
        raise NotAProfileError(
            f"It has {len(starts):,} samples; more than {MAX_SAMPLES:,} are not read."
        )
    return (
        np.frombuffer(starts, np.uint32).astype(np.int64),
        np.frombuffer(ends, np.uint32).astype(np.int64),
        b"".join(rest),
    )


def _skip_field(data: bytes, position: int) -> int:
    """Return where the field at ``position`` ends, whatever it is.

    Raises IndexError where the data end first.
    """
    start = position
    tag, position = _varint(data, position)
    wire = tag & 7
    if not tag >> 3:
        raise NotAProfileError(f"Byte {start} starts no field of a profile.")
    if wire == 0:
        return _varint(data, position)[1]
    if wire == 2:
        size, position = _varint(data, position)
        return position + size
    if wire == 1:
        return position + 8
    if wire == 5:
        return position + 4
    raise NotAProfileError(f"Byte {start} starts no field of a profile.")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift >= 7 * _MAX_VARINT:
            raise NotAProfileError(f"The number before byte {position} does not end.")


def _check_inside(record: int, position: int, end: int) -> None:
    if position > end:
        raise NotAProfileError(
            f"It is cut short: the record after byte {record} ends beyond the file."
        )


def _sample_types(tables: pb.Profile, strings: Sequence[str]) -> list[tuple[str, str]]:
    """Name and unit of each value of a sample."""
    types = [(_string(strings, t.type), _string(strings, t.unit)) for t in tables.sample_type]
    if not types:
        raise NotAProfileError("It says nowhere what its samples measure (no sample type).")
    return types


def _times(tables: pb.Profile) -> dict[str, str]:
    """When the profile was taken and how long that took, where the file says so."""
    facts: dict[str, str] = {}
    if tables.time_nanos > 0:
        seconds = tables.time_nanos // 10**9
        facts["taken"] = moment_text(datetime.fromtimestamp(seconds, UTC))
    if tables.duration_nanos > 0:
        facts["duration"] = length_text(timedelta(microseconds=tables.duration_nanos / 1000))
    return facts


def _choose_type(
    types: Sequence[tuple[str, str]], default: str, wanted: str | None
) -> tuple[int, list[str]]:
    names = [name for name, _ in types]
    if wanted is not None:
        if wanted not in names:
            raise NotAProfileError(f"It has no values of type {wanted!r}, but {', '.join(names)}.")
        index = names.index(wanted)
    elif (SAMPLE_TYPE, SAMPLE_UNIT) in types:
        index = types.index((SAMPLE_TYPE, SAMPLE_UNIT))
    elif default and default in names:
        index = names.index(default)
    else:
        index = len(types) - 1
    name = names[index]
    notes: list[str] = []
    if len(types) > 1 and wanted is None:
        notes.append(
            f"The file has several values a stack ({', '.join(names)}); this is {name!r}. "
            "Choose another with --sample-type."
        )
    return index, notes


def _string(strings: Sequence[str], index: int) -> str:
    if not 0 <= index < max(len(strings), 1):
        raise NotAProfileError(f"It refers to name {index}, but has {len(strings)}.")
    return strings[index] if strings else ""


@dataclass(frozen=True)
class _Locations:
    """Which functions stand at a location, innermost first, in one flat array."""

    ids: NDArray[np.uint64]
    """Ascending."""
    first: IntArray
    count: IntArray
    functions: FrameArray
    places: NDArray[np.int32] | None
    """Place of each id, where the ids are small enough for a table; -1 for none."""

    def find(self, ids: NDArray[np.uint64]) -> IntArray | FrameArray:
        """Return the places of ids; raises `NotAProfileError` for one that is not there."""
        if self.places is not None:
            found = self.places[np.minimum(ids, len(self.places) - 1)]
            missing = found < 0
        else:
            found = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            missing = self.ids[found] != ids
        if missing.any():
            raise NotAProfileError(
                f"A sample refers to location {int(ids[missing][0])}, which the file does not have."
            )
        return found


def _read_tables(tables: pb.Profile, strings: Sequence[str]) -> tuple[Functions, _Locations]:
    functions = Functions()
    by_id: dict[int, int] = {}
    for function in tables.function:
        name = _string(strings, function.name) or _string(strings, function.system_name)
        by_id[function.id] = functions.index(name)
    mappings = {m.id: m for m in tables.mapping}

    def unnamed(location: pb.Location) -> int:
        mapping = mappings.get(location.mapping_id)
        library = _string(strings, mapping.filename).rsplit("/", 1)[-1] if mapping else ""
        if mapping and library and location.address >= mapping.memory_start:
            offset = location.address - mapping.memory_start + mapping.file_offset
            return functions.index(f"{library}+{offset:#x}")
        return functions.index(f"{location.address:#x}" if location.address else UNKNOWN_NAME)

    lines: dict[int, list[int]] = {}
    for location in tables.location:
        try:
            found = [by_id[line.function_id] for line in location.line]
        except KeyError as error:
            raise NotAProfileError(
                f"Location {location.id} refers to function {error.args[0]}, which the file does "
                "not have."
            ) from None
        lines[location.id] = found or [unnamed(location)]
    order = sorted(lines)
    count = np.fromiter((len(lines[i]) for i in order), np.int64, len(order))
    flat = np.fromiter((f for i in order for f in lines[i]), np.int32)
    ids = np.array(order or [0], np.uint64)
    if not order:
        count = np.zeros(1, np.int64)
    places = None
    if order and order[-1] <= 8 * len(order) + 4096:
        # One more than the largest id: whatever is beyond lands on a place that is never filled.
        places = np.full(order[-1] + 2, -1, np.int32)
        places[ids.astype(np.int64)] = np.arange(len(order))
    elif not order:
        places = np.full(1, -1, np.int32)
    return functions, _Locations(ids, offsets_of(count)[:-1], count, flat, places)


@dataclass(frozen=True)
class _Reader:
    """Turns the bytes of samples into stacks of functions."""

    locations: _Locations
    values_each: int
    value_index: int
    no_stack: int
    nameless: int | None
    """The function without a name, where there is one."""

    def decode(self, payload: ByteArray, starts: IntArray, ends: IntArray) -> Batch:
        segments = _segments(payload, starts, ends)
        count = len(starts)
        ids, id_counts = _varints(payload, *segments.locations, count)
        numbers, number_counts = _varints(payload, *segments.values, count)
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
        places = self.locations.find(ids)
        counts = self.locations.count[places]
        first = self.locations.first[places]
        if (counts == 1).all():
            frames, lengths = self.locations.functions[first], id_counts
        else:
            frames = self.locations.functions[ranges(first, counts)]
            ends = offsets_of(counts)[offsets_of(id_counts)]
            lengths = np.diff(ends)
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


class _ManyFieldsError(Exception):
    """A sample has more fields than are worth reading in step."""


_Pieces = tuple[IntArray, IntArray, IntArray]
"""Rows, starts and ends of runs of varints, in the order of the bytes."""


@dataclass(frozen=True)
class _Segments:
    locations: _Pieces
    values: _Pieces


def _segments(payload: ByteArray, starts: IntArray, ends: IntArray) -> _Segments:
    """Find the location ids and values in samples, walking all of them in step.

    ``payload`` has `_PADDING` bytes after the last sample. Raises `_ManyFieldsError` where that
    would take too many steps.
    """
    found: dict[int, list[_Pieces]] = {1: [], 2: []}
    rows = np.flatnonzero(starts < ends)
    cursor, stop = starts[rows], ends[rows]
    for _ in range(_MAX_FIELDS):
        if not len(rows):
            return _Segments(_in_order(found[1]), _in_order(found[2]))
        tag, at = _varints_at(payload, cursor)
        wire, number = tag & 7, tag >> 3
        following, after = _varints_at(payload, at)
        begin = np.where(wire == 2, after, at)
        # A length beyond any sample is one past its end, and must not overflow on the way there.
        size = np.minimum(following, MAX_SAMPLE + 1)
        finish = np.select(
            [wire == 0, wire == 2, wire == 1, wire == 5],
            [after, after + size, at + 8, at + 4],
            default=-1,
        )
        if (finish < 0).any() or (finish > stop).any() or (number <= 0).any():
            raise NotAProfileError("A sample is damaged: its fields do not fit into it.")
        for field, pieces in found.items():
            mine = (number == field) & (finish > begin)
            if mine.any():
                if ((wire[mine] != 0) & (wire[mine] != 2)).any():
                    raise NotAProfileError("A sample is damaged: a list of numbers is none.")
                pieces.append((rows[mine], begin[mine], finish[mine]))
        going = finish < stop
        rows, cursor, stop = rows[going], finish[going], stop[going]
    raise _ManyFieldsError


def _in_order(pieces: list[_Pieces]) -> _Pieces:
    if not pieces:
        none = np.zeros(0, np.int64)
        return none, none, none
    if len(pieces) == 1:
        return pieces[0]
    rows, starts, ends = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.argsort(starts)
    return rows[order], starts[order], ends[order]


def _varints_at(payload: ByteArray, positions: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number at each position and where it ends."""
    byte = payload[positions].astype(np.int64)
    value = byte & 0x7F
    after = positions + 1
    more = np.flatnonzero(byte > 127)
    shift = 7
    while len(more):
        if shift >= 7 * _MAX_VARINT:
            raise NotAProfileError("A sample is damaged: a number in it does not end.")
        byte = payload[after[more]].astype(np.int64)
        value[more] |= (byte & 0x7F) << shift
        after[more] += 1
        more = more[byte > 127]
        shift += 7
    return value & MAX_TOTAL, after


def _varints(
    payload: ByteArray, rows: IntArray, starts: IntArray, ends: IntArray, count: int
) -> tuple[NDArray[np.uint64], IntArray]:
    """Return all numbers in the given runs, and how many belong to each of ``count`` rows."""
    if not len(rows):
        return np.zeros(0, np.uint64), np.zeros(count, np.int64)
    if (payload[ends - 1] > 127).any():
        raise NotAProfileError("A sample is damaged: a list in it ends within a number.")
    sizes = ends - starts
    edges = np.zeros(len(payload) + 1, np.int8)
    edges[starts] += 1
    edges[ends] -= 1
    run = payload[np.cumsum(edges[:-1], dtype=np.int8).view(bool)]
    last = np.flatnonzero(run < 128)
    first = np.empty_like(last)
    first[0] = 0
    first[1:] = last[:-1] + 1
    width = last - first
    values = (run[first] & 0x7F).astype(np.uint64)
    longest = int(width.max())
    if longest >= _MAX_VARINT:
        raise NotAProfileError("A sample is damaged: a number in it does not end.")
    for place in range(1, longest + 1):
        longer = np.flatnonzero(width >= place)
        part = (run[first[longer] + place] & 0x7F).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * place)
    run_ends = np.cumsum(sizes)
    in_run = np.diff(np.searchsorted(last, run_ends), prepend=0)
    return values, np.bincount(rows, in_run, count).astype(np.int64)


class _Samples:
    """The samples of a file, decoded as often as they are asked for."""

    def __init__(self, data: bytes, starts: IntArray, ends: IntArray, reader: _Reader) -> None:
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
        before = offsets_of(ends - starts)
        total = begin = 0
        while begin < len(starts):
            # At least one sample, and no more than fit a batch by number and by size.
            most = int(before[begin]) + _BATCH_BYTES
            full = int(np.searchsorted(before, most, "right")) - 1
            end = max(begin + 1, min(full, begin + _BATCH_SAMPLES))
            batch = self._decode(starts[begin:end], ends[begin:end])
            total += _magnitude(batch.values)
            if total > MAX_TOTAL:
                raise NotAProfileError(
                    "Its values add up to more than 64 bits hold: not a measurement."
                )
            yield batch
            begin = end

    def _decode(self, starts: IntArray, ends: IntArray) -> Batch:
        begin, end = int(starts[0]), int(ends[-1])
        if end - begin < 2 * _BATCH_BYTES:
            payload = np.frombuffer(self._data[begin:end] + bytes(_PADDING), np.uint8)
            try:
                return self._reader.decode(payload, starts - begin, ends - begin)
            except _ManyFieldsError:
                pass
        return self._decode_each(starts, ends)

    def _decode_each(self, starts: IntArray, ends: IntArray) -> Batch:
        """Decode samples that lie far apart, or are written in more fields than needed."""
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        pieces = [_tidy(self._data[start:end]) for start, end in spans]
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        payload = np.frombuffer(b"".join([*pieces, bytes(_PADDING)]), np.uint8)
        offsets = offsets_of(lengths)
        return self._reader.decode(payload, offsets[:-1], offsets[1:])


def _tidy(sample: bytes) -> bytes:
    """Pack the lists of a sample, so that reading it takes a few steps however it was written."""
    try:
        message = pb.Sample.FromString(sample)
    except DecodeError as error:
        raise NotAProfileError("A sample is damaged.") from error
    message.DiscardUnknownFields()
    return message.SerializeToString()


def _magnitude(values: IntArray) -> int:
    """Sum of absolute values, exact whatever they are."""
    if len(values) == 0:
        return 0
    largest = max(abs(int(values.max())), abs(int(values.min())))
    if largest < 2**50:
        return int(np.add.reduce(np.abs(values)))
    exact: list[int] = values.tolist()
    return sum(map(abs, exact))
