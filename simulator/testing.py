"""A simulator of one's own for a test: a real process on free ports, gone at the end."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from simulator.values import JsonObject, as_object, as_text

FOREIGN = ("AZURE_", "MSI_", "IDENTITY_", "ARM_")
"""Variables of a real Azure that must not leak into what runs against the simulated one."""


@dataclass(frozen=True)
class Running:
    """A running simulator."""

    home: Path
    arm_url: str
    identity_url: str
    ca_file: str
    pid: int
    environment: dict[str, str]
    """The variables that point unchanged clients at this simulator."""


def environment_for(server: JsonObject) -> dict[str, str]:
    """The variables for the simulator that ``server.json`` describes."""
    arm_url, authority = as_text(server.get("armUrl")), as_text(server.get("caFile"))
    return {
        "SIM_ARM_URL": arm_url,
        "SIM_CA_FILE": authority,
        "IDENTITY_ENDPOINT": as_text(server.get("identityEndpoint")),
        "IDENTITY_HEADER": as_text(server.get("identityHeader")),
        "AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential",
        "ARM_USE_MSI": "true",
        "REQUESTS_CA_BUNDLE": authority,
        "SSL_CERT_FILE": authority,
        "NO_PROXY": "127.0.0.1",
        "GPUOBS_ARM_URL": arm_url,
        "GPUOBS_TIME_SCALE": str(server.get("latency")),
    }


@contextmanager
def running(
    home: Path, *, latency: float = 0.0, faults: Sequence[JsonObject] = ()
) -> Generator[Running]:
    """Run a simulator on ``home`` (its state stays there) while the context lasts.

    Args:
        home: folder of its state.
        latency: wall seconds for one simulated second.
        faults: the rules of a fault plan (:mod:`simulator.faults`).

    Raises:
        RuntimeError: it did not start; with what it said.
    """
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "simulator.server", "--home", str(home)]
    command += ["--latency", str(latency), "--parent", str(os.getpid())]
    if faults:
        plan = home / "faults.json"
        plan.write_text(json.dumps(list(faults)))
        command += ["--faults", str(plan)]
    (home / "server.json").unlink(missing_ok=True)
    root = Path(__file__).resolve().parent.parent
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=root, stdout=output, stderr=output)
    try:
        server = _started(process, home / "server.json", log)
        yield Running(
            home=home,
            arm_url=as_text(server.get("armUrl")),
            identity_url=as_text(server.get("identityEndpoint")),
            ca_file=as_text(server.get("caFile")),
            pid=process.pid,
            environment={
                **{
                    name: value
                    for name, value in os.environ.items()
                    if not name.startswith(FOREIGN)
                },
                **environment_for(server),
            },
        )
    finally:
        process.terminate()
        process.wait(timeout=30)


def _started(process: "subprocess.Popen[bytes]", file: Path, log: Path) -> JsonObject:
    for _ in range(3000):
        if file.exists():
            return as_object(json.loads(file.read_text()))
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError(f"the simulator did not start: {log.read_text()}")
