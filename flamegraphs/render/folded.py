"""Writes folded stacks: ``a;b;c 123``, root first, for flamegraph.pl, inferno and others."""

from collections.abc import Iterator
from itertools import pairwise

from flamegraphs.profile import Profile, reversed_frames
from flamegraphs.render.stacks import merged


def write(profile: Profile) -> Iterator[bytes]:
    """Yield lines. What separates frames or lines is replaced in names: there is no escape."""
    for path, value in _paths(profile):
        yield f"{';'.join(path)} {value}\n".encode("utf-8", "replace")


def write_comparison(before: Profile, after: Profile) -> Iterator[bytes]:
    """Yield lines with the values of both, as ``difffolded.pl`` writes them."""
    values: dict[tuple[str, ...], list[int]] = {}
    for side, profile in enumerate((before, after)):
        for path, value in _paths(profile):
            values.setdefault(tuple(path), [0, 0])[side] += value
    for path, (old, new) in values.items():
        yield f"{';'.join(path)} {old} {new}\n".encode("utf-8", "replace")


def _paths(profile: Profile) -> Iterator[tuple[list[str], int]]:
    """Each distinct stack, root first, and its value."""
    names = [_plain(name) for name in profile.functions]
    for batch, values in merged(profile):
        frames: list[int] = reversed_frames(batch).tolist()
        offsets: list[int] = batch.offsets.tolist()
        for (start, end), value in zip(pairwise(offsets), values.tolist(), strict=True):
            yield [names[frame] for frame in frames[start:end]], value


def _plain(name: str) -> str:
    # A leading "#" would make the line a comment.
    return "".join(":" if c == ";" else c if c.isprintable() else "_" for c in name) or "<unknown>"
