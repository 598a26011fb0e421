"""Chooses a format and writes it to a file or to standard output."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flamegraphs.errors import UsageError
from flamegraphs.profile import Profile

_ENDINGS = {
    ".svg": "svg",
    ".folded": "folded",
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".speedscope.json": "speedscope",
}


def format_of(output: str) -> str:
    """The format that the ending of a file's name says; html for any other."""
    found = (name for ending, name in _ENDINGS.items() if output.endswith(ending))
    return next(found, "html")


def write(
    profile: Profile, chosen: str, output: str, *, title: str, gpu_memory: int, binary: bool
) -> None:
    """Write a profile; a file is replaced only when all of it has been written.

    Raises `UsageError` where the file cannot be written.
    """
    parts = _parts(profile, chosen, title, gpu_memory, binary)
    if output == "-":
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(parts)
            # mkstemp makes a private file; what a user writes has the mode they ask for.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(beside, 0o666 & ~mask)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}.") from error


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
    from flamegraphs import report
    from flamegraphs.hotspots import hotspots
    from flamegraphs.render import html

    found = hotspots(profile)
    return html.write(
        html.Page(
            title,
            [html.Side(profile.sample_type, tree(profile), found)],
            [report.header(found, binary=binary)],
            report.warnings(found, gpu_memory, binary=binary),
            binary,
        )
    )
