"""The encodings and the workload behind the simulated Pyroscope, without a server."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from simulator.prometheus.selectors import SelectorError, parse_selector, selects
from simulator.pyroscope import pprof, wire
from simulator.pyroscope.flamebearer import build_tree, compare, encode, truncate
from simulator.pyroscope.limits import Limits, ServerLimits, limits_of
from simulator.pyroscope.profile import KV_CACHE_BYTES, TRAMPOLINE, observations
from simulator.pyroscope.recordings import Recording, profile_type
from simulator.pyroscope.store import ProfileStore
from simulator.values import JsonObject

STACKS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=5).map(tuple),
        st.integers(min_value=1, max_value=10**12),
    ),
    max_size=30,
)


def _decode(levels: list[list[int]], names: list[str]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Path to (total, self), by the published rule: the parent is the node above that holds x."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    above: list[tuple[int, int, tuple[str, ...]]] = []
    for number, level in enumerate(levels):
        row: list[tuple[int, int, tuple[str, ...]]] = []
        end = 0
        for at in range(0, len(level), 4):
            delta, total, own, name = level[at : at + 4]
            x = end + delta
            end = x + total
            parents = [path for left, right, path in above if left <= x < right]
            assert len(parents) == (1 if number else 0), "every node lies below exactly one"
            path = (*(parents[0] if parents else ()), names[name])
            found[path] = (total, own)
            row.append((x, x + total, path))
        above = row
    return found


@given(STACKS)
def test_the_self_values_of_a_flamebearer_sum_to_its_total(
    stacks: list[tuple[tuple[str, ...], int]],
) -> None:
    encoded = encode(build_tree(stacks))
    decoded = _decode(encoded.levels, encoded.names) if stacks else {}
    assert encoded.total == sum(value for _, value in stacks)
    assert sum(own for _, own in decoded.values()) == encoded.total
    for stack, _ in stacks:
        expected = sum(value for other, value in stacks if other[: len(stack)] == stack)
        assert decoded[("total", *stack)][0] == expected


def test_a_profile_without_samples_is_one_level_of_zeros() -> None:
    assert encode(build_tree([])).levels == [[0, 0, 0, 0]]


@given(STACKS, st.integers(min_value=1, max_value=20))
def test_truncation_keeps_every_byte_and_names_the_rest_other(
    stacks: list[tuple[tuple[str, ...], int]], max_nodes: int
) -> None:
    whole = build_tree(stacks)
    kept = truncate(whole, max_nodes)
    encoded = encode(kept)
    assert encoded.total == whole.total
    decoded = _decode(encoded.levels, encoded.names) if stacks else {}
    assert sum(own for _, own in decoded.values()) == whole.total


def test_truncation_merges_the_smallest_siblings_of_a_parent() -> None:
    tree = build_tree([(("a", "big"), 90), (("a", "small"), 6), (("a", "tiny"), 4)])
    encoded = encode(truncate(tree, 2))
    assert _decode(encoded.levels, encoded.names) == {
        ("total",): (100, 0),
        ("total", "a"): (100, 0),
        ("total", "a", "big"): (90, 90),
        ("total", "a", "other"): (10, 10),
    }


def test_a_comparison_has_seven_numbers_a_node_and_both_sides_of_it() -> None:
    compared = compare(build_tree([(("a",), 3)]), build_tree([(("b",), 5)]))
    names = compared.flamebearer.names
    assert compared.flamebearer.levels[0] == [0, 3, 0, 0, 5, 0, 0]
    below = compared.flamebearer.levels[1]
    assert [below[6], below[13]] == [names.index("a"), names.index("b")]
    assert below[:6] == [0, 3, 3, 0, 0, 0]
    assert below[7:13] == [0, 0, 0, 0, 5, 5]
    assert (compared.left_total, compared.right_total) == (3, 5)


def _profile_class() -> type[Message]:
    """The part of pprof's schema that is encoded, declared apart from the encoder."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")

    def message(name: str, *fields: tuple[str, int, str, bool]) -> None:
        declared = file.message_type.add(name=name)
        for field, number, type_name, repeated in fields:
            label = kind.LABEL_REPEATED if repeated else kind.LABEL_OPTIONAL
            added = declared.field.add(name=field, number=number, label=label)
            if type_name == "int64":
                added.type = kind.TYPE_INT64
            elif type_name == "uint64":
                added.type = kind.TYPE_UINT64
            elif type_name == "string":
                added.type = kind.TYPE_STRING
            else:
                added.type, added.type_name = kind.TYPE_MESSAGE, f".p.{type_name}"

    message("ValueType", ("type", 1, "int64", False), ("unit", 2, "int64", False))
    message("Sample", ("location_id", 1, "uint64", True), ("value", 2, "int64", True))
    message("Line", ("function_id", 1, "uint64", False))
    message("Location", ("id", 1, "uint64", False), ("line", 4, "Line", True))
    message("Function", ("id", 1, "uint64", False), ("name", 2, "int64", False))
    message(
        "Profile",
        ("sample_type", 1, "ValueType", True),
        ("sample", 2, "Sample", True),
        ("location", 4, "Location", True),
        ("function", 5, "Function", True),
        ("string_table", 6, "string", True),
        ("time_nanos", 9, "int64", False),
        ("duration_nanos", 10, "int64", False),
        ("period_type", 11, "ValueType", False),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


@given(STACKS.filter(bool))
def test_pprof_bytes_are_what_protobuf_reads_and_hold_the_same_stacks(
    stacks: list[tuple[tuple[str, ...], int]],
) -> None:
    profile = pprof.build_profile(
        stacks,
        sample_type=("malloc", "bytes"),
        period_type=("process_cuda", "bytes"),
        time_nanos=10**18,
        duration_nanos=60 * 10**9,
    )
    read = _profile_class().FromString(pprof.to_bytes(profile))
    assert json_format.MessageToDict(read) == pprof.to_json(profile)
    names = [profile.strings[index] for index in profile.functions]
    expected: dict[tuple[str, ...], int] = {}
    for stack, value in stacks:
        expected[stack] = expected.get(stack, 0) + value
    assert expected == {
        tuple(names[number - 1] for number in reversed(locations)): value
        for locations, value in profile.samples
    }


def test_the_wire_reader_refuses_a_message_that_ends_early() -> None:
    assert wire.read(wire.integer(3, 300) + wire.message(1, b"ab")) == {3: 300, 1: b"ab"}
    with pytest.raises(wire.WireError):
        wire.read(wire.message(1, b"abc")[:-1])


def test_the_key_value_cache_is_allocated_by_native_code_below_its_function() -> None:
    found = [
        observed
        for observed in observations(0, 0)
        if "GPUModelRunner > _allocate_kv_cache_tensors" in observed.stack
    ]
    assert [observed.bytes for observed in found] == [KV_CACHE_BYTES] == [55_100_000_000]
    native = found[0].stack[
        found[0].stack.index("GPUModelRunner > _allocate_kv_cache_tensors") + 1 :
    ]
    assert native
    assert all("+0x" in frame or frame.startswith("0x") for frame in native)


def test_stacks_carry_trampolines_addresses_and_native_leaves() -> None:
    observed = list(observations(0, 0))
    frames = {frame for item in observed for frame in item.stack}
    leaves = {item.stack[-1] for item in observed}
    assert TRAMPOLINE in frames
    assert any(frame.startswith("0x") for frame in frames)
    assert any(".so" in leaf and "+0x" in leaf for leaf in leaves)
    assert "<unknown>" in leaves


def test_the_same_window_answers_the_same_bytes_and_adjacent_windows_add_up() -> None:
    whole = list(observations(0, 3600))
    assert whole == list(observations(0, 3600))
    parts = [*observations(0, 1799.5), *observations(1800, 3600)]
    assert sorted(parts, key=repr) == sorted(whole, key=repr)


def test_a_store_holds_nothing_from_before_the_recording_or_after_its_end() -> None:
    begun = 1_700_000_000.0
    recording = Recording(
        begun, begun, begun + 90, "process_cpu:malloc:bytes::", "inspektor-gadget"
    )
    store = ProfileStore([recording], now=lambda: begun + 10_000)
    times = [stored.at_ms / 1000 for stored in store.read(0, 2**62)]
    assert times, "the recording has data"
    assert all(begun <= at <= begun + 90 for at in times)
    assert not list(store.read(0, int((begun - 1) * 1000)))


def test_a_store_is_not_read_further_back_than_seven_days() -> None:
    begun = 1_700_000_000.0
    recording = Recording(
        begun, begun, begun + 90, "process_cpu:malloc:bytes::", "inspektor-gadget"
    )
    store = ProfileStore([recording], now=lambda: begun + 8 * 86400)
    assert not list(store.read(0, 2**62))


@pytest.mark.parametrize(
    ("config", "overrides", "effective"),
    [
        ({}, {}, (24, 7 * 24)),
        ({"limits": {"max_query_lookback": "2w"}}, {}, (24, 14 * 24)),
        ({"limits": {"max_query_length": "0s", "max_query_lookback": 0}}, {}, (0, 0)),
        # A tenant's limits are the configuration's where the overrides do not say otherwise.
        ({"limits": {"max_query_length": "2d"}}, {"max_query_lookback": "32d"}, (48, 32 * 24)),
        ({"limits": {"max_query_lookback": "2w"}}, {"max_query_lookback": "1d12h"}, (24, 36)),
    ],
)
def test_the_limits_of_a_server_are_its_configurations_and_its_tenants_overrides(
    config: JsonObject, overrides: JsonObject, effective: tuple[float, float]
) -> None:
    found = limits_of(config, {"overrides": {"anonymous": overrides}} if overrides else {})
    limits = found.effective
    assert (limits.query_length / 3600, limits.query_lookback / 3600) == effective


def test_a_store_that_looks_back_further_is_read_further_back() -> None:
    begun = 1_700_000_000.0
    recording = Recording(begun, begun, begun + 90, "process_cpu:malloc:bytes::", "x")
    for limits in (Limits(query_lookback=9 * 86400), Limits(query_lookback=0)):
        store = ProfileStore([recording], lambda: begun + 8 * 86400, ServerLimits(limits))
        assert list(store.read(0, 2**62))


@pytest.mark.parametrize(
    ("agent", "server", "expected"),
    [
        ((0, 49, 0), (1, 15, 0), "process_cpu:malloc:bytes::"),
        ((0, 53, 1), (1, 19, 0), "process_cpu:malloc:bytes::"),
        ((0, 54, 0), (1, 15, 0), "process_cpu:malloc:bytes:process_cuda:bytes"),
        ((0, 54, 0), (1, 16, 0), "process_cuda:malloc:bytes:process_cuda:bytes"),
    ],
)
def test_the_profile_type_depends_on_agent_and_server(
    agent: tuple[int, ...], server: tuple[int, ...], expected: str
) -> None:
    assert profile_type(agent, server) == expected


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("{}", True),
        ('{pod="vllm-0"}', True),
        ('{pod="vllm"}', False),
        ('{pod=~"vllm"}', False),
        ('{pod=~"vllm-.+"}', True),
        ('{pod!~"vllm-.+"}', False),
        ('{pod!="x", namespace="a\\"b",}', True),
        ('{missing=""}', True),
        ('{missing!=""}', False),
        ("{pod=`vllm-0`}", True),
    ],
)
def test_selectors_compare_like_prometheus(text: str, selected: bool) -> None:
    labels = {"pod": "vllm-0", "namespace": 'a"b'}
    assert selects(parse_selector(text), labels) is selected


@pytest.mark.parametrize(
    "text", ["", "{", "{pod}", "{pod=vllm}", '{pod="a" x="b"}', '{pod=~"("}', '{1="a"}', "a b"]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        parse_selector(text)
