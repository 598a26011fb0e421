"""``google.v1.Profile``: the profile that ``SelectMergeProfile`` answers, as JSON and as bytes.

Field numbers are those of pprof's ``profile.proto``. Both encodings come from one message, so they
cannot differ. In pprof a stack lists its innermost frame first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.pyroscope import wire
from simulator.pyroscope.flamebearer import Stack


@dataclass(frozen=True)
class Profile:
    """One value a sample; ids of functions and locations are equal and start at 1."""

    strings: list[str]
    functions: list[int]
    """Index of each function's name in ``strings``."""
    samples: list[tuple[list[int], int]]
    """Location ids, innermost first, and the value."""
    sample_type: tuple[int, int]
    """Indices of type and unit."""
    period_type: tuple[int, int]
    time_nanos: int
    duration_nanos: int


def build_profile(
    stacks: Iterable[tuple[Stack, int]],
    *,
    sample_type: tuple[str, str],
    period_type: tuple[str, str],
    time_nanos: int,
    duration_nanos: int,
) -> Profile:
    """Make a profile of ``(stack, value)`` pairs, outermost frame first; equal stacks merge."""
    strings: dict[str, int] = {"": 0}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    sample_types = (string(sample_type[0]), string(sample_type[1]))
    period_types = (string(period_type[0]), string(period_type[1]))
    merged: dict[Stack, int] = {}
    for stack, value in stacks:
        merged[stack] = merged.get(stack, 0) + value
    ids: dict[str, int] = {}
    samples = [
        ([ids.setdefault(name, len(ids) + 1) for name in reversed(stack)], value)
        for stack, value in merged.items()
    ]
    return Profile(
        functions=[string(name) for name in ids],
        strings=list(strings),
        samples=samples,
        sample_type=sample_types,
        period_type=period_types,
        time_nanos=time_nanos,
        duration_nanos=duration_nanos,
    )


def to_json(profile: Profile) -> dict[str, object]:
    """The proto JSON mapping: 64-bit integers are strings, zero fields are left out."""
    answer: dict[str, object] = {
        "sampleType": [_value_type(profile.sample_type)],
        "sample": [
            {"locationId": [str(identifier) for identifier in locations], "value": [str(value)]}
            for locations, value in profile.samples
        ],
        "location": [
            {"id": str(number), "line": [{"functionId": str(number)}]}
            for number in range(1, len(profile.functions) + 1)
        ],
        "function": [
            {"id": str(number), **({"name": str(name)} if name else {})}
            for number, name in enumerate(profile.functions, start=1)
        ],
        "stringTable": profile.strings,
        "timeNanos": str(profile.time_nanos),
        "durationNanos": str(profile.duration_nanos),
        "periodType": _value_type(profile.period_type),
    }
    return {key: value for key, value in answer.items() if value not in ([], {}, "0")}


def _value_type(pair: tuple[int, int]) -> dict[str, object]:
    named = {"type": pair[0], "unit": pair[1]}
    return {key: str(index) for key, index in named.items() if index}


def to_bytes(profile: Profile) -> bytes:
    """The protobuf encoding, not compressed."""
    parts = [wire.message(1, _pair(profile.sample_type))]
    for locations, value in profile.samples:
        parts.append(wire.message(2, wire.packed(1, locations) + wire.packed(2, [value])))
    functions = list(enumerate(profile.functions, start=1))
    parts += [
        wire.message(4, wire.integer(1, i) + wire.message(4, wire.integer(1, i)))
        for i, _ in functions
    ]
    parts += [wire.message(5, wire.integer(1, i) + wire.integer(2, name)) for i, name in functions]
    parts.extend(wire.message(6, text.encode()) for text in profile.strings)
    parts.append(wire.integer(9, profile.time_nanos) + wire.integer(10, profile.duration_nanos))
    parts.append(wire.message(11, _pair(profile.period_type)))
    return b"".join(parts)


def _pair(pair: tuple[int, int]) -> bytes:
    return wire.integer(1, pair[0]) + wire.integer(2, pair[1])
