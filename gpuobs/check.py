"""``check``: does the data arrive in Grafana? Done by :mod:`operations.signal_check`."""

import argparse
from typing import TYPE_CHECKING

from contract.agent import LONGEST_QUERY_HOURS
from flamegraphs import terminal
from gpuobs.statuses import Status
from gpuobs.verb import Verb, add_stack
from operations.errors import ExitCode, OperationError

if TYPE_CHECKING:
    from contract.messages.signal import SignalRequest
    from operations.stack_outputs import StackOutputs

_LONGEST_WINDOW_MINUTES = 60 * LONGEST_QUERY_HOURS


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser, "default: the stack that is selected")
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_seconds,
        help="check again until all links hold, at most that long",
    )
    parser.add_argument(
        "--window",
        metavar="MINUTES",
        type=_minutes,
        help="look for samples in the last MINUTES (default: 60; at most "
        f"{_LONGEST_WINDOW_MINUTES})",
    )
    parser.add_argument("--json", action="store_true", help="write JSON for machines")


def _run(options: argparse.Namespace) -> Status:
    from operations import stack_outputs
    from operations.session import Session
    from operations.signal_check import check, checklist

    request = _request(stack_outputs.read(options.stack), options.window)
    with Session(deadline=options.wait) as session:
        session.is_about(request)
        signal = check(request, session)
    if options.json:
        import json

        # Not the message's own JSON: that has whatever a terminal must not get as it is.
        terminal.write(json.dumps(json.loads(signal.to_json()), separators=(",", ":")) + "\n")
    else:
        terminal.write(terminal.text(checklist(signal)))
    return Status.DONE if signal.ok else Status.NO_SIGNAL


def _request(outputs: "StackOutputs", window: int | None) -> "SignalRequest":
    """What the stack says is to be checked; REJECTED where it cannot be understood."""
    from pydantic import ValidationError

    from contract.messages.signal import SignalRequest

    try:
        request = SignalRequest.model_validate(outputs.child("signalCheck"))
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors())
        raise OperationError(
            ExitCode.REJECTED,
            f"The output signalCheck of {outputs.name} is not understood.",
            why=f"it was written by another version of this program; see {fields}",
            fix=f"run `{outputs.deploy}` with this version, which writes the output again",
        ) from error
    return request if window is None else request.model_copy(update={"window_minutes": window})


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds of at least 0")
    return seconds


def _minutes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _LONGEST_WINDOW_MINUTES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of minutes from 1 to {_LONGEST_WINDOW_MINUTES}"
        )
    return int(text)


CHECK = Verb(
    name="check",
    summary="follow the data from the agent to Grafana; name the first broken link and its fix",
    usage="[options]",
    add_arguments=_add_arguments,
    run=_run,
    examples=("--stack dev", "--stack dev --wait 300", "--stack dev --json"),
)
