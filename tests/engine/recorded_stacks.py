"""Deployed stacks on file: recorded once, restored with whatever the code is by then.

``recorded/`` holds the stack files, each stack's state (an export of Pulumi's) and the simulated
Azure they were deployed to. Two things differ in every simulated Azure and stand as placeholders:
its certificate authority and its clusters' tokens. Its address does not: it is part of what
requests are made of, and observed tokens are digests of requests. So recording and restoring open
the same port, and runs on one machine take turns.
"""

import base64
import fcntl
import gzip
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from simulator import home as homes
from simulator.home import Home
from simulator.session import Options
from simulator.values import JsonObject, as_object, as_objects, as_text, texts
from tests.engine.simulation import Simulation

FOLDER: Final = Path(__file__).parent / "recorded"
PORT: Final = 24873
"""Of the simulated Azure; below the ports that systems give out by themselves."""
AUTHORITY: Final = "<certificate authority>"
UNTOLD: Final = ("sourcePosition", "stackTrace")
"""Where a program registered a resource: paths of the machine it ran on."""


def stacks(folder: Path = FOLDER) -> list[str]:
    """The names of the recorded stacks."""
    return sorted(file.name.split(".")[1] for file in folder.glob("Pulumi.*.yaml"))


@contextmanager
def alone() -> Generator[None]:
    """While it lasts nobody else on this machine, this checkout or another, has the port."""
    with (Path(tempfile.gettempdir()) / f"gpuobs-recorded-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- recording --------------------------------------------------------------------------------


def record(work: Path, folder: Path = FOLDER) -> None:
    """Deploy the stack files of ``folder``, and write down what comes of it beside them.

    Args:
        work: an empty folder for the simulated Azure.
        folder: of the stack files and the records.
    """
    home = Home(work / "home")
    _want_port(home)
    sim = _simulation(home, _copied_stack_files(work, folder))
    try:
        _record(sim, folder)
    finally:
        homes.stop(home)


def _record(sim: Simulation, folder: Path) -> None:
    before = contents(sim)
    for stack in stacks(folder):
        sim.up(stack)
    states = {stack: _export(sim, stack) for stack in stacks(folder)}
    homes.stop(sim.home)
    world = as_object(json.loads((sim.home.azure / "world.json").read_text()))
    texts = {
        "before": _dumped(before),
        "world": _dumped(_without_secrets(world)),
        **{stack: _dumped(state) for stack, state in states.items()},
    }
    hidden = {_authority(sim.home): AUTHORITY, **_tokens(world)}
    for name, text in texts.items():
        for secret, placeholder in hidden.items():
            text = text.replace(secret, placeholder)
        for path in (str(homes.CHECKOUT), str(Path.home()), tempfile.gettempdir()):
            assert path not in text, f"{name} holds {path}"
        _write(folder / f"{name}.json.gz", text)


def _export(sim: Simulation, stack: str) -> JsonObject:
    found = sim.pulumi("stack", "export", "--show-secrets", "--stack", stack)
    assert found.ok, found.output
    exported = as_object(json.loads(found.output))
    for resource in as_objects(as_object(exported["deployment"])["resources"]):
        for key in UNTOLD:
            resource.pop(key, None)
    return exported


def _without_secrets(world: JsonObject) -> JsonObject:
    """The world without its signing key, and without ended operations, which nobody asks for."""
    return {**world, "signingKey": "", "operations": [], "timeline": []}


def _tokens(world: JsonObject) -> dict[str, str]:
    """Placeholders of the clusters' tokens."""
    return {
        as_text(token): f"<token of {cluster.rsplit('/', 1)[-1]} for {user}>"
        for cluster, state in as_object(world["clusters"]).items()
        for user, token in as_object(as_object(state)["tokens"]).items()
    }


def _write(file: Path, text: str) -> None:
    # Without a time, so that equal contents are equal files.
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def _dumped(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))


# --- restoring --------------------------------------------------------------------------------


class RecordedStacks:
    """The recorded stacks, to be restored into one folder as often as wanted."""

    def __init__(self, folder: Path, python: Path | None = None) -> None:
        """See the class; everything is put into ``folder``.

        Args:
            folder: an empty one.
            python: see :class:`simulator.session.Options`.
        """
        self._python = python
        self._home = Home(folder / "home")
        self._stack_files = _copied_stack_files(folder, FOLDER)
        self._states = folder / "states"

    def restore(self) -> Simulation:
        """Azure and the stacks as they were recorded; what was done since is forgotten."""
        self.stop()
        _want_port(self._home)
        world = {**_read("world"), "signingKey": secrets.token_hex(32)}
        (self._home.azure / "world.json").write_text(json.dumps(world))
        sim = _simulation(self._home, self._stack_files, self._python)
        state = self._home.path / "state"
        if self._states.exists():
            shutil.rmtree(state)
            shutil.copytree(self._states, state)
        else:
            for stack in stacks():
                self._import(sim, stack)
            shutil.copytree(state, self._states)
        return sim

    def stop(self) -> None:
        """End the simulated Azure if it runs."""
        homes.stop(self._home)

    def _import(self, sim: Simulation, stack: str) -> None:
        text = _text(stack).replace(AUTHORITY, _authority(sim.home))
        file = sim.home.path / f"{stack}.json"
        file.write_text(text)
        done = sim.pulumi("stack", "import", "--file", str(file), "--stack", stack)
        assert done.ok, done.output


@contextmanager
def recorded(folder: Path, python: Path | None = None) -> Generator[RecordedStacks]:
    """The recorded stacks in ``folder``, which is to be empty."""
    with alone():
        stacks = RecordedStacks(folder, python)
        try:
            yield stacks
        finally:
            stacks.stop()


def contents_before() -> JsonObject:
    """What was in Azure before the stacks were deployed, in the form of :func:`contents`."""
    before = _read("before")
    for cluster in as_object(before["kubernetes"]).values():
        # Recorded when objects were not shown; there were none but the cluster's own namespaces.
        state = as_object(cluster)
        state["objects"] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in texts(state["namespaces"])
        ]
    return before


def contents(sim: Simulation) -> JsonObject:
    """What is in Azure, its clusters and its Grafanas; of Azure's resources only the ids."""
    found = sim.inspect()
    return {
        "resources": sorted(as_object(found["resources"])),
        "grafana": found["grafana"],
        "kubernetes": found["kubernetes"],
    }


def _want_port(home: Home) -> None:
    home.azure.mkdir(parents=True, exist_ok=True)
    (home.azure / "ports.json").write_text(json.dumps({"tls": PORT}))


def _copied_stack_files(work: Path, folder: Path) -> Path:
    copies = work / "stacks"
    copies.mkdir()
    for file in folder.glob("Pulumi.*.yaml"):
        shutil.copy(file, copies)
    return copies


def _simulation(home: Home, stack_files: Path, python: Path | None = None) -> Simulation:
    options = Options(latency=0.0, installed_plugins=False, python=python, stack_files=stack_files)
    sim = Simulation(home, options)
    url = sim.azure.environment["SIM_ARM_URL"]
    assert url.endswith(f":{PORT}"), f"port {PORT} is taken by another program; free it"
    return sim


def _read(name: str) -> JsonObject:
    return as_object(json.loads(_text(name)))


def _text(name: str) -> str:
    return gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()).decode()


def _authority(home: Home) -> str:
    """The certificate authority as kubeconfigs hold it."""
    return base64.b64encode((home.azure / "ca.pem").read_bytes()).decode()
