"""``scripts/live``: check on a subscription what no test here can show.

Makes a throw-away cluster, Grafana, storage account and Azure Monitor workspace in a resource group
of their own, runs the checks of docs/users/unverified.md, removes everything, and writes a report
to send back.
Exit status: 0 every assumption that was checked holds; 1 one does not, or the run did not come to
its end; 2 wrong arguments, or not confirmed; 130 interrupted.
"""

import argparse
import json
import secrets
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
from azure.core.exceptions import AzureError

from tests.live.azure import ARM, CheckError
from tests.live.check import Check, Phase
from tests.live.checks import CHECKS
from tests.live.report import as_document, as_markdown
from tests.live.run import Record, counted, remove_group, run
from tests.live.stack import ROOT, ThrowAwayStack
from tests.live.world import Options, UnsafeError, World

_HOURS: Final = 2.0
_MADE: Final = (
    ("an AKS cluster of two Standard_D4s_v5 nodes, with disks and a load balancer", 0.50),
    ("an Azure Managed Grafana (Standard), and for an hour a second one", 0.15),
    ("managed private endpoints and a Private Link Service", 0.05),
    ("an Azure Monitor workspace and the samples of two nodes", 0.05),
    ("a storage account, and disks for the servers", 0.02),
)
"""What a run makes, with US dollars an hour, roughly."""
_PER_USER: Final = 12
"""US dollars that Managed Grafana takes a month for an active user, in two workspaces."""
_GPU_HOUR: Final = 0.60
"""US dollars an hour for Standard_NC4as_T4_v3, roughly."""


def say(text: str) -> None:
    """A line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def plan(options: Options, checks: Sequence[Check]) -> str:
    """What a run makes, and what it costs, for a person to agree to."""
    by_phase = [(phase, [one for one in checks if one.phase is phase]) for phase in Phase]
    lines = [
        f"This creates, in the resource group {options.resource_group} of subscription "
        f"{options.subscription} ({options.location}):"
    ]
    hourly = sum(dollars for _, dollars in _MADE)
    made = [text for text, _ in _MADE]
    if options.gpu:
        made.append(f"one GPU node {options.gpu_size}, last, for about half an hour")
    lines += [f"  - {text}" for text in made]
    lines += [
        f"It takes about {_HOURS:.1f} hours and costs roughly {hourly * _HOURS:.0f} US dollars"
        + (
            f", and {_GPU_HOUR / 2:.2f} for the GPU node (a {options.gpu_size} may cost more)"
            if options.gpu
            else ""
        )
        + ";",
        f"Grafana may add {_PER_USER} for its user of the month. Prices differ by region and "
        "contract.",
        "Everything is removed at the end, also after a failure or Ctrl-C.",
        "",
        "Checks:",
    ]
    for phase, found in by_phase:
        skipped = phase is Phase.GPU and not options.gpu
        lines.append(f"  {len(found):2} {phase.value}{', not run' if skipped else ''}")
    return "\n".join(lines)


def listing(checks: Sequence[Check]) -> str:
    """Every check with its assumption."""
    return "\n".join(f"{one.id} ({one.phase.value})\n    {one.assumption}" for one in checks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    given = _arguments().parse_args(arguments)
    checks = [one for one in CHECKS if not given.only or one.id in given.only]
    unheard = set(given.only or ()) - {one.id for one in CHECKS}
    if unheard:
        say(f"scripts/live: no check {', '.join(sorted(unheard))}; scripts/live --list")
        return 2
    if given.list:
        print(listing(checks))  # noqa: T201
        return 0
    if not given.subscription:
        say("scripts/live: --subscription ID is needed: where to create the throw-away stack")
        return 2
    options = _options(given)
    say(plan(options, checks))
    if not (given.yes or _agreed()):
        say("scripts/live: not confirmed; nothing was created")
        return 2
    try:
        return _run(options, checks, given.report)
    except (UnsafeError, AzureError, httpx.HTTPError, CheckError, RuntimeError) as error:
        say(f"scripts/live: {error}")
        return 1


def _options(given: argparse.Namespace) -> Options:
    prefix = given.prefix or f"gpuobs-live-{secrets.token_hex(3)}"
    return Options(
        subscription=given.subscription,
        prefix=prefix,
        folder=(given.folder or ROOT / "out" / "live" / prefix).resolve(),
        location=given.location,
        other_location=given.other_location,
        gpu=given.gpu,
        gpu_size=given.gpu_size,
        grafana_major=given.grafana_major,
    )


def _run(options: Options, checks: Sequence[Check], report: Path | None) -> int:
    stack = ThrowAwayStack(options.folder, options.settings(), say)
    world = World(options, stack)
    try:
        # Without a sign-in nothing is begun.
        world.tokens.get(ARM)
        if world.arm.find(options.group_id) is not None:
            say(f"an earlier run has left the resource group {options.resource_group}")
            remove_group(world)
        stack.prepare()
        record = run(world, checks=checks)
        secret = {options.subscription: "<subscription>", world.tokens.caller(): "<caller>"}
    finally:
        world.close()
    file = report or options.folder / "report.md"
    _write(file, record, checks, secret)
    say(f"\n{counted(record.verdicts.values())}")
    for problem in (*record.problems, *([record.left] if record.left else [])):
        say(f"scripts/live: {problem}")
    say(f"The report, to send back: {file}")
    if record.interrupted:
        return 130
    return 0 if record.ok else 1


def _write(file: Path, record: Record, checks: Sequence[Check], secret: dict[str, str]) -> None:
    by_id = {one.id: one for one in checks}
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        document = as_document(record, by_id, secret)
        file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    else:
        file.write_text(as_markdown(record, by_id, secret), encoding="utf-8")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        say("scripts/live: not a terminal, so nobody can be asked: --yes agrees beforehand")
        return False
    say("Create it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _guid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a subscription id (a GUID)") from None


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/live", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument("--subscription", metavar="ID", type=_guid, help="where it is created")
    parser.add_argument("--location", default="westeurope", help="region (default: %(default)s)")
    parser.add_argument(
        "--other-location", default="northeurope", help="region of a second Grafana"
    )
    parser.add_argument("--gpu", action="store_true", help="with one GPU node, last")
    parser.add_argument(
        "--gpu-size", default="Standard_NC4as_T4_v3", help="its VM size (default: %(default)s)"
    )
    parser.add_argument("--grafana-major", choices=("12", "13"), default="12")
    parser.add_argument("--prefix", help="of all names (default: a new one); repeated: cleans up")
    parser.add_argument(
        "--folder", type=Path, help="of the run's project, state and report (default: in out/live)"
    )
    parser.add_argument("--only", metavar="CHECK", action="append", help="one check, or several")
    parser.add_argument("--list", action="store_true", help="list the checks and end")
    parser.add_argument("--yes", action="store_true", help="agree beforehand")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="Markdown, or JSON for a name in .json"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
