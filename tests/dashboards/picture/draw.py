"""The dashboard as an SVG: each panel at its place in the grid, with what its queries answered."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final, cast

from tests.dashboards.grafana import Json, mapping, objects
from tests.dashboards.picture import night, units
from tests.dashboards.picture.answers import Answer, Curve

COLUMN: Final = 60
ROW: Final = 38
"""Pixels: 30 of height and 8 between."""
_GAP: Final = 8
_HEAD: Final = 70
_LETTER: Final = 7
"""Width of a letter at 12 pixels, about."""
_COLOURS: Final = (
    "#3d9a50",
    "#b8860b",
    "#3274d9",
    "#e0752d",
    "#8f3bb8",
    "#1f8a8a",
    "#c15c17",
    "#7b61b3",
)
_FLAMES: Final = ("#f2a154", "#f6c177", "#e98b4e", "#efb366", "#e59a63")
_STATES: Final = {"green": "#3d9a50", "orange": "#e58a22", "red": "#d44a3a"}
_STYLE: Final = """\
text{font:12px 'Inter','Helvetica Neue',Arial,sans-serif;fill:#24292e}
.head{font-size:17px;font-weight:600}.title{font-size:13px;font-weight:600}
.small{font-size:11px;fill:#5b6570}.big{font-size:25px;font-weight:600}.row{font-size:15px}
.white{fill:#fff}.bad{fill:#d44a3a;font-weight:600}"""


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float

    def inner(self, top: float = 26, margin: float = 10) -> "Box":
        """What is left of it below a title."""
        return Box(
            self.x + margin, self.y + top, self.width - 2 * margin, self.height - top - margin
        )


def picture(dashboard: Json, answers: Mapping[int, Answer]) -> str:
    """The whole drawing."""
    listed = objects(dashboard["panels"])
    last = max(_box(panel).y + _box(panel).height for panel in listed)
    width, height = 24 * COLUMN, last + 10
    body = [*_head(dashboard), *(part for panel in listed for part in _panel(panel, answers))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
            f"<title>{escape(str(dashboard['title']))}, drawn from its definition</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#f4f5f5"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _head(dashboard: Json) -> Iterator[str]:
    yield _text(12, 26, str(dashboard["title"]), "head")
    begin, end = _clock(night.BEGIN), _clock(night.END)
    yield _text(
        12,
        48,
        f"Drawn from the dashboard's definition and from what its queries answer on a real "
        f"Prometheus and the simulated Pyroscope, {begin} to {end}; not a screenshot of Grafana.",
        "small",
    )


def _panel(panel: Json, answers: Mapping[int, Answer]) -> Iterator[str]:
    box = _box(panel)
    if panel["type"] == "row":
        yield _text(box.x + 6, box.y + 22, f"v  {panel['title']}", "row")
        return
    answer = answers.get(int(str(panel["id"])), Answer())
    fill = _background(panel, answer)
    yield _rect(box, fill or "#ffffff", 'stroke="#d8dbde" rx="3"')
    letters = "title white" if fill else "title"
    yield _text(box.x + 10, box.y + 18, _cut(str(panel["title"]), box.width - 20), letters)
    inner = box.inner()
    drawn: Mapping[str, Callable[[Json, Answer, Box], Iterator[str]]] = {
        "stat": _stat,
        "timeseries": _graph,
        "table": _table,
        "flamegraph": _flame_graph,
        "text": _words,
    }
    yield from drawn[str(panel["type"])](panel, answer, inner)


# --- each kind of panel --------------------------------------------------------------------------


def _stat(panel: Json, answer: Answer, box: Box) -> Iterator[str]:
    colour = " white" if _background(panel, answer) else ""
    wide = box.width / max(1, len(answer.numbers))
    for number, (name, value) in enumerate(answer.numbers.items()):
        x = box.x + number * wide
        yield _text(x, box.y + 52, units.text(value, _unit(panel)), f"big{colour}")
        if len(answer.numbers) > 1:
            yield _text(x, box.y + 76, name, f"small{colour}")


def _background(panel: Json, answer: Answer) -> str:
    """The colour of the highest threshold that the first number reaches, where it is shown."""
    options = cast("Mapping[str, object]", panel.get("options") or {})
    if options.get("colorMode") != "background" or not answer.numbers:
        return ""
    value = next(iter(answer.numbers.values()))
    steps = objects(mapping(mapping(_defaults(panel))["thresholds"])["steps"])
    reached = [one for one in steps if one.get("value") is None or value >= _number(one["value"])]
    return _STATES[str(reached[-1]["color"])]


def _graph(panel: Json, answer: Answer, box: Box) -> Iterator[str]:
    curves = [one for one in answer.curves if one.points]
    legend = min(len(curves), 5) * 16 + 8
    plot = Box(box.x + 58, box.y + 4, box.width - 64, box.height - legend - 22)
    most = max((value for one in curves for _, value in one.points), default=1) or 1
    for number in range(5):
        y = plot.y + plot.height * number / 4
        yield _line([(plot.x, y), (plot.x + plot.width, y)], "#e4e7eb")
        mark = units.text(most * (4 - number) / 4, _unit(panel) or "short")
        yield _text(plot.x - 6, y + 4, mark, "small", 'text-anchor="end"')
    for number in range(7):
        at = night.BEGIN + (night.END - night.BEGIN) * number / 6
        x = plot.x + plot.width * number / 6
        yield _text(x, plot.y + plot.height + 16, _clock(at), "small", 'text-anchor="middle"')
    for number, curve in enumerate(curves):
        limit = _is_limit(panel, curve)
        colour = "#d44a3a" if limit else _COLOURS[number % len(_COLOURS)]
        for part in _unbroken(curve.points):
            placed = _placed(part, plot, most)
            if len(placed) == 1:
                (x, y) = placed[0]
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'
            else:
                yield _line(placed, colour, 1.6, dashed=limit)
    bottom = plot.y + plot.height + 32
    for number, curve in enumerate(curves[:5]):
        colour = "#d44a3a" if _is_limit(panel, curve) else _COLOURS[number % len(_COLOURS)]
        yield from _legend(panel, curve, Box(box.x, bottom + 16 * number, box.width, 16), colour)


def _legend(panel: Json, curve: Curve, box: Box, colour: str) -> Iterator[str]:
    yield _rect(Box(box.x, box.y - 8, 12, 3), colour)
    yield _text(box.x + 18, box.y, _cut(curve.name, box.width - 220), "small")
    unit = _unit(panel) or "short"
    last, most = curve.points[-1][1], max(value for _, value in curve.points)
    right = box.x + box.width
    for x, name, value in ((right - 110, "last", last), (right, "max", most)):
        yield _text(x, box.y, f"{name} {units.text(value, unit)}", "small", 'text-anchor="end"')


def _table(panel: Json, answer: Answer, box: Box) -> Iterator[str]:
    if not answer.rows:
        words = str(_defaults(panel).get("noValue") or "No data")
        yield _text(box.x + box.width / 2, box.y + 60, words, "small", 'text-anchor="middle"')
        return
    wide = box.width / len(answer.header)
    for number, name in enumerate(answer.header):
        yield _text(box.x + number * wide, box.y + 14, name, "title")
    for line, row in enumerate(answer.rows[: int(box.height / 25) - 1]):
        y = box.y + 25 * (line + 1)
        yield _line([(box.x, y - 4), (box.x + box.width, y - 4)], "#e4e7eb")
        for number, name in enumerate(answer.header):
            unit = _override(panel, name, "unit") or _unit(panel)
            shown = units.text(row.get(name), str(unit or "short"))
            bad = "bad" if shown == "OOMKilled" else ""
            cell = Box(box.x + number * wide, y, wide - 8, 18)
            if unit == "percent" and shown:
                share = Box(cell.x + 60, y + 3, cell.width - 60, 11)
                yield _rect(share, "#e4e7eb")
                full = share.width * _number(row[name]) / 100
                yield _rect(Box(share.x, share.y, full, 11), "#3274d9")
            yield _text(cell.x, y + 14, _cut(shown, cell.width), bad)


def _flame_graph(panel: Json, answer: Answer, box: Box) -> Iterator[str]:
    names = cast("Sequence[str]", answer.flame["names"])
    total = _number(answer.flame["total"])
    for depth, level in enumerate(objects(answer.flame["levels"])):
        values = [_number(one) for one in cast("Sequence[str]", level["values"])]
        x = 0.0
        for number in range(0, len(values), 4):
            delta, size, _, name = values[number : number + 4]
            x += delta
            bar = Box(
                box.x + box.width * x / total, box.y + 22 * depth, box.width * size / total, 21
            )
            x += size
            if bar.width < 0.5 or bar.y + 22 > box.y + box.height:
                continue
            colour = _FLAMES[(int(name) * 7 + depth) % len(_FLAMES)]
            yield _rect(bar, colour, 'stroke="#fff" stroke-width="0.5"')
            label = f"{names[int(name)]} ({units.text(size, 'bytes')})"
            if bar.width > 30:
                yield _text(bar.x + 4, bar.y + 15, _cut(label, bar.width - 8))


def _words(panel: Json, answer: Answer, box: Box) -> Iterator[str]:
    """The Markdown of a text panel, without its marks."""
    content = str(mapping(panel["options"])["content"])
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", content)
    plain = re.sub(r"[*`]|^\|[-| ]+\|$", "", plain, flags=re.MULTILINE).replace("|", "  ")
    y = box.y + 10
    for paragraph in filter(None, (line.strip() for line in plain.splitlines())):
        for line in _wrapped(paragraph, int(box.width / _LETTER)):
            if y > box.y + box.height:
                return
            yield _text(box.x, y, line)
            y += 17
        y += 3


# --- common ground -------------------------------------------------------------------------------


def _box(panel: Json) -> Box:
    grid = mapping(panel["gridPos"])
    x, y, width, height = (_number(grid[name]) for name in ("x", "y", "w", "h"))
    return Box(x * COLUMN + _GAP / 2, y * ROW + _HEAD, width * COLUMN - _GAP, height * ROW - _GAP)


def _defaults(panel: Json) -> Json:
    return mapping(mapping(panel.get("fieldConfig") or {"defaults": {}})["defaults"])


def _unit(panel: Json) -> str:
    """The panel's unit; a graph of profiles has its plugin's, which is the profiles'."""
    of_profiles = any("profileTypeId" in one for one in objects(panel.get("targets")))
    return str(_defaults(panel).get("unit") or ("bytes" if of_profiles else ""))


def _override(panel: Json, name: str, what: str) -> object:
    for one in objects(mapping(panel["fieldConfig"])["overrides"]):
        if mapping(one["matcher"])["options"] == name:
            for given in objects(one["properties"]):
                if given["id"] == what:
                    return given["value"]
    return None


def _is_limit(panel: Json, curve: Curve) -> bool:
    """Whether an override by the curve's name draws it as a dashed line."""
    return any(
        re.search(str(mapping(one["matcher"])["options"]).strip("/"), curve.name) is not None
        for one in objects(mapping(panel["fieldConfig"])["overrides"])
    )


def _unbroken(points: Sequence[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    part: list[tuple[float, float]] = []
    for at, value in points:
        if part and at - part[-1][0] > 300:
            yield part
            part = []
        part.append((at, value))
    yield part


def _placed(
    points: Sequence[tuple[float, float]], plot: Box, most: float
) -> list[tuple[float, float]]:
    span = night.END - night.BEGIN
    return [
        (
            plot.x + plot.width * (at - night.BEGIN) / span,
            plot.y + plot.height * (1 - value / most),
        )
        for at, value in points
    ]


def _number(value: object) -> float:
    return float(str(value))


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M")


def _cut(text: str, width: float) -> str:
    most = int(width / _LETTER)
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"


def _wrapped(text: str, most: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= most:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def _text(x: float, y: float, text: str, css: str = "", more: str = "") -> str:
    kind = f' class="{css}"' if css else ""
    place = f'x="{x:.0f}" y="{y:.0f}"'
    return f"<text {place}{kind}{' ' + more if more else ''}>{escape(text, quote=False)}</text>"


def _rect(box: Box, fill: str, more: str = "") -> str:
    size = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return f'<rect {size} fill="{fill}"{" " + more if more else ""}/>'


def _line(
    points: Sequence[tuple[float, float]], colour: str, width: float = 1, *, dashed: bool = False
) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="8 8"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'
