import gzip
import json
import pickle
import random
import re
import weakref
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from flamegraphs import files
from flamegraphs.errors import UsageError
from flamegraphs.hotspots import hotspots
from flamegraphs.profile import Profile
from flamegraphs.render import html, labels, pprof, speedscope, svg
from flamegraphs.render.write import format_of, write
from flamegraphs.tree import tree
from tests.flamegraphs.command import called
from tests.flamegraphs.generated import field
from tests.flamegraphs.profiles import (
    Stacks,
    pprof_bytes,
    profile_of,
    read_bytes,
    stacks,
    stacks_of,
)

SVG = "{http://www.w3.org/2000/svg}"


@given(stacks)
def test_a_written_pprof_file_reads_back_the_same(given_stacks: Stacks) -> None:
    profile = profile_of(given_stacks)
    again = read_bytes(b"".join(pprof.write(profile)))
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


def test_stacks_that_are_alike_are_packed_small_and_others_are_whole() -> None:
    numbers = random.Random(3)  # noqa: S311 - a repeatable shape, nothing secret
    alike = [([f"f{n}", *(f"g{d}" for d in range(60)), "main"], n) for n in range(1, 9_000)]
    others = [([f"f{numbers.randrange(10_000)}" for _ in range(60)], n) for n in range(1, 9_000)]
    written = [b"".join(pprof.write(profile_of(stacks))) for stacks in (alike, others)]
    assert stacks_of(read_bytes(written[1])) == stacks_of(profile_of(others))
    assert 4 * len(written[0]) < len(gzip.decompress(written[0]))
    assert len(written[1]) < len(gzip.decompress(written[1]))


@pytest.mark.parametrize("chosen", ["html", "svg", "folded", "pprof", "speedscope"])
def test_every_format_is_written_to_a_file_or_standard_output_alike(
    tmp_path: Path, chosen: str
) -> None:
    source = tmp_path / "in.folded"
    source.write_text("main;a 3\nmain;0x1 4\n")
    output = tmp_path / "out"
    options = ["render", str(source), "--format", chosen, "--title", "t"]
    assert called(*options, "-o", str(output)).status == 0
    if chosen != "pprof":
        assert called(*options).out == output.read_text()
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


def page_data(page: bytes) -> Any:
    """What a page's script reads, as any JSON reader sees it."""
    found = re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    before, after = tmp_path / "a.folded", tmp_path / "b.folded"
    before.write_text("main;same 10\nmain;old 4\nmain;load 50\n")
    after.write_text("main;same 10\nmain;new 8\nmain;load 60\n")
    return str(before), str(after)


def test_a_comparison_is_drawn_as_a_page_with_both_values_of_every_block(
    two: tuple[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "diff.html"
    done = called("render", "--diff", *two, "-o", str(output))
    assert (done.status, done.error) == (0, "")
    data = page_data(output.read_bytes())
    names = [data["names"][name] for name in data["name"]]
    before, after = (measure["own"] for measure in data["measures"])
    assert dict(zip(names, zip(before, after, strict=True), strict=True)) == {
        "all": (0, 0),
        "main": (0, 0),
        "load": (50, 60),
        "same": (10, 10),
        "new": (0, 8),
        "old": (4, 0),
    }
    assert [name for name, _ in data["facts"][0]] == ["before", "after", "change"]


def test_a_comparison_as_a_picture_has_a_colour_and_a_sign_for_every_change(
    two: tuple[str, str],
) -> None:
    done = called("render", "--diff", *two, "--format", "svg")
    root = ET.fromstring(done.out)  # noqa: S314 - made a line above
    seen: dict[str, tuple[str, str]] = {}
    for group in root.iter(f"{SVG}g"):
        name = str(group.findtext(f"{SVG}title")).partition("\n")[0]
        (fill,) = [rect.attrib["fill"] for rect in group.iter(f"{SVG}rect")]
        seen[name] = (fill, str(group.findtext(f"{SVG}text"))[0])
    assert seen["old"] == (labels.CHANGES[0], "▼")
    assert seen["new"] == (labels.CHANGES[8], "▲")
    assert seen["load"] == (labels.CHANGES[6], "▲")
    assert seen["same"] == (labels.CHANGES[4], "s")
    legend = [str(text.text) for text in root.findall(f"{SVG}text")]
    assert {"gone", "unchanged", "new"} <= set(legend)


def test_the_page_and_the_picture_tell_changes_by_the_same_colours() -> None:
    script = (Path(html.__file__).parent / "page" / "palette.js").read_text()
    assert "light: [" + ", ".join(f'"{colour}"' for colour in labels.CHANGES) + "]" in script


def test_a_comparison_is_folded_with_both_values(two: tuple[str, str]) -> None:
    done = called("render", "--diff", *two, "--format", "folded")
    assert sorted(done.out.splitlines()) == [
        "main;load 50 60",
        "main;new 0 8",
        "main;old 4 0",
        "main;same 10 10",
    ]


@pytest.mark.parametrize("chosen", ["pprof", "speedscope"])
def test_a_format_without_comparisons_is_refused_by_name(two: tuple[str, str], chosen: str) -> None:
    done = called("render", "--diff", *two, "--format", chosen)
    assert done.status == 2
    assert f"cannot be written as {chosen}" in done.error
    assert done.out == ""


def test_two_that_measure_different_things_have_no_picture(tmp_path: Path) -> None:
    size, count = tmp_path / "size.pb", tmp_path / "count.folded"
    size.write_bytes(pprof_bytes([(["f"], 30)]))
    count.write_bytes(b"f 3\n")
    done = called("render", "--diff", str(size), str(count), "-o", str(tmp_path / "x.html"))
    assert done.status == 2
    assert f"{size} (malloc in bytes)" in done.error
    assert "measure different things" in done.error
    assert "--across-types" not in done.error
    assert not (tmp_path / "x.html").exists()


def test_a_comparison_and_a_file_do_not_fit_together(two: tuple[str, str]) -> None:
    done = called("render", two[0], "--diff", *two)
    assert done.status == 2
    assert "--diff names its two profiles itself" in done.error


def test_a_page_has_every_sample_type_of_a_file(tmp_path: Path) -> None:
    source = tmp_path / "in.pb.gz"
    source.write_bytes(pprof_bytes([(["f", "main"], 30), (["g", "main"], 12)]))
    done = called("render", str(source))
    data = page_data(done.out.encode())
    assert [(one["name"], one["unit"]) for one in data["measures"]] == [
        ("malloc", "bytes"),
        ("objects", "objects"),
    ]
    names = [data["names"][name] for name in data["name"]]
    assert names == ["all", "main", "f", "g"]
    assert [one["own"] for one in data["measures"]] == [[0, 0, 30, 12], [0, 0, 1, 1]]
    assert "in 2 stacks" in dict(data["facts"][0])["total"]
    assert "--sample-type" not in done.out, "the page has a list to choose from"


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("memray.csv", ["size", "num_allocations"]),
        ("otlp-1.7.pb", ["malloc", "objects"]),
        ("otlp-1.11.json", ["malloc", "objects"]),
    ],
)
def test_a_page_has_sample_types_for_which_a_file_is_read_again(
    name: str, measures: list[str]
) -> None:
    file = Path(__file__).parent / "recorded" / name
    done = called("render", str(file), "--unit", "bytes")
    assert [one["name"] for one in page_data(done.out.encode())["measures"]] == measures
    assert "Not in this page" not in done.out
    piped = called("render", "-", stdin=file.read_bytes())
    assert f"Not in this page: {measures[1]}" in piped.out


def test_live_memory_and_all_allocations_of_a_snapshot_are_in_its_page(tmp_path: Path) -> None:
    frames = [{"name": "f"}]
    block = {"size": 8, "state": "active_allocated", "frames": frames}
    event = {"action": "alloc", "size": 5, "frames": frames}
    file = tmp_path / "snapshot.pickle"
    for events, measures in (([event], ["active", "alloc"]), ([], ["active"])):
        snapshot = {"segments": [{"blocks": [block]}], "device_traces": [events]}
        file.write_bytes(pickle.dumps(snapshot))
        data = page_data(called("render", str(file)).out.encode())
        assert [one["name"] for one in data["measures"]] == measures


def test_a_large_file_is_let_go_while_what_was_read_of_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.pb.gz"
    source.write_bytes(pprof_bytes([(["f", "main"], 30)]))
    read: list[weakref.ref[Profile]] = []
    held_still: list[bool] = []

    def reading(path: str, _: object) -> Profile:
        profile = files.read_file(path)
        read.append(weakref.ref(profile))
        return profile

    def writing(profile: Profile) -> Iterator[bytes]:
        held_still.append(read[0]() is not None)
        yield b""

    monkeypatch.setattr("flamegraphs.render.write.OTHER_TYPES_UP_TO", 0)
    monkeypatch.setattr("flamegraphs.inputs._read", reading)
    monkeypatch.setattr("flamegraphs.render.pprof.write", writing)
    assert called("render", str(source), "--format", "pprof").status == 0
    assert held_still == [False]


def test_a_sample_type_that_cannot_be_drawn_is_left_out_by_name(tmp_path: Path) -> None:
    freed = profile_of([(["f"], -1)], sample_type="freed")
    held = profile_of([(["f"], 2)], sample_type="held")
    profile = replace(profile_of([(["f"], 3)]), others=[freed, held])
    output = tmp_path / "page.html"
    write(profile, "html", str(output), title="t", gpu_memory=10**9, binary=False)
    assert [one["name"] for one in page_data(output.read_bytes())["measures"]] == ["malloc", "held"]
    assert "Not in this page: freed (" in output.read_text()


def test_a_page_says_when_the_profile_was_taken_and_how_long_that_took(tmp_path: Path) -> None:
    source = tmp_path / "in.pb"
    times = field(9, 1_777_636_800 * 10**9) + field(10, 30 * 10**9)
    source.write_bytes(pprof_bytes([(["f"], 3)]) + times)
    (facts, _) = page_data(called("render", str(source)).out.encode())["facts"]
    assert ["taken", "2026-05-01 12:00:00Z"] in facts
    assert ["duration", "30 s"] in facts


def test_names_are_shown_with_their_control_and_bidi_characters_as_escapes() -> None:
    hostile = "\u202egnp.exe\x1b[31m\u2066"
    profile = profile_of([([hostile, "main"], 1)])
    page = html.Page(
        f"title \u202e of {hostile}",
        [html.Side("malloc", tree(profile), hotspots(profile))],
        [{"source": hostile}],
        [hostile],
        binary=False,
    )
    text = b"".join(html.write(page))
    data = page_data(text)
    shown = r"\u202egnp.exe\x1b[31m\u2066"
    assert shown in data["names"]
    assert data["facts"] == [[["source", shown]]]
    assert not re.findall("[\u202a-\u202e\u2066-\u2069\x1b]", text.decode())
