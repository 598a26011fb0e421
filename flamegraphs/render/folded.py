"""Writes folded stacks: ``a;b;c 123``, root first, for flamegraph.pl, inferno and others."""

from collections.abc import Iterator

from flamegraphs.profile import Profile
from flamegraphs.render.stacks import merged


def write(profile: Profile) -> Iterator[bytes]:
    """Yield lines. What separates frames or lines is replaced in names: there is no escape."""
    names = [_plain(name) for name in profile.functions]
    for stack, value in merged(profile):
        frames: list[int] = stack[::-1].tolist()
        path = ";".join(names[frame] for frame in frames)
        yield f"{path} {value}\n".encode("utf-8", "replace")


def write_comparison(before: Profile, after: Profile) -> Iterator[bytes]:
    """Yield lines with the values of both, as ``difffolded.pl`` writes them."""
    values: dict[tuple[str, ...], list[int]] = {}
    for side, profile in enumerate((before, after)):
        names = [_plain(name) for name in profile.functions]
        for stack, value in merged(profile):
            frames: list[int] = stack[::-1].tolist()
            values.setdefault(tuple(names[frame] for frame in frames), [0, 0])[side] += value
    for path, (old, new) in values.items():
        yield f"{';'.join(path)} {old} {new}\n".encode("utf-8", "replace")


def _plain(name: str) -> str:
    # A leading "#" would make the line a comment.
    return "".join(":" if c == ";" else c if c.isprintable() else "_" for c in name) or "<unknown>"
