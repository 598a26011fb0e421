"""The page in a real browser: what is seen, found, focused and reached with the keyboard."""

import json
from pathlib import Path
from typing import cast

import pytest

from flamegraphs.render import html
from flamegraphs.units import amount
from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    LABEL,
    block,
    colour,
    focused,
    page_of,
)
from tests.flamegraphs.profiles import Stacks

pytestmark = pytest.mark.browser
AMOUNTS = Path(html.__file__).parent / "page" / "amounts.js"


def test_nothing_is_asked_from_the_network(page: Page) -> None:
    assert all(url.startswith("file:") for url in page.requests)
    assert len(page.requests) == 1


def test_names_are_shown_and_never_run(page: Page) -> None:
    assert page.text("h1") == "GPU memory <of> a test"
    assert page.value("document.images.length") == 0
    labels = page.value(LABEL)
    assert isinstance(labels, dict)
    assert "</script><img src=x onerror=alert(1)>" in labels
    assert "{{data}}" in labels


def test_blocks_are_as_wide_as_their_share_and_stand_on_their_callers(page: Page) -> None:
    boxes = page.value(
        "Object.fromEntries([...document.querySelectorAll('[role=treeitem]')].map(e => {"
        "const b = e.getBoundingClientRect();"
        "return [e.getAttribute('aria-label').split(':')[0], [b.width, b.bottom]]; }))"
    )
    found = cast("dict[str, list[float]]", boxes)
    share = found["GPUModelRunner._allocate_kv_cache_tensors"][0] / found["all"][0]
    assert share == pytest.approx(55 / 82, abs=0.01)
    assert found["all"][1] > found["main"][1] > found["Worker.init"][1] > found["0x7f1"][1]


def test_labels_are_readable_where_there_is_room(page: Page) -> None:
    labels = page.value(LABEL)
    assert isinstance(labels, dict)
    assert labels["GPUModelRunner._allocate_kv_cache_tensors"] == (
        "GPUModelRunner._allocate_kv_cache_tensors"
    )


def test_a_narrow_label_leaves_out_the_class_but_never_splits_a_library(
    chromium: Page, tmp_path: Path
) -> None:
    file = tmp_path / "narrow.html"
    stacks: Stacks = [
        (["libverylongname.so+0x1234", "VeryLongClassName > run"], 10),
        (["rest"], 90),
    ]
    file.write_bytes(page_of(stacks))
    chromium.show(1200, 900)
    chromium.open(file.as_uri() + "#native=shown")
    labels = chromium.value(LABEL)
    assert isinstance(labels, dict)
    assert labels["VeryLongClassName.run"] == "run"
    library = cast("dict[str, str]", labels)["libverylongname.so+0x1234"]
    assert library.startswith("libvery")


def test_hovering_tells_total_and_self(page: Page) -> None:
    page.point(block("0x7f1"))
    assert "0x7f1" in page.text("#tip")
    assert "Total 55.0 GB · 67.1 %" in page.text("#tip")
    assert "Self 55.0 GB · 67.1 %" in page.text("#tip")
    page.point(block("Worker.init"))
    assert "Self 0 B" in page.text("#tip")
    assert "Only leads to others" in page.text("#tip")
    assert "total 75.0 GB (91.5 %), self 0 B" in page.text("#status")


@pytest.mark.parametrize("binary", [False, True])
def test_the_page_writes_amounts_as_the_terminal_does(page: Page, binary: bool) -> None:
    values = [0, 1, 999, 1_000, 1_023, 12_345, 999_600, 55_100_000_000, 2**53]
    for unit in ("bytes", "nanoseconds", "nanogcu", "objects", ""):
        written = page.value(
            f"(() => {{ {AMOUNTS.read_text()}; return {json.dumps(values)}"
            f".map((value) => amount(value, {json.dumps(unit)}, {json.dumps(binary)})); }})()"
        )
        assert written == [amount(value, unit, binary=binary) for value in values]


def test_native_frames_have_a_colour_of_their_own(page: Page) -> None:
    native, named, other_native = (
        colour(page, name) for name in ("0x7f1", "Worker.init", "libcuda.so+0x1")
    )
    assert native == other_native != named


def test_a_click_focuses_a_block_and_escape_shows_all(page: Page) -> None:
    page.point(block("Worker.init"), click=True)
    width = 'document.querySelector("{}").getBoundingClientRect().width'
    assert page.value(width.format(block("Worker.init"))) == page.value(width.format(block("main")))
    assert page.value(f'document.querySelector("{block("{{data}}")}")') is None
    assert page.text("#path").split(" › ") == ["all", "main", "Worker.init"]  # noqa: RUF001
    page.press("Escape")
    assert "Choose a block" in page.text("#path")


def test_search_marks_blocks_and_counts_recursion_once(page: Page) -> None:
    page.press("/")
    page.type("linear")
    assert page.value("document.querySelectorAll('.match').length") == 3
    assert page.text("#found") == "3 blocks, 25.0 GB (30.5 %)"
    page.press("Enter")
    assert focused(page) == "Linear.load"
    page.press("Escape")
    assert page.text("#found") == ""
    page.point("#search", click=True)
    page.type("nothing like it")
    assert page.text("#found") == "no match"


def test_the_whole_graph_is_reached_with_the_keyboard(page: Page) -> None:
    page.value(f'document.querySelector("{block("all")}").focus()')
    for key, name in (
        ("ArrowUp", "main"),
        ("ArrowUp", "Worker.init"),
        ("ArrowRight", "Linear.load"),
        ("ArrowLeft", "Worker.init"),
        ("ArrowUp", "GPUModelRunner._allocate_kv_cache_tensors"),
        ("ArrowDown", "Worker.init"),
        ("Home", "all"),
    ):
        page.press(key)
        assert focused(page) == name
    page.press("ArrowUp")
    page.press("ArrowUp")
    page.press("Enter")
    assert page.text("#path").endswith("Worker.init")
    assert focused(page) == "Worker.init"


def test_every_block_says_its_name_and_figures_to_a_screen_reader(page: Page) -> None:
    assert page.value("document.querySelector('#graph').getAttribute('role')") == "tree"
    label = page.value(f'document.querySelector("{block("main")}").getAttribute("aria-label")')
    assert label == "main: total 82.0 GB (100.0 %), self 0 B (0.0 %)"
    assert page.value("document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length") == 1
    assert page.value("document.documentElement.lang") == "en"


def test_the_root_can_be_put_on_top(page: Page) -> None:
    page.point("#turn", click=True)
    top = 'document.querySelector("{}").getBoundingClientRect().top'
    assert page.value(top.format(block("all"))) < page.value(top.format(block("main")))  # type: ignore[operator]


def test_the_table_lists_attributed_self_and_leads_to_the_graph(page: Page) -> None:
    first = page.text("#rows tr")
    assert first.startswith("55.0 GB67.1 %0 B55.0 GB")
    assert page.text("#rows .name") == "GPUModelRunner._allocate_kv_cache_tensors"
    page.point("#rows button", click=True)
    assert page.text("#found") == "1 block, 55.0 GB (67.1 %)"


def test_the_theme_can_be_changed_by_hand(page: Page) -> None:
    page.point("#theme", click=True)
    assert page.value("document.documentElement.dataset.theme") == "dark"


def test_a_narrow_window_still_shows_the_graph(page: Page) -> None:
    page.show(380, 700)
    page.value("dispatchEvent(new Event('resize'))")
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert page.value(f'document.querySelector("{block("main")}").clientWidth > 250')


def test_every_control_has_a_name_and_takes_the_keyboard(page: Page) -> None:
    controls = "button, input, select, summary, nav, [role=tree], [role=region]"
    unnamed = page.value(
        f"""[...document.querySelectorAll('{controls}')].filter(e => !(e.textContent.trim()
            || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)"""
    )
    assert unnamed == []
    page.value("document.activeElement.blur()")
    reached: list[str] = []
    for _ in range(40):
        page.press("Tab")
        reached.append(
            str(page.value("document.activeElement.id || document.activeElement.className"))
        )
    assert {"search", "turn", "theme", "hide", "item", "name"} <= set(reached)
    assert page.value("document.querySelector('#status').getAttribute('aria-live')") == "polite"
