"""What the clusters of a home are: simulated, or real API servers; and the programs those need.

A home is one or the other for good: objects of the one are unknown to the other.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.values import as_object, as_text
from tools.provide import ETCD, KUBE_APISERVER, provide

FILE: Final = "api-servers.json"
"""In the server's folder: the programs; only where the API servers are real."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """The two programs; ``scripts/tools kubernetes`` provides them."""

    kube_apiserver: Path
    etcd: Path


def is_real(folder: Path) -> bool:
    """Whether the clusters kept in ``folder`` (the server's) are real API servers."""
    return (folder / FILE).exists()


def is_used(folder: Path) -> bool:
    """Whether ``folder`` holds a simulated Azure already."""
    return (folder / "world.json").exists()


def provide_for(folder: Path) -> None:
    """Find or build the programs, and let the server of ``folder`` know where they are.

    Raises:
        tools.provide.ToolError: one of them can be neither found nor built.
    """
    programs = {"etcd": str(provide(ETCD)), "kubeApiserver": str(provide(KUBE_APISERVER))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(programs))


def programs(folder: Path) -> Programs | None:
    """The programs of a folder whose API servers are real; None: they are simulated."""
    if not is_real(folder):
        return None
    found = as_object(json.loads((folder / FILE).read_text()))
    return Programs(
        kube_apiserver=Path(as_text(found.get("kubeApiserver"))),
        etcd=Path(as_text(found.get("etcd"))),
    )
