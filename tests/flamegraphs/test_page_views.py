"""The views of the page: hidden native code, inverted, callers and callees, comparisons."""

import random
from pathlib import Path
from typing import cast
from urllib.parse import quote

import pytest

from flamegraphs.hotspots import hotspots
from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    AFTER,
    BEFORE,
    LABEL,
    block,
    colour,
    figures,
    focused,
    names_in_table,
    open_page,
    page_of,
)
from tests.flamegraphs.profiles import NAMES, Stacks, profile_of

pytestmark = pytest.mark.browser


OVERHEAD: Stacks = [
    (["libcuda.so+0x1", "<interpreter trampoline>", "load", "main"], 100),
    (["0x7f1", "0x7f2", "load", "main"], 40),
    (["load", "<interpreter trampoline>", "main"], 7),
    (["callback", "0x7f3", "load", "main"], 20),
    (["0x7f3", "load", "main"], 5),
    (["<unknown>", "0x7f9"], 30),
    (["main"], 3),
]


def test_native_ends_and_trampolines_are_hidden_and_their_values_are_the_tables(
    chromium: Page, tmp_path: Path
) -> None:
    page = open_page(chromium, tmp_path, page_of(OVERHEAD))
    found = figures(page)
    attributed = {row.name: row.attributed for row in hotspots(profile_of(OVERHEAD)).rows}
    assert {name: sums["self"] for name, sums in found.items() if sums["self"]} == {
        name: value for name, value in attributed.items() if value
    }
    assert found["all"]["total"] == 205
    assert set(found) == {"all", "main", "load", "callback", "0x7f3", "(unresolved)"}
    assert "175 B of native code counts for the functions that called it" in page.text("#overhead")
    page.press("h")
    found = figures(page)
    assert page.value("document.querySelector('#hide').checked") is False
    assert found["all"]["total"] == sum(sums["self"] for sums in found.values()) == 205
    assert found["<interpreter trampoline>"]["blocks"] == 2
    assert found["libcuda.so+0x1"]["self"] == 100
    page.press("h")
    assert "libcuda.so+0x1" not in figures(page)
    assert page.errors == []


@pytest.mark.parametrize("seed", range(5))
def test_every_view_has_the_figures_of_the_table_whatever_the_stacks(
    chromium: Page, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)  # noqa: S311 - a repeatable shape, nothing secret
    stacks: Stacks = [
        (chosen.choices(NAMES, k=chosen.randint(1, 7)), chosen.randint(0, 20)) for _ in range(25)
    ]
    found = hotspots(profile_of(stacks))
    attributed = {row.name: row.attributed for row in found.rows if row.attributed}
    page = open_page(chromium, tmp_path, page_of(stacks))
    for view in ("flame", "inverted"):
        page.press(view[0])
        own = {name: sums["self"] for name, sums in figures(page).items() if sums["self"]}
        assert sum(own.values()) == found.total
        assert own == attributed
    first = page.value(
        "[...document.querySelectorAll('[role=treeitem][aria-level=\"2\"]')]"
        ".map(e => e.getAttribute('aria-label').match(/^(.*): total (\\d+) B/).slice(1))"
    )
    listed = cast("list[tuple[str, str]]", first)
    assert {name: int(total) for name, total in listed} == attributed
    for row in found.rows:
        if row.kind is not None and row.total:
            page.value(f"location.hash = 'view=sandwich&function={quote(row.name)}&native=shown'")
            page.wait(f"document.querySelector('#path').textContent.endsWith({row.name!r})")
            middle = page.text("#status").removeprefix(row.name).strip()
            assert middle.startswith(f"total {row.total} B")
    assert page.errors == []


RECURSION: Stacks = [
    (["f", "a", "main"], 10),
    (["f", "g", "f", "a", "main"], 5),
    (["leaf", "f", "b"], 20),
    (["other", "main"], 65),
]


def test_the_inverted_graph_leads_from_what_allocates_to_its_callers(
    chromium: Page, tmp_path: Path
) -> None:
    page = open_page(chromium, tmp_path, page_of(RECURSION))
    page.press("i")
    levels = page.value(
        "[...document.querySelectorAll('[role=treeitem][aria-level=\"2\"]')]"
        ".map(e => e.getAttribute('aria-label').split(' (')[0])"
    )
    assert levels == ["other: total 65 B", "leaf: total 20 B", "f: total 15 B"]
    found = figures(page)
    assert found["all"]["total"] == sum(sums["self"] for sums in found.values()) == 100
    assert "view=inverted" in str(page.value("location.hash"))
    page.press("Escape")
    assert page.value("location.hash") == ""


def test_the_inverted_graph_of_a_page_that_is_cut_is_exact_about_what_allocates(
    chromium: Page, tmp_path: Path
) -> None:
    wide: Stacks = [
        (["libcuda.so+0x1", f"leaf{n % 3}", "<interpreter trampoline>", f"f{n}", "main"], 1)
        for n in range(600)
    ]
    content = page_of([*wide, (["<unknown>", "0x7f2"], 40)], max_nodes=90)
    page = open_page(chromium, tmp_path, content, "view=inverted")
    found = figures(page)
    assert found["all"]["total"] == 640
    for name, total in (("leaf0", 200), ("leaf1", 200), ("leaf2", 200), ("(unresolved)", 40)):
        assert found[name] == {"blocks": 1, "total": total, "self": found[name]["self"]}
    assert "the table has every function" in page.text("#overhead")
    page.press("h")
    assert figures(page)["libcuda.so+0x1"]["total"] == 600
    # What a page that is cut has of one function is said.
    page.value("location.hash = 'view=sandwich&function=leaf0'")
    page.wait(
        "/below leaf0 .\\d+ B of 200 B: the rest/.test(document.querySelector('#path').textContent)"
    )
    assert page.errors == []


def test_callers_stand_above_and_callees_below_one_function(chromium: Page, tmp_path: Path) -> None:
    page = open_page(chromium, tmp_path, page_of(RECURSION), "view=sandwich&function=f")
    boxes = cast(
        "list[tuple[str, float, float]]",
        page.value(
            "[...document.querySelectorAll('[role=treeitem]')].map(e => { const b ="
            " e.getBoundingClientRect(); return [e.getAttribute('aria-label'), b.top, b.width]; })"
        ),
    )
    (middle,) = [top for label, top, _ in boxes if label.startswith("f: total 35 B")]
    own = {label.split(":")[0]: label.split("self ")[1].split(" (")[0] for label, _, _ in boxes}
    # Of the two blocks of f the lower one, where it calls itself, has 5 B.
    assert own == {"f": "5 B", "leaf": "20 B", "g": "0 B", "b": "0 B", "a": "0 B", "main": "0 B"}
    assert any(label.startswith("f: total 35 B (35.0 %), self 10 B") for label, _, _ in boxes)
    above = {label.split(" (")[0] for label, top, _ in boxes if top < middle}
    below = {label.split(" (")[0] for label, top, _ in boxes if top > middle}
    assert above == {"b: total 20 B", "a: total 15 B", "main: total 15 B"}
    assert below == {"leaf: total 20 B", "g: total 5 B", "f: total 5 B"}
    assert "Callers above and callees below f" in page.text("#path")
    widths = {label.split(":")[0]: width for label, _, width in boxes}
    assert widths["b"] / widths["a"] == pytest.approx(20 / 15, rel=0.02)
    # With the keyboard: up to a caller, down to a callee.
    page.value("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
    for key, name in (("ArrowUp", "b"), ("ArrowDown", "f"), ("ArrowDown", "leaf")):
        page.press(key)
        assert focused(page) == name
    page.press("Enter")
    assert page.text("#path") == "f › leaf"  # noqa: RUF001


def test_callers_of_hidden_code_are_looked_up_where_it_is_not_hidden(
    chromium: Page, tmp_path: Path
) -> None:
    page = open_page(
        chromium, tmp_path, page_of(OVERHEAD), "view=sandwich&function=libcuda.so%2B0x1"
    )
    found = figures(page)
    assert found["libcuda.so+0x1"]["total"] == 100
    assert set(found) == {"libcuda.so+0x1", "<interpreter trampoline>", "load", "main"}


def test_the_graph_is_zoomed_with_the_wheel_and_moved_with_the_pointer(page: Page) -> None:
    edges = 'Object.values(document.querySelector("{}").getBoundingClientRect().toJSON())'
    whole = page.value(edges.format(block("Linear.load")))
    page.wheel(block("libcuda.so+0x1"), -600, control=True)
    page.wait("location.hash.includes('zoom')")
    left, _, width, *_ = cast("list[float]", page.value(edges.format(block("libcuda.so+0x1"))))
    assert width > 2 * cast("list[float]", whole)[2]
    # The callers that begin beside the window have their labels in it.
    labels = cast("dict[str, str]", page.value(LABEL))
    assert labels["main"] == "main"
    page.drag(block("libcuda.so+0x1"), -100)
    moved = cast("list[float]", page.value(edges.format(block("libcuda.so+0x1"))))
    assert moved[0] == pytest.approx(left - 100, abs=2)
    assert page.text("#path") == "Choose a block to focus on it.", "a drag is no click"
    address = str(page.value("location.href"))
    page.open("about:blank")
    page.open(address)
    again = cast("list[float]", page.value(edges.format(block("libcuda.so+0x1"))))
    assert again[0] == pytest.approx(moved[0], abs=1)
    page.press("Escape")
    assert page.value(edges.format(block("Linear.load"))) == whole


def test_a_view_can_be_left_from_any_block(chromium: Page, tmp_path: Path) -> None:
    page = open_page(chromium, tmp_path, page_of(RECURSION), "view=sandwich&function=f")
    for key in ("ArrowDown", "ArrowRight", "i"):
        page.value("document.querySelector('[role=treeitem][tabindex=\"0\"]').focus()")
        page.press(key)
    assert figures(page)["all"]["total"] == 100
    assert focused(page) == "all"
    assert page.errors == []


def test_callers_and_callees_are_reached_from_a_block_and_from_the_table(
    chromium: Page, tmp_path: Path
) -> None:
    page = open_page(chromium, tmp_path, page_of(RECURSION))
    page.point(block("a"), click=True)
    page.point("#callers", click=True)
    assert "function=a" in str(page.value("location.hash"))
    assert figures(page)["a"]["total"] == 15
    page.press("f")
    page.point("#rows tr:nth-child(2) .more", click=True)
    assert "function=leaf" in str(page.value("location.hash"))


def test_a_graph_deeper_than_its_window_has_its_root_on_top(chromium: Page, tmp_path: Path) -> None:
    deep: Stacks = [([f"f{n}" for n in reversed(range(200))], 1), (["g"], 3)]
    page = open_page(chromium, tmp_path, page_of(deep))
    top = 'document.querySelector("{}").getBoundingClientRect().top'
    frame = page.value("document.querySelector('#graph').getBoundingClientRect().top")
    assert page.value("document.querySelector('#graph').scrollHeight") == 201 * 22
    assert page.value(top.format(block("all"))) == pytest.approx(frame, abs=2)
    assert page.value(top.format(block("f0"))) == pytest.approx(cast("float", frame) + 22, abs=2)
    # The root is in view as well where a person wants it at the bottom.
    page.press("r")
    frame_bottom = page.value("document.querySelector('#graph').getBoundingClientRect().bottom")
    root_bottom = page.value(top.format(block("all")).replace(".top", ".bottom"))
    assert root_bottom == pytest.approx(frame_bottom, abs=4)
    # What is scrolled into view is painted.
    page.value("document.querySelector('#graph').scrollTop = 0")
    assert colour(page, "f199") != colour(page, "f0")


def test_the_page_switches_between_sample_types(chromium: Page, tmp_path: Path) -> None:
    sizes: Stacks = [(["f", "main"], 700), (["g", "main"], 100)]
    counts: Stacks = [(["f", "main"], 1), (["g", "main"], 3)]
    page = open_page(chromium, tmp_path, page_of(sizes, counts))
    assert figures(page)["f"]["total"] == 700
    page.choose("#type", "1")
    assert figures(page)["f"]["total"] == 1
    assert names_in_table(page) == ["g", "f", "main"]
    assert "type=other" in str(page.value("location.hash"))
    assert page.text("#facts") != ""


def test_a_comparison_has_colours_signs_and_a_legend(chromium: Page, tmp_path: Path) -> None:
    page = open_page(chromium, tmp_path, page_of(BEFORE, AFTER, comparison=True))
    labels = cast("dict[str, str]", page.value(LABEL))
    assert labels["old"].startswith("▼")
    assert labels["new"].startswith("▲")
    assert labels["same"] == "same"
    colours = [colour(page, name) for name in ("old", "shrunk", "same", "grown", "new")]
    assert len(set(map(str, colours))) == 5
    blue, red = (list(map(int, str(colours[place]).split(","))) for place in (0, 4))
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    legend = page.text("#legend")
    assert all(word in legend for word in ("gone", "unchanged", "new", "▼ less than before"))
    assert "total 300 B → 360 B, +60 B (+20.0 %), self 300 B → 360 B" in str(
        page.value(f'document.querySelector("{block("grown")}").ariaLabel')
    )
    listed = page.value("[...document.querySelectorAll('#rows tr')].map(e => e.textContent)")
    rows = [row.partition("callers")[0] for row in cast("list[str]", listed)]
    assert set(rows[:3]) == {
        "+200 Bnew0 B200 B+200 Bnew",
        "−200 Bgone200 B0 B−200 Bold",  # noqa: RUF001
        "−200 B−66.7 %300 B100 B−200 Bshrunk",  # noqa: RUF001
    }
    assert rows[3:5] == ["+60 B+20.0 %300 B360 B+60 Bgrown", "0 Bunchanged100 B100 B0 Bsame"]
    assert page.errors == []


def test_a_comparisons_blocks_can_be_as_wide_as_one_side(chromium: Page, tmp_path: Path) -> None:
    page = open_page(chromium, tmp_path, page_of(BEFORE, AFTER, comparison=True))
    width = 'document.querySelector("{}")?.getBoundingClientRect().width ?? 0'
    both = cast("float", page.value(width.format(block("grown"))))
    whole = cast("float", page.value(width.format(block("all"))))
    assert both / whole == pytest.approx(660 / 1660, abs=0.01)
    page.choose("#width", "after")
    assert cast("float", page.value(width.format(block("grown")))) / whole == pytest.approx(
        360 / 760, abs=0.01
    )
    assert page.value(width.format(block("old"))) == 0


@pytest.mark.parametrize(
    "odd",
    [
        [(["f", "main"], 0)],
        [(["f"], 1)],
        [(["__proto__", "constructor", "toString"], 5), (["hasOwnProperty"], 4)],
        [(["x" * 90_000, "y\u05d0\u05d1 z"], 5)],
        [(["a", "m"], 2**62), (["b", "m"], 2**61)],
        [(["f"] * 700, 5)],
    ],
    ids=["nothing", "one block", "names of JavaScript's own", "long", "huge values", "deep"],
)
def test_odd_profiles_are_shown_in_every_view(chromium: Page, tmp_path: Path, odd: Stacks) -> None:
    page = open_page(chromium, tmp_path, page_of(odd))
    for key in "isrhnf":
        page.press(key)
        assert page.value("document.querySelectorAll('[role=treeitem]').length >= 1")
    assert page.errors == []
