import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flamegraphs.command import ROOT, called, flamegraphs
from tests.flamegraphs.profiles import pprof_bytes

FOLDED = b"""\
;_start;<interpreter trampoline>;GPUModelRunner > _allocate_kv_cache_tensors;0x7f1 55100000000
;_start;<interpreter trampoline>;Worker / load_model;libtorch.so+0x12 4900000000
0x7f3;0x7f2 400000000
"""


@pytest.fixture
def vllm(tmp_path: Path) -> str:
    file = tmp_path / "vllm.folded"
    file.write_bytes(FOLDED)
    return str(file)


def test_the_table_begins_with_the_function_that_allocates_most(vllm: str) -> None:
    done = flamegraphs("hotspots", vllm, "--unit", "bytes")
    lines = done.out.splitlines()
    first = lines[next(n for n, line in enumerate(lines) if line.endswith("function")) + 1]
    assert first.split() == [
        *("55.1", "GB", "0", "B", "55.1", "GB", "91.2", "%"),
        "GPUModelRunner._allocate_kv_cache_tensors",
    ]
    assert done.status == 0


def test_the_header_states_the_unit_the_share_unresolved_and_truncation(vllm: str) -> None:
    out = called("hotspots", vllm, "--unit", "bytes").out
    assert "unit        bytes; 1 GB = 10^9 bytes" in out
    assert "unresolved  0.7 %" in out
    assert "truncated   no" in out


def test_the_stack_is_printed_from_the_bottom_to_the_top(vllm: str) -> None:
    out = called("hotspots", vllm).out
    stack = out[out.index("bottom to top") :].splitlines()[1:5]
    assert [line.split(maxsplit=1)[1] for line in stack] == [
        "_start",
        "<interpreter trampoline>",
        "GPUModelRunner._allocate_kv_cache_tensors",
        "0x7f1",
    ]


def test_sizes_can_be_read_in_binary_units(vllm: str) -> None:
    out = called("hotspots", vllm, "--unit", "bytes", "--binary").out
    assert "51.3 GiB" in out
    assert "1 GiB = 2^30 bytes" in out


def test_machines_get_whole_numbers(vllm: str) -> None:
    answer = json.loads(called("hotspots", vllm, "--json", "--unit", "bytes").out)
    assert answer["unit"] == "bytes"
    assert answer["total"] == 60_400_000_000
    assert answer["unresolved"] == 400_000_000
    assert answer["functions"][0] == {
        "name": "GPUModelRunner._allocate_kv_cache_tensors",
        "kind": "named",
        "attributedSelf": 55_100_000_000,
        "rawSelf": 0,
        "total": 55_100_000_000,
        "share": pytest.approx(0.912, abs=0.001),
    }
    assert answer["stack"]["frames"][0] == "_start"


def test_a_profile_comes_in_through_standard_input_compressed_or_not() -> None:
    plain = flamegraphs("hotspots", "-", stdin=FOLDED)
    packed = called("hotspots", "-", stdin=gzip.compress(FOLDED))
    assert plain.out == packed.out
    assert plain.status == packed.status == 0


def test_a_profile_without_symbols_says_to_run_the_workload_again() -> None:
    done = called("hotspots", "-", stdin=b"0x1;0x2 60\n0x1;f 40\n")
    assert "60.0 % has no named function" in done.out
    assert "run the workload again" in done.out


def test_more_allocated_than_a_gpu_holds_is_said_not_to_be_live_memory() -> None:
    data = pprof_bytes([(["f"], 90 * 10**9)])
    assert "not live memory" in called("hotspots", "-", stdin=data).out
    noted = "More was allocated than one GPU"
    assert noted in called("hotspots", "-", stdin=data).out
    assert noted not in called("hotspots", "-", "--gpu-memory", "94GB", stdin=data).out


def test_control_characters_of_a_name_do_not_reach_the_terminal() -> None:
    data = pprof_bytes([(["evil\x1b[2Jname"], 4)])
    done = called("hotspots", "-", stdin=data)
    assert "\x1b" not in done.out
    assert "evil\\x1b[2Jname" in done.out


def test_growth_beyond_the_limit_fails_and_names_the_reason(tmp_path: Path) -> None:
    before, after = tmp_path / "before.folded", tmp_path / "after.folded"
    before.write_text("main;a 100\nmain;b 50\n")
    after.write_text("main;a 130\nmain;b 51\n")
    done = called("diff", str(before), str(after), "--fail-on-growth", "20%")
    assert done.status == 8
    assert "grew by 31 (+20.7 %), more than the 20% allowed" in done.error
    assert "Most of it: a, +30." in done.error
    assert called("diff", str(before), str(after), "--fail-on-growth", "31").status == 0
    assert called("diff", str(before), str(after)).status == 0


def test_a_difference_lists_both_sides_and_the_largest_change_first(tmp_path: Path) -> None:
    before, after = tmp_path / "before.folded", tmp_path / "after.folded"
    before.write_text("main;a 100\nmain;b 50\n")
    after.write_text("main;a 90\nmain;c 70\n")
    out = called("diff", str(before), str(after)).out
    assert "Whole: 150 -> 160, +10 (+6.7 %)" in out
    rows = [line.split()[-1] for line in out[out.index("change of total") :].splitlines()[1:]]
    assert rows == ["c", "b", "a", "main"]
    answer = json.loads(called("diff", str(before), str(after), "--json").out)
    assert answer["growth"] == 10
    assert answer["changes"][0] == {
        "name": "c",
        "attributedSelf": [0, 70],
        "rawSelf": [0, 70],
        "total": [0, 70],
    }


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", 7, "It is empty"),
        (b"\x1f\x8b\x08", 7, "cut short"),
        (b"%PDF-1.7\nxref\n", 7, "seems to be a PDF document"),
        (b"\x7fELF\x02\x01\x01", 7, "not a profile"),
        (b"{}", 6, "without a single sample"),
        (b'{"flamegraph": {"names": ["total"], "levels": [[0, 0, 0, 0]]}}', 6, "without a single"),
        (bytes(1000), 7, "not a profile"),
    ],
)
def test_a_file_that_is_no_profile_is_one_clear_sentence(
    data: bytes, status: int, words: str
) -> None:
    done = called("hotspots", "-", stdin=data)
    assert (done.status, done.out) == (status, "")
    assert words in done.error
    assert done.error.startswith("flamegraphs: standard input: ")


def test_a_file_that_is_not_there_is_named() -> None:
    done = called("hotspots", "no/such.pb.gz")
    assert done.status == 7
    assert "no/such.pb.gz: cannot be read: No such file" in done.error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hotspots"], "Name a file, or a source"),
        (["hotspots", "f", "--pyroscope", "http://x"], "not both"),
        (
            ["hotspots", "f", "--pod", "a", "--from", "now-1h"],
            "--from, --pod: a file is read whole",
        ),
        (["hotspots", "--grafana", "https://g"], "needs --data-source"),
        (["hotspots", "f", "--data-source", "u"], "belongs to --grafana"),
        (["hotspots", "--grafana", "http://g", "--data-source", "u"], "has to be https"),
        (["hotspots", "--pyroscope", "localhost:4040"], "is not a URL"),
        (["hotspots", "--pyroscope", "http://x", "--from", "yesterday"], "not a time"),
        (
            ["hotspots", "--pyroscope", "http://x", "--from", "now", "--until", "now-1h"],
            "ends before",
        ),
        (["hotspots", "--pyroscope", "http://127.0.0.1:1", "--selector", "{a"], "brace"),
        (["hotspots", "--pyroscope", "http://x", "--unit", "bytes"], "--unit are for files"),
        (["diff", "--pyroscope", "http://x", "a", "b"], "neither labels nor a window"),
        (["diff", "a", "b", "--fail-on-growth", "much"], "--fail-on-growth"),
        (["hotspots", "f", "--limit", "0"], "not a number of rows"),
        (["hotspots", "f", "--gpu-memory", "big"], "not a size"),
        (["render", "f", "--format", "png"], "invalid choice"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(arguments: list[str], words: str) -> None:
    done = called(*arguments)
    assert done.status == 2
    assert words in done.error


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from flamegraphs.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'google.protobuf', 'httpx', 'azure', 'ssl', 'json'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_read_of_a_file_imports_its_format_and_nothing_heavy_that_it_does_not_need(
    vllm: str,
) -> None:
    code = (
        "import sys\n"
        "from gpuobs.cli import main\n"
        f"main(['hotspots', {vllm!r}])\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stderr.splitlines())
    heavy = {"asyncio", "email", "http", "json", "socket", "ssl", "subprocess", "urllib.request"}
    packages = {"azure", "google.protobuf", "httpx", "pydantic", "grafana_foundation_sdk"}
    rooms = {"alerts", "dashboards", "infra", "memory", "flamegraphs.diff", "flamegraphs.render"}
    assert not imported & (heavy | packages | rooms | {"flamegraphs.sources"})
    formats = {name for name in imported if name.startswith("flamegraphs.formats.")}
    assert formats == {"flamegraphs.formats.folded", "flamegraphs.formats.collect"}


def test_reading_starts_no_threads_for_algebra() -> None:
    code = (
        "import os, flamegraphs.hotspots\n"
        "tasks, asked_for = '/proc/self/task', os.environ['OPENBLAS_NUM_THREADS']\n"
        "print(len(os.listdir(tasks)) if os.path.isdir(tasks) else asked_for)\n"
    )
    mine = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=mine, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_a_reader_that_has_seen_enough_is_no_error(vllm: str) -> None:
    command = f"{sys.executable} -m flamegraphs render {vllm} --format html | head -c 10"
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("<!doctype ", "")
