"""Draws the house: the rooms of the project, their sizes, and which imports which.

``python -m tests.house --output FILE`` reads the checkout (or another folder; with ``--commit`` a
commit) by its syntax trees and writes an SVG. A row imports only from the rows below it. A window
is a module, its area the module's lines; an arrow is as thick as the imports that it stands for.
"""

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).resolve().parent.parent
NOT_THE_PRODUCT: Final = ("simulator", "tools", "tests")

WINDOW: Final = 0.8
"""Side of a module's window for each square root of a line, in pixels."""
PADDING, GAP, ROW_GAP, MARGIN = 14.0, 46.0, 88.0, 36.0
HEAD: Final = 44.0
LANE: Final = 14.0
"""Width kept free for an arrow that passes a row."""


@dataclass
class Room:
    """A package at the top of the project."""

    name: str
    modules: dict[str, int]
    """Module to its lines."""
    imports: Counter[str] = field(default_factory=Counter[str])
    """Other room to the number of import statements that name it."""

    @property
    def lines(self) -> int:
        """Of all its modules."""
        return sum(self.modules.values())


def read(folder: Path) -> dict[str, Room]:
    """The rooms of the project in ``folder``."""
    names = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    rooms: dict[str, Room] = {}
    for name in names:
        files = sorted((folder / name).rglob("*.py"))
        room = Room(name, {})
        for file in files:
            text = file.read_text(encoding="utf-8")
            if text.strip():
                room.modules[file.relative_to(folder).as_posix()] = len(text.splitlines())
            room.imports.update(
                one for one in _imported(ast.parse(text)) if one in names and one != name
            )
        rooms[name] = room
    return rooms


def _imported(tree: ast.Module) -> Iterator[str]:
    """The top-level package of every import statement, once for each statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


# --- where everything is ------------------------------------------------------------------------


@dataclass
class Place:
    """Where a room is drawn, or (without one) where an arrow passes a row."""

    width: float
    height: float
    room: Room | None = None
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        """Horizontally."""
        return self.x + self.width / 2


@dataclass
class Arrow:
    """One room imports another; ``through`` has a place for every row on the way."""

    count: int
    through: list[Place]


@dataclass
class Plan:
    """The drawing, before it is drawn."""

    rows: list[list[Place]]
    arrows: list[Arrow]
    width: float = 0.0
    height: float = 0.0


def ranks(rooms: Mapping[str, Room]) -> dict[str, int]:
    """The row of every room, counted from the bottom: one above all that it imports.

    Rooms that import each other in a circle, which the layer rule forbids, share a row.
    """
    found: dict[str, int] = {}

    def rank(name: str, above: tuple[str, ...]) -> int:
        if name not in found:
            below = [
                rank(one, (*above, name))
                for one in rooms[name].imports
                if one in rooms and one not in (*above, name)
            ]
            found[name] = 1 + max(below, default=-1)
        return found[name]

    for name in sorted(rooms):
        rank(name, ())
    return found


def windows(room: Room) -> tuple[float, float, list[tuple[float, float, float, str]]]:
    """Width and height of a room, and its windows: x, y, side, module."""
    sides = sorted(
        ((max(4.0, WINDOW * lines**0.5), module) for module, lines in room.modules.items()),
        reverse=True,
    )
    area = sum((side + 4) ** 2 for side, _ in sides)
    wide = max(132.0, 1.6 * area**0.5)
    x = y = tallest = 0.0
    placed: list[tuple[float, float, float, str]] = []
    for side, module in sides:
        if x and x + side > wide:
            x, y, tallest = 0.0, y + tallest + 4, 0.0
        placed.append((x + PADDING, y + HEAD, side, module))
        x, tallest = x + side + 4, max(tallest, side)
    return wide + 2 * PADDING, y + tallest + HEAD + PADDING, placed


def plan(rooms: Mapping[str, Room]) -> Plan:
    """Rows from top to bottom, with a lane for every arrow that passes a row."""
    rank = ranks(rooms)
    top = max(rank.values(), default=0)
    places = {name: Place(*windows(room)[:2], room) for name, room in rooms.items()}
    rows: list[list[Place]] = [[] for _ in range(top + 1)]
    for name in sorted(rooms, key=lambda one: -rooms[one].lines):
        rows[top - rank[name]].append(places[name])
    arrows: list[Arrow] = []
    for name, room in sorted(rooms.items()):
        for other, count in sorted(room.imports.items()):
            if other not in rooms:
                continue
            lanes = [Place(LANE, 0.0) for _ in range(rank[name] - rank[other] - 1)]
            for number, lane in enumerate(lanes, top - rank[name] + 1):
                rows[number].append(lane)
            arrows.append(Arrow(count, [places[name], *lanes, places[other]]))
    drawing = Plan(rows, arrows)
    _arrange(drawing)
    return drawing


def _arrange(drawing: Plan) -> None:
    """Order each row so that few arrows cross, then set the places.

    Sweeps down and up, each row by the middle of what its places are joined to in the row before;
    the best order seen is kept.
    """
    above: dict[int, list[Place]] = {}
    below: dict[int, list[Place]] = {}
    for arrow in drawing.arrows:
        for one, other in pairwise(arrow.through):
            above.setdefault(id(other), []).append(one)
            below.setdefault(id(one), []).append(other)
    _set_places(drawing)
    best, order = _crossings(drawing), [list(row) for row in drawing.rows]
    for sweep in range(24):
        joined = below if sweep % 2 else above
        for row in reversed(drawing.rows) if sweep % 2 else drawing.rows:
            row.sort(key=lambda place, joined=joined: _pull(place, joined.get(id(place), [])))
            _set_places(drawing)
        if _crossings(drawing) < best:
            best, order = _crossings(drawing), [list(row) for row in drawing.rows]
    drawing.rows = order
    _set_places(drawing)


def _pull(place: Place, joined: Sequence[Place]) -> float:
    return sum(one.middle for one in joined) / len(joined) if joined else place.middle


def _crossings(drawing: Plan) -> int:
    """How many pairs of arrows cross between two rows."""
    lines = [
        (one.y, one.middle, other.middle)
        for arrow in drawing.arrows
        for one, other in pairwise(arrow.through)
    ]
    return sum(
        row == other_row and (x - other_x) * (end - other_end) < 0
        for (row, x, end), (other_row, other_x, other_end) in combinations(lines, 2)
    )


def _set_places(drawing: Plan) -> None:
    widths = [sum(place.width for place in row) + GAP * (len(row) - 1) for row in drawing.rows]
    drawing.width = max(widths, default=0.0) + 2 * MARGIN
    y = MARGIN + 40
    for row, width in zip(drawing.rows, widths, strict=True):
        height = max((place.height for place in row), default=0.0)
        x = (drawing.width - width) / 2
        for place in row:
            place.x, place.y = x, y
            if place.room is None:
                place.height = height
            x += place.width + GAP
        y += height + ROW_GAP
    drawing.height = y - ROW_GAP + MARGIN


# --- the picture --------------------------------------------------------------------------------

_STYLE: Final = """\
text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2933}
.title{font-size:17px;font-weight:600}.note{font-size:12px;fill:#52606d}
.room{fill:#f5f7fa;stroke:#7b8794}.name{font-size:14px;font-weight:600}
.size{font-size:11px;fill:#52606d}.window{fill:#bcccdc}.apart .room{fill:#fffaf0;stroke:#c99a2e}
.apart .window{fill:#f0d9a0}.arrow{fill:none;stroke:#486581}.count{font-size:10px;fill:#486581}
"""


def draw(rooms: Mapping[str, Room], title: str) -> str:
    """The house as an SVG: the product's rooms in rows, what is no part of it beside them."""
    product = {name: room for name, room in rooms.items() if name not in NOT_THE_PRODUCT}
    apart = [rooms[name] for name in NOT_THE_PRODUCT if name in rooms]
    drawing = plan(product)
    beside = [Place(*windows(room)[:2], room) for room in apart]
    width = drawing.width + max((place.width for place in beside), default=0.0) + MARGIN
    y = MARGIN + 40
    for place in beside:
        place.x, place.y = drawing.width, y
        y += place.height + GAP / 2
    height = max(drawing.height, y - GAP / 2 + MARGIN) + 44
    lines = sum(room.lines for room in product.values())
    notes = (
        "A window is a module, its area the lines in it; an arrow's number is how many import "
        "statements it stands for.",
        _imports_of(apart, product),
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#486581"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text class="title" x="{MARGIN}" y="{MARGIN}">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="{MARGIN + 20}">The product: {len(product)} rooms, '
        f"{lines:,} lines of Python.</text>",
        *_arrows(drawing),
        *(_room(place) for row in drawing.rows for place in row if place.room),
        '<g class="apart">',
        *(_room(place) for place in beside),
        "</g>",
        *(
            f'<text class="note" x="{MARGIN}" y="{height - 34 + 18 * number:.0f}">'
            f"{escape(note)}</text>"
            for number, note in enumerate(notes)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _imports_of(apart: Sequence[Room], product: Mapping[str, Room]) -> str:
    """What the rooms beside the product take from it, in words."""
    said: list[str] = []
    for room in apart:
        if room.name == "tests":
            continue
        used = [one for one in room.imports if one in product]
        said.append(f"{room.name} imports {', '.join(sorted(used)) or 'no room of the product'}")
    return "; ".join(said) + ("; tests import every room." if said else "")


def _room(place: Place) -> str:
    room = place.room
    assert room is not None
    shapes = [
        f'<g transform="translate({place.x:.1f} {place.y:.1f})">',
        f'<rect class="room" width="{place.width:.1f}" height="{place.height:.1f}" rx="4"/>',
        f'<text class="name" x="{PADDING}" y="20">{escape(room.name)}/</text>',
        f'<text class="size" x="{PADDING}" y="35">{room.lines:,} lines, '
        f"{len(room.modules)} modules</text>",
    ]
    for x, y, side, module in windows(room)[2]:
        shapes.append(
            f'<rect class="window" x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" '
            f'height="{side:.1f}"><title>{escape(module)}: {room.modules[module]} lines</title>'
            "</rect>"
        )
    return "".join([*shapes, "</g>"])


def _arrows(drawing: Plan) -> Iterator[str]:
    leaving, arriving = _ports(drawing, 0), _ports(drawing, -1)
    for number, arrow in enumerate(drawing.arrows):
        first, *lanes, last = arrow.through
        points = [(leaving[number], first.y + first.height)]
        for lane in lanes:
            points += [(lane.middle, lane.y - 8), (lane.middle, lane.y + lane.height + 8)]
        points.append((arriving[number], last.y))
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in pairwise(points):
            bend = (y1 - y0) / 2
            path += f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
        thick = min(5.0, 0.8 + arrow.count**0.5 / 2.5)
        yield (
            f'<path class="arrow" d="{path}" stroke-width="{thick:.1f}" marker-end="url(#tip)"/>'
        )
        # On the side that the arrow turns away from.
        anchor, aside = ("end", -5) if points[1][0] > points[0][0] else ("start", 5)
        yield (
            f'<text class="count" text-anchor="{anchor}" x="{points[0][0] + aside:.1f}" '
            f'y="{points[0][1] + 13:.1f}">{arrow.count}</text>'
        )


def _ports(drawing: Plan, end: int) -> list[float]:
    """Where each arrow leaves (0) or reaches (-1) its room: side by side, in their order."""
    towards = 1 if end == 0 else -2
    ports = [0.0] * len(drawing.arrows)
    by_room: dict[int, list[int]] = {}
    for number, arrow in enumerate(drawing.arrows):
        by_room.setdefault(id(arrow.through[end]), []).append(number)
    for numbers in by_room.values():
        place = drawing.arrows[numbers[0]].through[end]
        numbers.sort(key=lambda one: drawing.arrows[one].through[towards].middle)
        for index, number in enumerate(numbers, 1):
            ports[number] = place.x + place.width * index / (len(numbers) + 1)
    return ports


# --- the command --------------------------------------------------------------------------------


def of_commit(revision: str) -> dict[str, Room]:
    """The rooms as they were at a commit.

    Raises:
        subprocess.CalledProcessError: git knows no such commit.
    """
    archive = subprocess.run(
        ["git", "archive", "--format=tar", revision], cwd=ROOT, capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        return read(Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="default: the checkout")
    parser.add_argument("--commit", metavar="REV", help="as it was at a commit")
    parser.add_argument("--title", default="The house")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        rooms = of_commit(given.commit) if given.commit else read(given.folder)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"tests.house: {error.stderr.decode().strip()}\n")
        return 1
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(draw(rooms, given.title), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
