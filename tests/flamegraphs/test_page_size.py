"""Pages of very many blocks: drawn at once, never one grey bar, reached with the keyboard."""

from pathlib import Path
from typing import cast

import pytest

from tests.bench import page as bench
from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    focused,
    open_page,
    page_of,
)
from tests.flamegraphs.profiles import Stacks

pytestmark = pytest.mark.browser


def test_a_very_wide_graph_is_never_one_grey_bar(chromium: Page, tmp_path: Path) -> None:
    wide: Stacks = [([f"package{n % 311}.f{n}", "main"], 1) for n in range(30_000)]
    page = open_page(chromium, tmp_path, page_of(wide))
    counted = page.value(
        """(() => {
        const canvas = document.querySelector('#canvas');
        const off = new OffscreenCanvas(canvas.width, 1);
        const copy = off.getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, -8);
        const row = new Uint32Array(copy.getImageData(0, 0, canvas.width, 1).data.buffer);
        const counts = {};
        for (const pixel of row) counts[pixel] = (counts[pixel] ?? 0) + 1;
        const most = Math.max(...Object.values(counts));
        return [Object.keys(counts).length, most / row.length]; })()"""
    )
    colours, largest = cast("tuple[int, float]", counted)
    assert colours >= 5
    assert largest < 0.5
    assert "30,001 functions." in page.text("#count")


def test_twenty_thousand_blocks_are_drawn_in_three_times_the_time_of_a_thousand_at_most(
    chromium: Page, tmp_path: Path
) -> None:
    files = {blocks: tmp_path / f"{blocks}.html" for blocks in (1_000, 20_000)}
    for blocks, file in files.items():
        bench.write(file, blocks)
    # The fastest of each: other work on the machine only ever adds.
    fastest = {size: min(times) for size, times in bench.redraws(chromium, files, 15).items()}
    assert fastest[20_000] <= 3 * fastest[1_000]


def test_every_block_of_a_large_graph_is_reached_with_the_keyboard(
    chromium: Page, tmp_path: Path
) -> None:
    wide: Stacks = [([f"g{n}", f"f{n}", "main"], 2_000 - n) for n in range(1_000)]
    page = open_page(chromium, tmp_path, page_of(wide))
    items = "document.querySelectorAll('[role=treeitem]').length"
    assert cast("int", page.value(items)) < 300, "only what is near has an element"
    page.value("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    for key in ["ArrowUp", "ArrowUp", *["ArrowRight"] * 60, "ArrowUp"]:
        page.press(key)
    assert focused(page) == "g60"
    assert page.value("document.activeElement.getAttribute('aria-posinset')") == "1"
    page.press("ArrowDown")
    assert page.value("document.activeElement.getAttribute('aria-posinset')") == "61"
    assert page.value("document.activeElement.getAttribute('aria-setsize')") == "1000"
    assert page.text("#status").startswith("f60")
