"""What a change of where profiles are kept, or of how the server runs, takes away: said before.

What a deployed server keeps its profiles in, only the stack's state tells.
"""

from enum import StrEnum

from components.pyroscope_values import GRACE_PERIOD_SECONDS
from contract.json import Document
from contract.microservices import ServerComponent, ServerMode
from infra.deployed import Deployed, Own
from infra.settings import StorageSettings


class Kept(StrEnum):
    """Where profiles are."""

    POD = "in the pod"
    DISK = "on the disk"
    BLOB = "in Blob Storage"


def deployed_mode(deployed: Deployed) -> ServerMode | None:
    """How the server runs that is deployed; None: there is none."""
    release = deployed.outputs_of(Own.RELEASE)
    if not release:
        return None
    components = release.child("values", "pyroscope", "components")
    return ServerMode.DISTRIBUTED if components else ServerMode.SINGLE


def mode_change(mode: ServerMode, deployed: Deployed) -> str:
    """A sentence for who is about to change how Pyroscope runs; empty where nothing changes."""
    before = deployed_mode(deployed)
    if before is None or before is mode:
        return ""
    return f"Pyroscope runs as {_RUNS[before]} and will run as {_RUNS[mode]}. {_MEANWHILE}"


def storage_change(storage: StorageSettings, deployed: Deployed) -> str:
    """A sentence for who is about to change it; empty where nothing changes, or nothing is lost."""
    release = deployed.outputs_of(Own.RELEASE)
    if not release:
        return ""
    before, after = _deployed(release), _wanted(storage)
    if before == after:
        return ""
    return f"Profiles are {before.value} and will be {after.value}. {_LOST[before, after]}"


def link_change(*, wanted: bool, storage: StorageSettings, deployed: Deployed) -> str:
    """A sentence for who is about to make, or give up, the private link; empty where neither."""
    release = deployed.outputs_of(Own.RELEASE)
    values = release.child("values", "pyroscope")
    front = values.child("components", ServerComponent.QUERY_FRONTEND)
    exposed = "LoadBalancer" in (one.text("service", "type") for one in (values, front))
    if not release or exposed == wanted:
        return ""
    change = "gets a private link" if wanted else "loses its private link"
    kept = _deployed(release)
    lost = (
        "what is in the pod is lost"
        if kept is Kept.POD or _wanted(storage) is Kept.POD
        else "it writes what it still holds first, and nothing is lost"
    )
    return (
        f"Pyroscope {change}: the release is deleted and made again, {lost}, and profiles are not "
        "taken in meanwhile. Grafana's way to it changes with it."
    )


def _deployed(release: Document) -> Kept:
    pyroscope = release.child("values", "pyroscope")
    if pyroscope.text("structuredConfig", "storage", "backend") == "azure":
        return Kept.BLOB
    return Kept.DISK if pyroscope.flag("persistence", "enabled") else Kept.POD


def _wanted(storage: StorageSettings) -> Kept:
    if storage.blob is not None:
        return Kept.BLOB
    return Kept.DISK if storage.disk is not None else Kept.POD


_FROM_POD = (
    "Those in the pod are lost: the release is deleted and made again, and Grafana reaches no "
    "profiles meanwhile."
)
_TO_POD = (
    "The release is deleted and made again, and what it then keeps is gone when its pod restarts. "
)
_LOST = {
    (Kept.POD, Kept.DISK): _FROM_POD,
    (Kept.POD, Kept.BLOB): _FROM_POD,
    (Kept.DISK, Kept.BLOB): "The server restarts. What the disk holds stays on it and is not shown "
    "any more, but for the last 4 hours; back on the disk alone it is shown again.",
    (Kept.BLOB, Kept.DISK): "The server restarts, and writes what it still holds to Blob first. "
    "What is there is not shown any more, but for the last 4 hours; what becomes of it says "
    "onDestroy of the stack as it is deployed.",
    (Kept.DISK, Kept.POD): _TO_POD + "The disk's claim and what is on it stay, and are not shown.",
    (Kept.BLOB, Kept.POD): _TO_POD
    + "What is in Blob is not shown any more; what becomes of it says onDestroy of the stack as it "
    "is deployed.",
}

STOPPING = GRACE_PERIOD_SECONDS // 60
"""Minutes that the pods which keep profiles have to write them."""
USUAL, LONG = 1 + 1 + 3, STOPPING + 3 + 7
"""Minutes without a server, from one way to run to the other. An estimate: nothing was measured.

A minute to write; one to three for the cloud controller to delete the private link (what its own
documentation and :mod:`operations.private_link` reckon with); three to seven for disks to be
attached, images to be pulled and components to find each other. Each step's deadline is longer.
"""

_RUNS = {ServerMode.SINGLE: "one server", ServerMode.DISTRIBUTED: "micro-services"}
_MEANWHILE = (
    "Grafana's endpoint, the private link and the release are deleted, and made again: Grafana "
    "reaches no profiles meanwhile, and what workloads allocate is not recorded from the end of "
    f"the old server until the new one is ready: an estimate is {USUAL} to {LONG} minutes. The old "
    f"one writes all it holds to Blob first, for which its pods have {STOPPING}. What is in Blob "
    "stays and is shown by the new one, but for the last 4 hours before the change, which come "
    "back as they get older than that."
)
