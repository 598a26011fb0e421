"""What a file is, recognised by how it begins; and every error says which file it is about."""

import gzip
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from flamegraphs.errors import NotAProfileError
from flamegraphs.files import read_file
from tests.flamegraphs.command import ROOT, called
from tests.flamegraphs.generated import field
from tests.flamegraphs.profiles import Encoding, pprof_bytes, read_bytes, sample_bytes, stacks_of

SIGN_IN = b"\n<!DOCTYPE html><html><head><title>Sign in to your account</title></head></html>"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (SIGN_IN, "a web page (a sign-in page?)"),
        (b"<html><body>404 page not found</body></html>", "a web page"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG picture"),
        (b"PK\x03\x04" + bytes(40), "a zip archive; unpack it first"),
        (b"\x7fELF\x02\x01\x01" + bytes(40), "a program or library (ELF)"),
        (b"SQLite format 3\0" + bytes(40), "a SQLite database"),
        (b"PERFILE2" + bytes(40), "perf.data, which `perf script` turns into text"),
        (b"memray\0" + bytes(40), "memray's own recording; `memray transform csv FILE`"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "compressed with zstd; unpack it first"),
        (b"BZh91AY&SY" + bytes(40), "compressed with bzip2"),
        (gzip.compress(gzip.compress(b"a;b 1\n", mtime=0), mtime=0), "compressed with gzip twice"),
        (b'<?xml version="1.0"?>\n<Error/>', "an XML document"),
        (b"<Error><Code>AuthenticationFailed</Code></Error>", "an XML document"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"></svg>', "an SVG picture"),
        (b"pod,bytes\nvllm-0,12\nvllm-1,13\n", "a table (CSV)"),
        (b"pod\tbytes\tnode\nvllm-0\t12\tn\n", "a table (tab-separated)"),
        (b"heap profile: 1: 2 [3: 4] @ heap/1048576\n", "pprof's old text format"),
        (b"goroutine profile: total 5\n1 @ 0x1 0x2\n", "pprof's old text format"),
        (bytes(5_000), "nothing but zero bytes"),
        (b"\x04\x22\x4d\x18" + bytes(40), "compressed with lz4; unpack it first, or if memray"),
        (b"<!DOCTYPE html><head><title>memray - table report", "a page that memray made"),
        (
            "\n\N{STRAIGHT RULER} Total allocations:\n\t196\n\n".encode(),
            "memray's statistics, without stacks; `memray transform csv FILE`",
        ),
        (
            "\n\n\u250f\u2501\u2501\u2533\u2501\n\u2503 Location".encode(),
            "a table drawn for a terminal",
        ),
        (b"\n\x1b[?1049h\x1b[?25l\x1b[1;1H", "what a program drew on a terminal's screen"),
        (
            b"# Samples: 45  of event 'cpu-clock:pppH'\n#\n"
            b"# Children      Self  Command  Symbol\n# ........  ....  ....\n#\n",
            "perf's report, whose figures are rounded; `perf script` writes what is read",
        ),
        (b'{"traceEvents": []}', "a trace of events"),
        (b'{"total_bytes_allocated": 5}', "memray's statistics, without stacks"),
        (b'[{"pod": "a"}]', "a list in JSON"),
    ],
)
def test_what_is_no_profile_is_named_with_what_is_read(
    tmp_path: Path, data: bytes, what: str
) -> None:
    file = tmp_path / "got.pb.gz"
    file.write_bytes(data)
    done = called("hotspots", str(file))
    assert done.status == 7
    assert done.error.startswith(f"flamegraphs: {file}: not a profile that can be read. It ")
    assert what in done.error
    assert "Supported formats: pprof, folded stacks," in done.error
    assert done.error.count("\n") == 1


def test_a_pickle_that_is_no_memory_snapshot_is_said_to_be_one() -> None:
    with pytest.raises(NotAProfileError, match="a pickle, but no memory snapshot of PyTorch"):
        read_bytes(pickle.dumps({"weights": [1, 2]}))


def test_binary_data_of_no_known_kind_are_reported_as_such() -> None:
    with pytest.raises(NotAProfileError, match="binary file of an unknown format"):
        read_bytes(b"\x07\x01\x02" * 100)


def test_an_address_given_as_a_file_is_said_to_be_one() -> None:
    done = called("hotspots", "https://pyroscope.example/render")
    assert done.status == 2
    assert "https://pyroscope.example/render: it is an address, not a file." in done.error


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"code":"invalid_argument","message":"no such tenant"}', "invalid_argument: no such"),
        (b'{"error":{"code":"AuthFailed","message":"token expired"}}', "AuthFailed: token expired"),
        (b'{"message":"Unauthorized"}', "The server said: Unauthorized"),
    ],
)
def test_an_error_that_was_saved_as_a_profile_is_repeated_in_its_own_words(
    data: bytes, words: str
) -> None:
    with pytest.raises(NotAProfileError, match="a server's error, not a profile") as raised:
        read_bytes(data)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"", 7, "It is empty."),
        (b" \n\n", 7, "It holds nothing but white space."),
        (b"{}", 6, "it is a profile, but without a single sample"),
        (pprof_bytes([]), 6, "it is a profile, but without a single sample"),
        (pprof_bytes([(["f"], 3)])[:-1], 7, "It is cut short"),
    ],
)
def test_empty_without_samples_and_damaged_are_three_things(
    data: bytes, status: int, words: str
) -> None:
    done = called("hotspots", "-", stdin=data)
    assert (done.status, done.out) == (status, "")
    assert words in done.error


def test_a_profile_of_zeros_is_shown_and_said_to_measure_nothing() -> None:
    done = called("hotspots", "-", stdin=pprof_bytes([(["f"], 0), (["g"], 0)]))
    assert done.status == 0
    assert "Every value is 0: nothing of this type was measured" in done.out


BROKEN = (
    field(1, field(1, 1) + field(2, 2))
    + field(2, field(1, 77) + field(2, 4))
    + b"".join(field(6, text) for text in (b"", b"cpu", b"samples"))
)
"""A profile whose damage shows only when its samples are decoded."""


def test_an_error_found_while_samples_are_decoded_names_its_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.pb"
    file.write_bytes(BROKEN)
    for command in (["hotspots"], ["render", "--format", "folded"]):
        done = called(*command, str(file))
        assert done.status == 7
        assert (
            f"{file}: not a profile that can be read. A sample refers to location 77" in done.error
        )


def test_a_comparison_says_which_of_the_two_files_is_wrong(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.folded", tmp_path / "bad.pb"
    good.write_text("a;b 5\n")
    bad.write_bytes(BROKEN)
    assert f"A ({bad}): not a profile" in called("diff", str(bad), str(good)).error
    assert f"B ({bad}): not a profile" in called("diff", str(good), str(bad)).error
    assert f"B ({good}.gz): cannot be read" in called("diff", str(good), f"{good}.gz").error


# ---- what a profile measures ----


def one_type(name: str, unit: str, *values: int) -> bytes:
    """A pprof file of one sample type, a sample of one function for each value."""
    names = ["", name, unit, "f"]
    samples = b"".join(field(2, sample_bytes([1], [value], Encoding())) for value in values)
    tables = field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 3))
    head = field(1, field(1, 1) + field(2, 2))
    return head + samples + tables + b"".join(field(6, text.encode()) for text in names)


@pytest.mark.parametrize(
    ("unit", "shown", "total"),
    [
        ("kilobytes", "bytes", 3 * 1024),
        ("MB", "bytes", 3 * 2**20),
        ("byte", "bytes", 3),
        ("microseconds", "nanoseconds", 3_000),
        ("ms", "nanoseconds", 3_000_000),
        ("seconds", "nanoseconds", 3_000_000_000),
        ("objects", "objects", 3),
        ("", "", 3),
    ],
)
def test_units_are_those_that_pprof_knows_and_values_are_scaled(
    unit: str, shown: str, total: int
) -> None:
    data = one_type("space", unit, 1, 2)
    answer = json.loads(called("hotspots", "-", "--json", stdin=data).out)
    assert (answer["unit"], answer["total"]) == (shown, total)


def test_values_that_scaling_takes_beyond_64_bits_are_refused() -> None:
    done = called("hotspots", "-", stdin=one_type("space", "GB", 2**40))
    assert done.status == 7
    assert "more than 64 bits hold" in done.error


def test_a_stated_unit_that_is_the_same_in_other_words_is_no_contradiction(tmp_path: Path) -> None:
    file = tmp_path / "a.pb"
    file.write_bytes(one_type("space", "kilobytes", 1))
    assert read_file(str(file), unit="MB").unit == "bytes"
    done = called("hotspots", str(file), "--unit", "seconds")
    assert done.status == 2
    assert "it says itself that it measures bytes, not seconds" in done.error


def test_compatible_units_are_compared_and_other_types_only_when_asked(tmp_path: Path) -> None:
    small, large, other = (tmp_path / name for name in ("small.pb", "large.pb", "other.pb"))
    small.write_bytes(one_type("inuse_space", "bytes", 1024))
    large.write_bytes(one_type("inuse_space", "kilobytes", 2))
    other.write_bytes(one_type("alloc_space", "bytes", 2048))
    assert "+1.02 kB (+100.0 %)" in called("diff", str(small), str(large)).out
    done = called("diff", str(small), str(other))
    assert (done.status, done.out) == (2, "")
    assert f"{small} measures inuse_space in bytes, {other} alloc_space in bytes" in done.error
    across = called("diff", str(small), str(other), "--across-types")
    assert across.status == 0
    assert "Note: The two sides measure different things" in across.out


def test_folded_stacks_without_a_unit_are_not_compared_with_bytes(tmp_path: Path) -> None:
    plain, typed = tmp_path / "a.folded", tmp_path / "b.pb"
    plain.write_text("f 5\n")
    typed.write_bytes(one_type("malloc", "bytes", 7))
    done = called("diff", str(plain), str(typed))
    assert done.status == 2
    assert "a unit that it does not state" in done.error
    assert called("diff", str(plain), str(typed), "--unit", "bytes").status == 0
    assert called("diff", str(plain), str(plain)).status == 0


def test_values_below_zero_are_a_difference_with_shares_of_at_most_the_whole() -> None:
    data = b"f 100\ng -90\n"
    done = called("hotspots", "-", stdin=data)
    assert "Values below zero: this is the difference of two profiles" in done.out
    answer = json.loads(called("hotspots", "-", "--json", stdin=data).out)
    assert answer["difference"] is True
    assert (answer["total"], answer["samples"]) == (10, 2)
    shares = {row["name"]: row["share"] for row in answer["functions"]}
    assert shares == {"f": pytest.approx(100 / 190), "g": pytest.approx(-90 / 190)}


def test_a_difference_is_neither_drawn_nor_compared_again(tmp_path: Path) -> None:
    file = tmp_path / "d.folded"
    file.write_text("f 100\ng -90\n")
    compared = called("diff", str(file), str(file))
    assert compared.status == 2
    assert "it is a difference already" in compared.error
    assert called("render", str(file), "--format", "svg").status == 2


def test_two_sample_types_of_one_name_are_distinguished_by_their_units() -> None:
    names = ["", "alloc", "count", "bytes", "f"]
    head = b"".join(field(1, field(1, 1) + field(2, unit)) for unit in (2, 3))
    tables = field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 4))
    strings = b"".join(field(6, text.encode()) for text in names)
    data = head + field(2, sample_bytes([1], [3, 4096], Encoding())) + tables + strings
    assert "alloc/count, alloc/bytes); this is alloc/bytes" in " ".join(read_bytes(data).notes)
    assert read_bytes(data, "alloc/count").unit == "count"
    with pytest.raises(NotAProfileError, match="2 values of type 'alloc'; write name and unit"):
        read_bytes(data, "alloc")


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (field(5, field(1, 1) + field(2, 3)), "two functions of id 1"),
        (field(4, field(1, 1) + field(4, field(1, 1))), "two locations of id 1"),
    ],
)
def test_an_id_that_stands_twice_is_an_error(table: bytes, what: str) -> None:
    with pytest.raises(NotAProfileError, match=what):
        read_bytes(one_type("space", "bytes", 1) + table)


def test_a_sample_type_that_folded_stacks_cannot_have_is_an_error() -> None:
    done = called("hotspots", "-", "--sample-type", "malloc", stdin=b"a;b 5\n")
    assert done.status == 7
    assert "there is no 'malloc' to choose" in done.error


# ---- folded stacks as programs write them ----


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfmain;f 5\nmain 2\n",
        b"main;f 5\r\nmain 2\r\n",
        b"main;f\t5\nmain\t2\n",
        b"main;f   5  \n\n# comment\nmain 2",
        "main;f 5\r\nmain 2\r\n".encode("utf-16"),
        b"\xfe\xff" + "main;f 5\nmain 2\n".encode("utf-16-be"),
        b"main;f 2\nmain 1\nmain;f 3\nmain 1\n",
    ],
)
def test_folded_stacks_are_read_however_a_shell_wrote_them(data: bytes) -> None:
    assert stacks_of(read_bytes(data)) == {("f", "main"): 5, ("main",): 2}


@pytest.mark.parametrize("first", ["{closure};f", "{closure:/srv/a.php:12};f", "{main};f", "[0];f"])
def test_a_first_line_may_begin_with_a_bracket(first: str) -> None:
    leaf_first = tuple(reversed(first.split(";")))
    assert stacks_of(read_bytes(f"{first} 12\n".encode())) == {leaf_first: 12}


def test_a_second_column_of_numbers_is_a_comparison_and_reported() -> None:
    with pytest.raises(NotAProfileError, match="Every line ends in two numbers"):
        read_bytes(b"a;b 10 20\na;c 0 5\n")
    assert "two numbers" in " ".join(read_bytes(b"a;b 10 20\n").notes)
    assert not read_bytes(b"a;std::map<int, 5 > 10 20\na;c 5\n").notes


@pytest.mark.parametrize(
    ("recorded", "kind", "name"),
    [
        ("do_syscall_64+0x5b/0x80", "named", "do_syscall_64"),
        ("_PyEval_EvalFrameDefault+0x1a2", "named", "_PyEval_EvalFrameDefault"),
        ("at::native::empty_cuda+0x99", "named", "at::native::empty_cuda"),
        ("libcuda.so.1+0x1f3", "native", "libcuda.so.1+0x1f3"),
        ("python3.11+0x12af", "native", "python3.11+0x12af"),
    ],
)
def test_a_symbol_with_an_offset_is_the_function_and_a_file_with_one_is_not(
    recorded: str, kind: str, name: str
) -> None:
    answer = json.loads(called("hotspots", "-", "--json", stdin=f"{recorded} 4\n".encode()).out)
    rows = [(row["name"], row["kind"]) for row in answer["functions"]]
    assert (name, kind) in rows


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16", "cp1252", "cp037"])
def test_json_is_valid_whatever_the_encoding_of_standard_output(encoding: str) -> None:
    name = "Größe \u202e\x1b[2J \N{SNAKE} \ud83d"
    data = pprof_bytes([([name.encode("utf-8", "replace").decode()], 4)])
    done = subprocess.run(
        [sys.executable, "-m", "flamegraphs", "hotspots", "-", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        input=data,
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode(encoding)
    assert json.loads(text)["functions"][0]["name"].startswith("Größe \u202e\x1b[2J \N{SNAKE}")
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
