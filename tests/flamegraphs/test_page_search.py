"""Search, keys and the address of the page."""

from typing import cast

import pytest

from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    block,
)

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("^main$", {"main"}),
        ("INIT|kv.*tensors", {"Worker.init", "GPUModelRunner._allocate_kv_cache_tensors"}),
        ("so+0x1", {"libcuda.so+0x1"}),  # as it is written, though no such expression matches
        ("{{data}}", {"{{data}}"}),
        ("alert(1", {"</script><img src=x onerror=alert(1)>"}),  # no regular expression
    ],
)
def test_a_search_is_a_regular_expression_or_the_text_itself(
    page: Page, text: str, names: set[str]
) -> None:
    page.press("/")
    page.type(text)
    found = page.value(
        "[...document.querySelectorAll('.match')].map(e => e.getAttribute('aria-label'))"
    )
    assert {label.split(": total")[0] for label in cast("list[str]", found)} == names
    assert ("as plain text" in page.text("#found")) == (text == "alert(1")


def test_slash_and_escape_work_wherever_the_keyboard_is(page: Page) -> None:
    # (In a list the browser itself keeps Escape for closing it.)
    for selector in ("#turn", "#rows .name", "#hide", "th button", "[role=treeitem]", "summary"):
        page.value(f"document.querySelector(`{selector}`).focus()")
        page.press("/")
        assert page.value("document.activeElement.id") == "search"
        page.type("linear")
        assert page.text("#found").startswith("3 blocks")
        page.value(f"document.querySelector(`{selector}`).focus()")
        page.press("Escape")
        assert page.text("#found") == ""
        assert page.value("document.querySelector('#search').value") == ""


def test_keys_of_one_letter_can_be_switched_off(page: Page) -> None:
    page.point("#keys", click=True)
    page.press("i")
    assert "inverted" not in str(page.value("location.hash"))
    page.press("/")
    assert page.value("document.activeElement.id") == "search"
    page.point("#keys", click=True)
    page.press("i")
    assert "inverted" in str(page.value("location.hash"))


def test_escape_goes_back_one_step_after_another(page: Page) -> None:
    page.press("i")
    page.point(block("0x7f1"), click=True)
    page.press("/")
    page.type("linear")
    page.point("#save summary", click=True)
    state = "[document.querySelector('#save').open, location.hash]"
    seen = [page.value(state)]
    for _ in range(4):
        page.press("Escape")
        seen.append(page.value(state))
    hashes = [str(cast("list[object]", one)[1]) for one in seen]
    assert [cast("list[object]", one)[0] for one in seen] == [True, False, False, False, False]
    assert ["search" in one for one in hashes] == [True, True, False, False, False]
    assert ["focus" in one for one in hashes] == [True, True, True, False, False]
    assert ["inverted" in one for one in hashes] == [True, True, True, True, False]


def test_the_address_keeps_focus_search_and_view(page: Page) -> None:
    page.point(block("Worker.init"), click=True)
    page.press("/")
    page.type("kv")
    page.point("#turn", click=True)
    page.point("th:nth-child(4) button", click=True)
    address = str(page.value("location.href"))
    described = "[document.querySelector('#path').textContent, document.querySelector('#search').value, document.querySelector('#found').textContent, document.querySelector('#turn').ariaPressed, document.querySelector('#rows .name').textContent]"  # noqa: E501
    before = page.value(described)
    page.open("about:blank")
    page.open(address)
    assert page.value(described) == before
    assert cast("list[str]", before)[0].endswith("Worker.init")


def test_the_browsers_back_and_forward_follow_the_focus(page: Page) -> None:
    page.point(block("main"), click=True)
    page.point(block("Worker.init"), click=True)
    wait = "new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done), {{once: true}}); history.{}(); }})"  # noqa: E501
    page.value(wait.format("back"))
    assert page.text("#path").endswith("main")
    page.value(wait.format("forward"))
    assert page.text("#path").endswith("Worker.init")


@pytest.mark.parametrize(
    "address",
    [
        "view=sandwich",
        "focus=czz",
        "view=nothing&root=left",
        "type=none&sort=%00",
        "%",
        "function=x",
    ],
)
def test_an_address_that_does_not_fit_shows_the_whole_graph(page: Page, address: str) -> None:
    opened = str(page.value("location.href")).partition("#")[0]
    page.open("about:blank")
    page.open(f"{opened}#{address}")
    assert page.value(f'document.querySelector("{block("main")}") !== null')
    assert "Choose a block" in page.text("#path")


def test_a_name_is_copied_from_a_block_and_from_the_table(page: Page) -> None:
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    page.call("Page.bringToFront")
    page.point(block("Worker.init"), click=True)
    page.press("c")
    page.wait("document.querySelector('#status').textContent === 'Copied Worker.init'")
    assert page.value("navigator.clipboard.readText()") == "Worker.init"
    page.point("#rows tr td:last-child button:last-child", click=True)
    allocates = "GPUModelRunner._allocate_kv_cache_tensors"
    page.wait(f"document.querySelector('#status').textContent === 'Copied {allocates}'")
    assert page.value("navigator.clipboard.readText()") == allocates
