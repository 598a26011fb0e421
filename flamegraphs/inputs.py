"""Which profiles a command is about: files, or what a server is asked for, by its arguments.

Modules are imported when they are needed, because ``--help`` and small files should answer at once.
"""

import argparse
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from contract.agent import PROFILES_POD, PYROSCOPE_PORT
from flamegraphs.errors import FlameGraphError, NoSamplesError, UsageError

if TYPE_CHECKING:
    from flamegraphs.budget import Budget
    from flamegraphs.hotspots import Hotspots
    from flamegraphs.profile import Profile
    from flamegraphs.sources.pyroscope import Server
    from flamegraphs.window import Window


def one(options: argparse.Namespace) -> "Profile":
    """The profile that a command reads.

    Like all of these, raises `UsageError` for arguments that do not fit, and what reading raises.
    """
    server = _server(options)
    if server is None:
        if options.file is None:
            raise UsageError("Name a file, or a source: --stack, --grafana or --pyroscope.")
        return _read(options.file, options)
    if options.file is not None:
        raise UsageError("Name a file or a source, not both.")
    return _ask(server, options, options.selector or "", _window(options))


def two(options: argparse.Namespace) -> "tuple[Hotspots, Hotspots]":
    """Both sides of a comparison, added up; an error says which of them it is about."""
    server = _server(options)
    if server is None:
        return _two_files(options)
    before, after = (
        summed(_ask_operand(server, options, operand))
        for operand in (options.before, options.after)
    )
    return before, after


def _two_files(options: argparse.Namespace) -> "tuple[Hotspots, Hotspots]":
    from flamegraphs.budget import Budget
    from flamegraphs.files import name_of

    budget = Budget()  # both are held at once
    before, after = (
        summed(_read(path, options, f"{side} ({name_of(path)})", budget))
        for side, path in (("A", options.before), ("B", options.after))
    )
    return before, after


def _ask_operand(server: "Server", options: argparse.Namespace, operand: str) -> "Profile":
    labels, _, span = ("", "@", operand[1:]) if operand.startswith("@") else _split(operand)
    start, _, end = span.partition("..")
    return _ask(
        server,
        options,
        labels or options.selector or "",
        _window(options, start or None, end or None),
    )


def _split(operand: str) -> tuple[str, str, str]:
    labels, at, span = operand.rpartition("}@")
    if at:
        return labels + "}", "@", span
    if operand.startswith("{") and operand.endswith("}"):
        return operand, "", ""
    raise UsageError(
        f'{operand!r} says neither labels nor a window; write {{{PROFILES_POD}="a"}}, '
        "@now-2h..now-1h or both."
    )


def _server(options: argparse.Namespace) -> "Server | None":
    if options.data_source and not options.grafana:
        raise UsageError("--data-source belongs to --grafana.")
    if options.token_variable and not options.grafana:
        raise UsageError("--token-variable belongs to --grafana; a stack names its own.")
    if options.stack:
        from flamegraphs.sources import stack

        return stack.server(options.stack)
    if options.grafana:
        if not options.data_source:
            raise UsageError("--grafana needs --data-source, the uid of its Pyroscope source.")
        from flamegraphs.sources import grafana

        return grafana.server(options.grafana, options.data_source, options.token_variable)
    if options.pyroscope:
        if not options.pyroscope.startswith(("http://", "https://")):
            raise UsageError(
                f"{options.pyroscope} is not a URL; write http://localhost:{PYROSCOPE_PORT}."
            )
        from flamegraphs.sources.pyroscope import Server

        return Server(url=options.pyroscope, name=f"Pyroscope at {options.pyroscope.rstrip('/')}")
    return None


def _read(
    path: str,
    options: argparse.Namespace,
    name: str | None = None,
    budget: "Budget | None" = None,
) -> "Profile":
    unused = [
        flag
        for flag, value in (
            ("--from", options.start),
            ("--until", options.until),
            ("--selector", options.selector),
            ("--pod", options.pod),
            ("--namespace", options.namespace),
            ("--process", options.process),
            ("--profile-type", options.profile_type),
        )
        if value is not None
    ]
    if unused:
        raise UsageError(f"{', '.join(unused)}: a file is read whole; filters need a source.")
    from flamegraphs.files import read_file

    return read_file(path, options.sample_type, options.unit, name, budget)


def _ask(server: "Server", options: argparse.Namespace, labels: str, window: "Window") -> "Profile":
    if options.sample_type is not None or options.unit is not None:
        raise UsageError("--sample-type and --unit are for files; a source takes --profile-type.")
    from flamegraphs.sources.pyroscope import Query, fetch
    from flamegraphs.sources.selector import Filters

    query = Query(
        window=window,
        selector=labels,
        filters=Filters(options.pod, options.namespace, options.process),
        profile_type=options.profile_type,
    )

    def progress(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    return fetch(server, query, datetime.now(UTC), progress)


def _window(
    options: argparse.Namespace, start: str | None = None, end: str | None = None
) -> "Window":
    from flamegraphs.window import window

    return window(
        start or options.start or "now-1h", end or options.until or "now", datetime.now(UTC)
    )


def summed(profile: "Profile") -> "Hotspots":
    """The figures of a profile that has samples."""
    from flamegraphs.hotspots import hotspots

    return hotspots(with_samples(profile))


def with_samples(profile: "Profile") -> "Profile":
    """The same profile; raises `NoSamplesError` where there is nothing in it."""
    if not len(profile.stacks):
        source = profile.facts.get("source", "The profile")
        raise NoSamplesError(f"{source}: it is a profile, but without a single sample.")
    return profile


def drawn(options: argparse.Namespace, chosen: str) -> "Profile":
    """The profile to write in a format, with all that a page has of its file."""
    profile = with_samples(one(options))
    return _with_further_types(profile, options) if chosen == "html" else profile


def _with_further_types(profile: "Profile", options: argparse.Namespace) -> "Profile":
    """Read a file again for each sample type more, where a page has them and there is a file."""
    from flamegraphs.files import STDIN
    from flamegraphs.render.write import OTHER_TYPES_UP_TO

    if options.file in (None, STDIN) or len(profile.stacks) > OTHER_TYPES_UP_TO:
        return profile
    others, missing = list(profile.others), list[str]()
    for name in profile.further_types:
        asked = argparse.Namespace(**{**vars(options), "sample_type": name, "unit": None})
        try:
            others.append(with_samples(_read(options.file, asked)))
        except FlameGraphError:
            missing.append(name)
    return replace(profile, others=others, further_types=missing)
