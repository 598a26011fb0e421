"""One HTML file with an interactive flame graph: no network, nothing beside it.

The folder `page` holds the page's template, style sheet and scripts; this module puts them into one
file with the profile's data. The page's content security policy forbids every request, so it cannot
report what it shows to anyone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from flamegraphs.hotspots import Hotspots, Row
from flamegraphs.names import Kind
from flamegraphs.render import labels
from flamegraphs.terminal import shown
from flamegraphs.tree import Node, Tree

_FOLDER = Path(__file__).parent / "page"
SCRIPTS = (
    "dom.js",
    "amounts.js",
    "model.js",
    "scene.js",
    "palette.js",
    "profile.js",
    "address.js",
    "search.js",
    "paint.js",
    "words.js",
    "files.js",
    "table.js",
    "graph.js",
    "main.js",
)
"""In this order they make one script; each uses what stands before it."""


@dataclass(frozen=True)
class Side:
    """One measure of the page: a sample type, or one side of a comparison."""

    name: str
    tree: Tree
    found: Hotspots
    inverted: Tree | None = None
    """From the leaves to the roots, where ``tree`` does not have every path."""


@dataclass(frozen=True)
class Page:
    """What a page shows. The trees of all sides have one shape (`trees`)."""

    title: str
    sides: Sequence[Side]
    facts: Sequence[Mapping[str, str]]
    """What stands above the graph: for each sample type, or once for a comparison."""
    notes: Sequence[str]
    binary: bool
    is_comparison: bool = False


def write(page: Page) -> Iterator[bytes]:
    """Yield the page."""
    heading, lead = _HEADINGS[page.is_comparison]
    parts = {
        "title": escape(shown(page.title)),
        "style": _read("page.css"),
        "notes": "".join(f"<li>{escape(shown(note))}</li>" for note in page.notes),
        "heading": heading,
        "lead": lead,
        "script": f'"use strict";\n(() => {{\n{"".join(map(_read, SCRIPTS))}}})();\n',
        "data": _script_json(_data(page)),
    }
    # One pass, so that a name that looks like a place holder stays a name.
    rest = _read("page.html")
    while rest:
        before, opening, rest = rest.partition("{{")
        yield before.encode()
        if opening:
            key, _, rest = rest.partition("}}")
            yield parts[key].encode("utf-8", "replace")


_HEADINGS = {
    False: (
        "Functions by attributed self",
        "Values of native code and trampolines count for the nearest named function that led to "
        "them. Choose a function to find it above.",
    ),
    True: (
        "Functions by change of attributed self",
        "Values of native code and trampolines count for the nearest named function that led to "
        "them; nothing is scaled. Choose a function to find it above.",
    ),
}


def _data(page: Page) -> dict[str, object]:
    first = page.sides[0].tree
    names = _Names()
    nodes = [names.of_node(first, node) for node in first.nodes]
    rows = [{_key(row): row for row in side.found.rows} for side in page.sides]
    inverted = _inverted(page.sides, names)
    functions = {key: names.of(*key) for side in rows for key in side}
    return {
        "title": shown(page.title),
        "binary": page.binary,
        "diff": page.is_comparison,
        "facts": [
            [[shown(name), shown(text)] for name, text in facts.items()] for facts in page.facts
        ],
        # Columns, not rows: a third of the size.
        "parent": [node.parent for node in first.nodes],
        "name": nodes,
        "functions": list(functions.values()),
        "measures": [
            {
                "name": shown(side.name),
                "unit": shown(side.tree.profile.counted),
                "own": [node.own for node in side.tree.nodes],
                "attributed": [mine.get(key, _NOTHING).attributed for key in functions],
                "raw": [mine.get(key, _NOTHING).raw for key in functions],
                "totals": [mine.get(key, _NOTHING).total for key in functions],
            }
            for side, mine in zip(page.sides, rows, strict=True)
        ],
        "inverted": inverted,
        "names": [shown(name) for name, _ in names.places],
        "kinds": [labels.KINDS.index(kind) for _, kind in names.places],
        "hues": [labels.hue(name) for name, _ in names.places],
    }


def _inverted(sides: Sequence[Side], names: "_Names") -> dict[str, object] | None:
    first = sides[0].inverted
    if first is None:
        return None
    return {
        "parent": [node.parent for node in first.nodes],
        "name": [names.of_node(first, node) for node in first.nodes],
        "own": [[node.own for node in side.inverted.nodes] for side in sides if side.inverted],
    }


_NOTHING = Row("", None, 0, 0, 0)


class _Names:
    """Each name once, with its kind: a function may be called like a bucket."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], int] = {}

    def of(self, name: str, kind: str) -> int:
        return self.places.setdefault((name, kind), len(self.places))

    def of_node(self, tree: Tree, node: Node) -> int:
        return self.of(tree.name(node), labels.kind(tree, node))


def _key(row: Row) -> tuple[str, str]:
    return row.name, "bucket" if row.kind is None else Kind(row.kind).name.lower()


def _script_json(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
