"""The outputs of a Pulumi stack, asked of the ``pulumi`` command in the project's folder.

This is how a command run by a person finds what the stack deployed. Pulumi's own failures become
one message with what to do about them.
"""

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from contract.json import Document
from operations.clock import say
from operations.errors import ExitCode, OperationError

_SECONDS = 120
_NONE = Document({})


class PulumiError(OperationError):
    """``pulumi`` ran and refused: no such stack, no login, no project in this folder."""


@dataclass(frozen=True)
class StackOutputs:
    """The outputs of one stack; secrets read ``[secret]``."""

    stack: str
    """As it was asked for; empty: the stack that is selected."""
    document: Document

    @property
    def name(self) -> str:
        """What a message calls the stack."""
        return f"stack {self.stack}" if self.stack else "the selected stack"

    @property
    def deploy(self) -> str:
        """The command that makes the outputs."""
        return f"pulumi up --stack {shlex.quote(self.stack)}" if self.stack else "pulumi up"

    def text(self, *path: str) -> str:
        """The text at ``path``, e.g. ``("dataSourceUids", "pyroscope")``; NOT_FOUND without it."""
        found = self.document.text(*path)
        if not found:
            raise self._missing(".".join(path))
        return found

    def child(self, name: str) -> Mapping[str, object]:
        """The object that is output ``name``; NOT_FOUND without it."""
        found = self.document.child(name).fields
        if not found:
            raise self._missing(name)
        return found

    def _missing(self, output: str) -> OperationError:
        return OperationError(
            ExitCode.NOT_FOUND,
            f"{self.name[0].upper()}{self.name[1:]} has no output {output}.",
            why="it was deployed by an earlier version of this program, or not completely",
            fix=f"run `{self.deploy}`, which writes the output",
        )


def read(stack: str = "", *, instead: str = "") -> StackOutputs:
    """Ask ``pulumi`` for the outputs of ``stack``; empty: of the stack that is selected.

    ``instead`` is what the person can do without any stack, for the message where ``pulumi`` is
    missing. Raises NOT_FOUND where there is no ``pulumi``, stack or deployment, NOT_AUTHENTICATED
    where Pulumi's backend wants a login, and UNREACHABLE where it does not answer.
    """
    say(f"reading the outputs of {StackOutputs(stack, _NONE).name} ...")
    options = ["--stack", stack] if stack else []
    command = ["pulumi", "stack", "output", "--json", "--non-interactive", *options]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise OperationError(
            ExitCode.NOT_FOUND,
            "The outputs of a stack are read with Pulumi, which is not on PATH.",
            fix="install the `pulumi` command (https://www.pulumi.com/docs/install/)"
            + (f", or {instead}" if instead else ""),
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OperationError(
            ExitCode.UNREACHABLE,
            f"`{shlex.join(command)}` did not respond within {_SECONDS} seconds.",
            fix="check the network and Pulumi's backend: `pulumi whoami --verbose`",
        ) from error
    if done.returncode:
        raise _refusal(
            StackOutputs(stack, _NONE), shlex.join(command), " ".join(done.stderr.split())[:500]
        )
    return _parsed(stack, done.stdout, shlex.join(command))


def _parsed(stack: str, text: str, command: str) -> StackOutputs:
    outputs = StackOutputs(stack, Document.parse(text))
    if outputs.document:
        return outputs
    if text.strip() != "{}":
        raise OperationError(
            ExitCode.REJECTED,
            f"`{command}` answered something other than JSON.",
            fix="run that command by itself to see what it prints",
        )
    raise OperationError(
        ExitCode.NOT_FOUND,
        f"{outputs.name[0].upper()}{outputs.name[1:]} has no outputs: it is not deployed.",
        fix=f"deploy it with `{outputs.deploy}`",
    )


_REFUSALS = (
    (
        ("no stack named",),
        ExitCode.NOT_FOUND,
        "`pulumi stack ls` lists the stacks of this project; `pulumi stack init NAME` makes one",
    ),
    (
        ("no stack selected",),
        ExitCode.NOT_FOUND,
        "name the stack with --stack; `pulumi stack ls` lists them",
    ),
    (
        ("no Pulumi.yaml project file found", "no Pulumi project found"),
        ExitCode.NOT_FOUND,
        "run it in the project's folder, which holds Pulumi.yaml",
    ),
    (
        ("PULUMI_CONFIG_PASSPHRASE", "incorrect passphrase"),
        ExitCode.NOT_AUTHENTICATED,
        "set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) to the passphrase with "
        "which the stack was made",
    ),
    (
        ("PULUMI_ACCESS_TOKEN", "pulumi login", "invalid access token", "Unauthorized"),
        ExitCode.NOT_AUTHENTICATED,
        "log in to the backend that holds the stack: `pulumi login` (Pulumi Cloud), or "
        "`pulumi login URL` (a storage container or a folder)",
    ),
    (
        ("dial tcp", "no such host", "i/o timeout", "connection refused"),
        ExitCode.UNREACHABLE,
        "check the network and Pulumi's backend: `pulumi whoami --verbose`",
    ),
)
"""Words in Pulumi's message, the kind of failure, and the fix."""


def _refusal(outputs: StackOutputs, command: str, said: str) -> PulumiError:
    known = ((kind, fix) for words, kind, fix in _REFUSALS if any(word in said for word in words))
    kind, fix = next(known, (ExitCode.REJECTED, f"see what `{command}` says by itself"))
    return PulumiError(
        kind,
        f"The outputs of {outputs.name} cannot be read.",
        why=f"pulumi says: {said or 'nothing'}",
        fix=fix,
    )
