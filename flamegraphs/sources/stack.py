"""Finds Grafana and its data source in the outputs of a Pulumi stack, asking ``pulumi``."""

import subprocess
from collections.abc import Mapping

from contract.json import as_object, is_object, parse
from flamegraphs.errors import FlameGraphError, UsageError
from flamegraphs.sources import grafana
from flamegraphs.sources.pyroscope import Server

_SECONDS = 120


def server(stack: str) -> Server:
    """Return the Pyroscope that a stack has installed.

    Run in the project's folder, as ``pulumi`` is. Raises `UsageError` where the stack is unknown,
    `FlameGraphError` where ``pulumi`` is missing or the stack has no Grafana yet.
    """
    outputs = _outputs(stack)
    endpoint = outputs.get("grafanaEndpoint")
    uids = outputs.get("dataSourceUids")
    uid = as_object(uids).get("pyroscope")
    if not isinstance(endpoint, str) or not isinstance(uid, str):
        raise FlameGraphError(
            f"Stack {stack} has no outputs grafanaEndpoint and dataSourceUids.pyroscope. "
            f"Is it deployed? `pulumi up --stack {stack}` makes them."
        )
    return grafana.server(endpoint, uid)


def _outputs(stack: str) -> Mapping[str, object]:
    command = ["pulumi", "stack", "output", "--json", "--non-interactive", "--stack", stack]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise FlameGraphError(
            "--stack needs the `pulumi` command, which is not on PATH. Install it, or name Grafana "
            "with --grafana and --data-source."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise FlameGraphError(
            f"`{' '.join(command)}` gave no answer in {_SECONDS} seconds."
        ) from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:500] or "it gave no reason"
        raise UsageError(f"The outputs of stack {stack} cannot be read: {said}")
    outputs = parse(done.stdout)
    if not is_object(outputs):
        raise FlameGraphError(f"`{' '.join(command)}` answered something other than JSON.")
    return outputs
