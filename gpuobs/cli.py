"""Parses the command line, runs the verb, and explains what failed.

Verbs import what they need when they run, so that ``--help`` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from flamegraphs.errors import FlameGraphError
from flamegraphs.terminal import complain, not_written, silence_output
from gpuobs import VERSION
from gpuobs.alerts import ALERTS
from gpuobs.check import CHECK
from gpuobs.dashboard import DASHBOARD
from gpuobs.explain import EXPLAIN
from gpuobs.ledger import LEDGER
from gpuobs.profiles import PROFILES
from gpuobs.statuses import Status, of_operation, of_profile
from gpuobs.verb import Verb
from operations.errors import OperationError, unexpected

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

PROG = "python -m gpuobs"

VERBS = (CHECK, EXPLAIN, LEDGER, *PROFILES, DASHBOARD, ALERTS)

_ROOMS = ("alerts", "contract", "dashboards", "flamegraphs", "gpuobs", "memory", "operations")

_SIGNING_IN = """\
signing in:
  --stack reads the stack's outputs with `pulumi`, in the project's folder. Grafana is asked as the
  identity that deploys: the ARM_* variables, else `az login`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit status (:class:`gpuobs.statuses.Status`)."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed
                sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; nothing more may be written to it.
        silence_output()
        return Status.DONE
    except KeyboardInterrupt:
        return _failed(Status.INTERRUPTED, "interrupted")
    except OSError as error:
        return _failed(Status.FAILED, str(not_written(error)))


def _run(arguments: Sequence[str] | None) -> Status:
    in_package = os.path.basename(sys.argv[0]) == "__main__.py"
    options = parser(PROG if in_package else "gpuobs").parse_args(arguments)
    try:
        return options.verb.run(options)
    except OperationError as error:
        return _failed(of_operation(error.kind), str(error))
    except FlameGraphError as error:
        return _failed(of_profile(error), str(error))
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _ROOMS:
            raise
        return _failed(
            Status.FAILED,
            f"The package {error.name} is missing in {sys.executable}.\n"
            "  fix: run it with the project's Python: . .venv/bin/activate (made by `python3 -m "
            "venv .venv`), then pip install -r requirements.txt",
        )
    except Exception as error:
        return _failed(Status.FAILED, unexpected(error, options.verb.name))


def _failed(status: Status, text: str) -> Status:
    # What a file or a server calls things may be in it.
    for line in f"error: {text}".split("\n"):
        complain(line)
    return status


# ---- the parser ----


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        if file is sys.stdout and file is not None:
            # Argparse itself passes over an output that takes nothing.
            print(message, end="", flush=True)  # noqa: T201 - the help
        else:
            super()._print_message(message, file)


def parser(prog: str = PROG, width: int | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command; ``width`` of its help is the terminal's where left out."""
    formatter = partial(_Help, max_help_position=28, width=width)
    top = _Parser(
        prog=prog,
        usage="%(prog)s VERB [options]",
        description=_description(),
        epilog=_epilog(),
        formatter_class=formatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "--version", action="version", version=f"gpuobs {VERSION}", help="show the version and exit"
    )
    verbs = top.add_subparsers(
        prog=prog, dest="name", required=True, metavar="VERB", help=argparse.SUPPRESS
    )
    for verb in VERBS:
        one = verbs.add_parser(
            verb.name,
            usage=f"%(prog)s {verb.usage}",
            description=verb.summary[0].upper() + verb.summary[1:] + ".",
            epilog=_verb_epilog(verb),
            formatter_class=formatter,
            allow_abbrev=False,
        )
        verb.add_arguments(one)
        one.set_defaults(verb=verb)
    return top


def _description() -> str:
    lines = [
        "GPU memory profiling on AKS: is it working, and which function takes the memory?",
        "",
        "verbs:",
        *(f"  {verb.name:<11}{verb.summary}" for verb in VERBS),
        "",
        "Each verb explains itself: %(prog)s VERB --help",
    ]
    return "\n".join(lines)


def _epilog() -> str:
    statuses = "\n".join(f"  {status:>3}  {status.meaning}" for status in Status)
    return f"{_SIGNING_IN}\nexit status:\n{statuses}\n"


def _verb_epilog(verb: Verb) -> str:
    examples = "\n".join(f"  %(prog)s {arguments}" for arguments in verb.examples)
    parts = [verb.more, f"examples:\n{examples}\n", f"Exit statuses: {PROG} --help"]
    return "\n".join(part for part in parts if part)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that reads the same on every version of Python, to stand in the documentation."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        # From Python 3.13 on the value stands once, behind all spellings; before, behind each.
        value = self._format_args(action, action.dest.upper())
        return f"{', '.join(action.option_strings)} {value}"
