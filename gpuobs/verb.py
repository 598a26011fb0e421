"""What a verb is, for the parser and for the documentation."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from gpuobs.statuses import Status


@dataclass(frozen=True)
class Verb:
    """One verb of the command."""

    name: str
    summary: str
    """A phrase that starts with a verb, in lower case, without a full stop."""
    usage: str
    """What follows the name, e.g. ``[options] A B``."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Status]
    """Imports what it needs; raises OperationError or FlameGraphError for an explained failure."""
    examples: tuple[str, ...]
    """Arguments after the name, each a complete line; ``%`` is doubled, as in all of argparse."""
    more: str = ""
    """Paragraphs below the options; ``%(prog)s`` is the command with the verb."""


def add_stack(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """Add ``--stack``; ``otherwise`` says what counts where it is left out."""
    parser.add_argument(
        "--stack",
        metavar="NAME",
        default="",
        help=f"read the outputs of this Pulumi stack ({otherwise})",
    )
