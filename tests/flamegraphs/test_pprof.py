import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import pprof
from flamegraphs.hotspots import hotspots
from flamegraphs.names import NO_STACK
from flamegraphs.unpack import unpack
from tests.flamegraphs.generated import field, pieces, varint
from tests.flamegraphs.profiles import (
    Encoding,
    Stacks,
    encodings,
    pprof_bytes,
    profile_of,
    sample_bytes,
    stacks,
    stacks_of,
)

PLAIN: Stacks = [(["leaf", "middle", "root"], 5), (["other"], 2)]


@given(stacks, encodings)
def test_a_profile_reads_the_same_however_it_is_encoded(
    given_stacks: Stacks, encoding: Encoding
) -> None:
    read = pprof.read(pprof_bytes(given_stacks, encoding))
    assert stacks_of(read) == stacks_of(profile_of(given_stacks))


@given(stacks, st.data())
def test_any_part_of_the_samples_can_be_read_alone(
    given_stacks: Stacks, data: st.DataObject
) -> None:
    import numpy as np

    whole = pprof.read(pprof_bytes(given_stacks))
    chosen = data.draw(st.lists(st.integers(0, len(given_stacks) - 1), unique=True).map(sorted))
    values = [
        v for b in whole.stacks.batches(np.array(chosen, np.int64)) for v in b.values.tolist()
    ]
    assert values == [given_stacks[place][1] for place in chosen]


def test_a_file_of_several_gzip_members_is_read_whole() -> None:
    data = pprof_bytes(PLAIN)
    parts = gzip.compress(data[:20]) + gzip.compress(b"") + gzip.compress(data[20:])
    assert stacks_of(pprof.read(parts)) == stacks_of(profile_of(PLAIN))


def test_malloc_in_bytes_is_taken_and_the_choice_is_said() -> None:
    read = pprof.read(pprof_bytes(PLAIN))
    assert (read.sample_type, read.unit) == ("malloc", "bytes")
    assert "objects, malloc" in " ".join(read.notes)


def test_another_value_can_be_asked_for() -> None:
    read = pprof.read(pprof_bytes(PLAIN), "objects")
    assert (read.sample_type, read.unit, hotspots(read).total) == ("objects", "count", 2)


def test_a_value_that_is_not_there_is_an_error_that_lists_what_is() -> None:
    with pytest.raises(NotAProfileError, match="'wall', but objects, malloc"):
        pprof.read(pprof_bytes(PLAIN), "wall")


def file_of(sample: bytes, tables: bytes = b"") -> bytes:
    """A profile of one value (cpu, samples) and one sample."""
    head = field(1, field(1, 1) + field(2, 2))
    names = b"".join(field(6, text) for text in (b"", b"cpu", b"samples", b"f", b"g", b"lib/x.so"))
    return head + field(2, sample) + tables + names


def test_the_default_type_of_the_file_is_taken_before_the_last() -> None:
    head = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    names = b"".join(field(6, text) for text in (b"", b"alloc", b"count", b"inuse", b"bytes"))
    sample = field(2, sample_bytes([], [7, 9], Encoding()))
    assert hotspots(pprof.read(head + sample + names)).total == 9
    assert hotspots(pprof.read(head + sample + names + field(14, 1))).total == 7


def test_a_sample_without_a_location_keeps_its_bytes() -> None:
    found = hotspots(pprof.read(file_of(field(2, 4))))
    assert (found.total, found.unresolved) == (4, 4)
    assert stacks_of(found.profile) == {(NO_STACK,): 4}


def test_inlined_functions_are_frames_of_their_own_innermost_first() -> None:
    location = field(1, 9) + field(4, field(1, 1)) + field(4, field(1, 2))
    tables = (
        field(4, location)
        + field(5, field(1, 1) + field(2, 3))
        + field(5, field(1, 2) + field(2, 4))
    )
    read = pprof.read(file_of(field(1, 9) + field(1, 9) + field(2, 4), tables))
    assert stacks_of(read) == {("f", "g", "f", "g"): 4}


def test_a_location_without_a_function_is_named_by_its_library_and_offset() -> None:
    mapping = field(3, field(1, 1) + field(2, 0x1000) + field(4, 0x20) + field(5, 5))
    location = field(4, field(1, 9) + field(2, 1) + field(3, 0x1234))
    bare = field(4, field(1, 10) + field(3, 0x99))
    sample = field(1, 9) + field(1, 10) + field(2, 4)
    read = pprof.read(file_of(sample, mapping + location + bare))
    assert stacks_of(read) == {("x.so+0x254", "0x99"): 4}


def test_nameless_roots_are_left_out_and_nameless_leaves_are_not() -> None:
    given_stacks: Stacks = [(["", "f", "", ""], 4), (["", ""], 2), (["f"], 1)]
    read = pprof.read(pprof_bytes(given_stacks))
    assert stacks_of(read) == {("", "f"): 4, (NO_STACK,): 2, ("f",): 1}


def test_a_name_that_is_not_utf8_does_not_make_a_file_unreadable() -> None:
    tables = field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 6))
    read = pprof.read(file_of(field(1, 1) + field(2, 4), tables) + field(6, b"caf\xe9"))
    assert stacks_of(read) == {("caf\N{REPLACEMENT CHARACTER}",): 4}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (file_of(field(1, 77) + field(2, 4)), "location 77"),
        (file_of(field(1, 2**64 - 1) + field(2, 4)), "location 18446744073709551615"),
        (file_of(field(2, 4), field(4, field(1, 1) + field(4, field(1, 8)))), "function 8"),
        (file_of(field(2, 4), field(5, field(1, 1) + field(2, 99))), "name 99"),
        (file_of(field(2, 4), field(5, field(1, 1) + field(2, -1))), "name -1"),
        (file_of(field(2, 4) + field(2, 5)), "2 values where 1"),
        (file_of(b""), "0 values where 1"),
        (file_of(b"\x0a\x05\x01" + field(2, 4)), "damaged"),
        (file_of(b"\x0a\x01\xff" + field(2, 4)), "damaged"),
        (file_of(b"\x0b\x01" + field(2, 4)), "damaged"),
        (file_of(b"\x00\x01" + field(2, 4)), "damaged"),
        (file_of(b"\x10" + b"\xff" * 11 + b"\x01"), "damaged"),
        (file_of(b"\x0a\x0b" + b"\xff" * 10 + b"\x01" + field(2, 4)), "damaged"),
        (file_of(field(2, 4), b"\x22\x02\xff\xff"), "damaged"),
        (field(2, field(2, 4)), "no sample type"),
        (b"\x12" + b"\xff" * 20, "does not end"),
        (b"\x02\x01", "no field"),
        (b"\x0b\x01", "no field"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong(data: bytes, reason: str) -> None:
    with pytest.raises(NotAProfileError, match=reason):
        hotspots(pprof.read(data))


def test_values_that_do_not_add_up_in_64_bits_are_refused_not_wrapped() -> None:
    given_stacks: Stacks = [(["f"], 2**62), (["f"], 2**62)]
    with pytest.raises(NotAProfileError, match="64 bits"):
        hotspots(pprof.read(pprof_bytes(given_stacks)))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_at_any_byte_is_a_profile_or_one_clear_error(compressed: bool) -> None:
    data = pprof_bytes([(["f", "g"], 3), (["0x1", "h"], 4)])
    data = gzip.compress(data) if compressed else data
    for length in range(1, len(data)):
        try:
            hotspots(pprof.read(data[:length]))
        except NotAProfileError:
            continue
        assert not compressed, "a cut gzip file cannot be whole"


def test_a_gzip_bomb_is_refused_before_it_unpacks() -> None:
    bomb = gzip.compress(bytes(2**27))
    tracemalloc.start()
    try:
        with pytest.raises(NotAProfileError, match="unpacks to more than the 1 MiB"):
            unpack([bomb], limit=2**20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**23


def test_a_bomb_of_many_small_members_is_refused_too() -> None:
    with pytest.raises(NotAProfileError, match="unpacks to more"):
        unpack([gzip.compress(bytes(2**16)) * 64], limit=2**20)


def test_bytes_after_the_compressed_part_are_an_error() -> None:
    with pytest.raises(NotAProfileError, match="not gzip follow"):
        unpack([gzip.compress(b"x") + b"rest"])


def test_a_sample_of_thousands_of_unpacked_fields_reads_like_a_packed_one() -> None:
    deep: Stacks = [([f"f{n % 7}" for n in range(20_000)], 3)] * 3
    assert stacks_of(pprof.read(pprof_bytes(deep, Encoding(packed=False)))) == stacks_of(
        pprof.read(pprof_bytes(deep))
    )


def test_a_stack_of_a_million_frames_is_refused() -> None:
    sample = field(1, b"\x01" * 2_000_000) + field(2, 4)
    with pytest.raises(NotAProfileError, match="not a stack"):
        pprof.read(file_of(sample, field(4, field(1, 1))))


def test_deep_and_shallow_stacks_in_one_file_need_no_table_of_all() -> None:
    deep: Stacks = [(["leaf"] * 100_000, 1), *[(["leaf", "root"], 1)] * 2_000]
    tracemalloc.start()
    try:
        assert hotspots(pprof.read(pprof_bytes(deep))).total == 2_001
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**25, "100,000 frames times 2,000 stacks would be hundreds of megabytes"


def test_many_empty_records_cost_no_more_than_a_few_times_their_size() -> None:
    data = (
        b"\x12\x00" * 500_000 + field(1, field(1, 1) + field(2, 1)) + field(6, b"") + field(6, b"x")
    )
    tracemalloc.start()
    try:
        with pytest.raises(NotAProfileError, match="0 values where 1"):
            hotspots(pprof.read(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(data)


def test_generated_profiles_add_up() -> None:
    found = hotspots(pprof.read(b"".join(pieces(5_000))))
    assert sum(row.attributed for row in found.rows) == found.total > 0


def test_a_number_may_be_padded_with_empty_bytes() -> None:
    padded = b"\x84\x80\x80\x00"
    assert hotspots(pprof.read(file_of(b"\x10" + padded))).total == 4
    assert varint(4) != padded


def test_the_time_and_the_duration_of_a_profile_are_read() -> None:
    data = pprof_bytes([(["f"], 3)])
    moment = 1_777_636_800 * 10**9 + 5
    read = pprof.read(data + field(9, moment) + field(10, 90_500_000_000))
    assert read.facts == {"taken": "2026-05-01 12:00:00Z", "duration": "1 min 30 s"}
    assert pprof.read(data).facts == {}
    assert pprof.read(data + field(10, 20_000_000)).facts == {"duration": "20 ms"}


def test_the_other_sample_types_of_a_file_are_at_hand() -> None:
    read = pprof.read(pprof_bytes([(["f"], 3), (["g"], 4)]))
    (other,) = read.others
    assert (read.sample_type, other.sample_type, other.unit) == ("malloc", "objects", "count")
    assert stacks_of(other) == {("f",): 1, ("g",): 1}
