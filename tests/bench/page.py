"""Times how long the page takes to draw its graph anew, in a real browser.

Run by ``scripts/bench page``. One window, graphs of the same depth and of more and more blocks, all
of them in view. A redraw is what a change of the window's size costs: placing and painting every
block, the tree for the screen reader, and reading a pixel back, which waits until the picture is
there. Graphs take turns, so that other work on the machine disturbs all alike.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from flamegraphs.hotspots import hotspots
from flamegraphs.render import html
from flamegraphs.tree import tree
from tests.flamegraphs.browser import Page, browser
from tests.flamegraphs.profiles import profile_of

SIZES = (1_000, 5_000, 20_000)
GOAL = 50.0
"""Milliseconds for the largest of `SIZES`."""
DEPTH = 40
WIDTH, HEIGHT = 2400, 1300

_REDRAW = """(() => {
  const copy = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const begin = performance.now();
  dispatchEvent(new Event('resize'));
  copy.drawImage(document.querySelector('#canvas'), 0, 0);
  copy.getImageData(0, 0, 1, 1);
  return performance.now() - begin;
})()"""


def write(path: Path, blocks: int) -> None:
    """Write a page of ``blocks`` blocks below the root, in `DEPTH` rows of equally wide ones."""
    columns = blocks // DEPTH
    profile = profile_of(
        [
            ([f"package{column % 97}.Type{row}.f{column}" for row in reversed(range(DEPTH))], 1000)
            for column in range(columns)
        ]
    )
    page = html.Page(
        title=f"{blocks:,} blocks",
        sides=[html.Side("malloc", tree(profile, 10**6), hotspots(profile))],
        facts=[{}],
        notes=[],
        binary=False,
    )
    path.write_bytes(b"".join(html.write(page)))


def redraws(page: Page, files: Mapping[int, Path], rounds: int) -> Mapping[int, Sequence[float]]:
    """Milliseconds of each redraw, by number of blocks."""
    found: dict[int, list[float]] = {blocks: [] for blocks in files}
    page.show(WIDTH, HEIGHT)
    for _ in range(rounds):
        for blocks, file in files.items():
            page.open(file.as_uri())
            drawn = int(str(page.value("document.querySelector('#graph').dataset.blocks")))
            assert drawn == blocks // DEPTH * DEPTH + 1
            for turn in range(6):
                milliseconds = float(str(page.value(_REDRAW)))
                if turn:  # the first compiles
                    found[blocks].append(milliseconds)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench page", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BLOCKS")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    say = sys.stdout.write
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        files = {blocks: Path(folder) / f"{blocks}.html" for blocks in options.sizes}
        for blocks, file in files.items():
            write(file, blocks)
        with browser(Path(folder) / "profile") as page:
            version = page.value("navigator.userAgent.match(/Chrom\\S+/)[0]")
            found = redraws(page, files, options.rounds)
    say(f"{version}, {WIDTH} x {HEIGHT} pixels, {DEPTH} rows\n\n")
    say("| blocks | redraw, median | slowest of ten | goal |\n|--:|--:|--:|--:|\n")
    missed = False
    for blocks, times in found.items():
        median = statistics.median(times)
        goal = f"{GOAL:g} ms" if blocks == max(SIZES) else ""
        missed |= blocks == max(SIZES) and median > GOAL
        slow = statistics.quantiles(times, n=10)[-1]
        say(f"| {blocks:,} | {median:.1f} ms | {slow:.1f} ms | {goal} |\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
