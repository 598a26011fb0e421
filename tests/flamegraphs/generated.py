"""Profiles of any size, the same for the same arguments, encoded as Go's `runtime/pprof` does it.

Unique stacks 30 to 60 deep over 20,000 functions; one location in ten has inlined functions, one
sample in five has labels; ids are not positions.
"""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

FUNCTIONS = 20_000
LOCATIONS = 30_000
CALLEES = 7
"""Places that one place calls: a program's call graph is sparse, however many its stacks."""


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write(path: Path, samples: int, seed: int = 1) -> None:
    """Write a gzip-compressed pprof file of `objects` and `malloc` (bytes)."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for piece in pieces(samples, seed):
            file.write(piece)


def pieces(samples: int, seed: int = 1) -> Iterator[bytes]:
    chosen = random.Random(seed)  # noqa: S311 - a repeatable shape, nothing secret
    strings = ["", "objects", "count", "malloc", "bytes", "process", "worker"]
    for kind, unit in ((1, 2), (3, 4)):
        yield field(1, field(1, kind) + field(2, unit))
    label = field(3, field(1, 5) + field(2, 6))
    encoded = [varint(11 + 3 * place) for place in range(LOCATIONS)]
    batch: list[bytes] = []
    for _ in range(samples):
        places = [0]
        for choice in chosen.choices(range(CALLEES), k=chosen.randint(29, 59)):
            places.append((places[-1] * CALLEES + choice + 1) % LOCATIONS)
        stack = b"".join([encoded[place] for place in reversed(places)])
        values = varint(1) + varint(chosen.randint(1, 2**28))
        sample = field(1, stack) + field(2, values)
        if chosen.random() < 0.2:
            sample += label
        batch.append(field(2, sample))
        if len(batch) == 10_000:
            yield b"".join(batch)
            batch.clear()
    yield b"".join(batch)
    for place in range(LOCATIONS):
        count = 1 if place % 10 else chosen.randint(2, 3)
        lines = [1_000 + 5 * chosen.randrange(FUNCTIONS) for _ in range(count)]
        if place < FUNCTIONS:  # so that every function is used
            lines[0] = 1_000 + 5 * place
        yield field(
            4,
            field(1, 11 + 3 * place)
            + field(3, 0x400000 + 16 * place)
            + b"".join(field(4, field(1, function) + field(2, 7)) for function in lines),
        )
    for place in range(FUNCTIONS):
        yield field(5, field(1, 1_000 + 5 * place) + field(2, len(strings)))
        strings.append(f"package{place % 400}.Type{place % 37}.method{place}")
    for text in strings:
        yield field(6, text.encode())
