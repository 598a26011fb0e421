"""``runCommand`` of a cluster: a command line run in a pod beside the API server.

Only what this project's documentation tells people to run is understood: ``kubectl get`` and
``kubectl delete`` of one kind in a namespace, by name or by label. Anything else ends with exit
code 127 and says so. The answer is CommandResultProperties of azure-mgmt-containerservice 41.6.
"""

import shlex
from typing import Final

from simulator.kubernetes import state
from simulator.kubernetes.kinds import KINDS, Kind
from simulator.values import JsonObject, as_object, as_text
from simulator.world import ClusterState

COMMAND_SECONDS: Final = 20
"""Until the pod that runs the command is there and has run it."""
_OPTIONS: Final = {
    "-n": "namespace",
    "--namespace": "namespace",
    "-l": "selector",
    "--selector": "selector",
    "-o": "output",
    "--output": "output",
}
_NOT_FOUND: Final = 127


def run(cluster: ClusterState, command: str) -> tuple[int, str]:
    """Exit code and output of the command line."""
    if cluster.server_url:
        return _NOT_FOUND, "the simulator runs no commands on a real API server\n"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return 2, f"sh: {error}\n"
    if words[:2] not in (["kubectl", "get"], ["kubectl", "delete"]):
        return _NOT_FOUND, f"the simulator does not know the command: {command}\n"
    options, rest = _parsed(words[2:])
    if options is None or not rest:
        return _NOT_FOUND, f"the simulator does not know the arguments of: {command}\n"
    kind = _kind(rest[0])
    if kind is None:
        return 1, f'error: the server doesn\'t have a resource type "{rest[0]}"\n'
    return _kubectl(cluster, words[1], kind, rest[0], rest[1:], options)


def _parsed(words: list[str]) -> tuple[dict[str, str] | None, list[str]]:
    options: dict[str, str] = {}
    rest: list[str] = []
    pending = iter(words)
    for word in pending:
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            options[_OPTIONS[name]] = value if equals else next(pending, "")
        elif word.startswith("-"):
            return None, []
        else:
            rest.append(word)
    return options, rest


def _kind(word: str) -> Kind | None:
    wanted = word.lower()
    for (_, plural), kind in KINDS.items():
        if wanted in (plural, kind.kind.lower()):
            return kind
    return None


def _kubectl(
    cluster: ClusterState,
    verb: str,
    kind: Kind,
    word: str,
    names: list[str],
    options: dict[str, str],
) -> tuple[int, str]:
    namespace = options.get("namespace", "default") if kind.namespaced else ""
    selector = [part.partition("=") for part in options.get("selector", "").split(",") if part]
    labels = {key: value for key, _, value in selector}
    found = [
        item
        for item in cluster.of_kind(kind.kind, namespace)
        if _has(item, labels) and (not names or state.name_of(item) in names)
    ]
    missing = set(names) - {state.name_of(item) for item in found}
    if missing:
        first = min(missing)
        return 1, f'Error from server (NotFound): {word} "{first}" not found\n'
    if verb == "delete" and not names and not labels:
        return 1, "error: resource(s) were provided, but no name was specified\n"
    if not found:
        return 0, f"No resources found in {namespace} namespace.\n"
    lines: list[str] = []
    for item in found:
        if verb == "delete":
            state.remove(cluster, item)
            lines.append(f'{kind.kind.lower()} "{state.name_of(item)}" deleted')
        else:
            lines.append(state.name_of(item))
    return 0, "\n".join(lines) + "\n"


def _has(manifest: JsonObject, labels: dict[str, str]) -> bool:
    own = as_object(as_object(manifest.get("metadata")).get("labels"))
    return all(as_text(own.get(key)) == value for key, value in labels.items())
