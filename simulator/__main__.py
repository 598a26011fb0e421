"""``scripts/simulate``: run a command inside the simulated Azure, or look at it from outside."""

import argparse
import json
import sys
from collections.abc import Sequence

from simulator import home as homes
from simulator import requests, session, timeline
from simulator.apiserver import provision
from simulator.values import as_objects
from tools.provide import ToolError


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse and act; the exit status is the command's."""
    parser = argparse.ArgumentParser(
        prog="scripts/simulate",
        description=(
            "Runs a command (default: a shell) inside a simulated Azure on this machine, with the "
            "real pulumi, e.g.: scripts/simulate pulumi up --yes --stack dev"
        ),
        epilog=(
            "Environment: SIM_HOME (folder of its state; default .simulator in the checkout), "
            "SIM_LATENCY (wall seconds a simulated second takes; default 0.01), SIM_FAULTS (file "
            "with a fault plan), SIM_STACK_FILES (folder of the stack files)."
        ),
    )
    parser.add_argument(
        "--kubernetes",
        choices=["simulated", "real"],
        default="simulated",
        help="what the clusters are: simulated (default), or a real Kubernetes API server",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--reset", action="store_true", help="stop it, and forget its state and stacks"
    )
    action.add_argument(
        "--inspect", action="store_true", help="print everything in it as sorted JSON"
    )
    action.add_argument(
        "--timeline",
        action="store_true",
        help="print what began when, and the simulated seconds it took",
    )
    action.add_argument(
        "--requests",
        action="store_true",
        help="print every request since it was started: who sent it, and what was answered",
    )
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if command and (given.reset or given.inspect or given.timeline or given.requests):
        parser.error("--reset, --inspect, --timeline and --requests take no command")
    real = given.kubernetes == "real"
    try:
        if given.reset:
            homes.reset(homes.Home.from_environment())
            return 0
        if given.requests:
            for shown in requests.table(requests.read(homes.Home.from_environment().azure)):
                print(shown)  # noqa: T201
            return 0
        if given.inspect or given.timeline:
            return _look("timeline" if given.timeline else "inspect", real)
        return session.run(command, real_kubernetes=real)
    except (homes.SessionError, ToolError) as error:
        session.say(str(error))
        return 1


def _look(what: str, real_kubernetes: bool) -> int:
    """Print one view of the simulated Azure, which is started if need be."""
    home = homes.Home.from_environment()
    # Whoever only looks need not know what the clusters are.
    real = real_kubernetes or provision.is_real(home.azure)
    with home.locked():
        found = homes.running(home)
        azure = found or session.open_azure(
            home, session.Options.from_environment(real_kubernetes=real)
        )
    answer = azure.control("GET", what)
    if what == "inspect":
        print(json.dumps(answer, indent=2, sort_keys=True))  # noqa: T201
        return 0
    print("\n".join(timeline.table(as_objects(answer))))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
