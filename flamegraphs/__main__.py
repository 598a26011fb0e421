"""Runs the command line; see `flamegraphs.cli`."""

import sys

from flamegraphs.cli import main

if __name__ == "__main__":
    sys.exit(main())
