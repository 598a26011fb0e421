"""A mutation fuzzer of the readers: seeded, so that what it finds can be found again.

    python -m tests.flamegraphs.fuzz --rounds 100000 --seed 7
    python -m tests.flamegraphs.fuzz --minutes 30

It also says which input took the longest, and the most memory that the process had at any time:
every input is cut at 100 kB, so neither may come near the limits that the readers promise. A search
of minutes is guided: it keeps the slowest inputs of each format, damages those further, repeats
pieces of them up to a million times, and stores what grows beyond 100 kB in gzip. What it finds
depends on the machine then; `--keep` writes the slowest.

Every input is a valid profile in one of the formats, damaged in a few places. Whatever comes out
has to be a profile whose sums hold, or one `NotAProfileError`. The test suite runs some thousand
rounds; atheris would find paths that this does not, but has no build for every Python we support.
"""

import argparse
import base64
import contextlib
import gzip
import json
import pickle
import random
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flamegraphs.errors import NotAProfileError
from flamegraphs.hotspots import hotspots
from flamegraphs.unpack import GZIP, unpack
from tests.flamegraphs.generated import field
from tests.flamegraphs.profiles import Encoding, pprof_bytes, read_bytes

_STACKS = [
    (["0x7f1", "libcuda.so+0x12", "Engine > step", "<module>", ""], 5_000),
    (["a", "b", "a", "<interpreter trampoline>", "main"], 77),
    (["<unknown>"], 3),
    (["f"] * 40, 2**40),
]
_SNAPSHOT = {
    "segments": [
        {"blocks": [{"size": 8, "state": "active_allocated", "frames": [{"name": "f", "line": 1}]}]}
    ],
    "device_traces": [],
}
_FRAME = {
    "schema": {"fields": [{"name": name} for name in ("level", "value", "self", "label")]},
    "data": {"values": [[0, 1, 2], [9, 9, 4], [0, 5, 4], ["total", "a", "other"]]},
}
_PERF = b"a 1/2 [0] 1.5: 7 cycles:u:\n\tff f+0x1 (/x.so)\n\tfe [unknown] (/y)\n\n" * 3
_TABLES = field(2, b"") + field(2, field(3, field(1, 1))) + field(3, b"") + field(3, field(1, 3))
_TEXTS = b"".join(field(5, text) for text in (b"", b"malloc", b"bytes", b"f"))
_SAMPLED = field(1, field(1, 1) + field(2, 2)) + field(2, field(1, 1) + field(2, b"\x05"))
_TWO = field(7, b"") + field(7, field(1, b"\x01"))
_OTLP = field(1, field(2, field(2, _SAMPLED))) + field(2, _TABLES + _TEXTS + _TWO)
_MOST = 100_000
_LARGEST = 2**25
"""Bytes of an input before gzip; `hostile` has larger ones."""
_KEPT = 6
_INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x80",
    b"\x7f",
    b"\x0a",
    b"\x12",
    b"\xff" * 10,
    b"-1",
    b"9" * 25,
)


def seeds() -> list[bytes]:
    """Valid inputs, one of each kind."""
    folded = b"".join(f"{';'.join(s[::-1])} {v}\n".encode() for s, v in _STACKS)
    graph = {
        "flamegraph": {
            "names": ["total", "a", "b", "other"],
            "levels": [
                {"values": ["0", "100", "0", "0"]},
                {"values": ["0", "60", "10", "1", "5", "30", "30", "3"]},
                {"values": ["10", "40", "40", "2"]},
            ],
        }
    }
    plain = pprof_bytes(_STACKS)
    recorded = Path(__file__).parent / "recorded"
    return [
        *(file.read_bytes() for file in sorted(recorded.iterdir()) if file.suffix != ".md"),
        pickle.dumps(_SNAPSHOT, 4),
        json.dumps(_FRAME).encode(),
        _PERF,
        _OTLP,
        plain,
        pprof_bytes(_STACKS, Encoding(packed=False, unknown_fields=True, values_first=True)),
        pprof_bytes(_STACKS, Encoding(first_id=2**63, id_step=1_000_003, tables_first=True)),
        gzip.compress(plain, mtime=0),
        folded,
        json.dumps(graph).encode(),
    ]


def damaged(data: bytes, chosen: random.Random) -> bytes:
    """Change a few places: flip, overwrite, insert, remove, repeat or cut."""
    changed = bytearray(data)
    for _ in range(chosen.randint(1, 4)):
        at = chosen.randrange(len(changed) + 1) if changed else 0
        length = chosen.choice((1, 1, 2, 8, 64))
        match chosen.randrange(6):
            case 0:
                if at < len(changed):
                    changed[at] ^= 1 << chosen.randrange(8)
            case 1:
                changed[at : at + 1] = chosen.choice(_INTERESTING)
            case 2:
                changed[at:at] = chosen.randbytes(length)
            case 3:
                del changed[at : at + length]
            case 4:
                changed[at:at] = changed[at : at + length] * chosen.choice((1, 2, 50))
            case _:
                del changed[at:]
    return bytes(changed[:_MOST])


def grown(data: bytes, chosen: random.Random) -> bytes:
    """Repeat a piece many times, and pack what is too large."""
    at, length = chosen.randrange(len(data) + 1), chosen.choice((1, 2, 3, 4, 8, 32, 128))
    piece = data[at : at + length]
    count = min(2 ** chosen.randint(4, 20), (_LARGEST - len(data)) // max(len(piece), 1))
    data = data[:at] + piece * count + data[at:]
    return data if len(data) <= _MOST else gzip.compress(data, 6, mtime=0)


class Slowest:
    """The slowest inputs found so far, made of each valid one."""

    def __init__(self, valid: Sequence[bytes]) -> None:
        self.kept = [[(0.0, data)] for data in valid]

    def mutant(self, chosen: random.Random) -> tuple[int, bytes]:
        """One of them, damaged or grown, of at most 100 kB; and which valid one it is made of."""
        while True:
            place = chosen.randrange(len(self.kept))
            _, data = chosen.choice(self.kept[place])
            if data.startswith(GZIP):
                with contextlib.suppress(NotAProfileError):
                    data = bytes(unpack([data]))
            changed = grown(data, chosen) if chosen.random() < 0.5 else damaged(data, chosen)
            if len(data) > _MOST and not changed.startswith(GZIP):
                changed = gzip.compress(changed, 6, mtime=0)
            if len(changed) <= _MOST:
                return place, changed

    def keep(self, place: int, data: bytes, took: float) -> None:
        """Keep an input if it is among the slowest made of the same, also when read again."""
        kept = self.kept[place]
        if len(kept) < _KEPT or took > kept[-1][0]:
            kept.append((min(took, timed(data)[1]), data))
            kept.sort(key=lambda one: -one[0])
            del kept[_KEPT:]


def timed(data: bytes) -> tuple[bool, float]:
    """`check` an input, and say how many seconds of the processor that took."""
    begin = time.process_time()
    try:
        is_profile = check(data)
    except BaseException as error:
        error.add_note(f"The input: {base64.b64encode(data).decode()}")
        raise
    return is_profile, time.process_time() - begin


def check(data: bytes) -> bool:
    """Read an input and say whether it still was a profile.

    Raises AssertionError where a rule is broken.
    """
    try:
        found = hotspots(read_bytes(data))
    except NotAProfileError:
        return False
    assert sum(row.raw for row in found.rows) == found.total
    assert sum(row.attributed for row in found.rows) == found.total
    return True


@dataclass
class Outcome:
    """Of many rounds."""

    rounds: int = 0
    profiles: int = 0
    """Inputs that were still profiles."""
    slowest: float = 0.0
    """Seconds of the processor for one input."""
    slowest_at: int = 0
    """The round that had it."""
    slowest_input: bytes = b""

    def add(self, data: bytes, is_profile: bool, took: float) -> None:
        """Count one input."""
        self.rounds += 1
        self.profiles += is_profile
        if took > self.slowest:
            self.slowest, self.slowest_at, self.slowest_input = took, self.rounds, data


def run(rounds: int, seed: int) -> Outcome:
    """Damage valid inputs, so many times."""
    chosen = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    valid: Sequence[bytes] = seeds()
    found = Outcome()
    for _ in range(rounds):
        data = damaged(chosen.choice(valid), chosen)
        found.add(data, *timed(data))
    return found


def search(seconds: float, seed: int) -> Outcome:
    """Look for the slowest input for so long."""
    chosen = random.Random(seed)  # noqa: S311 - nothing secret
    slowest = Slowest(seeds())
    found = Outcome()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        place, data = slowest.mutant(chosen)
        is_profile, took = timed(data)
        found.add(data, is_profile, took)
        slowest.keep(place, data, took)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="instead of a number of rounds")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where to write the slowest")
    options = parser.parse_args()
    if options.minutes is None:
        found = run(options.rounds, options.seed)
    else:
        found = search(60 * options.minutes, options.seed)
    if options.keep is not None:
        options.keep.write_bytes(found.slowest_input)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(
        f"{found.profiles:,} of {found.rounds:,} damaged inputs were still profiles; the slowest "
        f"(round {found.slowest_at:,}) took {found.slowest:.3f} s, the process at most "
        f"{peak // (2**20 if sys.platform == 'darwin' else 2**10)} MiB; "
        f"all of it {time.process_time():,.0f} s of the processor\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
