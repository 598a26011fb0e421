"""The home of one simulated Azure: its folders, and its server's life.

Everything lives in the folder ``SIM_HOME`` (default: ``.simulator`` in the checkout)::

    azure/       the simulated Azure: its state, certificate, log (:mod:`simulator.server`)
    project/     Pulumi's project: points at the checkout, with copies of its stack files
    state/       Pulumi's stacks (a file backend); ``salts/``: what encrypts their secrets
    pulumi/      Pulumi's own folder (PULUMI_HOME)
    plugins/     launchers of the simulator's plugins
    bin/         ``pulumi``: the real one, working in ``project/`` from any directory

Sessions on one home share one server, started by whoever comes first.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from ssl import create_default_context
from typing import Final
from urllib.parse import urlsplit

from simulator.testing import environment_for
from simulator.values import JsonObject, as_integer, as_object, as_text

CHECKOUT: Final = Path(__file__).resolve().parent.parent
START_SECONDS: Final = 30.0
_servers: Final[list[subprocess.Popen[bytes]]] = []
"""The servers started here."""


class SessionError(Exception):
    """The session cannot run; the message is for the person at the terminal."""


@dataclass(frozen=True)
class Home:
    """The folders of one simulated Azure and its stacks."""

    path: Path

    @classmethod
    def from_environment(cls) -> "Home":
        """``SIM_HOME``, or ``.simulator`` in the checkout."""
        configured = os.environ.get("SIM_HOME")
        return cls(Path(configured).resolve() if configured else CHECKOUT / ".simulator")

    @property
    def azure(self) -> Path:
        """The server's folder."""
        return self.path / "azure"

    @property
    def project(self) -> Path:
        """Pulumi's project folder."""
        return self.path / "project"

    @property
    def bin(self) -> Path:
        """What comes first on PATH."""
        return self.path / "bin"

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Only one session at a time prepares the home."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def in_use(self) -> Generator[None]:
        """While it lasts the server does not end for being idle (:mod:`simulator.keeper`)."""
        with (self.path / "sessions").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield


class Azure:
    """The running simulated Azure of a home."""

    def __init__(self, server: JsonObject) -> None:
        self._server = server

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point clients at it."""
        return environment_for(self._server)

    def control(self, method: str, what: str, body: object = None) -> object:
        """Call the control interface (:mod:`simulator.control`); the decoded answer.

        Raises:
            SessionError: it refused.
            OSError: it does not answer.
        """
        url = urlsplit(as_text(self._server.get("controlUrl")))
        tls = create_default_context(cafile=as_text(self._server.get("caFile")))
        connection = HTTPSConnection(str(url.hostname), url.port, context=tls, timeout=60)
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request(method, f"{url.path}/{what}", data)
            response = connection.getresponse()
            text = response.read().decode()
        if response.status >= 400:
            message = as_text(as_object(as_object(_json(text)).get("error")).get("message"))
            raise SessionError(message or f"{method} {what}: {response.status} {text}")
        return _json(text)

    @property
    def answers(self) -> bool:
        """Whether the process is there and answers."""
        try:
            self.control("GET", "faults")
        except OSError:
            return False
        return True


def _json(text: str) -> object:
    return json.loads(text) if text else {}


def running(home: Home) -> Azure | None:
    """The simulated Azure of ``home`` if it runs."""
    try:
        server = as_object(json.loads((home.azure / "server.json").read_text()))
    except (OSError, ValueError):
        return None
    azure = Azure(server)
    return azure if azure.answers else None


def start(home: Home, latency: float, python: Path | None = None) -> Azure:
    """The simulated Azure of ``home``, started if it does not run.

    Args:
        home: whose.
        latency: wall seconds for one simulated second.
        python: what runs it; None: the Python that runs this.

    Raises:
        SessionError: it did not start; with what it said.
    """
    found = running(home)
    if found is not None:
        return found
    home.azure.mkdir(parents=True, exist_ok=True)
    (home.azure / "server.json").unlink(missing_ok=True)
    log = home.azure / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [python or sys.executable, "-m", "simulator.keeper", str(home.path), str(latency)],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # It outlives this session, and Ctrl-C in a terminal is not for it.
            start_new_session=True,
        )
    # Python warns of a process that outlives its handle, as this one is meant to.
    _servers.append(process)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        azure = running(home)
        if azure is not None:
            return azure
        if process.poll() is not None:
            break
        time.sleep(0.02)
    said = log.read_text(errors="replace").strip().splitlines()[-15:]
    raise SessionError("the simulated Azure did not start:\n" + "\n".join(said))


def stop(home: Home) -> None:
    """End the server of ``home`` if it runs, and wait until it has saved its state."""
    file = home.azure / "server.json"
    with contextlib.suppress(OSError, ValueError):
        pid = as_integer(as_object(json.loads(file.read_text())).get("pid"))
        if running(home) is not None and pid > 1:
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + START_SECONDS
            while file.exists() and time.monotonic() < deadline:
                time.sleep(0.02)


def reset(home: Home) -> None:
    """Stop the simulated Azure and forget its state and the stacks deployed to it."""
    if not home.path.exists():
        return
    with home.locked():
        stop(home)
    shutil.rmtree(home.path)
