"""A mutation fuzzer of the readers: seeded, so that what it finds can be found again.

    python -m tests.flamegraphs.fuzz --rounds 100000 --seed 7
    python -m tests.flamegraphs.fuzz --minutes 30 --keep DIR

Every input is a valid profile in one of the formats, damaged in a few places, of 100 kB at most.
Whatever comes out has to be a profile whose sums hold, or one `NotAProfileError`; and no input may
cost more than the readers promise. The test suite runs some thousand rounds; atheris would find
paths that this does not, but has no build for every Python we support.

A search of minutes is guided: it keeps the slowest and the largest inputs of each format, damages
those further, repeats pieces, fields and items of them millions of times (`mutations`), and stores
what grows beyond 100 kB in gzip. What it finds depends on the machine then; `--keep` writes the
slowest, the largest and whatever is beyond the promise. It may be ended early (Ctrl-C).
"""

import argparse
import base64
import contextlib
import gzip
import json
import pickle
import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flamegraphs.errors import OK, NoSamplesError, NotAProfileError
from flamegraphs.hotspots import hotspots
from tests.flamegraphs import hostile, mutations
from tests.flamegraphs.generated import field
from tests.flamegraphs.hostile import MEBIBYTES, SECONDS
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
_KEPT = 6
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


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


@dataclass(frozen=True)
class Cost:
    """What reading one input took."""

    seconds: float = 0.0
    """Of the processor."""
    mebibytes: int = 0
    """The most that the process had meanwhile; 0 where the system does not say."""

    def is_over(self) -> bool:
        """Whether it is more than the readers promise."""
        return self.seconds > SECONDS or self.mebibytes > MEBIBYTES


class Kept:
    """The slowest and the largest inputs found so far, made of each valid one."""

    def __init__(self, valid: Sequence[bytes]) -> None:
        self._slowest = [[(0.0, data)] for data in valid]
        self._largest = [[(0.0, data)] for data in valid]

    def mutant(self, chosen: random.Random) -> tuple[int, bytes]:
        """One of them, damaged or grown, of at most 100 kB; and which valid one it is made of."""
        while True:
            kept = chosen.choice((self._slowest, self._largest))
            place = chosen.randrange(len(kept))
            data = mutations.unpacked(chosen.choice(kept[place])[1])
            change = chosen.choice((mutations.grown, mutations.damaged))
            if change is mutations.damaged and len(data) > mutations.MOST:
                at = chosen.randrange(len(data) - 1_000)
                piece = change(data[at : at + 1_000], chosen)
                changed = data[:at] + piece + data[at + 1_000 :]
            else:
                changed = change(data, chosen)
            changed = mutations.packed(changed)
            if len(changed) <= mutations.MOST:
                return place, changed

    def keep(self, place: int, data: bytes, cost: Cost) -> None:
        """Keep an input if it is among the costliest made of the same."""
        for every, figure in ((self._slowest, cost.seconds), (self._largest, cost.mebibytes)):
            kept = every[place]
            if len(kept) < _KEPT or figure > kept[-1][0]:
                kept.append((float(figure), data))
                kept.sort(key=lambda one: -one[0])
                del kept[_KEPT:]


def timed(data: bytes) -> tuple[bool, Cost]:
    """`check` an input, and say what that took."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")  # Linux: the peak begins anew
    begin = time.process_time()
    try:
        is_profile = check(data)
    except BaseException as error:
        error.add_note(f"The input: {base64.b64encode(data).decode()}")
        raise
    took = time.process_time() - begin
    peak = re.search(r"VmHWM:\s+(\d+)", _STATUS.read_text()) if _STATUS.exists() else None
    return is_profile, Cost(took, int(peak[1]) >> 10 if peak else 0)


def alone(data: bytes) -> Cost:
    """What an input costs in a process of its own, where nothing is left of those before it."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        took = hostile.cost(["hotspots", file.name])
    assert took.status in (OK, NoSamplesError.status, NotAProfileError.status), took.error
    return Cost(took.seconds, int(took.mebibytes))


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
    slowest: tuple[Cost, bytes] = (Cost(), b"")
    largest: tuple[Cost, bytes] = (Cost(), b"")
    over: int = 0
    """Inputs that cost more than the readers promise."""

    def add(self, data: bytes, is_profile: bool, cost: Cost) -> None:
        """Count one input."""
        self.rounds += 1
        self.profiles += is_profile
        self.over += cost.is_over()
        if cost.seconds > self.slowest[0].seconds:
            self.slowest = cost, data
        if cost.mebibytes > self.largest[0].mebibytes:
            self.largest = cost, data

    def __str__(self) -> str:
        return (
            f"{self.profiles:,} of {self.rounds:,} inputs were still profiles; the slowest took "
            f"{self.slowest[0].seconds:.2f} s, the largest {self.largest[0].mebibytes} MiB; "
            f"{self.over} beyond {SECONDS} s or {MEBIBYTES} MiB; all of it "
            f"{time.process_time():,.0f} s of the processor"
        )


def run(rounds: int, seed: int) -> Outcome:
    """Damage valid inputs, so many times."""
    chosen = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    valid: Sequence[bytes] = seeds()
    found = Outcome()
    for _ in range(rounds):
        data = mutations.damaged(chosen.choice(valid), chosen)
        found.add(data, *timed(data))
    return found


def search(seconds: float, seed: int, folder: Path | None) -> Outcome:
    """Look for the costliest inputs for so long; what is beyond the promise goes to ``folder``."""
    chosen = random.Random(seed)  # noqa: S311 - nothing secret
    kept = Kept(seeds())
    found = Outcome()
    end = time.monotonic() + seconds
    said = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() < end:
            place, data = kept.mutant(chosen)
            is_profile, cost = timed(data)
            if cost.is_over():
                cost = alone(data)
            if cost.is_over() and folder is not None:
                (folder / f"over-{found.over}").write_bytes(data)
            found.add(data, is_profile, cost)
            kept.keep(place, data, cost)
            if time.monotonic() > said + 300:
                said = time.monotonic()
                sys.stderr.write(f"{found}\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="search so long, instead of rounds")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write the costliest")
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    if options.minutes is None:
        found = run(options.rounds, options.seed)
    else:
        found = search(60 * options.minutes, options.seed, options.keep)
    if options.keep is not None:
        for name, (_, data) in (("slowest", found.slowest), ("largest", found.largest)):
            (options.keep / name).write_bytes(data)
    sys.stdout.write(f"{found}\n")
    return 1 if found.over else 0


if __name__ == "__main__":
    sys.exit(main())
