"""Pages to look at in the browser, and what is seen on them."""

import re
from pathlib import Path
from typing import cast

from flamegraphs.hotspots import hotspots
from flamegraphs.render import html
from flamegraphs.tree import MAX_NODES, trees_both_ways
from tests.flamegraphs.browser import Page
from tests.flamegraphs.profiles import Stacks, profile_of

STACKS: Stacks = [
    (["0x7f1", "GPUModelRunner > _allocate_kv_cache_tensors", "Worker > init", "main"], 55 * 10**9),
    (["libcuda.so+0x1", "Linear > load", "Worker > init", "main"], 20 * 10**9),
    (["Linear > load", "Linear > load", "main"], 5 * 10**9),
    (["</script><img src=x onerror=alert(1)>", "main"], 10**9),
    (["{{data}}", "main"], 10**9),
]

LABEL = """Object.fromEntries([...document.querySelectorAll('[role=treeitem]')]
    .map(e => [e.getAttribute('aria-label').split(': total')[0], e.textContent]))"""


BEFORE: Stacks = [
    (["same", "main"], 100),
    (["old", "main"], 200),
    (["grown", "main"], 300),
    (["shrunk", "main"], 300),
]
AFTER: Stacks = [
    (["same", "main"], 100),
    (["new", "main"], 200),
    (["grown", "main"], 360),
    (["shrunk", "main"], 100),
]


def page_of(*sides: Stacks, comparison: bool = False, max_nodes: int = MAX_NODES) -> bytes:
    """A page of one profile, or of several over one shape."""
    profiles = [profile_of(stacks) for stacks in sides]
    names = ("before", "after") if comparison else ("malloc", "other")
    drawn, inverted = trees_both_ways(profiles, max_nodes)
    page = html.Page(
        title="GPU memory <of> a test",
        sides=[
            html.Side(name, drawn[place], hotspots(profile), inverted[place] if inverted else None)
            for place, (name, profile) in enumerate(zip(names, profiles, strict=False))
        ],
        facts=[{"window": "one hour", "selector": '{a="<b>"}'}] * len(sides),
        notes=["A note & more."],
        binary=False,
        is_comparison=comparison,
    )
    return b"".join(html.write(page))


def open_page(
    chromium: Page, folder: Path, content: bytes, address: str = "", height: int = 900
) -> Page:
    file = folder / "page.html"
    file.write_bytes(content)
    chromium.show(1200, height)
    chromium.errors.clear()
    chromium.open(f"{file.as_uri()}#{address}")
    return chromium


def figures(page: Page) -> dict[str, dict[str, int]]:
    """Sums of the totals and selfs of all blocks by name; values below 1,000 are exact."""
    texts = page.value(
        "[...document.querySelectorAll('[role=treeitem]')].map(e => e.getAttribute('aria-label'))"
    )
    found: dict[str, dict[str, int]] = {}
    for text in cast("list[str]", texts):
        match = re.fullmatch(r"(.*): total (\d+) B \(.*\), self (\d+) B \(.*\)", text)
        assert match, text
        sums = found.setdefault(match[1], {"blocks": 0, "total": 0, "self": 0})
        for key, value in (("blocks", 1), ("total", int(match[2])), ("self", int(match[3]))):
            sums[key] += value
    return found


def block(name: str) -> str:
    return f"[role=treeitem][aria-label^='{name}:']"


def focused(page: Page) -> str:
    return str(page.value("document.activeElement.getAttribute('aria-label')")).split(":")[0]


def colour(page: Page, name: str) -> object:
    """The colour that is painted at the left edge of a block."""
    return page.value(
        f"""(() => {{
        const canvas = document.querySelector('#canvas'), edge = canvas.getBoundingClientRect();
        const box = document.querySelector("{block(name)}").getBoundingClientRect();
        const copy = new OffscreenCanvas(1, 1).getContext('2d', {{willReadFrequently: true}});
        copy.drawImage(canvas, edge.left - box.left - 2, edge.top - box.top - 3);
        return copy.getImageData(0, 0, 1, 1).data.join(); }})()"""
    )


def names_in_table(page: Page) -> list[str]:
    found = page.value("[...document.querySelectorAll('#rows .name')].map(e => e.textContent)")
    return cast("list[str]", found)
