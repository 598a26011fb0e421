"""A tool that is a Python package: installed into an environment of its own, with pins of its own.

What is installed is pinned, with hashes, by ``tools/<name>/requirements.txt``. The environment lies
beside its command, a line of shell that is written last: where it is, the environment is whole.
"""

import re
import shlex
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = "environment"
"""Folder of the environment, beside the command."""


class InstallationError(Exception):
    """pip failed; the text is all it printed."""


@dataclass(frozen=True, kw_only=True)
class Packages:
    """How a tool is installed from the package index."""

    module: Path
    """Folder with ``requirements.txt``, which pins everything with hashes."""
    version_of: str
    """The package in it whose version is the tool's."""
    run: str
    """What ``python -m`` starts."""
    minutes: int

    @property
    def pins(self) -> bytes:
        """What another installation depends on: the pins, and the Python that has them."""
        python = ".".join(map(str, sys.version_info[:2]))
        return (self.module / "requirements.txt").read_bytes() + f"{self.run} {python}".encode()

    @property
    def version(self) -> str:
        """The version that would be installed."""
        text = (self.module / "requirements.txt").read_text()
        pinned = re.search(rf"^{re.escape(self.version_of)}==(\S+)", text, re.MULTILINE)
        if pinned is None:
            raise ValueError(f"{self.module / 'requirements.txt'} does not pin {self.version_of}")
        return pinned.group(1)

    def install(self, target: Path) -> None:
        """Make the environment beside ``target`` and write the command to ``target``.

        Raises:
            InstallationError: a package cannot be had, or is not the pinned one.
        """
        folder = target.parent / ENVIRONMENT
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=False)
        python = interpreter(target)
        # The running Python's pip installs into it: one package less to make and to wait for.
        # What is never started needs no compiled copy; the rest is compiled at its first use.
        command = [sys.executable, "-m", "pip", "--python", str(python), "install"]
        command += ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"]
        command += ["--no-deps", "--require-hashes", "-r", str(self.module / "requirements.txt")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InstallationError(done.stdout + done.stderr)
        partial = target.with_suffix(".partial")
        partial.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -Im {self.run} "$@"\n')
        partial.chmod(0o755)
        partial.replace(target)


def interpreter(target: Path) -> Path:
    """The Python of the environment whose command is ``target``."""
    return target.parent / ENVIRONMENT / "bin" / "python"
