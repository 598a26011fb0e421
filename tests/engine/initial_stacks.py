"""Stacks as ``pulumi stack init`` leaves them: initialised once, copied into every other home.

Each takes half a second of processor time, and every module has a home with a stack for each of its
stack files. What is copied holds nothing of the home: a version, a name, the key of the secrets.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from simulator.home import Home

Key = tuple[str, str, str]
"""Project, stack, and who keeps the key of its secrets."""

_kept: Final[dict[Key, dict[str, bytes]]] = {}
"""What belongs to each stack, by its path in the home."""


def state_file(home: Home, project: str, stack: str) -> Path:
    """What the file backend keeps of a stack."""
    return home.path / "state" / ".pulumi" / "stacks" / project / f"{stack}.json"


def copy(home: Home, keys: Iterable[Key]) -> list[Key]:
    """Copy the stacks that were kept and are not in ``home``; those that are nowhere yet."""
    missing: list[Key] = []
    for key in keys:
        if state_file(home, *key[:2]).exists():
            continue
        if key not in _kept:
            missing.append(key)
            continue
        for name, content in _kept[key].items():
            file = home.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return missing


def keep(home: Home, keys: Iterable[Key]) -> None:
    """Keep stacks that have just been initialised in ``home``."""
    for key in keys:
        project, stack, _ = key
        state = home.path / "state" / ".pulumi"
        files = [
            *state.glob("meta.*"),
            *(state / "stacks" / project).glob(f"{stack}.*"),
            home.path / "salts" / f"{stack}.yaml",
        ]
        _kept[key] = {
            str(file.relative_to(home.path)): file.read_bytes() for file in files if file.exists()
        }
