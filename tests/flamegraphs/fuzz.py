"""A mutation fuzzer of the readers: seeded, so that what it finds can be found again.

    python -m tests.flamegraphs.fuzz --rounds 100000 --seed 7

Every input is a valid profile in one of the formats, damaged in a few places. Whatever comes out
has to be a profile whose sums hold, or one `NotAProfileError`. The test suite runs some thousand
rounds; atheris would find paths that this does not, but has no build for every Python we support.
"""

import argparse
import gzip
import json
import random
import sys
from collections.abc import Sequence

from flamegraphs.errors import NotAProfileError
from flamegraphs.hotspots import hotspots
from tests.flamegraphs.profiles import Encoding, pprof_bytes, read_bytes

_STACKS = [
    (["0x7f1", "libcuda.so+0x12", "Engine > step", "<module>", ""], 5_000),
    (["a", "b", "a", "<interpreter trampoline>", "main"], 77),
    (["<unknown>"], 3),
    (["f"] * 40, 2**40),
]
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
    return [
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
    return bytes(changed)


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


def run(rounds: int, seed: int) -> int:
    """Run, and return how many inputs were still profiles."""
    chosen = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    valid: Sequence[bytes] = seeds()
    return sum(check(damaged(chosen.choice(valid), chosen)) for _ in range(rounds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    survived = run(options.rounds, options.seed)
    sys.stdout.write(f"{survived:,} of {options.rounds:,} damaged inputs were still profiles\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
