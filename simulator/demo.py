"""``scripts/demo``: deploy, look, deploy again, destroy, and prove that nothing is left.

Every step is the command a person would type, run as a process of its own; nothing here knows what
the program deploys.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from simulator import home as homes
from simulator import leak
from simulator.values import JsonObject, as_list, as_object, is_object
from tools.provide import PULUMI, SETS, ToolError, provide

STACK: Final = "dev"
VOLATILE: Final = frozenset({"calls", "etag", "eTag", "resourceVersion", "systemData"})
"""What differs between two looks at an unchanged Azure."""


class DemoError(Exception):
    """A step did not do what it should; the message says which and what was expected."""


class Demo:
    """The steps, in one simulated Azure of the demo's own."""

    def __init__(self, home: homes.Home, options: Sequence[str]) -> None:
        self._home = home
        self._options = list(options)
        self._environment = {**os.environ, "SIM_HOME": str(home.path)}
        self._step = 0
        self._begin = time.monotonic()

    @property
    def real_kubernetes(self) -> bool:
        """Whether the clusters are real API servers."""
        return "real" in self._options

    def heading(self, text: str) -> None:
        """Say what comes next."""
        self._step += 1
        seconds = time.monotonic() - self._begin
        show(f"\n== {self._step}. {text}   [{seconds:.0f} s]")

    def simulate(self, *command: str, stdin: str | None = None) -> None:
        """Run a command inside the simulated Azure, its output shown.

        Raises:
            DemoError: it failed.
        """
        done = self._run(command, stdin=stdin)
        if done.returncode != 0:
            raise DemoError(f"{' '.join(command)} failed with exit status {done.returncode}")

    def read(self, *command: str, stdin: str | None = None) -> str:
        """Run a command inside the simulated Azure; its output."""
        done = self._run(command, stdin=stdin, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise DemoError(f"{' '.join(command)} failed with exit status {done.returncode}")
        return done.stdout

    def inspect(self) -> JsonObject:
        """Everything in the simulated Azure, without what always differs."""
        text = self._simulate(*self._options, "--inspect", stdout=subprocess.PIPE).stdout
        return as_object(stable(json.loads(text)))

    def _run(
        self, command: Sequence[str], stdin: str | None = None, stdout: int | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return self._simulate(*self._options, "--", *command, stdin=stdin, stdout=stdout)

    def _simulate(
        self, *arguments: str, stdin: str | None = None, stdout: int | None = None
    ) -> "subprocess.CompletedProcess[str]":
        sys.stdout.flush()
        return subprocess.run(
            [sys.executable, "-m", "simulator", *arguments],
            cwd=homes.CHECKOUT,
            env=self._environment,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            stdout=stdout,
            text=True,
            check=False,
        )


def stable(value: object) -> object:
    """``value`` without what differs between two looks at an unchanged Azure."""
    if is_object(value):
        return {
            str(key): stable(item)
            for key, item in value.items()
            if key not in VOLATILE and not str(key).endswith(("At", "Time", "Timestamp"))
        }
    if isinstance(value, list):
        return [stable(item) for item in as_list(value)]  # pyright: ignore[reportUnknownArgumentType]
    return value


def differences(before: object, after: object, path: str = "") -> list[str]:
    """The paths at which two documents differ."""
    if is_object(before) and is_object(after):
        return [
            line
            for key in sorted(before.keys() | after.keys())
            for line in differences(before.get(key), after.get(key), f"{path}/{key}")
        ]
    return [] if before == after else [path]


def tell(demo: Demo) -> None:
    """All steps, in order.

    Raises:
        DemoError: one of them did not do what it should.
    """
    up = ("pulumi", "up", "--yes", "--skip-preview", "--stack", STACK)
    gpuobs = (sys.executable, "-m", "gpuobs")

    demo.heading("The tools")
    show(f"pulumi: {provide(PULUMI)}")
    if demo.real_kubernetes:
        for tool in SETS["kubernetes"]:
            show(f"{tool.name}: {provide(tool)}")

    demo.heading("An Azure with a cluster, a Grafana and an Azure Monitor workspace")
    before = demo.inspect()
    show(f"{len(as_object(before['resources']))} resources are there already")

    demo.heading(f"pulumi up --stack {STACK}")
    demo.simulate(*up)

    demo.heading("What the operator gets")
    demo.simulate("pulumi", "stack", "output", "--stack", STACK)

    demo.heading("Does the signal arrive? From the agent to Grafana, link by link")
    demo.simulate(*gpuobs, "check", "--stack", STACK)

    demo.heading("What allocates the GPU memory?")
    demo.simulate(*gpuobs, "hotspots", "--stack", STACK)
    file = homes.CHECKOUT / "out" / "flamegraph.html"
    file.parent.mkdir(exist_ok=True)
    demo.simulate(*gpuobs, "render", "--stack", STACK, "--output", str(file))
    show(f"the flame graph: {file}")

    demo.heading("Who holds it, and is it growth or the configured size?")
    demo.simulate(*gpuobs, "ledger", "--stack", STACK)
    demo.simulate(*gpuobs, "explain", "--stack", STACK, "--pod", "vllm-0")

    demo.heading("Who is notified of a leak? The stack's alert rules on a real Prometheus")
    rules = file.with_name("rules.yaml")
    demo.simulate(*gpuobs, "alerts", "--stack", STACK, "--output", str(rules))
    try:
        show(leak.fired(rules))
    except ValueError as error:
        raise DemoError(f"a leak fires no alert:\n{error}") from error

    demo.heading("A second pulumi up changes nothing")
    demo.simulate(*up, "--expect-no-changes")

    demo.heading(f"pulumi destroy --stack {STACK}")
    demo.simulate("pulumi", "destroy", "--yes", "--skip-preview", "--stack", STACK)

    demo.heading("Proof that nothing is left")
    prove_nothing_left(demo, before)


def prove_nothing_left(demo: Demo, before: JsonObject) -> None:
    """Compare Azure with what it was, and look into the stack's state.

    Raises:
        DemoError: something is left, or something that was there is not as it was.
    """
    exported = as_object(json.loads(demo.read("pulumi", "stack", "export", "--stack", STACK)))
    count = len(as_list(as_object(exported.get("deployment")).get("resources")))
    after = demo.inspect()
    changed = differences(before, after)
    if changed:
        lines = "\n".join(f"  {path}" for path in changed[:20])
        raise DemoError(f"the simulated Azure is not as it was before:\n{lines}")
    if count:
        raise DemoError(f"the stack still has {count} resources in its state")
    show("the simulated Azure is as it was before; what existed already is still there")
    show("0 resources left")


def show(text: str) -> None:
    """A line of the demo's own."""
    print(text, flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 only if every step did what it should."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--kubernetes", choices=["simulated", "real"], default="simulated")
    given = parser.parse_args(arguments)
    home = homes.Home(homes.CHECKOUT / ".simulator" / "demo")
    options = ["--kubernetes", given.kubernetes]
    begin = time.monotonic()
    homes.reset(home)
    try:
        tell(Demo(home, options))
    except (DemoError, ToolError, homes.SessionError) as error:
        show(f"\nscripts/demo: {error}")
        return 1
    finally:
        homes.stop(home)
    shutil.rmtree(home.path, ignore_errors=True)
    show(f"done in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
