"""Runs the command line; see :mod:`gpuobs.cli`."""

import sys

from gpuobs.cli import main

if __name__ == "__main__":
    sys.exit(main())
