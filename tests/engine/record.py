"""``python -m tests.engine.record``: deploy the stack files of ``recorded/``, and put it on file.

With the program as it is in this checkout; ``recorded/README.md`` says when.
"""

import sys
import tempfile
from pathlib import Path

from tests.engine import recorded_stacks


def main() -> int:
    """Record into the folder given, or over the record that the tests read."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else recorded_stacks.FOLDER
    with recorded_stacks.alone(), tempfile.TemporaryDirectory() as work:
        recorded_stacks.record(Path(work), folder)
    for file in sorted(folder.glob("*.json.gz")):
        print(f"{file.name}: {file.stat().st_size} bytes")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
