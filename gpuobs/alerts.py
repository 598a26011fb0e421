"""``alerts``: the alert rules as a file. Done by :mod:`alerts`."""

import argparse
from typing import TYPE_CHECKING

from contract.outputs import UPLOAD_MINUTES_OUTPUT
from gpuobs.output import add_output, write
from gpuobs.statuses import Status
from gpuobs.verb import Verb, add_stack

if TYPE_CHECKING:
    from alerts import AlertKey
    from alerts.rules import AlertChoice
    from operations.stack_outputs import StackOutputs

_FORMATS = ("prometheus",)
_STACK = "dev"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(
        parser,
        "for links, commands and how soon profiles reach Blob; without it, no link, commands name "
        f"{_STACK}, and the usual 85 minutes",
    )
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default=_FORMATS[0],
        help="prometheus: a rules file, for rule_files of a Prometheus of your own (the default)",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="value of label cluster (default: every cluster that the Prometheus has)",
    )
    parser.add_argument(
        "--threshold",
        metavar="ALERT=VALUE",
        type=_threshold,
        action="append",
        default=[],
        help="another threshold; may be given again",
    )
    for name, meaning in (("on", "turn an alert on"), ("off", "turn an alert off")):
        parser.add_argument(
            f"--{name}",
            metavar="ALERT",
            type=_key,
            action="append",
            default=[],
            help=f"{meaning}; may be given again",
        )
    parser.add_argument(
        "--documentation-url",
        metavar="URL",
        help="where your people read this project's docs folder, for the alerts' runbook_url",
    )
    add_output(parser)


def _run(options: argparse.Namespace) -> Status:
    from alerts import AlertOptions, rules
    from alerts.prometheus import prometheus_file

    stack = _outputs(options.stack)
    made = rules(
        AlertOptions(
            stack=options.stack or _STACK,
            cluster=options.cluster,
            documentation_url=options.documentation_url,
            choices=_choices(options),
            upload_minutes=_upload_minutes(stack),
        )
    )
    write(prometheus_file(made, stack and stack.text("dashboardUrl")), options.output)
    return Status.DONE


def _outputs(stack: str) -> "StackOutputs | None":
    if not stack:
        return None
    from operations import stack_outputs

    return stack_outputs.read(stack)


def _upload_minutes(stack: "StackOutputs | None") -> int:
    """How old a profile is, at most, when it reaches the bucket; a stack says what is not usual."""
    from alerts.expressions import LATEST_UPLOAD_MINUTES

    said = stack.document.integer(UPLOAD_MINUTES_OUTPUT) if stack is not None else None
    return said or LATEST_UPLOAD_MINUTES


def _choices(options: argparse.Namespace) -> "dict[AlertKey, AlertChoice]":
    from alerts import AlertKey
    from alerts.rules import AlertChoice

    thresholds: dict[AlertKey, float] = dict(options.threshold)
    chosen: dict[AlertKey, bool] = {
        **dict.fromkeys(options.on, True),
        **dict.fromkeys(options.off, False),
    }
    return {key: AlertChoice(on=chosen.get(key), threshold=thresholds.get(key)) for key in AlertKey}


def _key(text: str) -> "AlertKey":
    from alerts import AlertKey

    try:
        return AlertKey(text)
    except ValueError:
        known = ", ".join(AlertKey)
        raise argparse.ArgumentTypeError(f"{text!r} is no alert; known: {known}") from None


def _threshold(text: str) -> "tuple[AlertKey, float]":
    from alerts import CATALOGUE

    name, _, value = text.partition("=")
    key = _key(name)
    limits = next(alert.threshold for alert in CATALOGUE if alert.key is key)
    if limits is None:
        raise argparse.ArgumentTypeError(f"{key} has no threshold")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not limits.least <= number <= limits.most:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no number from {limits.least:g} to {limits.most:g} ({limits.unit})"
        )
    return key, number


ALERTS = Verb(
    name="alerts",
    summary="write the alert rules, for a Prometheus of your own",
    usage="[options]",
    add_arguments=_add_arguments,
    run=_run,
    examples=(
        "--stack dev --format prometheus > rules.yaml",
        "--stack dev --threshold leak=2 --on nearCapacity --output rules.yaml",
    ),
)
