"""One HTML file with an interactive flame graph: no network, nothing beside it.

The page is a template, a style sheet and a script in this folder; data and texts are put in here.
Its content security policy forbids every request, so it cannot report what it shows to anyone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from flamegraphs.hotspots import Hotspots
from flamegraphs.names import Kind
from flamegraphs.render import labels
from flamegraphs.tree import Node, Tree

_HERE = Path(__file__).parent
_TABLE_ROWS = 200


def write(
    tree: Tree,
    found: Hotspots,
    *,
    title: str,
    header: Mapping[str, str],
    notes: Sequence[str],
    binary: bool,
) -> Iterator[bytes]:
    """Yield the page. ``header`` and ``notes`` are shown above the graph."""
    functions = [_function(tree, node) for node in tree.nodes]
    # Only what a block shows: a tree of few blocks may come from a table of many functions.
    used = {function: place for place, function in enumerate(dict.fromkeys(functions))}
    data: dict[str, object] = {
        "unit": tree.profile.unit,
        "binary": binary,
        "names": [name for name, _ in used],
        "kinds": [kind for _, kind in used],
        "hues": [labels.hue(name) for name, _ in used],
        # Columns, not rows: a third of the size.
        "parent": [node.parent for node in tree.nodes],
        "name": [used[function] for function in functions],
        "total": [node.total for node in tree.nodes],
        "self": [node.own for node in tree.nodes],
        "table": [
            [row.name, _kind(row.kind), row.attributed, row.raw, row.total]
            for row in found.rows[:_TABLE_ROWS]
        ],
        "functions": len(found.rows),
    }
    page = _read("page.html")
    parts = {
        "{{title}}": escape(title),
        "{{style}}": _read("page.css"),
        "{{header}}": "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>"
            for name, text in header.items()
        ),
        "{{notes}}": "".join(f"<li>{escape(note)}</li>" for note in notes),
        "{{script}}": _read("page.js"),
        "{{data}}": _script_json(data),
    }
    # One pass, so that a name that looks like a place holder stays a name.
    rest = page
    while rest:
        before, opening, rest = rest.partition("{{")
        yield before.encode()
        if opening:
            key, _, rest = rest.partition("}}")
            yield parts["{{" + key + "}}"].encode("utf-8", "replace")


def _function(tree: Tree, node: Node) -> tuple[str, str]:
    return tree.name(node), labels.kind(tree, node)


def _kind(kind: Kind | None) -> str:
    """The name of a row's kind; a bucket's is ``rest``."""
    return "rest" if kind is None else kind.name.lower()


def _script_json(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
