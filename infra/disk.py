"""What becomes of a disk that is there already when a stack file asks for another.

The claim behind it was made from the StatefulSet's template, which only the stack's state tells.
"""

import pulumi

from components.pyroscope_disk import CLAIM, DiskArgs
from components.pyroscope_microservices import selector
from contract.agent import NAMESPACE
from contract.lines import in_cluster
from contract.microservices import ServerComponent, ServerMode
from contract.quantity import gibibytes
from infra.deployed import Deployed, Own
from infra.faults import ConfigurationError, Fault, shown
from infra.settings import Disk, PyroscopeSettings

_GROWN = {
    ServerMode.SINGLE: "pyroscope-disk",
    ServerMode.DISTRIBUTED: "pyroscope-disk-0",
}
"""The resource that asks for more; there only where a disk has grown."""


def planned_disk(
    pyroscope: PyroscopeSettings, deployed: Deployed, cluster_id: str
) -> DiskArgs | None:
    """The disk as the component is told of it: as it was made, and the size it shall grow to.

    One that only Blob asks for is kept as it is, where there is one; of micro-services each
    ingester has one. ``cluster_id`` is the ARM id of the cluster, for lines that are to be run in
    it.

    Raises:
        ConfigurationError: it would have to shrink.
    """
    storage, mode = pyroscope.storage, pyroscope.mode
    wanted = storage.planned_disk
    if wanted is None:
        return None
    values = deployed.outputs_of(Own.RELEASE).child("values", "pyroscope")
    if mode is ServerMode.DISTRIBUTED:
        values = values.child("components", ServerComponent.INGESTER)
    made = values.child("persistence")
    if not made.flag("enabled"):
        return DiskArgs(size=wanted.size, storage_class_name=wanted.storage_class_name)
    first, kept_class = made.text("size"), made.text("storageClassName") or None
    grown = deployed.outputs_of(_GROWN[mode]).text("spec", "resources", "requests", "storage")
    now = grown or first
    if storage.disk is None:
        # What Blob alone asks for is no wish.
        wanted = Disk(size=now, storage_class_name=kept_class)
    if gibibytes(wanted.size) < gibibytes(now):
        raise ConfigurationError([_shrinks(wanted, now, cluster_id, mode)])
    if wanted.storage_class_name != kept_class:
        pulumi.log.warn(_stays(wanted, kept_class, cluster_id, mode))
    if gibibytes(wanted.size) == gibibytes(first):
        return DiskArgs(size=first, storage_class_name=kept_class)
    return DiskArgs(size=first, storage_class_name=kept_class, grown_to=wanted.size)


def _shrinks(wanted: Disk, now: str, cluster_id: str, mode: ServerMode) -> Fault:
    return Fault(
        path="gpuobs:pyroscope.storage.disk.size",
        value=shown(wanted.size),
        rule=f"at least {now}, which the disk has",
        why="Kubernetes refuses to shrink a claim.",
        fix=f"write size: {now}. {_anew(cluster_id, mode)}",
    )


def _anew(cluster_id: str, mode: ServerMode) -> str:
    if mode is ServerMode.SINGLE:
        before, after = "leave `storage` out", "write the new disk"
        delete = in_cluster(
            cluster_id,
            *("kubectl", "delete", "persistentvolumeclaim", CLAIM, "--namespace", NAMESPACE),
        )
    else:
        before, after = "write mode: single", "write mode: distributed and the new disk"
        # A StatefulSet gives its selector's labels to its claims.
        labels = selector(ServerComponent.INGESTER).items()
        chosen = ",".join(f"{name}={value}" for name, value in labels)
        delete = in_cluster(
            cluster_id,
            *("kubectl", "delete", "persistentvolumeclaim", "--selector", chosen),
            *("--namespace", NAMESPACE),
        )
    return f"To start anew, on an empty disk: {before}, `pulumi up`, {delete}, and {after}"


def _stays(wanted: Disk, kept: str | None, cluster_id: str, mode: ServerMode) -> str:
    return (
        f"The disk stays in storage class {kept or '(the default when it was made)'}, and "
        f"gpuobs:pyroscope.storage.disk.storageClassName = {wanted.storage_class_name or 'none'} "
        "has no effect on it: Kubernetes moves no claim to another class. "
        f"{_anew(cluster_id, mode)}."
    )
