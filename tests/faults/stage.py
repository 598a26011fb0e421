"""A simulated Azure with stacks in it, to be gone back to: where the cases of the sweep are run."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simulator import home as homes
from simulator import requests
from simulator.home import CHECKOUT, Home
from simulator.requests import Entry
from simulator.session import Options
from simulator.values import as_object, as_objects
from tests import warm
from tests.engine.simulation import Simulation
from tests.faults import worlds

SEED: Final = "seed"
"""Nothing is deployed."""
RUN_SECONDS: Final = 600.0
"""A run that takes longer hangs; no machine is that slow."""
NOTHING_LEFT: Final = 20.0
"""Seconds by which every process of a run has ended after the engine."""


@dataclass(frozen=True)
class Phase:
    """One command on one stack, from a known state."""

    name: str
    stack: str = "dev"
    command: str = "up"
    begins: str = SEED
    """The state it begins with; ``up``: the stack is deployed."""
    edits: Mapping[str, object] = field(default_factory=dict[str, object])
    """Settings that are changed before; see :meth:`Simulation.stack_file`."""

    @property
    def start(self) -> str:
        """The name of the kept state that it begins with."""
        return SEED if self.begins == SEED else f"{self.stack} up"


PHASES: Final = {
    phase.name: phase
    for phase in (
        Phase("up"),
        Phase("image", begins="up", edits={"pyroscope.imageTag": "1.15.1"}),
        Phase("link", begins="up", edits={"pyroscope.privateLink.name": "renamed"}),
        Phase("pool", begins="up", edits={"gpuPool.count": 2}),
        Phase(
            "agent",
            begins="up",
            edits={"inspektorGadget.settings": {"inspektor-gadget.config.daemonLogLevel": "debug"}},
        ),
        Phase("sources", begins="up", edits={"grafana.dataSources.pyroscope.uid": "renamed"}),
        Phase("dashboard", begins="up", edits={"grafana.dashboard.uid": "renamed"}),
        Phase("refresh", begins="up", command="refresh"),
        Phase("destroy", begins="up", command="destroy"),
        Phase("sandbox up", "sandbox"),
        Phase("sandbox refresh", "sandbox", begins="up", command="refresh"),
        Phase("sandbox destroy", "sandbox", begins="up", command="destroy"),
    )
}
"""Up, each kind of change, refresh and destroy, of both stack files."""


@dataclass(frozen=True)
class Run:
    """What one command came to."""

    status: int
    """Of its process; negative: the signal that ended it."""
    output: str
    seconds: float
    hung: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.status == 0

    @property
    def is_a_defect(self) -> bool:
        """Whether a person read a traceback, or that we ask for a report."""
        return any(
            words in self.output
            for words in ("Traceback (most recent call last)", "report it", "unhandled exception")
        )

    @property
    def error(self) -> str:
        """The first lines of what it says went wrong."""
        lines = [line.strip() for line in self.output.splitlines()]
        said = [line for line in lines if line.startswith("error:")]
        return " / ".join(dict.fromkeys(said))[:400] or " / ".join(lines[-3:])[:400]


class Stage:
    """One home, its server, and the states that were kept."""

    def __init__(self, folder: Path, python: Path | None) -> None:
        """See :func:`stage`."""
        self._kept = folder / "kept"
        self._states: dict[str, object] = {}
        """Azure's, by the name under which they were kept."""
        self.ends: dict[str, object] = {}
        """What there is after a phase without a fault."""
        self._stacks = folder / "stacks"
        self._stacks.mkdir(parents=True)
        for file in CHECKOUT.glob("Pulumi.*.yaml"):
            shutil.copy(file, self._stacks)
        options = Options(
            latency=0.0, installed_plugins=False, python=python, stack_files=self._stacks
        )
        self.sim = Simulation(Home(folder / "home"), options)
        self.sim.set_variables(PULUMI_DEBUG_COMMANDS="true", PULUMI_SKIP_UPDATE_CHECK="true")
        self.sim.pulumi("stack", "ls")
        self.keep(SEED)
        self.seed = self.world()
        """What there is before anything is deployed."""

    # --- states -------------------------------------------------------------------------------

    def keep(self, name: str) -> None:
        """Keep the present state of Azure and of the stacks under this name."""
        folder = self._kept / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.sim.home.path / "state", folder / "state")
        shutil.copytree(self._stacks, folder / "stacks")
        self._states[name] = self.sim.control("GET", "world")

    def has(self, name: str) -> bool:
        """Whether a state of this name was kept."""
        return name in self._states

    def go_back(self, name: str) -> None:
        """Let everything be as it was kept; no fault is on."""
        self.sim.faults()
        self.sim.control("POST", "world", self._states[name])
        state = self.sim.home.path / "state"
        shutil.rmtree(state)
        shutil.copytree(self._kept / name / "state", state)
        for file in (self._kept / name / "stacks").iterdir():
            shutil.copy(file, self._stacks)

    def begin(self, phase: Phase) -> None:
        """Let everything be as ``phase`` begins, which is deployed once where it needs to be."""
        if not self.has(phase.start):
            self.go_back(SEED)
            self.sim.control("POST", "settings", {"phase": ""})
            done = self.run("up", phase.stack)
            assert done.ok, done.output
            self.keep(phase.start)
        self.go_back(phase.start)
        if phase.edits:
            self.sim.stack_file(phase.stack, phase.edits)
        self.sim.control("POST", "settings", {"phase": phase.name})

    def world(self) -> object:
        """What there is, to be compared (:mod:`tests.faults.worlds`)."""
        return worlds.normal(self.sim.inspect())

    def good_end(self, phase: Phase) -> object:
        """What there is after ``phase`` without a fault."""
        if phase.name not in self.ends:
            self.begin(phase)
            done = self.run(phase.command, phase.stack)
            assert done.ok, done.output
            self.ends[phase.name] = self.world()
        return self.ends[phase.name]

    def requests(self) -> list[Entry]:
        """Every request since the server began."""
        return requests.read(self.sim.home.azure)

    def calls(self) -> int:
        """How many requests there were since the server began."""
        return (self.sim.home.azure / requests.FILE).read_bytes().count(b"\n")

    def struck(self) -> int:
        """How often a fault struck since the plan was set."""
        report = as_object(self.sim.control("GET", "faults"))
        return sum(int(str(one["struck"])) for one in as_objects(report["used"]))

    # --- commands -----------------------------------------------------------------------------

    def start(self, command: str, stack: str = "dev") -> "subprocess.Popen[str]":
        """Start ``pulumi up`` or its like, as the leader of a session of its own."""
        extra = () if command == "cancel" else ("--skip-preview", "--non-interactive")
        return self.sim.start("pulumi", command, "--yes", "--stack", stack, *extra)

    def run(self, command: str, stack: str = "dev") -> Run:
        """Run ``pulumi up`` or its like to its end."""
        return self.ended(self.start(command, stack))

    def ended(self, process: "subprocess.Popen[str]") -> Run:
        """Wait for its end."""
        began = time.monotonic()
        hung = False
        try:
            output, _ = process.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            hung = True
            end_session(process.pid)
            output, _ = process.communicate()
        return Run(process.returncode, output, round(time.monotonic() - began, 1), hung)


def processes_of(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


def end_session(session: int, number: int = signal.SIGKILL) -> None:
    """Send every process of the session a signal; SIGKILL until none is left."""
    deadline = time.monotonic() + NOTHING_LEFT
    while (found := processes_of(session)) and time.monotonic() < deadline:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        if number != signal.SIGKILL:
            return
        time.sleep(0.02)


@contextmanager
def opened(folder: Path, python: Path) -> Generator[Stage]:
    """A stage in ``folder``, which is made anew.

    Args:
        folder: a scratch folder.
        python: a warm Python (:mod:`tests.warm`).
    """
    shutil.rmtree(folder, ignore_errors=True)
    home = Home(folder / "home")
    try:
        stage = Stage(folder, python)
        # Operations of its own are no use of a home: without this its server ends after a while.
        with home.in_use():
            yield stage
    finally:
        homes.stop(home)


@contextmanager
def own_stage(folder: Path) -> Generator[Stage]:
    """A stage in ``folder`` with a warm Python of its own."""
    # The path of a socket must be short, so it is not in the folder.
    with (
        tempfile.TemporaryDirectory() as short,
        warm.interpreter(Path(short)) as python,
        opened(folder, python) as stage,
    ):
        yield stage
