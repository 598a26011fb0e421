"""Chooses a format and writes it to a file or to standard output."""

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flamegraphs import terminal
from flamegraphs.errors import FlameGraphError, UsageError
from flamegraphs.profile import CHOOSE_TYPE, Profile, held

if TYPE_CHECKING:
    from flamegraphs.diff import Diff
    from flamegraphs.hotspots import Hotspots
    from flamegraphs.render.html import Side

_ENDINGS = {
    ".svg": "svg",
    ".folded": "folded",
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".speedscope.json": "speedscope",
}
OTHER_TYPES_UP_TO = 200_000
"""Stacks of a file of which a page has every sample type: each costs as much as the first."""
_NOT_IN_PAGE = (
    f"Not in this page: {{}} (a page has every sample type of up to {OTHER_TYPES_UP_TO:,} stacks "
    "without negative values); see --sample-type."
)
INVERTED_UP_TO = 200_000
"""Stacks of which a page gets an exact inverted tree, which costs as much as the other one."""


def format_of(output: str) -> str:
    """The format that the ending of a file's name says; html for any other."""
    found = (name for ending, name in _ENDINGS.items() if output.endswith(ending))
    return next(found, "html")


def write(
    profile: Profile, chosen: str, output: str, *, title: str | None, gpu_memory: int, binary: bool
) -> None:
    """Write a profile; a file is replaced only when all of it has been written.

    Without a title the heading says what the profile was read from.

    Raises `UsageError` where the file cannot be written.
    """
    title = title or f"Flame graph of {profile.facts.get('source', 'a profile')}"
    if len(profile.stacks) > OTHER_TYPES_UP_TO:
        profile = _alone(profile)
    _put(_parts(profile, chosen, title, gpu_memory, binary), output)


def _alone(profile: Profile) -> Profile:
    """The same without its other sample types, so that the file's bytes need not be held."""
    missing = ", ".join([*(one.sample_type for one in profile.others), *profile.further_types])
    notes = [*profile.notes, _NOT_IN_PAGE.format(missing)] if missing else profile.notes
    return replace(held(profile), others=(), further_types=(), notes=notes)


def write_comparison(
    before: "Hotspots",
    after: "Hotspots",
    chosen: str,
    output: str,
    *,
    title: str,
    gpu_memory: int,
    binary: bool,
) -> None:
    """Write what grew and shrank from one profile to another, like `write`.

    Raises `UsageError` also where the two measure different things, or for a format that has no way
    to write a comparison.
    """
    from flamegraphs.diff import comparable, diff, measured

    if not comparable(before, after):
        both = " and ".join(
            f"{side.profile.facts.get('source', 'a profile')} ({measured(side)})"
            for side in (before, after)
        )
        raise UsageError(
            f"{both} measure different things, which have no width in common. Choose a type that "
            "both have with --sample-type, or state what a file does not with --unit."
        )
    # Whatever cannot be compared as a table cannot be drawn either.
    _put(_comparison_parts(diff(before, after), chosen, title, gpu_memory, binary), output)


def _put(parts: Iterator[bytes], output: str) -> None:
    if output == "-":
        terminal.write_bytes(parts)
        return
    try:
        _replace(_target(output), parts)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}.") from error


def _target(output: str) -> Path:
    """The file to replace: ``output``, or what it is a link to.

    Raises `UsageError` for what is no regular file: a device or a pipe must not become one.
    """
    path = Path(os.path.realpath(output))
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise UsageError(
            f"{output}: cannot be written: it is {kind}. Write to - for standard output."
        )
    return path


def _replace(path: Path, parts: Iterator[bytes]) -> None:
    """Write beside and rename, so that a reader never sees half a file."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".flamegraph-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
        # mkstemp makes a private file; what a user writes has the mode they ask for, or had.
        os.chmod(beside, _mode(path))
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _parts(
    profile: Profile, chosen: str, title: str, gpu_memory: int, binary: bool
) -> Iterator[bytes]:
    if chosen == "folded":
        from flamegraphs.render import folded

        return folded.write(profile)
    if chosen == "pprof":
        from flamegraphs.render import pprof

        return pprof.write(profile)
    if chosen == "speedscope":
        from flamegraphs.render import speedscope

        return speedscope.write(profile, title)
    from flamegraphs.tree import tree

    if chosen == "svg":
        from flamegraphs.render import svg

        return svg.write(tree(profile), title, binary=binary)
    return _page(profile, title, gpu_memory, binary)


def _page(profile: Profile, title: str, gpu_memory: int, binary: bool) -> Iterator[bytes]:
    from flamegraphs import report
    from flamegraphs.hotspots import hotspots
    from flamegraphs.render import html

    # Read for the table and for the graph: decoding is most of the work.
    found = [hotspots(held(profile))]
    if len(profile.stacks) <= OTHER_TYPES_UP_TO:
        found += [one for other in profile.others if (one := _drawable(other)) is not None]
    sides = _sides([one.profile.sample_type for one in found], found)
    notes = report.warnings(found[0], gpu_memory, binary=binary)
    if len(sides) > 1:  # the page has a list to choose from
        notes = [note for note in notes if not note.endswith(CHOOSE_TYPE)]
    return html.write(
        html.Page(
            title,
            sides,
            [report.header(one, binary=binary) for one in found],
            notes + _left_out(profile, sides),
            binary,
        )
    )


def _sides(names: Sequence[str], found: Sequence["Hotspots"]) -> "list[Side]":
    from flamegraphs.render.html import Side
    from flamegraphs.tree import trees, trees_both_ways

    profiles = [one.profile for one in found]
    inverted = None
    if sum(len(profile.stacks) for profile in profiles) <= INVERTED_UP_TO:
        drawn, inverted = trees_both_ways(profiles)
    else:
        drawn = trees(profiles)
    others = inverted or [None] * len(drawn)
    return [Side(*side) for side in zip(names, drawn, found, others, strict=True)]


def _drawable(other: Profile) -> "Hotspots | None":
    """The figures of another sample type than the one asked for, where a page can have it."""
    from flamegraphs.hotspots import hotspots

    try:
        found = hotspots(held(other))
    except FlameGraphError:
        return None
    return None if found.is_difference else found


def _left_out(profile: Profile, sides: "Sequence[Side]") -> list[str]:
    """Say which of a file's sample types a page does not have."""
    drawn = {(side.found.profile.sample_type, side.found.profile.unit) for side in sides}
    missing = [
        one.sample_type for one in profile.others if (one.sample_type, one.unit) not in drawn
    ]
    missing += profile.further_types
    if not missing:
        return []
    return [_NOT_IN_PAGE.format(", ".join(missing))]


def _comparison_parts(
    found: "Diff", chosen: str, title: str, gpu_memory: int, binary: bool
) -> Iterator[bytes]:
    before, after = found.before, found.after
    if chosen == "folded":
        from flamegraphs.render import folded

        return folded.write_comparison(before.profile, after.profile)
    if chosen not in ("html", "svg"):
        raise UsageError(
            f"A comparison cannot be written as {chosen}; choose html, svg or folded with "
            "--format or the ending of --output."
        )
    if chosen == "svg":
        from flamegraphs.render import svg
        from flamegraphs.tree import trees

        old, new = trees([before.profile, after.profile])
        return svg.write(new, title, binary=binary, before=old)
    from flamegraphs import report
    from flamegraphs.diff import growth_text
    from flamegraphs.render import html

    notes = report.warnings(before, gpu_memory, binary=binary)
    notes += [
        note for note in report.warnings(after, gpu_memory, binary=binary) if note not in notes
    ]
    facts = {
        "before": _side(report.header(before, binary=binary)),
        "after": _side(report.header(after, binary=binary)),
        "change": growth_text(found),
    }
    sides = _sides(["before", "after"], [before, after])
    return html.write(html.Page(title, sides, [facts], notes, binary, is_comparison=True))


def _side(header: Mapping[str, str]) -> str:
    """What describes one side of a comparison, in one line."""
    shown = ("source", "window", "selector", "taken", "duration", "total")
    return " · ".join(header[name] for name in shown if name in header)
