"""A still picture of the flame graph, root at the bottom, with a tooltip on every block.

Of a comparison, blocks are as wide as both sides together and coloured by what changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from flamegraphs.render import labels
from flamegraphs.tree import Node, Tree

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
_INK = "#1f2328"
_STEPS = ("gone", "-50 %", "-10 %", "-1 %", "unchanged", "+1 %", "+10 %", "+50 %", "new")


def write(tree: Tree, title: str, *, binary: bool, before: Tree | None = None) -> Iterator[bytes]:
    """Yield an SVG document; with ``before``, a tree of the same shape, that of a comparison."""
    depth = max(node.depth for node in tree.nodes) + 1
    head = _HEAD if before is None else 2 * _HEAD
    height = head + depth * _ROW + _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label={quoteattr(_clean(title))} '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11.5">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="{_MARGIN}" y="22" font-size="14" fill="{_INK}">{escape(_clean(title))}</text>\n'
    ).encode()
    if before is not None:
        yield _legend().encode()
    olds = before.nodes if before else [None] * len(tree.nodes)
    widths = [
        new.total + (old.total if old else 0) for new, old in zip(tree.nodes, olds, strict=True)
    ]
    scale = (WIDTH - 2 * _MARGIN) / (widths[0] or 1)
    starts: list[float] = []
    used: list[float] = []
    for node, old, total in zip(tree.nodes, olds, widths, strict=True):
        start = starts[node.parent] + used[node.parent] if node.parent >= 0 else 0.0
        if node.parent >= 0:
            used[node.parent] += total
        starts.append(start)
        used.append(0.0)
        width = total * scale
        if width < _NARROWEST:
            continue
        y = height - _MARGIN - (node.depth + 1) * _ROW
        yield _drawn(_block(tree, node, old, binary), _MARGIN + start * scale, y, width).encode()
    yield b"</svg>\n"


@dataclass(frozen=True)
class _Block:
    name: str
    kind: str
    shown: str
    fill: str
    ink: str = _INK
    sign: str = ""


def _block(tree: Tree, node: Node, old: Node | None, binary: bool) -> _Block:
    name, kind = _clean(tree.name(node)), labels.kind(tree, node)
    if old is None:
        fill = _HUES[labels.hue(name)] if kind == "named" else _COLOURS[kind]
        return _Block(name, kind, labels.values(tree, node, binary=binary), fill)
    step = labels.step(old.total, node.total)
    shown = labels.change(tree, old, node, binary=binary)
    if kind == "root":
        return _Block(name, kind, shown, _COLOURS[kind])
    sign = "" if step == 4 else "▲ " if step > 4 else "▼ "
    return _Block(name, kind, shown, labels.CHANGES[step], _ink(step), sign)


def _ink(step: int) -> str:
    """White on the two strongest colours: each is readable at 4.5 to 1 at least."""
    return "#ffffff" if step in (0, 8) else _INK


def _drawn(block: _Block, x: float, y: int, width: float) -> str:
    text = (
        f"<g><title>{escape(block.name)}\n{escape(_clean(block.shown))}</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{max(width - 0.6, _NARROWEST):.2f}" '
        f'height="{_ROW - 1}" rx="2" fill="{block.fill}"/>'
    )
    name = _fitting(block.name, block.kind, width - len(block.sign) * _CHARACTER)
    if label := block.sign + name if name or width > 2 * _CHARACTER else "":
        text += f'<text x="{x + 5:.2f}" y="{y + 13.5}" fill="{block.ink}">{escape(label)}</text>'
    return text + "</g>\n"


def _legend() -> str:
    width = (WIDTH - 2 * _MARGIN) // len(_STEPS)
    return "".join(
        f'<rect x="{_MARGIN + place * width}" y="{_HEAD}" width="{width}" height="{_ROW}" '
        f'fill="{labels.CHANGES[place]}"/><text x="{_MARGIN + place * width + 6}" '
        f'y="{_HEAD + 14}" fill="{_ink(place)}">{escape(text)}</text>\n'
        for place, text in enumerate(_STEPS)
    )


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
