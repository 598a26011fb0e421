import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given

from flamegraphs import files
from flamegraphs.errors import UsageError
from flamegraphs.render import html, pprof, speedscope, svg
from flamegraphs.render.write import format_of, write
from flamegraphs.tree import tree
from tests.flamegraphs.command import flamegraphs
from tests.flamegraphs.profiles import Stacks, profile_of, stacks, stacks_of

SVG = "{http://www.w3.org/2000/svg}"


@given(stacks)
def test_a_written_pprof_file_reads_back_the_same(given_stacks: Stacks) -> None:
    profile = profile_of(given_stacks)
    again = files.read_bytes(b"".join(pprof.write(profile)))
    assert stacks_of(again) == stacks_of(profile)
    assert (again.sample_type, again.unit) == ("malloc", "bytes")


@given(stacks)
def test_speedscope_gets_every_stack_root_first(given_stacks: Stacks) -> None:
    profile = profile_of(given_stacks)
    document = json.loads(b"".join(speedscope.write(profile, "a title")))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    (written,) = document["profiles"]
    found = {
        tuple(names[frame] for frame in reversed(stack)): weight
        for stack, weight in zip(written["samples"], written["weights"], strict=True)
    }
    assert found == stacks_of(profile)
    assert written["endValue"] == sum(value for _, value in given_stacks)
    assert (written["type"], written["unit"]) == ("sampled", "bytes")


def test_a_picture_has_a_block_with_a_tooltip_for_every_path() -> None:
    hostile = "<b>&\x00\x1b\ud800"
    profile = profile_of([(["leaf", "main"], 3), ([hostile, "main"], 1)])
    picture = b"".join(svg.write(tree(profile), f"a {hostile} title", binary=False))
    root = ET.fromstring(picture)  # noqa: S314 - made a line above
    titles = [str(title.text).splitlines() for title in root.iter(f"{SVG}title")]
    assert ["leaf", "total 3 B (75.0 %), self 3 B"] in titles
    assert ["main", "total 4 B (100.0 %), self 0 B"] in titles
    assert len(titles) == 4
    widths = [float(rect.attrib["width"]) for rect in root.iter(f"{SVG}rect")][1:]
    assert widths[2] == pytest.approx(0.75 * widths[0], rel=0.01)


@pytest.mark.parametrize("chosen", ["html", "svg", "folded", "pprof", "speedscope"])
def test_every_format_is_written_to_a_file_or_standard_output_alike(
    tmp_path: Path, chosen: str
) -> None:
    source = tmp_path / "in.folded"
    source.write_text("main;a 3\nmain;0x1 4\n")
    output = tmp_path / "out"
    options = ["render", str(source), "--format", chosen, "--title", "t"]
    assert flamegraphs(*options, "-o", str(output)).status == 0
    if chosen != "pprof":
        assert flamegraphs(*options).out == output.read_text()
    assert sorted(tmp_path.iterdir()) == [source, output]


def test_the_page_is_made_of_all_its_files() -> None:
    folder = Path(html.__file__).parent / "page"
    assert {file.name for file in folder.glob("*.js")} == set(html.SCRIPTS)


def test_a_page_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    profile = profile_of([(["f"], 1)])
    write(profile, "html", str(output), title="t", gpu_memory=1, binary=False)
    page = output.read_text()
    # Two addresses that name something and are never opened: SVG's, and speedscope's schema.
    named = ("http://www.w3.org/2000/svg", "https://www.speedscope.app/file-format-schema.json")
    for address in named:
        page = page.replace(address, "")
    assert not re.findall(r"https?://|src=|<link|@import|url\(", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("output", "chosen"),
    [
        ("a.html", "html"),
        ("a.svg", "svg"),
        ("a.folded", "folded"),
        ("a.pb.gz", "pprof"),
        ("a.speedscope.json", "speedscope"),
        ("-", "html"),
    ],
)
def test_the_ending_of_a_file_says_its_format(output: str, chosen: str) -> None:
    assert format_of(output) == chosen


def test_a_folder_that_is_not_there_is_named_and_an_old_file_survives_a_failure(
    tmp_path: Path,
) -> None:
    profile = profile_of([(["f"], -1)])
    missing = tmp_path / "none" / "a.svg"
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write(profile, "folded", str(missing), title="t", gpu_memory=1, binary=False)
    kept = tmp_path / "a.svg"
    kept.write_text("old")
    with pytest.raises(UsageError, match="negative"):
        write(profile, "svg", str(kept), title="t", gpu_memory=1, binary=False)
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]
