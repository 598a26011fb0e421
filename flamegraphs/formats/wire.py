"""Reads and writes protobuf's wire format, many small messages at a time.

A profile of a million samples has about that many messages, and one Python object for each is what
makes a reader slow and a hostile file expensive. So messages stay bytes, and numpy walks all of
them in step: the first field of each, then the second, and so on. What a message is (its field
numbers) belongs to whoever asks. The format: protobuf.dev/programming-guides/encoding.

Not here: groups, which no profile has.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.profile import IntArray, offsets_of, ranges

ByteArray = NDArray[np.uint8]

MAX_VARINT = 10
PADDING = 2 * MAX_VARINT
"""Bytes after the last message: how far a damaged number is followed before it is refused."""
_IN_STEP = 48
"""Fields of a message that are read in step with those of others; the rest one by one."""
_WALK_MEMORY = 96
"""Bytes for each message while they are walked, besides what is found."""
_ROUND_STEPS = 1500
"""Steps (see `Budget`) of one field of one message: numpy's calls have a price of their own."""
_SPARE = np.zeros(4, np.uint8)
_LONGEST = 2**30
_MASK = 2**63 - 1
_FIXED = np.array([0, 8, 0, _LONGEST, _LONGEST, 4, _LONGEST, _LONGEST])
"""Bytes of a value by its wire type, where they are always as many; others exist no more."""

Kind = Literal["number", "numbers", "bytes", "fixed64"]
"""What a field holds: one varint, a list of them (packed or not), a message or text, 8 bytes."""
_WIRES: Mapping[Kind, tuple[int, ...]] = {
    "number": (0,),
    "numbers": (0, 2),
    "bytes": (2,),
    "fixed64": (1,),
}


@dataclass(frozen=True)
class Pieces:
    """Where a field stands in messages: the message, and the bytes of the value."""

    rows: IntArray
    starts: IntArray
    ends: IntArray

    def filled(self) -> "Pieces":
        """Those that have a byte at least."""
        there = self.ends > self.starts
        if there.all():
            return self
        return Pieces(self.rows[there], self.starts[there], self.ends[there])


_NONE = Pieces(*(np.zeros(0, np.int64) for _ in range(3)))


def top_level(data: bytes | bytearray, budget: Budget) -> tuple[ByteArray, IntArray, IntArray]:
    """Return tag, start and end of the value of each field of the message ``data``.

    A tag is a field's number times 8 and its wire type; one of more than a byte is given as its
    first byte, above 127: no profile has such fields. Raises `NotAProfileError` where a field is
    none, or ends beyond the message.
    """
    budget.take("messages", steps=500)
    records = array("I")
    add = records.append
    position, end = 0, len(data)
    try:
        while position < end:
            before, numbers = len(records), 0
            piece = min(end, position + 2**16)
            while position < piece:
                add(position)
                if data[position] & 0x87 == 2:
                    size = data[position + 1]
                    if size < 128:
                        position += size + 2
                    elif (byte := data[position + 2]) < 128:
                        position += (byte << 7) + size - 128 + 3
                    else:
                        size, position = varint(data, position + 1)
                        position += size
                else:
                    position = _end(data, position)
                    numbers += 1
            new = len(records) - before
            budget.take("fields", memory=34 * new, steps=15 * new + 30 * numbers)
    except IndexError:
        position = end + 1
    except OverflowError as error:  # beyond four gigabytes
        raise NotAProfileError("It is cut short: a field ends beyond the file.") from error
    starts = np.frombuffer(records, np.uint32).astype(np.int64)
    payload = np.frombuffer(data, np.uint8)
    tags = payload[starts]
    nameless = starts[tags < 8]
    if len(nameless):
        raise NotAProfileError(f"Byte {int(nameless[0])} starts no field of a profile.")
    if position > end:
        raise NotAProfileError(
            f"It is cut short: the record at byte {records[-1]} ends beyond the file."
        )
    return tags, _values_of(payload, tags, starts), np.append(starts[1:], end)


def _values_of(payload: ByteArray, tags: ByteArray, starts: IntArray) -> IntArray:
    """Return where the value of each field begins: behind its tag, and its length if it has one."""
    sized: NDArray[np.bool_] = tags & 0x87 == 2
    begins = starts + 1
    begins += sized
    sized &= payload.take(begins - 1) > 127
    longer = np.flatnonzero(sized)
    while len(longer):
        byte = payload[begins[longer]]
        begins[longer] += 1
        longer = longer[byte > 127]
    return begins


def _end(data: bytes | bytearray, position: int) -> int:
    """Return where the field at ``position`` ends, whatever it is."""
    tag, begin = varint(data, position)
    kind = tag & 7
    if not tag >> 3 or kind not in (0, 1, 2, 5):
        raise NotAProfileError(f"Byte {position} starts no field of a profile.")
    if kind == 2:
        size, begin = varint(data, begin)
        return begin + size
    if kind == 0:
        return varint(data, begin)[1]
    return begin + (8 if kind == 1 else 4)


def varint(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """Read one number; return it and where it ends. Raises IndexError where the data end first."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
        if shift >= 7 * MAX_VARINT:
            raise NotAProfileError(f"The number before byte {position} does not end.")


def fields(
    payload: ByteArray,
    starts: IntArray,
    ends: IntArray,
    wanted: Mapping[int, Kind],
    budget: Budget,
    what: str,
) -> dict[int, Pieces]:
    """Find fields in messages, walking all of them in step; others are passed over.

    ``what`` is what a message is called in an error.
    """
    found: dict[int, list[Pieces]] = {number: [] for number in wanted}
    rows = np.flatnonzero(starts < ends)
    cursor, stop = starts[rows], ends[rows]
    budget.take("messages", memory=_WALK_MEMORY * len(rows))
    for _ in range(_IN_STEP):
        if not len(rows):
            break
        budget.take("fields", memory=24 * len(rows), steps=10 * len(rows) + _ROUND_STEPS)
        tag, at = varints_at(payload, cursor, what)
        wire, number = tag & 7, tag >> 3
        following, after = varints_at(payload, at, what)
        sized = wire == 2
        begin = np.where(sized, after, at)
        # A length beyond any message is one past its end, and must not overflow on the way there.
        finish = after + np.minimum(following, _LONGEST) * sized
        odd = np.flatnonzero(wire & 5)
        if len(odd):
            finish[odd] = at[odd] + _FIXED[wire[odd]]
        if (finish > stop).any() or (number <= 0).any():
            raise NotAProfileError(f"A {what} is damaged: its fields do not fit into it.")
        for field, kind in wanted.items():
            mine = number == field
            if mine.all():
                _check_wires(wire, kind, what)
                found[field].append(Pieces(rows, begin, finish))
            elif mine.any():
                _check_wires(wire[mine], kind, what)
                found[field].append(Pieces(rows[mine], begin[mine], finish[mine]))
        going = finish < stop
        rows, cursor, stop = rows[going], finish[going], stop[going]
    for row, begin, end in zip(rows.tolist(), cursor.tolist(), stop.tolist(), strict=True):
        for field, piece in _one_by_one(payload, row, begin, end, wanted, budget, what):
            found[field].append(piece)
    return {field: _in_order(pieces) for field, pieces in found.items()}


def _check_wires(wire: IntArray, kind: Kind, what: str) -> None:
    allowed = _WIRES[kind]
    fits = wire == allowed[0]
    for other in allowed[1:]:
        fits |= wire == other
    if not fits.all():
        raise NotAProfileError(f"A {what} is damaged: a field of it is of another kind.")


def _one_by_one(
    payload: ByteArray,
    row: int,
    begin: int,
    end: int,
    wanted: Mapping[int, Kind],
    budget: Budget,
    what: str,
) -> Iterator[tuple[int, Pieces]]:
    """The fields of one message that has too many to be walked in step."""
    tags, starts, ends = top_level(payload[begin:end].tobytes(), budget)
    for field, kind in wanted.items():
        mine = np.flatnonzero(tags >> 3 == field)
        if len(mine):
            # The pieces, and once more while they are put in order.
            budget.take("fields", memory=72 * len(mine))
            _check_wires(tags[mine].astype(np.int64) & 7, kind, what)
            yield field, Pieces(np.full(len(mine), row), starts[mine] + begin, ends[mine] + begin)


def _in_order(pieces: list[Pieces]) -> Pieces:
    if not pieces:
        return _NONE
    if len(pieces) == 1:
        return pieces[0]
    rows = np.concatenate([piece.rows for piece in pieces])
    starts = np.concatenate([piece.starts for piece in pieces])
    ends = np.concatenate([piece.ends for piece in pieces])
    order = np.argsort(starts)
    return Pieces(rows[order], starts[order], ends[order])


def varints_at(payload: ByteArray, positions: IntArray, what: str) -> tuple[IntArray, IntArray]:
    """Return the number at each position and where it ends."""
    try:
        byte = payload[positions].astype(np.int64)
        value = byte & 0x7F
        after = positions + 1
        more = np.flatnonzero(byte > 127)
        shift = 7
        while len(more):
            if shift >= 7 * MAX_VARINT:
                raise NotAProfileError(f"A {what} is damaged: a number in it does not end.")
            byte = payload[after[more]].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            after[more] += 1
            more = more[byte > 127]
            shift += 7
    except IndexError:
        raise NotAProfileError(f"A {what} is damaged: it is cut short.") from None
    return value & _MASK, after


def numbers(
    payload: ByteArray, pieces: Pieces, count: int, what: str
) -> tuple[NDArray[np.uint64], IntArray]:
    """Return all numbers in lists, and how many belong to each of ``count`` messages."""
    return lists(payload, [pieces], count, what)[0]


def lists(
    payload: ByteArray, fields: Sequence[Pieces], count: int, what: str
) -> list[tuple[NDArray[np.uint64], IntArray]]:
    """The same for several fields of the same messages, whose bytes are looked through once."""
    filled = [pieces.filled() for pieces in fields]
    if not any(len(pieces.rows) for pieces in filled):
        return [(np.zeros(0, np.uint64), np.zeros(count, np.int64)) for _ in fields]
    begin = min(int(pieces.starts[0]) for pieces in filled if len(pieces.rows))
    end = max(int(pieces.ends[-1]) for pieces in filled if len(pieces.rows))
    run = np.concatenate([_SPARE[:1], payload[begin:end], _SPARE])
    # Where a number ends the next begins, by one byte in front. What is between two lists looks
    # like numbers, too.
    every = np.flatnonzero(run < 128)
    run = run[1:]
    found: list[tuple[NDArray[np.uint64], IntArray]] = []
    for pieces in filled:
        if (payload[pieces.ends - 1] > 127).any():
            raise NotAProfileError(f"A {what} is damaged: a list in it ends within a number.")
        before = np.searchsorted(every, pieces.starts - begin)
        lengths = np.searchsorted(every, pieces.ends - begin) - before
        values = _values(run, every.take(ranges(before, lengths)), what)
        found.append((values, np.bincount(pieces.rows, lengths, count).astype(np.int64)))
    return found


def _values(run: ByteArray, first: IntArray, what: str) -> NDArray[np.uint64]:
    """The numbers that begin at ``first`` in bytes that end with `_SPARE`."""
    # Nearly all have up to four bytes: each is read at once, at whatever place it stands.
    words = np.ndarray(len(run) - 3, "<u4", run, 0, (1,)).take(first)
    last = ~words
    last &= 0x80808080
    longer = np.flatnonzero(last == 0)
    # The lowest bit left is that of the last byte; less one it is a mask of what is before it.
    last &= -last
    last -= 1
    words &= last
    values = words & 0x7F
    for place in range(1, 4):
        words >>= 1
        values |= words & (0x7F << 7 * place)
    found = values.astype(np.uint64)
    place = 4
    while len(longer):
        if place >= MAX_VARINT:
            raise NotAProfileError(f"A {what} is damaged: a number in it does not end.")
        byte = run.take(first[longer] + place)
        found[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place)
        longer = longer[byte > 127]
        place += 1
    return found


def scalar(payload: ByteArray, pieces: Pieces, count: int, what: str) -> NDArray[np.uint64]:
    """Return one number for each of ``count`` messages: the last it has, or 0."""
    found = np.zeros(count, np.uint64)
    if len(pieces.rows):
        low, after = varints_at(payload, pieces.starts, what)
        # The 64th bit is in the tenth byte.
        high = np.flatnonzero(after - pieces.starts == MAX_VARINT)
        values = low.astype(np.uint64)
        top = payload[pieces.starts[high] + MAX_VARINT - 1].astype(np.uint64) & np.uint64(1)
        values[high] |= top << np.uint64(63)
        found[pieces.rows] = values
    return found


def padded(parts: list[bytes]) -> tuple[ByteArray, IntArray]:
    """Join messages into one payload; return it and the offsets of each."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.frombuffer(b"".join([*parts, bytes(PADDING)]), np.uint8), offsets_of(lengths)


# ---- writing ----


def written(number: int) -> bytes:
    """One number as a varint; negative ones as 64 bits."""
    number &= 2**64 - 1
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def varints(numbers: NDArray[np.uint64]) -> tuple[ByteArray, IntArray]:
    """Numbers as varints, one after another, and how many bytes each has."""
    longest = max(1, -(-int(numbers.max(initial=0)).bit_length() // 7))
    shifted = numbers[:, None] >> (np.arange(longest, dtype=np.uint64) * np.uint64(7))
    sizes = np.maximum(np.count_nonzero(shifted, axis=1), 1)
    encoded = shifted.astype(np.uint8) | np.uint8(128)
    encoded[np.arange(len(numbers)), sizes - 1] &= 127
    return encoded[np.arange(longest) < sizes[:, None]], sizes


def rows(*columns: IntArray | int) -> tuple[ByteArray, IntArray]:
    """The numbers of each row as varints, row by row, and how many bytes each row has.

    A tag is a number, too, so a row can be a message or a part of one.
    """
    table = np.stack(np.broadcast_arrays(*columns), axis=1).astype(np.int64)
    encoded, sizes = varints(table.view(np.uint64).ravel())
    return encoded, sizes.reshape(table.shape).sum(axis=1)


def field(number: int, value: int | bytes) -> bytes:
    """One field of a message: a number, or text, or a message's own bytes."""
    if isinstance(value, int):
        return written(number << 3) + written(value)
    return written(number << 3 | 2) + written(len(value)) + value
