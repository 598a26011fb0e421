"""Times ``pulumi preview`` of the stack ``dev`` beside a bare program with the same resources.

Run by ``scripts/bench preview``, on the simulator at latency 0. The bare program is written from
the deployed stack's own state: it imports the SDK's modules of what it registers (by a class of
each: the modules are lazy), and registers every resource with its name, type, parent and inputs as
literals; it checks no setting, looks nothing up and waits for nothing. So the difference is what
this program does beyond registering. The programs take turns, so that other work on the machine
disturbs both alike; each figure is a median.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from simulator import home as homes
from simulator.session import Options
from simulator.values import JsonObject, as_object, as_objects, as_text, is_list, is_object
from tests.engine.simulation import Simulation

STACK = "dev"
RUNS = 5

BARE_PROGRAM = '''\
"""The resources of the stack, as literals."""

import json
from pathlib import Path

import pulumi
import pulumi_kubernetes
from pulumi_azure_native.containerservice import AgentPool
from pulumi_azure_native.dashboard import ManagedPrivateEndpoint
from pulumi_azure_native.kubernetesconfiguration import Extension
from pulumi_azure_native.monitor import DataCollectionRule
from pulumi_command.local import Command
from pulumi_kubernetes.helm.v3 import Release

made = {}
for item in json.loads((Path(__file__).parent / "resources.json").read_text()):
    opts = pulumi.ResourceOptions(
        parent=made.get(item["parent"]), provider=made.get(item["provider"])
    )
    if item["provides"]:
        made[item["urn"]] = pulumi.ProviderResource(
            item["provides"], item["name"], item["inputs"], opts
        )
    elif item["custom"]:
        made[item["urn"]] = pulumi.CustomResource(
            item["type"], item["name"], item["inputs"], opts
        )
    else:
        made[item["urn"]] = pulumi.ComponentResource(item["type"], item["name"], None, opts)
'''


def literals(state: Sequence[JsonObject]) -> list[JsonObject]:
    """The resources in state as the bare program registers them, parents and providers first."""
    found: list[JsonObject] = []
    for resource in state:
        urn, kind = as_text(resource["urn"]), as_text(resource["type"])
        provides = kind.removeprefix("pulumi:providers:") if "providers:" in kind else ""
        is_default = "::default" in urn
        if kind == "pulumi:pulumi:Stack" or is_default:
            continue
        inputs = {
            key: value
            for key, value in as_object(resource.get("inputs")).items()
            if not key.startswith("__")
        }
        provider = as_text(resource.get("provider")).rsplit("::", 1)[0]
        found.append(
            {
                "urn": urn,
                "type": kind,
                "name": urn.rsplit("::", 1)[1],
                "custom": bool(resource.get("custom")),
                "provides": provides,
                "parent": as_text(resource.get("parent")),
                "provider": "" if "::default" in provider else provider,
                "inputs": plain(inputs) if resource.get("custom") else {},
            }
        )
    return found


def plain(value: object) -> object:
    """``value`` with what the state wraps as secret taken out of its wrapping."""
    if is_list(value):
        return [plain(item) for item in value]
    if not is_object(value):
        return value
    if "plaintext" in value:
        return plain(json.loads(as_text(value["plaintext"])))
    return {key: plain(item) for key, item in value.items()}


@dataclass(frozen=True)
class Cost:
    """Of one ``pulumi preview``, with every process it starts."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of processor time; other work on the machine hardly touches it."""


def cost(sim: Simulation) -> Cost:
    """Preview once."""
    before, begin = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    done = sim.run("pulumi", "preview", "--stack", STACK, "--non-interactive")
    wall = time.perf_counter() - begin
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"pulumi preview:\n{done.stdout}{done.stderr}")
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(wall, cpu)


def in_turns(sims: Sequence[Simulation], runs: int) -> list[Cost]:
    """The medians of each."""
    taken: list[list[Cost]] = [[] for _ in sims]
    for _ in range(runs):
        for sim, costs in zip(sims, taken, strict=True):
            costs.append(cost(sim))
    return [
        Cost(
            statistics.median(one.wall for one in costs),
            statistics.median(one.cpu for one in costs),
        )
        for costs in taken
    ]


def simulation(folder: Path, program: Path) -> Simulation:
    """A program's stacks, on an Azure of its own, at latency 0."""
    home = homes.Home(folder)
    options = Options(latency=0.0, installed_plugins=False, program=program, stack_files=program)
    return Simulation(home, options)


def measure(folder: Path, runs: int) -> list[tuple[str, Cost, Cost]]:
    """What is previewed, and what it and the bare program cost."""
    ours = simulation(folder / "ours", homes.CHECKOUT)
    ours.up(STACK)
    exported = ours.pulumi("stack", "export", "--show-secrets", "--stack", STACK)
    state = as_objects(as_object(json.loads(exported.output)["deployment"])["resources"])
    program = folder / "bare-program"
    program.mkdir()
    (program / "__main__.py").write_text(BARE_PROGRAM)
    shutil.copy(homes.CHECKOUT / "Pulumi.yaml", program)
    (program / f"Pulumi.{STACK}.yaml").write_text("config: {}\n")
    (program / "resources.json").write_text(json.dumps(literals(state)))
    bare = simulation(folder / "bare", program)
    bare.preview(STACK)
    try:
        deployed = in_turns([ours, bare], runs)
        ours.destroy(STACK)
        first = in_turns([ours, bare], runs)
    finally:
        homes.stop(ours.home)
        homes.stop(bare.home)
    return [
        ("before the first `up`", first[0], first[1]),
        ("deployed, nothing to change", deployed[0], deployed[1]),
    ]


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="scripts/bench preview", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.runs)
    print("| `pulumi preview` of `dev` | | this program | bare program | ratio |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for what, ours, bare in rows:
        for kind, mine, other in (("wall", ours.wall, bare.wall), ("CPU", ours.cpu, bare.cpu)):
            figures = f"{mine:.2f} s | {other:.2f} s | {mine / other:.2f}"
            print(f"| {what} | {kind} | {figures} |")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
