"""What the published releases of Pyroscope's chart and server read.

From the files in ``published/``, made from their source by ``tools/published.py``: a tree names the
keys of a mapping, and a key without a tree of its own holds anything.
"""

import json
from functools import cache
from pathlib import Path

from simulator.values import JsonObject, as_list, as_object, as_text, is_object

_FOLDER = Path(__file__).parent / "published"


def chart_tree(version: str) -> JsonObject:
    """The values that a release of the chart reads; not on file: those of the one before."""
    return _content("chart", version)


def configuration_tree(version: str) -> JsonObject:
    """The keys that a release of the server knows in its configuration file."""
    return as_object(_content("server", version).get("configuration"))


def hidden_keys(version: str) -> frozenset[str]:
    """Keys that the server's reference leaves out, somewhere in a section."""
    return frozenset(map(as_text, as_list(_content("server", version).get("hidden"))))


def flags(version: str) -> frozenset[str]:
    """The flags that a release of the server knows."""
    return frozenset(map(as_text, as_list(_content("server", version).get("flags"))))


def only_read(values: JsonObject, tree: JsonObject) -> JsonObject:
    """``values`` without what the chart does not read."""
    kept: JsonObject = {}
    for key, value in values.items():
        if key not in tree:
            continue
        below = tree[key]
        kept[key] = only_read(value, below) if is_object(value) and is_object(below) else value
    return kept


def _content(kind: str, version: str) -> JsonObject:
    versions = sorted(
        (path.stem.removeprefix(f"{kind}-") for path in _FOLDER.glob(f"{kind}-*.json")), key=_number
    )
    older = [one for one in versions if _number(one) <= _number(version)]
    return _read(f"{kind}-{older[-1] if older else versions[0]}.json")


@cache
def _read(name: str) -> JsonObject:
    return as_object(json.loads((_FOLDER / name).read_text()))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdigit())
