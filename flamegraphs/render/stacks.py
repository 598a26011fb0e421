"""Equal stacks of a profile as one, for the formats that list stacks."""

from collections.abc import Iterator

import numpy as np

from flamegraphs.profile import FrameArray, Profile


def merged(profile: Profile) -> Iterator[tuple[FrameArray, int]]:
    """Yield each distinct stack, leaf first, with its value; the order of first appearance."""
    values: dict[bytes, int] = {}
    for batch in profile.stacks.batches():
        frames = batch.frames.tobytes()
        offsets = (batch.offsets * batch.frames.itemsize).tolist()
        for start, end, value in zip(offsets, offsets[1:], batch.values.tolist(), strict=False):
            stack = frames[start:end]
            values[stack] = values.get(stack, 0) + value
    for stack, value in values.items():
        yield np.frombuffer(stack, np.int32), value
