"""Times `hotspots` beside ``go tool pprof -top`` on the same files, and compares every figure.

Run by ``scripts/bench flamegraphs``. Each figure is the median of five whole processes; the two
programs take turns, so that other work on the machine disturbs both alike. The processor's time
counts, children included: other work hardly touches it. A second table has our other commands
beside `hotspots` on the same file.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flamegraphs.files import read_file
from flamegraphs.hotspots import hotspots
from tests.flamegraphs.generated import write
from tests.flamegraphs.gopprof import our_table, pprof_table

OURS = (sys.executable, "-m", "gpuobs")
"""The command that the user's guide has."""
SIZES = (10_000, 100_000, 1_000_000, 3_000_000)
GOALS = {
    10_000: (0.4, 0.6),
    100_000: (0.12, 0.3),
    1_000_000: (0.07, 0.2),
    3_000_000: (0.07, 0.25),
}
"""Most of pprof's time and memory that `hotspots` may take."""
OTHERS: dict[str, tuple[Sequence[str], float]] = {
    "render (page)": (("render", "--format", "html"), 1.5),
    "diff": (("diff",), 2.0),
    "render to speedscope": (("render", "--format", "speedscope"), 2.0),
    "render to pprof": (("render", "--format", "pprof"), 2.0),
}
"""Most of `hotspots`'s time and memory that the others may take at `OTHERS_AT` samples."""
OTHERS_AT = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Of one process."""

    seconds: float
    mebibytes: float


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end and say what it took, its children included."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = usage.ru_utime + usage.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    # Kilobytes on Linux, bytes on macOS.
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(seconds, usage.ru_maxrss / scale)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.mebibytes for cost in costs),
    )


def measure(file: Path, runs: int) -> tuple[Cost, Cost]:
    """Medians of ours and of pprof's."""
    ours: list[Cost] = []
    theirs: list[Cost] = []
    # The program itself, not the `go` command that finds it: its start would count, too.
    pprof = _output("go", "tool", "-n", "pprof").split()
    for _ in range(runs):
        ours.append(run([*OURS, "hotspots", str(file)]))
        theirs.append(run([*pprof, "-top", str(file)]))
    return median(ours), median(theirs)


def others(file: Path, ours: Cost, runs: int) -> bool:
    """Print our other commands beside `hotspots`, and say whether one missed its goal."""
    say = sys.stdout.write
    say(f"\n| {OTHERS_AT:,} samples | time | of hotspots | memory | of hotspots | goal |\n")
    say("|---|--:|--:|--:|--:|--:|\n")
    missed = False
    for name, (command, goal) in OTHERS.items():
        files = [str(file)] * (2 if command[0] == "diff" else 1)
        took = median([run([*OURS, *command, *files]) for _ in range(runs)])
        time_ratio, memory_ratio = took.seconds / ours.seconds, took.mebibytes / ours.mebibytes
        missed |= max(time_ratio, memory_ratio) > goal
        say(
            f"| {name} | {took.seconds:.2f} s | {time_ratio:.2f} | {took.mebibytes:.0f} MiB "
            f"| {memory_ratio:.2f} | {goal:g} |\n"
        )
        sys.stdout.flush()
    return missed


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def differences(file: Path) -> int:
    """How many functions have another flat or cumulative figure than pprof's."""
    ours = our_table(hotspots(read_file(str(file))))
    theirs = pprof_table(file, "malloc", "bytes")
    return sum(ours.get(name) != theirs.get(name) for name in ours.keys() | theirs.keys())


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench flamegraphs", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="SAMPLES")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    say = sys.stdout.write
    say(f"{_output('go', 'version')}; Python {sys.version.split()[0]}; {os.cpu_count()} cores\n\n")
    say("| samples | hotspots | pprof | time ratio (goal) | hotspots | pprof | memory ratio (goal)")
    say(" | functions that differ |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n")
    missed = False
    at_hand: Cost | None = None
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            file = Path(folder) / f"{size}.pb.gz"
            write(file, size)
            ours, theirs = measure(file, options.runs)
            wrong = differences(file)
            time_ratio = ours.seconds / theirs.seconds
            memory_ratio = ours.mebibytes / theirs.mebibytes
            time_goal, memory_goal = GOALS.get(size, (1.0, 1.0))
            missed |= bool(wrong) or time_ratio > time_goal or memory_ratio > memory_goal
            say(
                f"| {size:,} | {ours.seconds:.2f} s | {theirs.seconds:.2f} s "
                f"| {time_ratio:.2f} ({time_goal:g}) | {ours.mebibytes:.0f} MiB "
                f"| {theirs.mebibytes:.0f} MiB | {memory_ratio:.2f} ({memory_goal:g}) | {wrong} |\n"
            )
            sys.stdout.flush()
            if size == OTHERS_AT:
                at_hand = ours
        if at_hand is not None:
            file = Path(folder) / f"{OTHERS_AT}.pb.gz"
            missed |= others(file, at_hand, options.runs)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
