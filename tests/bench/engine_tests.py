"""What an engine test costs with a warm Python (:mod:`tests.warm`), beside the shipped path.

Run by ``scripts/bench engine-tests``: the life of the stack ``dev`` on the simulator at latency 0,
with every process that it starts, the warm one and its imports among them.
"""

import contextlib
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from simulator import home as homes
from simulator.session import Options
from tests import warm
from tests.engine.simulation import Simulation

STACK = "dev"
LIFE = ("up", "up", "preview", "refresh", "up", "destroy")


@contextmanager
def _python(folder: Path, *, is_warm: bool) -> Generator[Path | None]:
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(warm.interpreter(folder)) if is_warm else None


def measure(folder: Path, *, is_warm: bool) -> tuple[float, float]:
    """Seconds of processor time and of wall time for one life of the stack."""
    before, begin = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    with _python(folder, is_warm=is_warm) as python:
        home = homes.Home(folder / "home")
        options = Options(
            latency=0.0, installed_plugins=False, python=python, stack_files=homes.CHECKOUT
        )
        try:
            sim = Simulation(home, options)
            for command in LIFE:
                getattr(sim, command)(STACK)
        finally:
            homes.stop(home)
    after, end = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end - begin


def main() -> int:
    """Measure and print a table."""
    print(f"| {', '.join(LIFE)} of `{STACK}` | CPU | wall |")  # noqa: T201
    print("|---|--:|--:|")  # noqa: T201
    for name, is_warm in (("as shipped", False), ("from a warm Python", True)):
        with tempfile.TemporaryDirectory() as folder:
            cpu, wall = measure(Path(folder), is_warm=is_warm)
        print(f"| {name} | {cpu:.1f} s | {wall:.1f} s |")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
