"""Files of up to 100 kB that were made to cost as much as they can, by what they attack.

    python -m tests.flamegraphs.hostile [hotspots|diff|render ...]

reads each of them in a process of its own and prints what that took. The test suite takes the
`WORST`; this takes a minute and a half.
"""

import argparse
import gzip
import json
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.flamegraphs.generated import field, varint

MOST = 100_000
"""Bytes of a file that has to stay below `SECONDS` and `MEBIBYTES`."""
SECONDS, MEBIBYTES = 10, 512
_LARGEST = 95_000_000


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def _repeated(piece: bytes, prefix: bytes = b"", suffix: bytes = b"") -> bytes:
    """As many of a piece as a packed file of the size holds: gzip packs a thousand to one."""
    count = _LARGEST // len(piece)
    packed = _packed(prefix + piece * count + suffix)
    if len(packed) > MOST:
        packed = _packed(prefix + piece * (count * 98 // 100 * MOST // len(packed)) + suffix)
    return packed


def _strings(*texts: bytes) -> bytes:
    return b"".join(field(6, text) for text in texts)


HEAD = field(1, field(1, 1) + field(2, 2)) + _strings(b"", b"space", b"bytes", b"f")
ONE_FUNCTION = field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 3))
SAMPLE = field(2, field(1, 1) + field(2, 1))


def _inlined() -> bytes:
    lines = field(4, field(1, 1)) * 100_000
    location = field(4, field(1, 1) + lines)
    sample = field(2, field(1, varint(1) * 100_000) + field(2, varint(1)))
    return _packed(HEAD + field(5, field(1, 1) + field(2, 3)) + location + sample * 50)


def _deep_json() -> bytes:
    depth = 30_000
    levels = [[0, depth - n, 1, 0 if n == 0 else 1] for n in range(depth)]
    return _packed(json.dumps({"flamegraph": {"names": ["total", "a"], "levels": levels}}).encode())


def _events() -> bytes:
    opened = b'{"type":"O","frame":0,"at":1},' * 50_000
    moving = b"".join(
        b'{"type":"O","frame":0,"at":%d},{"type":"C","frame":0,"at":%d},' % (n, n + 1)
        for n in range(2, 8_000, 2)
    )
    return _packed(
        b'{"shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"evented","unit":"none",'
        b'"startValue":0,"endValue":1,"events":[' + opened + moving[:-1] + b"]}]}"
    )


def _otlp() -> bytes:
    stack = field(7, field(1, varint(1) * 100_000))
    dictionary = field(2, field(2, 1)) * 2 + stack * 50
    samples = field(2, field(1, 1) + field(2, varint(1))) * 100
    resource = field(1, field(2, field(2, samples)))
    return _packed(resource + field(2, dictionary))


def _otlp_slices() -> bytes:
    """1.7: stacks that are nearly all of one list of locations, each another part of it."""
    kind = field(1, field(1, 1) + field(2, 2))
    samples = b"".join(
        field(2, field(1, start) + field(2, 100_000) + field(3, varint(1)))
        for start in range(50_000)
    )
    profile = kind + samples + field(3, varint(0) * 200_000)
    texts = b"".join(field(5, text) for text in (b"", b"space", b"bytes", b"f"))
    tables = field(2, field(3, field(1, 0))) + field(3, field(1, 3)) + texts
    return _packed(field(1, field(2, field(2, profile))) + field(2, tables))


def _otlp_tables() -> bytes:
    """1.5: a profile with tables of its own."""
    texts = b"".join(field(10, text) for text in (b"", b"space", b"bytes", b"f"))
    tables = field(4, field(3, field(1, 0))) + field(5, varint(0)) + field(6, field(1, 3)) + texts
    sample = field(2, field(1, 0) + field(2, 1) + field(3, varint(1)))
    profile = field(1, field(1, 1) + field(2, 2)) + sample + tables
    return field(1, field(2, field(2, profile)))


FILES: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: _packed(bytes(95_000_000)),
    "json levels that are empty lists": lambda: _repeated(
        b"[],", b'{"flamegraph":{"names":["total"],"levels":[', b"[]]}}"
    ),
    "json objects in a list": lambda: _repeated(b'{"a":1},', b"[", b"{}]"),
    "json empty objects": lambda: _repeated(b"{},", b'{"names":[],"levels":[', b"{}]}"),
    "json one long text": lambda: _repeated(b"a", '{"message":"\N{SNAKE}'.encode(), b'"}'),
    "json escaped text": lambda: _repeated(b"a", b'{"names":["\\ud83d\\udc0d', b'"],"levels":[]}'),
    "json nested lists": lambda: _repeated(b"[", b'{"names":'),
    "json numbers": lambda: _repeated(b"1234567,", b'{"names":["total"],"levels":[[', b"0]]}"),
    "json spaces": lambda: _repeated(b" ", b"{", b"}"),
    "a deep flame graph": _deep_json,
    "separators": lambda: _repeated(b";", b"", b" 1\n"),
    "lines of separators": lambda: _repeated(b";" * 100_000 + b" 1\n"),
    "different lines of separators": lambda: _packed(
        b"".join(b";" * (100_000 - n) + b" 1\n" for n in range(900))
    ),
    "different deep lines": lambda: _packed(
        b"".join(b"a;" * (50_000 - n) + b" 1\n" for n in range(900))
    ),
    "a hundred million lines": lambda: _repeated(b"a 1\n"),
    "empty lines": lambda: _repeated(b"\n", b"a 1\n"),
    "comments": lambda: _repeated(b"#\n", b"a 1\n"),
    "many names": lambda: _packed(b"".join(b"%d 1\n" % n for n in range(40_000))),
    "one line": lambda: _repeated(b"a", b"", b" 1\n"),
    "long wide names": lambda: _packed(
        b"".join(("\N{SNAKE}" + "a" * (99_000 - n) + " 1\n").encode() for n in range(900))
    ),
    "frame numbers": lambda: _packed((b"[1] " * 20_000 + b"f 1\n") * 20),
    "utf-16": lambda: _packed("\N{SNAKE}".encode("utf-16") + b"a\0" * 45_000_000),
    "carriage returns": lambda: _repeated(b"\r", b"a 1\n"),
    "pprof empty messages": lambda: _repeated(b"\x22\x00", HEAD),
    "pprof empty samples": lambda: _repeated(b"\x12\x00", HEAD + ONE_FUNCTION),
    "pprof samples": lambda: _repeated(SAMPLE, HEAD + ONE_FUNCTION),
    "pprof samples without locations": lambda: _repeated(field(2, field(2, 1)), HEAD),
    "pprof empty strings": lambda: _repeated(b"\x32\x00", HEAD + ONE_FUNCTION + SAMPLE),
    "pprof functions": lambda: _repeated(b"\x2a\x00", HEAD + ONE_FUNCTION + SAMPLE),
    "pprof functions of several fields": lambda: _repeated(
        field(5, b"".join(field(n, 1) for n in (1, 2, 3, 5))), HEAD + SAMPLE
    ),
    "pprof locations of several fields": lambda: _repeated(
        field(4, b"".join(field(n, 1) for n in (1, 2, 3, 5))), HEAD + SAMPLE
    ),
    "pprof sample types": lambda: _repeated(b"\x0a\x00", HEAD),
    "pprof unknown fields": lambda: _repeated(b"\x78\x00", HEAD + ONE_FUNCTION + SAMPLE),
    "pprof unknown fields of a sample": lambda: _repeated(
        field(2, b"\x78\x00" * 400 + field(2, 1)), HEAD
    ),
    "pprof lines of a location": lambda: _packed(
        HEAD + field(4, field(1, 1) + b"\x22\x00" * 40_000_000)
    ),
    "pprof lines of locations": lambda: _repeated(field(4, field(1, 1) + b"\x22\x00" * 20), HEAD),
    "pprof inlined functions": _inlined,
    "pprof unpacked values": lambda: _repeated(field(2, field(2, 1) * 60), HEAD),
    "pprof deep samples": lambda: _repeated(
        field(2, field(1, varint(1) * 100_000) + field(2, 1)), HEAD + ONE_FUNCTION
    ),
    "speedscope events": _events,
    "speedscope samples": lambda: _repeated(
        b"[],",
        b'{"shared":{"frames":[]},"profiles":[{"type":"sampled","unit":"none","weights":[],'
        b'"samples":[',
        b"[]]}]}",
    ),
    "otlp stacks": _otlp,
    "otlp slices": _otlp_slices,
    "otlp small profiles": lambda: _repeated(
        field(1, field(2, field(2, field(1, field(1, 1)) + field(2, field(2, b"\x05")))))
    ),
    "otlp profiles in one scope": lambda: _packed(
        field(1, field(2, field(2, field(2, field(2, b"\x05"))) * 5_000_000))
    ),
    "otlp profiles with tables": lambda: _repeated(_otlp_tables()),
    "otlp empty messages": lambda: _repeated(b"\x12\x00", b"\x0a\x02\x12\x00"),
    "pickle of marks": lambda: _repeated(b"(", b"\x80\x04"),
    "pickle of lists": lambda: _repeated(b"]", b"\x80\x04"),
    "pickle of a large memo": lambda: b"\x80\x04]r\xff\xff\xff\x7f.",
    "pickle of gets": lambda: _repeated(b"h\x00", b"\x80\x04]q\x00"),
    "pickle of one block": lambda: _packed(
        b"\x80\x04" + pickle.dumps({"segments": []}, 2)[2:-1] + b"]" * 40_000_000 + b"."
    ),
    "memray csv": lambda: _repeated(
        b"M,1,1,1,0,a\n",
        b"allocator,num_allocations,size,tid,thread_name,stack_trace\n",
    ),
    "memray one line": lambda: _repeated(
        b"a",
        b"allocator,num_allocations,size,tid,thread_name,stack_trace\nM,1,1,1,0,",
    ),
    "memray deep csv": lambda: _repeated(
        b"M,1,1,1,0," + b"a|" * 50_000 + b"\n",
        b"allocator,num_allocations,size,tid,thread_name,stack_trace\n",
    ),
    "perf script": lambda: _repeated(b"a 1 1.0: 1 e:\n\tff f (f)\n\n"),
    "perf script frames": lambda: _repeated(b"\tff f (f)\n", b"a 1 1.0: 1 e:\n"),
    "perf script headers": lambda: _repeated(
        b" " * 900 + b"1\n", b"a 1 1.0: 1 e:\n\tff f (f)\n\na 1 1.0: 1 e:\n"
    ),
    "data frame": lambda: _repeated(
        b"0,",
        b'[{"schema":{"fields":[{"name":"level"}]},"data":{"values":[[',
        b"0]]}}]",
    ),
}
WORST = (
    ("hotspots", "pprof deep samples"),
    ("diff", "long wide names"),
    ("hotspots", "otlp empty messages"),
    ("hotspots", "otlp small profiles"),
    ("hotspots", "otlp profiles in one scope"),
    ("hotspots", "otlp profiles with tables"),
    ("hotspots", "pprof functions of several fields"),
    ("hotspots", "a hundred million lines"),
)
"""The slowest and the largest of them, and those that once cost more than is promised; of `diff`
with itself, which holds both."""


@dataclass(frozen=True)
class Cost:
    """Of one process."""

    seconds: float
    """Of its processor."""
    mebibytes: float
    status: int
    error: str


_MEASURE = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=file)
sys.exit(status)
"""
"""A small process between: on Linux the peak of a new process begins with that of its parent."""


def cost(arguments: Sequence[str]) -> Cost:
    """Run ``python -m flamegraphs`` and say what it took."""
    command = [sys.executable, "-m", "flamegraphs", *arguments]
    with tempfile.NamedTemporaryFile("r") as usage:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, usage.name, *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        seconds, peak = map(float, usage.read().split())
    scale = 2**20 if sys.platform == "darwin" else 2**10  # kilobytes on Linux
    return Cost(seconds, peak / scale, done.returncode, done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="*", default=["hotspots"])
    command = parser.parse_args().command
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, made in FILES.items():
            file = Path(folder) / "file"
            file.write_bytes(made())
            took = cost([*command, *[str(file)] * (2 if "diff" in command else 1)])
            missed |= took.seconds > SECONDS or took.mebibytes > MEBIBYTES
            sys.stdout.write(
                f"{name:40} {file.stat().st_size:7,} B {took.seconds:6.2f} s "
                f"{took.mebibytes:6.0f} MiB, status {took.status}\n"
            )
            sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
