"""Our figures beside those of ``go tool pprof -top``, function by function."""

import re
import subprocess
from collections import Counter
from pathlib import Path

from flamegraphs.hotspots import Hotspots
from flamegraphs.names import NO_STACK

_ROW = re.compile(r"\s*(\S+)\s+\S+\s+\S+\s+(\S+)\s+\S+\s+(.*?)(?: \((?:partial-)?inline\))?")
_SHORTEST = {"bytes": "B", "nanoseconds": "ns"}

Table = dict[str, tuple[int, int]]
"""Flat and cumulative value of each function."""


def pprof_table(file: Path, sample_type: str, unit: str) -> Table:
    """All rows of ``go tool pprof -top``, in the unit of the file."""
    done = subprocess.run(
        [
            *("go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0"),
            *("-symbolize=none", f"-unit={unit}", f"-sample_index={sample_type}", str(file)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if line.split() == ["flat", "flat%", "sum%", "cum", "cum%"]:
            break
    rows: Table = {}
    for line in lines:
        match = _ROW.fullmatch(line)
        assert match, line
        flat, cumulative = (_whole(match[n], _SHORTEST.get(unit, "")) for n in (1, 2))
        # A function that is inlined in some places only has one row, as ours does.
        rows[match[3]] = (flat, cumulative)
    return rows


def our_table(found: Hotspots) -> Table:
    """The same of ours; what pprof leaves out (stacks of no frame, rows of 0) is left out."""
    flat: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in found.rows:
        if row.kind is not None and row.name != NO_STACK and (row.raw or row.total):
            flat[row.name] += row.raw
            total[row.name] += row.total
    return {name: (flat[name], total[name]) for name in total}


def _whole(text: str, unit: str) -> int:
    return int(text.removesuffix(unit))
