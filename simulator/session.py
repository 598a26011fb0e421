"""A session: one command run inside the simulated Azure, with the real Pulumi set up for it.

The environment is pinned: whatever could lead to a real Azure, another Pulumi or off loopback is
removed, and the simulated Azure's variables are set.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.apiserver import provision
from simulator.arm.ids import SUBSCRIPTION_ID
from simulator.home import CHECKOUT, Azure, Home, SessionError, start
from simulator.project import Plugins, Project
from simulator.values import JsonObject, as_list, as_object
from tools.provide import KUBERNETES_PROVIDER, PULUMI, provide

DEFAULT_LATENCY: Final = 0.01
CHART: Final = "simulator/charts/pyroscope"
"""Stands in for the public chart, which a real Helm would have to download."""
FOREIGN: Final = re.compile(
    r"(AZURE_|ARM_|MSI_|IDENTITY_|PULUMI_(?!K8S_)|KUBECONFIG$|IMDS_|HELM_|HTTPS?_PROXY$|ALL_PROXY$"
    r"|PYTHONPATH$)",
    re.I,
)
"""Variables that could lead to a real Azure, a real cluster, another Pulumi, or off loopback; and
the scripts' own ``PYTHONPATH``."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a session is asked for besides its command."""

    latency: float = DEFAULT_LATENCY
    """Wall seconds that a simulated second takes."""
    faults: Path | None = None
    """A fault plan; None: the present one stays."""
    installed_plugins: bool = True
    """Use an installed language host and command plugin where there are some."""
    real_kubernetes: bool = False
    python: Path | None = None
    """What starts Azure, plugins and programs, in a virtual environment or a folder like one; None:
    the Python that runs this, and for a program its own environment where it has one."""
    program: Path = CHECKOUT
    stack_files: Path | None = None
    secrets_provider: str | None = None
    """Who keeps the key of the stacks' secrets, as ``pulumi stack init`` takes it; None: it is made
    from a passphrase."""

    @classmethod
    def from_environment(cls, *, real_kubernetes: bool = False) -> "Options":
        """``SIM_LATENCY``, ``SIM_FAULTS``, ``SIM_STACK_FILES``, ``SIM_INSTALLED_PLUGINS`` (0: no).

        Raises:
            SessionError: a variable has a value that makes no sense.
        """
        text = os.environ.get("SIM_LATENCY") or str(DEFAULT_LATENCY)
        try:
            latency = float(text)
        except ValueError:
            latency = -1.0
        if not 0 <= latency < float("inf"):
            raise SessionError(f"SIM_LATENCY is {text!r}; expected a factor of at least 0")
        faults, files = os.environ.get("SIM_FAULTS"), os.environ.get("SIM_STACK_FILES")
        if files and not Path(files).is_dir():
            raise SessionError(f"SIM_STACK_FILES: {files} is not a folder")
        return cls(
            latency=latency,
            faults=Path(faults) if faults else None,
            installed_plugins=os.environ.get("SIM_INSTALLED_PLUGINS", "1") != "0",
            real_kubernetes=real_kubernetes,
            stack_files=Path(files).resolve() if files else None,
        )


def open_azure(home: Home, options: Options) -> Azure:
    """The simulated Azure of ``home``, running at the latency and with the faults asked for.

    Raises:
        SessionError: it cannot start, or the fault plan is wrong.
    """
    _choose_kubernetes(home, options)
    azure = start(home, options.latency, options.python)
    settings: JsonObject = {"latency": options.latency}
    if options.faults is not None:
        try:
            settings["faults"] = json.loads(options.faults.read_text())
        except OSError as error:
            message = f"SIM_FAULTS: {options.faults} cannot be read: {error.strerror}"
            raise SessionError(message) from error
        except ValueError as error:
            raise SessionError(f"SIM_FAULTS: {options.faults} is not JSON: {error}") from error
    try:
        azure.control("POST", "settings", settings)
    except SessionError as error:
        raise SessionError(f"SIM_FAULTS: {error}") from error
    return azure


@dataclass(frozen=True)
class Session:
    """A prepared session."""

    azure: Azure
    project: Project
    environment: dict[str, str]
    """The whole environment of what runs inside."""


def prepare(home: Home, options: Options) -> Session:
    """Start what does not run yet, and set Pulumi up for ``home``.

    Raises:
        SessionError: the session cannot be set up.
        tools.provide.ToolError: there is no pulumi.
    """
    pulumi = provide(PULUMI)
    with home.locked():
        azure = open_azure(home, options)
        real = str(provide(KUBERNETES_PROVIDER).parent) if options.real_kubernetes else None
        plugins = Plugins.choose(pulumi, installed=options.installed_plugins, kubernetes=real)
        project = Project(
            home,
            pulumi,
            plugins,
            python=options.python,
            program=options.program,
            stack_files=options.stack_files,
            # A real Helm needs a chart that can be had without leaving this machine.
            chart=CHART if options.real_kubernetes else None,
            secrets_provider=options.secrets_provider,
        )
        project.prepare()
        environment = _environment(azure, project, home, options)
    return Session(azure, project, environment)


def _environment(azure: Azure, project: Project, home: Home, options: Options) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    path = [str(home.bin), str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]
    latency = f"{options.latency:g}"
    return {
        **kept,
        **azure.environment,
        **project.environment,
        "PATH": os.pathsep.join(path),
        "SIM_HOME": str(home.path),
        "SIM_LATENCY": latency,
        "GPUOBS_TIME_SCALE": latency,
        "NO_PROXY": "127.0.0.1,localhost",
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION_ID,
        "ARM_USE_MSI": "true",
    }


def run(command: Sequence[str], *, real_kubernetes: bool = False) -> int:
    """Run ``command`` (empty: a shell) inside the simulated Azure; its exit status.

    Raises:
        SessionError: the session cannot be set up.
        tools.provide.ToolError: there is no pulumi.
    """
    home = Home.from_environment()
    options = Options.from_environment(real_kubernetes=real_kubernetes)
    session = prepare(home, options)
    with home.locked():
        session.project.initialise_stacks(session.environment)
    wanted = list(command) or [os.environ.get("SHELL") or "/bin/sh"]
    with home.in_use():
        status = _run(wanted, session.environment)
    if options.faults is not None:
        _report_unused_faults(session.azure)
    return status


def _choose_kubernetes(home: Home, options: Options) -> None:
    """Let the clusters of ``home`` be what the session asks for, once and for all.

    Raises:
        SessionError: they are the other kind already.
        tools.provide.ToolError: there is no API server.
    """
    real = provision.is_real(home.azure)
    if real != options.real_kubernetes and (real or provision.is_used(home.azure)):
        is_, wants = ("real", "simulated") if real else ("simulated", "real")
        raise SessionError(
            f"the clusters of {home.path} are {is_} ones, and --kubernetes {wants} was asked for "
            f"(simulated is the default). Add --kubernetes {is_}, or give the other kind a home of "
            "its own (SIM_HOME=<folder>), or forget this one first: scripts/simulate --reset"
        )
    if options.real_kubernetes:
        provision.provide_for(home.azure)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    executable = shutil.which(command[0], path=environment["PATH"])
    if executable is None:
        raise SessionError(f"{command[0]}: command not found")
    process = subprocess.Popen([executable, *command[1:]], env=dict(environment))
    # Ctrl-C in the terminal reaches the command as well; its answer to it is ours.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    forwarded = signal.signal(signal.SIGTERM, lambda _signal, _frame: process.terminate())
    try:
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, previous)
        signal.signal(signal.SIGTERM, forwarded)
    return 128 - status if status < 0 else status


def _report_unused_faults(azure: Azure) -> None:
    with contextlib.suppress(OSError):
        report = as_object(azure.control("GET", "faults"))
        for rule in as_list(report.get("unused")):
            say(f"fault rule never used: {json.dumps(rule)}")


def say(text: str) -> None:
    """A line of ours for the person at the terminal; standard output is the command's."""
    print(f"simulate: {text}", file=sys.stderr, flush=True)  # noqa: T201
