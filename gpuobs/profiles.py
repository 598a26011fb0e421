"""``hotspots``, ``diff`` and ``render``: reading profiles. Done by :mod:`flamegraphs`."""

import argparse
from collections.abc import Mapping

from flamegraphs.cli import COMMANDS, Command
from gpuobs.statuses import Status
from gpuobs.verb import Verb

_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "hotspots": ("--stack dev", "--stack dev --pod vllm-0 --from now-15m", "profile.pb.gz --json"),
    "diff": ("baseline.pb.gz today.pb.gz --fail-on-growth 10%%",),
    "render": (
        "--stack dev --output graph.html",
        "--stack dev --diff @now-2h..now-1h @now-1h..now --output diff.html",
        "profile.pb.gz --output graph.svg",
        "--diff a.pb.gz b.pb.gz --output change.html",
    ),
}


def _verb(command: Command) -> Verb:
    def run(options: argparse.Namespace) -> Status:
        command.run(options)
        return Status.DONE

    return Verb(
        name=command.name,
        summary=command.summary,
        usage=command.usage,
        add_arguments=command.add_arguments,
        run=run,
        examples=_EXAMPLES[command.name],
        more=command.more,
    )


PROFILES = tuple(map(_verb, COMMANDS))
