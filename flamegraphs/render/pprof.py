"""Writes a pprof file, one location a function, compressed as the format asks for."""

import gzip
from collections.abc import Iterator

from flamegraphs import profile_pb2 as pb
from flamegraphs.profile import Profile
from flamegraphs.render.stacks import merged


def write(profile: Profile) -> Iterator[bytes]:
    """Yield the bytes of a gzip file."""
    strings: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    out = pb.Profile()
    out.sample_type.add(
        type=text(profile.sample_type or "value"), unit=text(profile.unit or "count")
    )
    out.period_type.CopyFrom(out.sample_type[0])
    for place, name in enumerate(profile.functions, 1):
        out.function.add(id=place, name=text(name), system_name=text(name))
        location = out.location.add(id=place)
        location.line.add(function_id=place)
    for stack, value in merged(profile):
        out.sample.add(location_id=(stack + 1).tolist(), value=[value])
    out.string_table.extend(string.encode("utf-8", "replace") for string in strings)
    yield gzip.compress(out.SerializeToString(), mtime=0)
