"""Which Python runs a program: what ``runtime.options`` in its ``Pulumi.yaml`` say.

The rules are the published language host's for ``toolchain: pip`` (``sdk/python/toolchain/pip.go``
in pulumi/pulumi). Other toolchains and options are refused: to pass over them would be to run
something else than the real host does.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from google.protobuf.json_format import MessageToDict

from simulator.plugins.stubs import language_pb2

_KNOWN: Final = {"toolchain", "virtualenv"}


class RuntimeOptionsError(Exception):
    """The program's Python cannot be used; the message is for the person at the terminal."""


@dataclass(frozen=True)
class Environment:
    """The Python of a program."""

    virtualenv: Path | None
    """None: no option names one, and the Python that runs the language host is used."""

    @classmethod
    def of(cls, info: language_pb2.ProgramInfo) -> "Environment":
        """What the program's options name; a relative path starts at ``Pulumi.yaml``.

        Raises:
            RuntimeOptionsError: an option is not one that this host honours.
        """
        options = cast(Mapping[str, object], MessageToDict(info.options))
        unknown = sorted(options.keys() - _KNOWN)
        if unknown:
            raise RuntimeOptionsError(
                f"Pulumi.yaml: runtime option {unknown[0]!r}: the simulator's language host knows "
                f"{' and '.join(sorted(_KNOWN))} only"
            )
        toolchain = options.get("toolchain", "pip")
        if toolchain != "pip":
            raise RuntimeOptionsError(
                f"Pulumi.yaml: toolchain {toolchain!r}: "
                "the simulator's language host knows pip only"
            )
        named = options.get("virtualenv")
        if not named:
            return cls(None)
        return cls(Path(info.root_directory or info.program_directory, str(named)))

    @property
    def python(self) -> str:
        """The interpreter.

        Raises:
            RuntimeOptionsError: the virtual environment is not there.
        """
        if self.virtualenv is None:
            return sys.executable
        python = self.virtualenv / "bin" / "python"
        if not python.is_file():
            raise RuntimeOptionsError(
                f"The 'virtualenv' option in Pulumi.yaml names {self.virtualenv}, which is no "
                "virtual environment; run `pulumi install` to make it"
            )
        return str(python)

    @property
    def variables(self) -> dict[str, str]:
        """What activating it sets."""
        if self.virtualenv is None:
            return {}
        path = os.pathsep.join([str(self.virtualenv / "bin"), os.environ.get("PATH", os.defpath)])
        return {"VIRTUAL_ENV": str(self.virtualenv), "PATH": path}

    def ask(self, code: str) -> object:
        """What ``code``, run by the interpreter, prints as JSON."""
        answer = subprocess.run([self.python, "-c", code], capture_output=True, check=True)
        return cast(object, json.loads(answer.stdout))

    def installation(self, directory: Path) -> Iterator[list[str]]:
        """The commands that install the requirements of the program in ``directory``.

        Nothing is downloaded, for a simulated Azure reaches nothing beyond this machine: pip
        finds the packages installed, or says which are not.
        """
        if self.virtualenv is not None and not (self.virtualenv / "bin" / "python").is_file():
            yield [sys.executable, "-m", "venv", str(self.virtualenv)]
        if (directory / "requirements.txt").exists():
            pip = [self.python, "-m", "pip", "--disable-pip-version-check", "install"]
            yield [*pip, "--quiet", "--no-index", "-r", "requirements.txt"]
