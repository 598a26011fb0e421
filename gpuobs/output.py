"""Where a verb that makes a file writes it: to standard output, or to a file of the user's."""

import argparse
import sys

from flamegraphs.errors import UsageError


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``--output``."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="where to write it; - is standard output",
    )


def write(text: str, output: str) -> None:
    """Write ``text`` to the file ``output``; ``-`` is standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if output == "-":
        sys.stdout.write(text)
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}.") from error
