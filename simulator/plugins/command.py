"""The ``command`` provider: ``local.Command`` and ``local.run`` of pulumi-command 1.2.

Used where no published ``pulumi-resource-command`` is installed. What a command sees (shell,
directory, environment, standard input), when it runs, what is logged, kept and replaced is the
published plugin's behaviour. Not here: ``remote``, and assets of finished commands, which are
refused.
"""

import json
import os
import secrets
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, cast

from typing_extensions import override

from simulator.plugins.differences import compare
from simulator.plugins.properties import UNKNOWN, Object, Secret, has_secrets, has_unknowns, plain
from simulator.plugins.provider import (
    Checked,
    Difference,
    Provider,
    ProviderError,
    Severity,
    Urn,
    run,
)
from simulator.values import as_list, as_object, as_text

COMMAND = "command:local:Command"
RUN = "command:local:run"

_SHARED_INPUTS = {"addPreviousOutputInEnv", "dir", "environment", "interpreter", "logging", "stdin"}
_COMMAND_INPUTS = _SHARED_INPUTS | {"create", "delete", "triggers", "update"}
_RUN_INPUTS = _SHARED_INPUTS | {"command"}
_LOGGED_STREAMS = {
    "none": frozenset[str](),
    "stdout": frozenset({"stdout"}),
    "stderr": frozenset({"stderr"}),
    "stdoutAndStderr": frozenset({"stdout", "stderr"}),
}
_SHELL = ("/bin/sh", "-c")


class CommandProvider(Provider):
    """Runs commands on this machine, in the directory the engine gave the plugin."""

    version = "1.2.1"
    keeps_secrets = True  # stdout and stderr are secret if any input is, which needs all of them

    @override
    def invoke(self, token: str, arguments: Object, preview: bool) -> Object:
        if token != RUN:
            raise ProviderError(f"unknown function {token!r}")
        wrong = _faults(arguments, _RUN_INPUTS)
        if wrong:
            raise ProviderError("; ".join(reason for _, reason in wrong))
        output = self._execute(as_text(arguments.get("command")), arguments, Output(), urn="")
        return {**arguments, "stdout": output.stdout, "stderr": output.stderr}

    @override
    def check(self, urn: Urn, olds: Object, news: Object, seed: bytes) -> Checked:
        if urn.type != COMMAND:
            raise ProviderError(f"unknown resource type {urn.type!r}")
        return Checked(news, _faults(news, _COMMAND_INPUTS))

    @override
    def diff(
        self, urn: Urn, resource_id: str, olds: Object, old_inputs: Object, news: Object
    ) -> Difference:
        return Difference(compare(old_inputs, news, _replaces))

    @override
    def create(
        self, urn: Urn, inputs: Object, *, timeout: float, preview: bool
    ) -> tuple[str, Object]:
        # The published plugin makes up an id in previews too, so a trigger on it shows as changed.
        resource_id = urn.name + secrets.token_hex(4)
        if preview:
            return resource_id, _state(inputs, UNKNOWN, UNKNOWN)
        if "create" not in inputs:
            return resource_id, _state(inputs, "", "")
        return resource_id, self._run_for(urn, inputs, "create", Output())

    @override
    def update(
        self,
        urn: Urn,
        resource_id: str,
        olds: Object,
        old_inputs: Object,
        news: Object,
        *,
        timeout: float,
        preview: bool,
    ) -> Object:
        if preview:
            return _state(news, UNKNOWN, UNKNOWN)
        before = _output(olds)
        text = "update" if "update" in news else "create"
        if text not in news:
            return _state(news, before.stdout, before.stderr)
        return self._run_for(urn, news, text, before)

    @override
    def delete(
        self, urn: Urn, resource_id: str, state: Object, inputs: Object, *, timeout: float
    ) -> None:
        if "delete" in state:
            self._run_for(urn, state, "delete", _output(state))

    @override
    def read(
        self, urn: Urn, resource_id: str, inputs: Object | None, state: Object
    ) -> tuple[str, Object, Object]:
        if inputs is None and not state:
            raise ProviderError("a command cannot be imported: nothing of it can be read")
        # Refresh cannot see what a command did: state stays as it is.
        return resource_id, inputs or {}, state

    def _run_for(self, urn: Urn, inputs: Object, which: str, before: "Output") -> Object:
        text = as_text(plain(inputs[which]))
        output = self._execute(text, as_object(plain(inputs)), before, urn=urn.text)
        return _state(inputs, output.stdout, output.stderr)

    def _execute(self, text: str, inputs: Object, before: "Output", urn: str) -> "Output":
        streams = _LOGGED_STREAMS[as_text(inputs.get("logging")) or "stdoutAndStderr"]

        def show(stream: str, line: str) -> None:
            if stream in streams:
                self.log(Severity.INFO, line, urn)

        return execute(text, inputs, before, show, self.cancelled)


@dataclass
class Output:
    """What a command printed, each stream without its last newline."""

    stdout: str = ""
    stderr: str = ""


def execute(
    text: str,
    inputs: Mapping[str, object],
    before: Output,
    show: Callable[[str, str], None],
    cancelled: threading.Event,
) -> Output:
    """Run ``text`` to its end; each line goes to ``show(stream, line)`` while it runs.

    Raises ProviderError with the exit status, the command's text and all its output if it fails.
    """
    arguments = [as_text(part) for part in as_list(inputs.get("interpreter"))] or list(_SHELL)
    environment = os.environ | {
        name: as_text(value) for name, value in as_object(inputs.get("environment")).items()
    }
    if inputs.get("addPreviousOutputInEnv", True):
        if before.stdout:
            environment["PULUMI_COMMAND_STDOUT"] = before.stdout
        if before.stderr:
            environment["PULUMI_COMMAND_STDERR"] = before.stderr
    stdin = as_text(inputs.get("stdin"))
    directory = as_text(inputs.get("dir")) or None
    quoted = json.dumps(text, ensure_ascii=False)
    try:
        process = subprocess.Popen(
            [*arguments, text],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or arguments[0]}"
        raise ProviderError(f"{reason}: running {quoted}:\n") from error

    record = _Record(show)
    readers = [
        record.start_reading("stdout", cast(IO[bytes], process.stdout)),
        record.start_reading("stderr", cast(IO[bytes], process.stderr)),
    ]
    if process.stdin is not None:
        _feed(process.stdin, stdin.encode())
    killed = _wait(process, cancelled)
    for reader in readers:
        # A killed command may have left a child that holds the pipe.
        reader.join(timeout=1 if killed else None)
    if process.returncode != 0:
        status = _status(process.returncode)
        raise ProviderError(f"{status}: running {quoted}:\n{record.together()}")
    return Output(record.of("stdout"), record.of("stderr"))


def _wait(process: subprocess.Popen[bytes], cancelled: threading.Event) -> bool:
    """Wait for the process; kill it when the user cancels. Whether it was killed."""
    while True:
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            if cancelled.is_set():
                process.kill()
                process.wait()
                return True
        else:
            return False


def _feed(pipe: IO[bytes], data: bytes) -> None:
    def write() -> None:
        try:
            pipe.write(data)
            pipe.close()
        except BrokenPipeError:
            pass  # the command ended without reading its input, which is its own business

    threading.Thread(target=write, daemon=True).start()


def _status(code: int) -> str:
    if code < 0:
        return f"signal: {(signal.strsignal(-code) or str(-code)).lower()}"
    return f"exit status {code}"


@dataclass
class _Record:
    """Collects both streams, each alone and both in the order in which they came."""

    show: Callable[[str, str], None]
    _lines: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start_reading(self, stream: str, pipe: IO[bytes]) -> threading.Thread:
        def read() -> None:
            for line in pipe:
                with self._lock:
                    self._lines.append((stream, line))
                self.show(stream, line.decode(errors="replace").rstrip("\n"))

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def together(self) -> str:
        with self._lock:
            return b"".join(line for _, line in self._lines).decode(errors="replace")

    def of(self, stream: str) -> str:
        with self._lock:
            text = b"".join(line for name, line in self._lines if name == stream)
        return text.decode(errors="replace").removesuffix("\n")


def _replaces(path: str) -> bool:
    return path == "triggers"


def _state(inputs: Object, stdout: object, stderr: object) -> Object:
    """The outputs: the inputs and both streams, which are secret if any input is."""
    if has_secrets(inputs):
        stdout, stderr = Secret(stdout), Secret(stderr)
    return {**inputs, "stdout": stdout, "stderr": stderr}


def _output(state: Object) -> Output:
    return Output(as_text(plain(state.get("stdout"))), as_text(plain(state.get("stderr"))))


def _faults(inputs: Object, known: set[str]) -> list[tuple[str, str]]:
    found = [
        (name, f"the simulator's command plugin does not know the input {name!r}")
        for name in sorted(inputs.keys() - known)
    ]
    logging = plain(inputs.get("logging"))
    if logging is not None and not has_unknowns(logging) and logging not in _LOGGED_STREAMS:
        expected = ", ".join(_LOGGED_STREAMS)
        found.append(("logging", f"logging is {logging!r}; expected one of {expected}"))
    return found


def main() -> None:
    """Serve the provider; the engine starts this."""
    run(CommandProvider())


if __name__ == "__main__":
    main()
