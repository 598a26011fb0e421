"""The process that has imported everything, and forks for every start that it is asked for."""

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn, TextIO, cast

from pydantic import BaseModel

from simulator.home import CHECKOUT
from tests.rooms import PRODUCT

# The stubs go before the SDK: they stand in for its packages while they are imported.
PLUGINS: Final = (
    "simulator.plugins.stubs",
    "simulator.plugins.language",
    "simulator.plugins.command",
    "simulator.plugins.azure_native.provider",
    "simulator.plugins.kubernetes.provider",
    "simulator.server",
    "infra.program",
    "operations.__main__",
)

LATER: Final = (
    "anyio",
    "azure.core.rest._requests_basic",
    "azure.identity._credentials.app_service",
    "azure.identity._internal.msal_managed_identity_client",
    "cryptography.hazmat.backends.openssl.backend",
    "encodings.utf_8_sig",
    "h11",
    "httpcore",
    "pulumi_azure_native:authorization.RoleAssignment",
    "pulumi_azure_native:kubernetesconfiguration.Extension",
    "pulumi_azure_native:resources.ResourceGroup",
    "pulumi_kubernetes:meta.v1.ObjectMetaArgs",
)
"""What those import only when they use it; the SDKs' modules are loaded by a class of theirs."""


class Server:
    """Serves one socket, in one thread: a fork takes nothing else along."""

    def __init__(self, address: Path) -> None:
        self._address = address
        self._listener = socket.socket(socket.AF_UNIX)
        self._selector = selectors.DefaultSelector()
        self._jobs: dict[int, socket.socket] = {}
        """Each running job and who waits for it."""
        self._ended, self._wake = os.pipe()

    def serve(self) -> NoReturn:
        """Fork for each start, until SIGTERM."""
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        # Under another name first: who finds the socket may connect.
        partial = self._address.with_suffix(".partial")
        self._listener.bind(str(partial))
        self._listener.listen(64)
        partial.rename(self._address)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._ended, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._start()
                elif key.fileobj == self._ended:
                    os.read(self._ended, 4096)
                    self._report_ended()
                else:
                    self._abandoned(key.data)

    def _start(self) -> None:
        client, _ = self._listener.accept()
        size, streams, _, _ = socket.recv_fds(client, 4, 3)
        text = b""
        while len(text) < int.from_bytes(size, "big") and (more := client.recv(1 << 20)):
            text += more
        if len(text) < max(int.from_bytes(size, "big"), 1):  # it was killed meanwhile
            for stream in streams:
                os.close(stream)
            client.close()
            return
        arguments, directory, environment = marshal.loads(text)  # noqa: S302 - from our own client
        job = os.fork()
        if job == 0:
            self._become_the_job(client)
            _run(arguments, directory, environment, streams)
        for stream in streams:
            os.close(stream)
        self._jobs[job] = client
        self._selector.register(client, selectors.EVENT_READ, data=job)
        with contextlib.suppress(OSError):  # the same: the end of the connection is read next
            client.sendall(job.to_bytes(4, "big"))

    def _become_the_job(self, client: socket.socket) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        for connection in (self._listener, client, *self._jobs.values()):
            connection.close()
        os.close(self._ended)
        os.close(self._wake)

    def _report_ended(self) -> None:
        while self._jobs:
            job, status = os.waitpid(-1, os.WNOHANG)
            if job == 0:
                return
            client = self._jobs.pop(job)
            ended = os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True)
            with contextlib.suppress(KeyError):  # nobody waits any more
                self._selector.unregister(client)
                client.sendall(ended)
            client.close()

    def _abandoned(self, job: int) -> None:
        """Whoever waited for ``job`` is gone."""
        self._selector.unregister(self._jobs[job])
        os.kill(job, signal.SIGTERM)


def _run(
    arguments: Sequence[str], directory: str, environment: dict[str, str], streams: Sequence[int]
) -> NoReturn:
    """Be ``python [-u] ARGUMENTS...``, which are ``-c CODE``, ``-m MODULE`` or a file."""
    status = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for stream in streams:
            if stream > 2:
                os.close(stream)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        # As Python makes them at its start: whether they can seek is asked only then.
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", closefd=False, errors="backslashreplace", buffering=1
        )
        unbuffered = arguments[0] == "-u"
        if unbuffered:
            sys.stdout.reconfigure(write_through=True)
        _execute(arguments[1:] if unbuffered else arguments)
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    # Tearing the interpreter down would take as long as a small program.
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    cast(TextIO, sys.stdout).flush()
    sys.stderr.flush()
    os._exit(status)


def _execute(arguments: Sequence[str]) -> None:
    kind, rest = arguments[0], arguments[1:]
    if Path.cwd() != CHECKOUT:
        _forget_the_checkout()
    path = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = [*path, *(folder for folder in sys.path if folder not in ("", str(CHECKOUT)))]
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(rest[0], "<string>", "exec"), module.__dict__)  # noqa: S102
    elif kind == "-m":
        sys.argv = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(kind).resolve().parent))
        runpy.run_path(kind, run_name="__main__")


def _forget_the_checkout() -> None:
    """Another program's modules may have the same names as the checkout's."""
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if file.is_relative_to(CHECKOUT) and file.relative_to(CHECKOUT).parts[0] in PRODUCT:
            del sys.modules[name]


def _build_models(above: type[BaseModel]) -> None:
    """Build the validators of our models, which else wait for their first use."""
    for model in above.__subclasses__():
        if model.__module__.partition(".")[0] in PRODUCT:
            model.model_rebuild()
        _build_models(model)


def main() -> None:
    """Import everything, then serve ``python -m tests.warm.server SOCKET``."""
    for name in (*PLUGINS, *LATER):
        pkgutil.resolve_name(name)
    for found in pkgutil.iter_modules([str(CHECKOUT / "operations")]):
        if found.name != "__main__":
            importlib.import_module(f"operations.{found.name}")
    _build_models(BaseModel)
    assert threading.active_count() == 1, threading.enumerate()
    address = Path(sys.argv[1])
    # What a job starts with its own Python starts warm, too.
    sys.executable = str(address.parent / "bin" / "python")
    gc.collect()
    gc.freeze()  # so that a collection in a job copies no page
    Server(address).serve()


if __name__ == "__main__":
    main()
