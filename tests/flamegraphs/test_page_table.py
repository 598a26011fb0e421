"""The table of the page: every row, sorted by any column, filtered by the search."""

from pathlib import Path
from typing import cast

import pytest

from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    names_in_table,
    open_page,
    page_of,
)
from tests.flamegraphs.profiles import Stacks

pytestmark = pytest.mark.browser


def test_the_table_has_every_row_and_only_those_in_view_in_the_document(
    chromium: Page, tmp_path: Path
) -> None:
    many: Stacks = [([f"f{n:05}", "main"], 20_000 - n) for n in range(12_000)]
    page = open_page(chromium, tmp_path, page_of(many))
    rows = "document.querySelectorAll('#rows tr').length"
    assert cast("int", page.value(rows)) < 60
    assert page.value("document.querySelector('table').getAttribute('aria-rowcount')") == "12002"
    page.value("document.querySelector('#rows .name').focus()")
    page.press("End")
    assert page.value("document.activeElement.textContent") == "main"
    page.press("ArrowUp")
    assert page.value("document.activeElement.textContent") == "f11999"
    page.press("Home")
    assert page.value("document.activeElement.textContent") == "f00000"
    assert cast("int", page.value(rows)) < 60


def test_the_table_is_sorted_by_any_column_and_says_so(page: Page) -> None:
    assert page.value("document.querySelector('th').getAttribute('aria-sort')") == "descending"
    page.point("th:nth-child(4) button", click=True)
    assert names_in_table(page)[0] == "main"
    page.point("th:nth-child(5) button", click=True)
    listed = names_in_table(page)
    assert listed == sorted(listed)
    assert page.value("document.querySelector('th:nth-child(5)').ariaSort") == "ascending"
    page.point("th:nth-child(5) button", click=True)
    assert names_in_table(page) == listed[::-1]
    page.point("th:nth-child(1) button", click=True)
    page.point("th:nth-child(1) button", click=True)
    first = "document.querySelector('#rows td').textContent"
    assert page.value(first) == "0 B"


def test_the_table_follows_the_search(page: Page) -> None:
    page.press("/")
    page.type("^Linear|cuda")
    assert names_in_table(page) == ["Linear.load", "libcuda.so+0x1"]
    assert "2 of 8 functions" in page.text("#count")
    page.press("Escape")
    assert len(names_in_table(page)) == 8
