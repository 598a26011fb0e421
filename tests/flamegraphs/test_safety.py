"""Nothing that a file holds can do anything to the terminal, the machine or other files."""

import json
import os
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs import terminal
from flamegraphs.render import svg
from flamegraphs.tree import tree
from tests.flamegraphs import hostile
from tests.flamegraphs.command import ROOT, called
from tests.flamegraphs.generated import field
from tests.flamegraphs.profiles import Encoding, profile_of, sample_bytes
from tests.flamegraphs.server import always, serving

EVIL = "evil\x1b[2J\u202e\x9b\x07\r\u2066name"


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@given(st.text())
def test_a_shown_line_is_one_line_that_a_terminal_only_prints(text: str) -> None:
    shown = terminal.shown(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


def test_a_line_of_a_million_characters_is_cut_and_says_so() -> None:
    assert terminal.shown("a" * 10**6).endswith("... (996,000 more characters)")


def everywhere_evil() -> bytes:
    """A pprof file with the same text for its type, unit, function and library."""
    text = EVIL.encode()
    head = b"".join(field(1, field(1, 1) + field(2, 1)) for _ in range(2))
    tables = field(3, field(1, 1) + field(5, 1))
    tables += field(4, field(1, 1) + field(2, 1) + field(3, 16))
    tables += field(4, field(1, 2) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 1))
    sample = field(2, sample_bytes([1, 2], [3, 4], Encoding()))
    return head + sample + tables + field(6, b"") + field(6, text)


@pytest.mark.parametrize("command", ["hotspots", "diff", "render"])
def test_names_types_units_and_file_names_reach_a_terminal_as_escapes(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / EVIL
    file.write_bytes(everywhere_evil())
    arguments = [command, *([str(file)] * (2 if command == "diff" else 1))]
    done = called(*arguments, *(["--format", "folded"] if command == "render" else []))
    assert harmless(done.out)
    assert harmless(done.error)
    assert "\x1b" not in done.out
    wrong = called(*arguments, "--sample-type", EVIL + "?")
    assert wrong.status == 7
    assert harmless(wrong.error)
    assert wrong.error.count("\n") == 1
    missing = called("hotspots", str(file) + "2")
    assert harmless(missing.error)


def test_a_hostile_name_in_the_arguments_is_an_escape_too() -> None:
    assert harmless(called("hotspots", "a", EVIL).error)
    assert harmless(called("hotspots", "a", "--limit", EVIL).error)


def test_the_words_of_a_server_reach_a_terminal_as_escapes() -> None:
    with serving(always(500, {"message": f"failed {EVIL}"})) as (url, _):
        done = called("hotspots", "--pyroscope", url)
    assert done.status == 1
    assert "failed evil" in done.error
    assert harmless(done.error)


def test_json_escapes_what_a_terminal_must_not_get(tmp_path: Path) -> None:
    file = tmp_path / EVIL
    file.write_bytes(everywhere_evil())
    done = called("hotspots", str(file), "--json")
    assert harmless(done.out)
    assert done.out.isascii()
    assert json.loads(done.out)["unit"] == EVIL


@given(st.text(min_size=1), st.text(), st.text())
def test_a_picture_is_well_formed_whatever_names_title_and_unit_are(
    name: str, title: str, unit: str
) -> None:
    drawn = tree(profile_of([([name, "main"], 3)], unit=unit))
    ET.fromstring(b"".join(svg.write(drawn, title, binary=False)))  # noqa: S314 - made here


# ---- the machine ----


def test_what_a_file_costs_does_not_count_the_memory_of_whoever_measures_it() -> None:
    held = bytearray(os.urandom(1)) * (2 * hostile.MEBIBYTES * 2**20)
    assert hostile.cost(["--help"]).mebibytes < hostile.MEBIBYTES
    assert len(held) > hostile.MEBIBYTES


@pytest.mark.parametrize(("command", "name"), hostile.WORST)
def test_a_file_of_100_kb_costs_at_most_512_mb_and_10_seconds(
    tmp_path: Path, command: str, name: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(hostile.FILES[name]())
    assert file.stat().st_size <= hostile.MOST
    took = hostile.cost([command, *[str(file)] * (2 if command == "diff" else 1)])
    assert took.seconds < hostile.SECONDS
    assert took.mebibytes < hostile.MEBIBYTES
    assert took.error.count("\n") == (1 if took.status else 0)
    assert took.status in (0, 7)


def test_devices_folders_pipes_and_sparse_files_end_at_once(tmp_path: Path) -> None:
    pipe, sparse = tmp_path / "pipe", tmp_path / "sparse"
    os.mkfifo(pipe)
    with sparse.open("wb") as file:
        file.truncate(5 * 2**30)
    assert "It is a device, not a file" in called("hotspots", "/dev/zero").error
    assert "cannot be read: Is a directory" in called("hotspots", str(tmp_path)).error
    assert "It is empty" in called("hotspots", str(pipe)).error
    assert "larger than the 1024 MiB" in called("hotspots", str(sparse)).error
    with sparse.open("wb") as file:
        file.truncate(2**30)
    assert "nothing but zero bytes" in called("hotspots", str(sparse)).error


def test_a_pipe_that_somebody_writes_to_is_read() -> None:
    command = f"printf 'a;b 5\\n' | {sys.executable} -m flamegraphs hotspots /dev/stdin"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"total       5" in done.stdout


# ---- output ----

DEV_FULL = Path("/dev/full")


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["hotspots", "render --format svg", "render --format folded"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line_and_a_status(
    tmp_path: Path, command: str, where: str
) -> None:
    if not DEV_FULL.exists() and "full" in where:
        pytest.skip("this system has no /dev/full")
    file = tmp_path / "a.folded"
    file.write_text("a;b 5\n")
    done = shell(f"{sys.executable} -m flamegraphs {command} {file} {where}")
    assert done.returncode == 1
    assert done.stderr.startswith("flamegraphs: standard output: cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_a_closed_standard_error_does_not_change_the_status(tmp_path: Path) -> None:
    done = shell(f"{sys.executable} -m flamegraphs hotspots {tmp_path}/none 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def render(tmp_path: Path, output: Path) -> "tuple[int, str]":
    file = tmp_path / "a.folded"
    file.write_text("a;b 5\n")
    done = called("render", str(file), "--format", "folded", "-o", str(output))
    return done.status, done.error


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    to_device = tmp_path / "link"
    to_device.symlink_to("/dev/null")
    for output in (pipe, folder, Path("/dev/null"), to_device):
        status, error = render(tmp_path, output)
        assert status == 2
        assert f"{output}: cannot be written: it is " in error
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert to_device.is_symlink()


def test_the_target_of_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("target")
    assert render(tmp_path, link) == (0, "")
    assert link.is_symlink()
    assert target.read_text() == "a;b 5\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]
