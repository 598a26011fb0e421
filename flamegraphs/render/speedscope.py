"""Writes the file format of speedscope.app (a "sampled" profile)."""

import json
from collections.abc import Iterator

import numpy as np

from flamegraphs.profile import Profile, reversed_frames
from flamegraphs.render.stacks import merged

_UNITS = frozenset({"bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"})


def write(profile: Profile, title: str) -> Iterator[bytes]:
    """Yield one JSON document."""
    weights: list[bytes] = []
    total = 0
    samples = _samples(profile, weights)
    first = next(samples, b"")
    shared = {"frames": [{"name": name} for name in profile.functions]}
    yield (
        '{"$schema":"https://www.speedscope.app/file-format-schema.json",'
        '"exporter":"gpuobs flamegraphs","activeProfileIndex":0,'
        f'"name":{json.dumps(title)},"shared":{_json(shared)},'
        f'"profiles":[{{"type":"sampled","name":{json.dumps(title)},'
        f'"unit":{json.dumps(profile.unit if profile.unit in _UNITS else "none")},"samples":['
    ).encode()
    yield first
    yield from samples
    yield b'],"weights":['
    for place, part in enumerate(weights):
        yield b"," + part if place else part
        total += sum(map(int, part.split(b",")))
    yield f'],"startValue":0,"endValue":{total}}}]}}'.encode()


def _samples(profile: Profile, weights: list[bytes]) -> Iterator[bytes]:
    """Yield the stacks root first, some at a time, and collect what they weigh."""
    count = len(profile.functions)
    # Two texts for each frame: within a stack, and at its end. Shorter ones are padded with zero
    # bytes, so that numpy puts all of a batch together at once.
    texts = np.array(
        [f"{n},".encode() for n in range(count)] + [f"{n}],".encode() for n in range(count)]
    )
    if not count:
        return
    for place, (batch, values) in enumerate(merged(profile)):
        frames = reversed_frames(batch).astype(np.int64)
        frames[batch.offsets[1:] - 1] += count
        opened = np.zeros(len(frames), "S1")
        opened[batch.offsets[:-1]] = b"["
        table = np.empty((len(frames), 1 + texts.itemsize), np.uint8)
        table[:, 0] = opened.view(np.uint8)
        table[:, 1:] = texts[frames].view(np.uint8).reshape(len(frames), -1)
        text = table.tobytes().translate(None, b"\0")[:-1]
        weights.append(",".join(map(str, values.tolist())).encode())
        yield b"," + text if place else text


def _json(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))
