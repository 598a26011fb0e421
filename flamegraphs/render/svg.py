"""A still picture of the flame graph, root at the bottom, with a tooltip on every block."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from flamegraphs.render import labels
from flamegraphs.tree import Tree

WIDTH = 1400
_ROW = 20
_MARGIN = 12
_HEAD = 34
_NARROWEST = 0.3
_CHARACTER = 6.9
_HUES = ("#f4a261", "#f2b872", "#ee9b7c", "#f0c987", "#e9a68b", "#f6bd8f", "#e8b15e", "#f3a98f")
_COLOURS = {
    "native": "#9db4cf",
    "trampoline": "#d5d5da",
    "unknown": "#c3c3c9",
    "truncated": "#c9b3d6",
    "root": "#dcdfe4",
    "rest": "#e4e4e8",
}


def write(tree: Tree, title: str, *, binary: bool) -> Iterator[bytes]:
    """Yield an SVG document."""
    depth = max(node.depth for node in tree.nodes) + 1
    height = _HEAD + depth * _ROW + _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label={quoteattr(_clean(title))} '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11.5">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="{_MARGIN}" y="22" font-size="14" fill="#1f2328">{escape(_clean(title))}</text>\n'
    ).encode()
    scale = (WIDTH - 2 * _MARGIN) / (tree.nodes[0].total or 1)
    starts: list[float] = []
    used: list[float] = []
    for node in tree.nodes:
        start = starts[node.parent] + used[node.parent] if node.parent >= 0 else 0.0
        if node.parent >= 0:
            used[node.parent] += node.total
        starts.append(start)
        used.append(0.0)
        width = node.total * scale
        if width < _NARROWEST:
            continue
        name = _clean(tree.name(node))
        kind = labels.kind(tree, node)
        fill = _HUES[labels.hue(name)] if kind == "named" else _COLOURS[kind]
        x = _MARGIN + start * scale
        y = height - _MARGIN - (node.depth + 1) * _ROW
        block = (
            f"<g><title>{escape(name)}\n{escape(labels.values(tree, node, binary=binary))}</title>"
            f'<rect x="{x:.2f}" y="{y}" width="{max(width - 0.6, _NARROWEST):.2f}" '
            f'height="{_ROW - 1}" rx="2" fill="{fill}"/>'
        )
        if label := _fitting(name, kind, width):
            block += f'<text x="{x + 5:.2f}" y="{y + 13.5}" fill="#1f2328">{escape(label)}</text>'
        yield (block + "</g>\n").encode()
    yield b"</svg>\n"


def _fitting(name: str, kind: str, width: float) -> str:
    room = int((width - 8) / _CHARACTER)
    if room < 3:
        return ""
    if len(name) <= room:
        return name
    method = name.rpartition(".")[2]
    # A class may be left out, but not for `__init__` or `<lambda>`, which say nothing alone; and
    # the dots in the name of a library separate nothing.
    says_something = kind == "named" and method[:1].isalnum() and len(method) <= room
    return method if says_something else name[: room - 1] + "…"


def _clean(text: str) -> str:
    """XML takes no control characters and no halves of characters, not even escaped."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
