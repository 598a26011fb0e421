"""Formats of other tools: files that they wrote (`recorded`), and files by their definitions.

The recorded program keeps 40 buffers of 64 KiB from `Cache.fill`, which calls itself, and then
sorts texts in `small`, called by `busy`, for a second.
"""

import json
import pickle
import subprocess
from pathlib import Path

import pytest
from opentelemetry.proto.profiles.v1development import profiles_pb2 as otlp  # pyright: ignore[reportMissingTypeStubs]

from flamegraphs.errors import NotAProfileError
from flamegraphs.hotspots import hotspots
from flamegraphs.profile import Profile
from flamegraphs.render import speedscope
from tests.flamegraphs.generated import field, varint
from tests.flamegraphs.profiles import profile_of, read_bytes, stacks_of

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str, sample_type: str | None = None) -> Profile:
    return read_bytes((RECORDED / name).read_bytes(), sample_type)


# ---- speedscope ----


def test_what_py_spy_wrote_for_speedscope_is_what_it_wrote_as_folded_stacks() -> None:
    profile = recorded("py-spy.speedscope.json")
    assert profile.unit == "nanoseconds"
    found = {row.name: row for row in hotspots(profile).rows}
    leaf = next(iter(stacks_of(profile)))[0]
    assert leaf.startswith(("small", "busy"))
    assert sum(row.raw for row in found.values()) == pytest.approx(10**9, rel=0.1)
    names = {
        name.split(" (")[0] for stack in stacks_of(recorded("py-spy.folded")) for name in stack
    }
    assert {name.split(" (")[0] for name in profile.functions} == names


def test_what_we_write_for_speedscope_is_read_back() -> None:
    profile = profile_of([(["a", "main"], 5), (["b", "main"], 2)])
    again = read_bytes(b"".join(speedscope.write(profile, "t")))
    assert stacks_of(again) == stacks_of(profile)
    assert again.unit == "bytes"


def evented(*events: tuple[str, int, float], unit: str = "seconds") -> bytes:
    profile = {
        "type": "evented",
        "name": "main thread",
        "unit": unit,
        "startValue": 0,
        "endValue": 9,
        "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events],
    }
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": "main"}, {"name": "f"}]},
            "profiles": [profile],
        }
    ).encode()


def test_the_time_between_two_events_belongs_to_the_stack_that_is_open() -> None:
    data = evented(("O", 0, 1), ("O", 1, 1.5), ("C", 1, 2), ("C", 0, 4))
    assert stacks_of(read_bytes(data)) == {("main",): 2_500_000_000, ("f", "main"): 500_000_000}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (evented(("O", 0, 2), ("C", 0, 1)), "not in the order of time"),
        (evented(("O", 0, 1), ("C", 1, 2)), "closes a frame that is not the last"),
        (evented(("O", 0, 1)), "leave a frame open"),
        (evented(("O", 7, 1)), "frame 7, but has 2"),
        (b'{"shared":{"frames":[]},"profiles":[]}', "list of profiles is empty"),
        (b'{"shared":{"frames":3},"profiles":[]}', "'frames' is missing, or no list"),
    ],
)
def test_a_damaged_speedscope_file_is_refused_with_what_is_wrong(data: bytes, reason: str) -> None:
    with pytest.raises(NotAProfileError, match=reason):
        read_bytes(data)


# ---- memray ----


@pytest.mark.parametrize("name", ["memray.csv", "memray.gprof2dot.json", "memray.speedscope.json"])
def test_memrays_exports_name_the_function_that_keeps_the_memory(name: str) -> None:
    profile = recorded(name)
    assert profile.unit == "bytes"
    first = hotspots(profile).rows[0]
    assert first.name == "fill"
    assert first.attributed == pytest.approx(40 * 2**16, rel=0.1)
    assert first.total == first.attributed, "recursion counts once"


def test_memrays_number_of_allocations_can_be_asked_for() -> None:
    profile = recorded("memray.csv", "num_allocations")
    assert (profile.sample_type, profile.unit) == ("num_allocations", "count")
    assert {r.name: r.raw for r in hotspots(profile).rows}["fill"] >= 40


# ---- perf script ----

PERF = b"""\
# captured on: Mon Nov 30 2026
python3  4321 [001]  9876.543210:     250000 cpu-clock:u:
\t    7f3a1c2d4e5f cuMemAlloc_v2+0x1f (/usr/lib/libcuda.so.535.104.05)
\t    55d0c0ffee00 [unknown] (/usr/lib/libtorch_cuda.so)
\t    55d0c0ffee11 at::native::empty(long, long)+0x99 (/usr/lib/libtorch.so)
\tffffffff8100abcd do_syscall_64+0x5b ([kernel.kallsyms])

python3  4321/4322 [001]  9876.643210:     250000 cpu-clock:u:
\t    7f3a1c2d4e5f [unknown] ([unknown])

"""


def test_what_perf_recorded_adds_up_to_what_perf_counted() -> None:
    found = hotspots(recorded("perf.script"))
    # Its own report of the recording: 45 samples, an event count of 225000000, 15.56 % self.
    assert (found.samples, found.total) == (45, 225_000_000)
    own = {row.name: row.raw for row in found.rows}
    assert f"{own['_PyObject_Malloc'] / found.total:.2%}" == "15.56%"


def test_perf_script_is_read_by_symbol_file_and_address() -> None:
    profile = read_bytes(PERF)
    assert (profile.sample_type, profile.unit) == ("cpu-clock", "nanoseconds")
    assert stacks_of(profile) == {
        (
            "cuMemAlloc_v2",
            "[libtorch_cuda.so]",
            "at::native::empty(long, long)",
            "do_syscall_64",
            "python3",
        ): 250_000,
        ("0x7f3a1c2d4e5f", "python3"): 250_000,
    }


def test_events_of_several_kinds_are_not_added_up() -> None:
    data = PERF + b"python3 1 2.5: 3 page-faults:\n\t ff f (x)\n"
    with pytest.raises(NotAProfileError, match="cpu-clock, page-faults"):
        read_bytes(data)
    assert stacks_of(read_bytes(data, "page-faults")) == {("f", "python3"): 3}


# ---- PyTorch memory snapshots ----

FRAMES = [
    {"filename": "model.py", "line": 7, "name": "allocate"},
    {"filename": "main.py", "line": 3, "name": "main"},
]
SNAPSHOT: dict[str, object] = {
    "segments": [
        {
            "device": 0,
            "address": 140_000,
            "total_size": 4096,
            "allocated_size": 3072,
            "stream": 0,
            "segment_type": "small",
            "blocks": [
                {"size": 1024, "state": "active_allocated", "frames": FRAMES},
                {"size": 512, "state": "inactive", "frames": FRAMES},
                {"size": 2048, "state": "active_awaiting_free", "frames": FRAMES[1:]},
                {"size": 512, "state": "active_allocated", "frames": []},
            ],
        }
    ],
    "device_traces": [
        [
            {"action": "alloc", "addr": 1, "size": 1024, "stream": 0, "frames": FRAMES},
            {"action": "free_requested", "addr": 1, "size": 1024, "stream": 0, "frames": FRAMES},
            {"action": "alloc", "addr": 1, "size": 100, "stream": 0, "frames": FRAMES},
        ]
    ],
    "allocator_settings": {"expandable_segments": False},
}


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_memory_snapshot_shows_what_is_in_use_and_what_was_allocated(protocol: int) -> None:
    data = pickle.dumps(SNAPSHOT, protocol)
    profile = read_bytes(data)
    assert (profile.sample_type, profile.unit) == ("active", "bytes")
    assert stacks_of(profile) == {
        ("allocate", "main"): 1024,
        ("main",): 2048,
        ("<no stack>",): 512,
    }
    assert "live memory" in profile.notes[0]
    assert "_record_memory_history" in profile.notes[1]
    assert stacks_of(read_bytes(data, "alloc")) == {("allocate", "main"): 1124}


class Malicious:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return subprocess.getoutput, ("touch executed",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_runs_code_is_refused_and_never_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    hidden = {"segments": [], "device_traces": [Malicious()]}
    with pytest.raises(NotAProfileError, match="would run code"):
        read_bytes(pickle.dumps(hidden, protocol))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04",
        b"\x80\x04.",
        b"\x80\x04]h\x05.",
        b"\x80\x04Ke.",
        b"\x80\x04]K\x01s.",
        b"\x80\x04\x85.",
    ],
)
def test_a_damaged_pickle_is_one_clear_error(data: bytes) -> None:
    with pytest.raises(NotAProfileError):
        read_bytes(data)


# ---- Grafana data frames ----


def frame(columns: dict[str, list[object]], **config: object) -> dict[str, object]:
    fields = [{"name": name, "config": config if name == "value" else {}} for name in columns]
    return {
        "schema": {
            "refId": "A",
            "meta": {"preferredVisualisationType": "flamegraph"},
            "fields": fields,
        },
        "data": {"values": list(columns.values())},
    }


COLUMNS: dict[str, list[object]] = {
    "level": [0, 1, 2, 2, 1],
    "value": [100, 70, 40, 10, 30],
    "self": [0, 20, 40, 10, 30],
    "label": ["total", "main", "a", "other", "b"],
}
TREE = {("main",): 20, ("a", "main"): 40, ("other", "main"): 10, ("b",): 30}


def test_a_data_frame_is_read_alone_in_a_list_and_in_an_answer() -> None:
    one = frame(COLUMNS, unit="bytes")
    for document in (one, [one], {"results": {"A": {"frames": [one]}}}):
        profile = read_bytes(json.dumps(document).encode())
        assert stacks_of(profile) == TREE
        assert profile.unit == "bytes"
        assert hotspots(profile).truncated == 10


def test_labels_may_be_places_in_a_list_of_texts() -> None:
    one = frame({**COLUMNS, "label": [0, 1, 2, 3, 4]})
    one["schema"]["fields"][3]["config"] = {  # type: ignore[index]
        "type": {"enum": {"text": ["total", "main", "a", "other", "b"]}}
    }
    assert stacks_of(read_bytes(json.dumps(one).encode())) == TREE


def test_children_that_a_frame_leaves_out_count_as_cut_away() -> None:
    columns: dict[str, list[object]] = {
        "level": [0, 1],
        "value": [100, 60],
        "self": [0, 20],
        "label": ["total", "main"],
    }
    found = hotspots(read_bytes(json.dumps(frame(columns)).encode()))
    assert (found.total, found.truncated) == (100, 80)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (frame({"time": [1], "cpu": [2]}), "none of a flame graph"),
        (frame({**COLUMNS, "level": [0, 2, 2, 2, 1]}), "Row 2 of its flame graph has no parent"),
        (frame({**COLUMNS, "value": [10, 70, 40, 10, 30]}), "more than the whole"),
        (frame({**COLUMNS, "self": [0]}), "different lengths"),
        (frame({**COLUMNS, "valueRight": [0] * 5}), "comparison of two profiles"),
        ({"results": {"A": {"error": "no such source"}}}, "no such source"),
    ],
)
def test_a_frame_that_is_no_flame_graph_is_refused(document: object, reason: str) -> None:
    with pytest.raises(NotAProfileError, match=reason):
        read_bytes(json.dumps(document).encode())


# ---- OTLP ----

TEXTS = ["", "malloc", "bytes", "leaf", "root", "/usr/lib/libcuda.so.1", "samples", "count"]


def dictionary() -> otlp.ProfilesDictionary:
    tables = otlp.ProfilesDictionary(string_table=TEXTS)
    tables.mapping_table.add()
    tables.mapping_table.add(memory_start=0x1000, file_offset=0x20, filename_strindex=5)
    tables.function_table.add()
    tables.function_table.add(name_strindex=3)
    tables.function_table.add(name_strindex=4)
    tables.location_table.add()
    tables.location_table.add().lines.add(function_index=1)
    tables.location_table.add().lines.add(function_index=2)
    tables.location_table.add(mapping_index=1, address=0x1234)
    tables.stack_table.add()
    tables.stack_table.add(location_indices=[3, 1, 2])
    tables.stack_table.add(location_indices=[2])
    return tables


EXPECTED = {("libcuda.so.1+0x254", "leaf", "root"): 300, ("root",): 7}


def test_otlp_of_the_newest_definition_is_read() -> None:
    data = otlp.ProfilesData(dictionary=dictionary())
    profile = (
        data.resource_profiles.add()
        .scope_profiles.add()
        .profiles.add(time_unix_nano=1_764_500_000_000_000_000, duration_nano=30_000_000_000)
    )
    profile.sample_type.type_strindex, profile.sample_type.unit_strindex = 1, 2
    profile.samples.add(stack_index=1, values=[300], attribute_indices=[1])
    profile.samples.add(stack_index=2, values=[7])
    read = read_bytes(data.SerializeToString())
    assert stacks_of(read) == EXPECTED
    assert (read.sample_type, read.unit) == ("malloc", "bytes")
    assert read.facts["duration"] == "30 s"


ENCODED = sorted(file.name for file in RECORDED.glob("otlp-*"))
STACKS = [("libcuda.so.1+0x254", "inlined", "leaf", "root"), ("root",), ("0x99", "root")]


@pytest.mark.parametrize("name", ENCODED)
def test_otlp_of_every_published_definition_is_the_same_profile(name: str) -> None:
    read = recorded(name)
    assert stacks_of(read) == dict(zip(STACKS, (300, 8, 11), strict=True))
    assert (read.sample_type, read.unit) == ("malloc", "bytes")
    assert read.facts["duration"] == "30 s"
    assert read.facts["taken"].startswith("2025-11-30 10:53:20")
    assert stacks_of(recorded(name, "objects")) == dict(zip(STACKS, (2, 5, 1), strict=True))
    with pytest.raises(NotAProfileError, match="no values of type 'space', but objects, malloc"):
        recorded(name, "space")


def test_every_layout_of_otlp_is_recorded_as_protobuf() -> None:
    versions = {"1.5", "1.6", "1.7", "1.9", "1.11"}
    assert versions == {n[5:-3] for n in ENCODED if n.endswith(".pb")}


def old_otlp(sample_types: bytes, *samples: bytes, locations: bytes = b"") -> bytes:
    """1.7: a list of locations in each profile, tables in the dictionary."""
    profile = sample_types + b"".join(field(2, sample) for sample in samples) + field(3, locations)
    tables = b"".join(field(5, text.encode()) for text in TEXTS) + field(2, field(2, 9))
    return field(1, field(2, field(2, profile))) + field(2, tables)


@pytest.mark.parametrize(
    ("types", "sample", "says"),
    [
        ((1,), field(1, 1) + field(2, 2) + field(3, varint(5)), "locations 1 to 3 of 2"),
        ((1,), field(1, 2**64 - 1) + field(2, 1) + field(3, varint(5)), "locations -1 to 0 of 2"),
        ((1,), field(2, 1), "0 values for 1 sample types"),
        ((6, 1), field(2, 1) + field(3, varint(5)), "1 values for 2 sample types"),
        ((1, 1), field(2, 1) + field(3, varint(5) * 2), "two sample types malloc/bytes"),
    ],
)
def test_old_otlp_whose_samples_fit_nothing_is_refused(
    types: tuple[int, ...], sample: bytes, says: str
) -> None:
    kinds = b"".join(field(1, field(1, kind) + field(2, 2)) for kind in types)
    with pytest.raises(NotAProfileError, match=says):
        read_bytes(old_otlp(kinds, sample, locations=varint(0) * 2))


def test_one_of_several_otlp_sample_types_is_chosen_and_said() -> None:
    data = otlp.ProfilesData(dictionary=dictionary())
    scope = data.resource_profiles.add().scope_profiles.add()
    for kind, unit, value in ((6, 7, 1), (1, 2, 4096), (1, 2, 4)):
        profile = scope.profiles.add()
        profile.sample_type.type_strindex, profile.sample_type.unit_strindex = kind, unit
        profile.samples.add(stack_index=2, values=[value])
    read = read_bytes(data.SerializeToString())
    assert stacks_of(read) == {("root",): 4100}
    assert "samples, malloc); this is 'malloc'" in read.notes[0]
    assert stacks_of(read_bytes(data.SerializeToString(), "samples")) == {("root",): 1}


def test_otlp_that_refers_to_what_it_does_not_have_is_refused() -> None:
    data = otlp.ProfilesData(dictionary=dictionary())
    profile = data.resource_profiles.add().scope_profiles.add().profiles.add()
    profile.samples.add(stack_index=9, values=[1])
    with pytest.raises(NotAProfileError, match="stack 9, but has 3"):
        read_bytes(data.SerializeToString())
