"""What the published releases of Pyroscope's chart and server read.

From ``published/``, which ``tools/published.py`` makes from their source. A tree names the keys of
a mapping; a key without a tree of its own holds anything.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

from contract.compatibility import CHARTS, SERVERS, Versions, release

_FOLDER = Path(__file__).parent / "published"

Tree: TypeAlias = Mapping[str, "Tree | None"]


@dataclass(frozen=True)
class Server:
    """What a release of the server knows."""

    version: str
    configuration: Tree
    """Keys of the configuration file."""
    hidden: frozenset[str]
    """Keys that its reference leaves out, somewhere in a section."""
    flags: frozenset[str]


def chart_values(version: str) -> Tree | None:
    """The values that a release of the chart reads; None where that is not known."""
    found = _nearest("chart", version) if _in(version, CHARTS) else None
    return None if found is None else cast("Tree", _content(f"chart-{found}.json"))


def first_chart_with(path: str) -> str | None:
    """The first release of the chart that reads the value at a dotted path."""
    for version in _versions("chart"):
        tree: Tree | None = cast("Tree", _content(f"chart-{version}.json"))
        for key in path.split("."):
            if tree is None or key not in tree:
                break
            tree = tree[key]
        else:
            return version
    return None


def server(version: str) -> Server | None:
    """What a release of the server knows; None where that is not known."""
    found = _nearest("server", version) if _in(version, SERVERS) else None
    if found is None:
        return None
    content = _content(f"server-{found}.json")
    return Server(
        version=version,
        configuration=cast("Tree", content["configuration"]),
        hidden=frozenset(cast("list[str]", content["hidden"])),
        flags=frozenset(cast("list[str]", content["flags"])),
    )


def _in(version: str, releases: Versions) -> bool:
    number = release(version)
    return number is not None and number in releases


def _nearest(kind: str, version: str) -> str | None:
    """The latest release on file that is not later than ``version``."""
    older = [one for one in _versions(kind) if _number(one) <= _number(version)]
    return older[-1] if older else None


@cache
def _versions(kind: str) -> tuple[str, ...]:
    names = (path.stem.removeprefix(f"{kind}-") for path in _FOLDER.glob(f"{kind}-*.json"))
    return tuple(sorted(names, key=_number))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdigit())


@cache
def _content(name: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads((_FOLDER / name).read_text()))
