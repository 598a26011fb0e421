"""What the page saves, and what it prints."""

import json
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import pytest

from flamegraphs.names import normalise
from tests.flamegraphs.browser import Page
from tests.flamegraphs.pages import (
    STACKS,
    block,
    open_page,
    page_of,
)
from tests.flamegraphs.profiles import Stacks

pytestmark = pytest.mark.browser


def test_the_page_saves_what_is_shown_and_every_stack(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()

    def save(kind: str) -> bytes:
        page.point("#save summary", click=True)
        file = page.saved(f"[data-save={kind}]", folder)
        assert file.name.startswith("GPU-memory-of-a-test")
        return file.read_bytes()

    lines = save("folded").decode().splitlines()
    assert sorted(lines) == sorted(
        f"{';'.join(reversed([normalise(name) for name in stack]))} {value}"
        for stack, value in STACKS
    )
    document = json.loads(save("speedscope"))
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    (profile,) = document["profiles"]
    written = {
        tuple(frames[place] for place in stack): weight
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    }
    assert written == {
        tuple(reversed([normalise(name) for name in stack])): value for stack, value in STACKS
    }
    assert (profile["unit"], profile["endValue"]) == ("bytes", 82 * 10**9 - 10**9 + 10**9)
    page.point(block("Worker.init"), click=True)
    picture = ET.fromstring(save("svg"))  # noqa: S314 - made by the page
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 7
    assert "{{data}}" not in "".join(map(str, titles)), "only what is in focus"
    png = save("png")
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (2 * 1150, 2 * 5 * 22)


def test_paper_has_the_whole_graph_in_colour_on_one_page(chromium: Page, tmp_path: Path) -> None:
    deep: Stacks = [([f"Type{n % 9}.f{n}" for n in reversed(range(120))], 1), (["g"], 3)]
    page = open_page(chromium, tmp_path, page_of(deep))
    pdf = page.printed()
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    drawn = b"".join(
        zlib.decompress(part)
        for part in re.findall(
            rb"/FlateDecode[^>]*>>\s*stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL
        )
    )
    colours = set(re.findall(rb"([\d.]+ [\d.]+ [\d.]+) rg", drawn))
    vivid = [c for c in colours if len(set(c.split())) > 1]
    assert len(vivid) >= 6, "blocks keep their colours"
    page.value("dispatchEvent(new Event('beforeprint'))")
    shape = page.value(
        "(() => { const box = document.querySelector('#print svg').viewBox.baseVal;"
        " return box.height / box.width; })()"
    )
    assert shape == pytest.approx(0.55, rel=0.01), "however deep, it is as wide as the page"
    page.value("dispatchEvent(new Event('afterprint'))")
