"""The commands ``hotspots``, ``diff`` and ``render``: what they take, and what they do.

``python -m gpuobs`` has them beside its others, with the exit statuses of all its commands;
``python -m flamegraphs`` (`main`) has only these, with the statuses of `errors`.

Modules are imported when their command runs, because ``--help`` and small files should answer at
once.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from contract.agent import PROFILES_POD
from flamegraphs import inputs, terminal
from flamegraphs.errors import OK, FlameGraphError, GrowthOverLimitError, UsageError
from flamegraphs.units import size
from operations.errors import OperationError

_STATUSES = """\
exit status:
  0  done                              5  the server has no such profile type
  1  another failure, explained        6  no samples in the window
  2  invalid arguments                7  a file that is not a profile
  3  the server cannot be reached      8  growth beyond --fail-on-growth
  4  not authorised
"""


@dataclass(frozen=True)
class Command:
    """One command: its place in a parser, and what runs it."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    """Raises `FlameGraphError`, or `OperationError` where a stack's outputs cannot be read."""
    usage: str
    more: str = ""
    """Paragraphs below the options; ``%(prog)s`` is the command as it was called."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; failures are printed, never raised."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except FlameGraphError as error:
        terminal.complain(f"flamegraphs: {error}")
        return error.status
    except OperationError as error:
        from operations.stack_outputs import PulumiError

        terminal.complain(f"flamegraphs: {error}")
        return (UsageError if isinstance(error, PulumiError) else FlameGraphError).status
    except MemoryError:
        terminal.complain("flamegraphs: this does not fit into the machine's memory.")
        return FlameGraphError.status
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; nothing more may be written to it.
        terminal.silence_output()
    except KeyboardInterrupt:
        return 130
    return OK


class _Parser(argparse.ArgumentParser):
    """Arguments may be names of files, and those come from anywhere."""

    def error(self, message: str) -> NoReturn:
        for line in self.format_usage().splitlines():
            terminal.complain(line)
        terminal.complain(f"{self.prog}: error: {message}")
        sys.exit(UsageError.status)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m flamegraphs",
        description="Read GPU memory profiles: which function allocates, what grew, a flame graph.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        one = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=command.more + ("\n" if command.more else "") + _STATUSES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(one)
        one.set_defaults(run=command.run)
    return parser


# ---- their arguments ----


def _hotspots_arguments(command: argparse.ArgumentParser) -> None:
    _add_file(command)
    _add_report(command)
    _add_source(command)


def _diff_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("before", metavar="A", help="the first file, window or selector")
    command.add_argument("after", metavar="B", help="the second one")
    command.add_argument(
        "--fail-on-growth",
        metavar="PERCENT|BYTES",
        help="fail where the whole grew by more, e.g. 10%% or 512MiB, with an exit status of its "
        "own",
    )
    command.add_argument(
        "--across-types",
        action="store_true",
        help="compare even what measures different things (sample types, units)",
    )
    _add_report(command)
    _add_source(command)


def _render_arguments(command: argparse.ArgumentParser) -> None:
    _add_file(command)
    command.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="draw what grew and shrank from A to B, named as those of diff",
    )
    command.add_argument(
        "--format",
        choices=("html", "svg", "folded", "pprof", "speedscope"),
        help="what to write (default: html, or what the ending of --output says)",
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write it; - is standard output (default)",
        default="-",
    )
    command.add_argument("--title", help="the heading (default: what the profile was read from)")
    _add_units(command)
    _add_source(command)


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="pprof, folded stacks, Pyroscope's JSON, speedscope and others (see "
        "docs/users/reading-flame-graphs.md), gzip or not; - is stdin",
    )


def _add_units(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--binary", action="store_true", help="write sizes in GiB (2^30) instead of GB (10^9)"
    )
    command.add_argument(
        "--gpu-memory",
        type=_size,
        default="80GB",
        metavar="SIZE",
        help="memory of one GPU; more allocated than this adds a note (default: 80GB)",
    )


def _add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="write JSON for machines")
    command.add_argument(
        "--limit", type=_positive, default=20, metavar="N", help="rows to show (default: 20)"
    )
    _add_units(command)


def _add_source(command: argparse.ArgumentParser) -> None:
    source = command.add_argument_group("source", "instead of a file")
    where = source.add_mutually_exclusive_group()
    where.add_argument("--stack", metavar="NAME", help="the Grafana that this Pulumi stack made")
    where.add_argument("--grafana", metavar="URL", help="a Grafana; needs --data-source")
    where.add_argument("--pyroscope", metavar="URL", help="a Pyroscope, e.g. port-forwarded")
    source.add_argument("--data-source", metavar="UID", help="uid of Grafana's Pyroscope source")
    source.add_argument(
        "--token-variable",
        metavar="NAME",
        help="environment variable with a service account's token, where Grafana is not Azure's",
    )
    query = command.add_argument_group("query", "for a source; a file is read whole")
    query.add_argument(
        "--from", dest="start", metavar="TIME", help="now-30m, RFC 3339 or epoch (default: now-1h)"
    )
    query.add_argument("--until", metavar="TIME", help="end of the window (default: now)")
    query.add_argument("--selector", metavar="SELECTOR", help="""labels, e.g. '{node="a"}'""")
    query.add_argument("--pod", help="only this pod")
    query.add_argument("--namespace", help="only this namespace")
    query.add_argument("--process", metavar="COMM", help="only processes of this name")
    query.add_argument(
        "--profile-type", metavar="ID", help="a full type id (default: GPU memory allocations)"
    )
    command.add_argument(
        "--sample-type", metavar="NAME", help="which value of a pprof file to take"
    )
    command.add_argument(
        "--unit",
        help="what a file's numbers are (bytes, nanoseconds, ...) where it does not say, as "
        "folded stacks never do",
    )


def _size(text: str) -> int:
    try:
        return size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows.")
    return int(text)


# ---- the commands ----


def _hotspots(options: argparse.Namespace) -> None:
    from flamegraphs import report

    found = inputs.summed(inputs.one(options))
    if options.json:
        text = report.hotspots_json(found, limit=options.limit, gpu_memory=options.gpu_memory)
    else:
        text = report.hotspots_text(
            found, limit=options.limit, gpu_memory=options.gpu_memory, binary=options.binary
        )
    terminal.write(text)


def _diff(options: argparse.Namespace) -> None:
    from flamegraphs import report
    from flamegraphs.diff import Limit, diff, exceeds, growth_text
    from flamegraphs.units import amount

    try:
        limit = Limit.parse(options.fail_on_growth) if options.fail_on_growth else None
    except ValueError as error:
        raise UsageError(f"--fail-on-growth: {error}") from error
    before, after = inputs.two(options)
    found = diff(before, after, across=options.across_types)
    if options.json:
        text = report.diff_json(found, limit=options.limit, gpu_memory=options.gpu_memory)
    else:
        text = report.diff_text(
            found, limit=options.limit, gpu_memory=options.gpu_memory, binary=options.binary
        )
    terminal.write(text)
    if limit and exceeds(found, limit):
        unit = after.profile.counted or before.profile.counted
        growers = [change for change in found.changes if change.growth > 0]
        most = max(growers, key=lambda change: change.growth, default=None)
        blame = (
            f" Most of it: {most.name}, +{amount(most.growth, unit, binary=options.binary)}."
            if most
            else ""
        )
        raise GrowthOverLimitError(
            f"The whole grew by {amount(found.growth, unit, binary=options.binary)} "
            f"({growth_text(found)}), more than the {limit.text} allowed by --fail-on-growth."
            f"{blame}"
        )


def _render(options: argparse.Namespace) -> None:
    from flamegraphs.render import write

    chosen = options.format or write.format_of(options.output)
    if options.diff:
        _render_comparison(options, chosen)
        return
    # No name is kept for the profile here: its file's bytes are let go while it is written.
    write.write(
        inputs.drawn(options, chosen),
        chosen,
        options.output,
        title=options.title,
        gpu_memory=options.gpu_memory,
        binary=options.binary,
    )


def _render_comparison(options: argparse.Namespace, chosen: str) -> None:
    from flamegraphs.render import write

    if options.file is not None:
        raise UsageError("--diff names its two profiles itself; leave out the file.")
    options.before, options.after = options.diff
    before, after = inputs.two(options)
    sources = [side.profile.facts.get("source", "a profile") for side in (before, after)]
    write.write_comparison(
        before,
        after,
        chosen,
        options.output,
        title=options.title or f"Change from {sources[0]} to {sources[1]}",
        gpu_memory=options.gpu_memory,
        binary=options.binary,
    )


_OPERANDS = f"""\
A and B are files or, with a source, what to ask it for: {{SELECTOR}}, @FROM..UNTIL or both, e.g.
  %(prog)s --stack dev @now-2h..now-1h @now-1h..now
  %(prog)s --stack dev '{{{PROFILES_POD}="old"}}' '{{{PROFILES_POD}="new"}}'
What an operand leaves out is taken from the options.
"""

COMMANDS = (
    Command(
        "hotspots",
        "show functions by the bytes attributed to them",
        _hotspots_arguments,
        _hotspots,
        "[options] [FILE]",
    ),
    Command(
        "diff",
        "show what grew and shrank between two profiles",
        _diff_arguments,
        _diff,
        "[options] A B",
        _OPERANDS,
    ),
    Command(
        "render",
        "write a flame graph as a page, a picture or another file",
        _render_arguments,
        _render,
        "[options] [FILE]",
    ),
)
