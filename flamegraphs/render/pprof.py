"""Writes a pprof file, one location a function, compressed as the format asks for."""

import zlib
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from flamegraphs.formats.wire import field, rows, varints, written
from flamegraphs.profile import IntArray, Profile, ranges
from flamegraphs.render.stacks import merged

_SAMPLE, _LOCATION, _FUNCTION = 2 << 3 | 2, 4 << 3 | 2, 5 << 3 | 2
_IDS, _VALUES = 1 << 3 | 2, 2 << 3 | 2
"""Tags of a profile's fields, and of a sample's."""
_TRIED = 4
"""Parts of a file, of some thousand stacks each, that tell how it is packed best."""


def write(profile: Profile) -> Iterator[bytes]:
    """Yield the bytes of a gzip file."""
    parts = _parts(profile)
    begin = list(islice(parts, _TRIED))
    strategy = _strategy(b"".join(begin))
    packer = zlib.compressobj(1, wbits=31, memLevel=9, strategy=strategy)
    for part in chain(begin, parts):
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


def _strategy(begin: bytes) -> int:
    """How a file that begins like this is packed.

    Where stacks hardly repeat within gzip's window, looking for what does takes three times as long
    as all the rest of packing, for less than a fifth of the size. More effort takes longer yet.
    """
    sizes: list[int] = []
    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY):
        packer = zlib.compressobj(1, strategy=strategy)
        sizes.append(len(packer.compress(begin)) + len(packer.flush()))
    return zlib.Z_DEFAULT_STRATEGY if sizes[0] < 0.8 * sizes[1] else zlib.Z_HUFFMAN_ONLY


def _parts(profile: Profile) -> Iterator[bytes]:
    strings: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    kind = field(1, text(profile.sample_type or "value")) + field(2, text(profile.unit or "count"))
    yield field(1, kind) + field(11, kind)
    yield from _samples(profile)
    ids = np.arange(1, len(profile.functions) + 1)
    names = np.array([text(name) for name in profile.functions], np.int64)
    yield _messages(_FUNCTION, 1 << 3, ids, 2 << 3, names, 3 << 3, names)
    yield _messages(_LOCATION, 1 << 3, ids, 4 << 3 | 2, rows(1 << 3, ids)[1], 1 << 3, ids)
    yield b"".join(field(6, string.encode("utf-8", "replace")) for string in strings)


def _messages(tag: int, *columns: IntArray | int) -> bytes:
    """Messages of one field, made of a row of numbers each."""
    sizes = rows(*columns)[1]
    return rows(tag, sizes, *columns)[0].tobytes()


def _samples(profile: Profile) -> Iterator[bytes]:
    # An id is no zero, so none of its bytes is: shorter ones can be padded with zero bytes.
    ids = [written(place) for place in range(1, len(profile.functions) + 1)]
    padded, widths = np.array(ids, "S4").view(np.uint32), np.array([*map(len, ids)], np.int64)
    for batch, values in merged(profile):
        stacks = padded.take(batch.frames).tobytes().translate(None, b"\0")
        stack_sizes = np.add.reduceat(widths.take(batch.frames), batch.offsets[:-1])
        value_sizes = varints(values.view(np.uint64))[1]
        sizes = 3 + varints(stack_sizes.view(np.uint64))[1] + stack_sizes + value_sizes
        # A sample's own field, and its list of ids; then its list of one value. Tags are varints.
        heads, head_sizes = rows(_SAMPLE, sizes, _IDS, stack_sizes)
        tails, tail_sizes = rows(_VALUES, value_sizes, values)
        ends = np.cumsum(head_sizes + stack_sizes + tail_sizes)
        parts = np.empty(int(ends[-1]), np.uint8)
        is_stack = np.ones(len(parts), bool)
        for part, begin, length in (
            (heads, ends - tail_sizes - stack_sizes - head_sizes, head_sizes),
            (tails, ends - tail_sizes, tail_sizes),
        ):
            at = ranges(begin, length)
            parts[at] = part
            is_stack[at] = False
        parts[is_stack] = np.frombuffer(stacks, np.uint8)
        yield parts.tobytes()
