"""From ``pulumi up`` to the first flame graph, by step, beside the manual procedure.

Run by ``scripts/bench first-flame-graph``. The seconds are those of the simulated services on the
critical path (:mod:`simulator.timeline`); the wall time of this machine plays no part. Beside them
stands what a person does and waits for in the manual procedure, besides those same services.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from simulator import home as homes
from simulator.session import Options
from simulator.timeline import Step, critical, steps
from simulator.values import as_objects
from tests.engine.simulation import Simulation

STACK = "dev"


@dataclass(frozen=True)
class ByHand:
    """What the manual procedure asks of a person at a step."""

    does: str
    commands: int
    waits: str = "for the command"
    sleeps: int = 0
    """Seconds of fixed sleeps."""


MANUAL = {
    "GPU node pool": ByHand("(a prerequisite) `az aks nodepool add`, device plugin", 2),
    "nvidia.com/gpu on the nodes": ByHand(
        "(device plugin, above)", 0, "until the nodes offer GPUs: looks by hand"
    ),
    "agent (cluster extension)": ByHand(
        "`az extension add`, `az k8s-extension create`, look at the pods",
        3,
        "until the pods run: looks by hand",
    ),
    "Pyroscope's load balancer": ByHand("`helm install`, look at the pod", 2),
    "Private Link Service": ByHand(
        "find the node resource group, ask for the service until it is there",
        2,
        "in a loop without an end",
    ),
    "managed private endpoint": ByHand("read two ids, `az grafana mpe create`", 3),
    "approval": ByHand(
        "list the pending connections, approve the first", 2, "a fixed sleep, then hopes", 30
    ),
    "refresh of Grafana's endpoints": ByHand(
        "refresh, read the address (often still empty: again)", 2, "not at all"
    ),
}
AFTERWARDS = {
    "data source of the profiles": ByHand("create it with the address", 1),
    "data source of the metrics": ByHand("read the query endpoint, create it", 2),
    "dashboard": ByHand("download it, import it", 2),
}
"""What takes a service no time worth naming, but a person a command."""


def measure(folder: Path) -> list[Step]:
    """The steps on the way to a flame graph that shows something.

    Raises:
        SystemExit: the signal does not arrive.
    """
    home = homes.Home(folder)
    options = Options(latency=0.0, installed_plugins=False, stack_files=homes.CHECKOUT)
    sim = Simulation(home, options)
    try:
        sim.up(STACK)
        signal = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK)
        if signal.returncode:
            raise SystemExit(signal.stdout + signal.stderr)
        return critical(steps(as_objects(sim.control("GET", "timeline"))))
    finally:
        homes.stop(home)


def table(path: list[Step]) -> list[str]:
    """Markdown."""
    begin = path[0].started if path else 0.0
    lines = [
        "| step | begins at | takes | by hand | commands | waits | fixed sleep |",
        "|---|---|---|---|---|---|---|",
    ]
    commands = sleeps = 0
    for step in path:
        manual = MANUAL.get(step.what, ByHand("", 0, ""))
        commands, sleeps = commands + manual.commands, sleeps + manual.sleeps
        lines.append(
            _row(step.what, f"{step.started - begin:.0f} s", f"{step.seconds:.0f} s", manual)
        )
    end = path[-1].ended - begin if path else 0.0
    for what, manual in AFTERWARDS.items():
        commands, sleeps = commands + manual.commands, sleeps + manual.sleeps
        lines.append(_row(what, f"{end:.0f} s", "0 s", manual))
    lines.append(
        f"| **first flame graph** | **{end:.0f} s** | | `pulumi up`: 1 command, no sleep "
        f"| **{commands}** | | **{sleeps} s** |"
    )
    return lines


def _row(what: str, begins: str, takes: str, manual: ByHand) -> str:
    sleep = f"{manual.sleeps} s" if manual.sleeps else ""
    return (
        f"| {what} | {begins} | {takes} | {manual.does} | {manual.commands} "
        f"| {manual.waits} | {sleep} |"
    )


def main() -> int:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(table(measure(Path(folder)))))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
