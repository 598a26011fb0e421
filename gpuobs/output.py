"""Where a verb that makes a file writes it: to standard output, or to a file of the user's."""

import argparse

from flamegraphs.errors import UsageError
from flamegraphs.terminal import write_bytes


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
        FlameGraphError: standard output or the file cannot be written.
    """
    if output == "-":
        write_bytes([text.encode()])  # as the file, whatever the terminal's encoding
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}.") from error
