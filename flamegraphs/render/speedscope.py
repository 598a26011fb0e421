"""Writes the file format of speedscope.app (a "sampled" profile)."""

import json
from collections.abc import Iterator

from flamegraphs.profile import Profile
from flamegraphs.render.stacks import merged

_UNITS = frozenset({"bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"})


def write(profile: Profile, title: str) -> Iterator[bytes]:
    """Yield one JSON document."""
    samples: list[list[int]] = []
    weights: list[int] = []
    for stack, value in merged(profile):
        samples.append(stack[::-1].tolist())
        weights.append(value)
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "gpuobs flamegraphs",
        "name": title,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in profile.functions]},
        "profiles": [
            {
                "type": "sampled",
                "name": title,
                "unit": profile.unit if profile.unit in _UNITS else "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
    yield json.dumps(document, separators=(",", ":")).encode()
