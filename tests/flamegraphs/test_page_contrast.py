"""Labels and texts of the page are readable in every state, in light and dark."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from flamegraphs.hotspots import hotspots
from flamegraphs.names import Kind
from flamegraphs.render import html
from flamegraphs.tree import NOT_DRAWN, tree
from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    AFTER,
    BEFORE,
    block,
    page_of,
)
from tests.flamegraphs.profiles import Stacks, profile_of

pytestmark = pytest.mark.browser


CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


def every_kind() -> bytes:
    """A page with a wide block of every kind and of every colour."""
    classes = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"]
    stacks: Stacks = [
        *(([f"{name}Class.method"], 30) for name in classes),
        (["libcuda.so+0x123456", "native.caller"], 60),
        (["<interpreter trampoline>", "trampoline.caller"], 60),
        (["<unknown>", "unknown.caller"], 60),
        (["other", "truncated.caller"], 60),
        *(([f"narrow{n}", "many.children"], 1) for n in range(60)),
    ]
    profile = profile_of(stacks)
    kinds = profile.kinds.copy()
    kinds[list(profile.functions).index("other")] = Kind.TRUNCATED
    profile = replace(profile, kinds=kinds)
    drawn = tree(profile, 30)
    assert any(node.function == NOT_DRAWN for node in drawn.nodes)
    page = html.Page(
        "Every kind", [html.Side("malloc", drawn, hotspots(profile))], [{"a": "b"}], ["n"], False
    )
    return b"".join(html.write(page))


@pytest.mark.parametrize("dark", [False, True])
def test_every_label_and_text_has_enough_contrast_in_every_state(
    chromium: Page, tmp_path: Path, dark: bool
) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(every_kind())
    page = chromium
    page.show(1800, 900, dark=dark, scale=3)
    page.open(f"{file.as_uri()}#native=shown")
    theme = "document.documentElement.dataset.theme"
    assert page.value(theme) == ("dark" if dark else "light")

    def measured(what: str) -> object:
        return page.value(f"(() => {{ {CONTRAST} return {what}(); }})()")

    def check(state: str, at_least: int) -> None:
        labels = cast("dict[str, float]", measured("labelContrasts"))
        assert len(labels) >= at_least, state
        low = {name: ratio for name, ratio in labels.items() if ratio < 4.5}
        assert not low, f"{state}: WCAG AA for text of this size"
        assert measured("poorTexts") == {}, state

    check("as opened", 25)
    page.press("/")
    page.type("Class|caller")
    check("search: matches and others", 25)
    page.press("Escape")
    page.point(block("libcuda.so+0x123456"), click=True)
    check("focused, callers above", 3)
    page.press("Escape")
    page.point("#save summary", click=True)
    page.point("#rows .name")
    check("menu open, a row under the pointer", 25)
    page.press("Escape")
    page.press("s")
    check("callers and callees, a button disabled", 1)
    comparison = page_of(BEFORE, AFTER, comparison=True)
    (tmp_path / "diff.html").write_bytes(comparison)
    page.open((tmp_path / "diff.html").as_uri())
    check("a comparison", 7)
    page.press("/")
    page.type("old")
    check("a comparison, searched", 7)
