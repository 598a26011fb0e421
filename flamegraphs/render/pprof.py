"""Writes a pprof file, one location a function, compressed as the format asks for."""

import zlib
from collections.abc import Iterator

import numpy as np

from flamegraphs.formats.wire import field, written
from flamegraphs.profile import Profile
from flamegraphs.render.stacks import merged


def write(profile: Profile) -> Iterator[bytes]:
    """Yield the bytes of a gzip file."""
    # Stacks hardly repeat within gzip's window: more effort takes five times as long for little.
    packer = zlib.compressobj(1, wbits=31)
    for part in _parts(profile):
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


def _parts(profile: Profile) -> Iterator[bytes]:
    strings: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    kind = field(1, text(profile.sample_type or "value")) + field(2, text(profile.unit or "count"))
    yield field(1, kind) + field(11, kind)
    yield from _samples(profile)
    tables: list[bytes] = []
    for place, name in enumerate(profile.functions, 1):
        named = text(name)
        tables.append(field(5, field(1, place) + field(2, named) + field(3, named)))
        tables.append(field(4, field(1, place) + field(4, field(1, place))))
    tables += [field(6, string.encode("utf-8", "replace")) for string in strings]
    yield b"".join(tables)


def _samples(profile: Profile) -> Iterator[bytes]:
    # An id is no zero, so none of its bytes is: shorter ones can be padded with zero bytes.
    ids = [written(place) for place in range(1, len(profile.functions) + 1)]
    texts, widths = np.array(ids or [b"\x01"]), np.array([len(one) for one in ids], np.int64)
    for batch, values in merged(profile):
        text = texts[batch.frames].tobytes().translate(None, b"\0")
        sizes = np.add.reduceat(widths[batch.frames], batch.offsets[:-1])
        ends: list[int] = np.cumsum(sizes).tolist()
        parts: list[bytes] = []
        begin = 0
        for end, value in zip(ends, values.tolist(), strict=True):
            number = written(value)
            stack = b"\x0a" + written(end - begin) + text[begin:end]
            sample = stack + b"\x12" + bytes((len(number),)) + number
            parts.append(b"\x12" + written(len(sample)) + sample)
            begin = end
        yield b"".join(parts)
