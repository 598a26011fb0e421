"""What becomes of a disk that is there already when a stack file asks for another.

The claim behind it was made from the StatefulSet's template, which only the stack's state tells.
"""

import pulumi

from components.pyroscope_disk import CLAIM, DiskArgs
from contract.agent import NAMESPACE
from contract.lines import in_cluster
from infra.deployed import Deployed, Own
from infra.faults import ConfigurationError, Fault, shown
from infra.settings import Disk, StorageSettings, gibibytes

_GROWN = "pyroscope-disk"
"""The resource that asks for more; there only where a disk has grown."""


def planned_disk(storage: StorageSettings, deployed: Deployed, cluster_id: str) -> DiskArgs | None:
    """The disk as the component is told of it: as it was made, and the size it shall grow to.

    One that only Blob asks for is kept as it is, where there is one. ``cluster_id`` is the ARM id
    of the cluster, for lines that are to be run in it.

    Raises:
        ConfigurationError: it would have to shrink.
    """
    wanted = storage.planned_disk
    if wanted is None:
        return None
    release = deployed.outputs_of(Own.RELEASE)
    made = release.child("values", "pyroscope", "persistence")
    if not made.flag("enabled"):
        return DiskArgs(size=wanted.size, storage_class_name=wanted.storage_class_name)
    first, kept_class = made.text("size"), made.text("storageClassName") or None
    grown = deployed.outputs_of(_GROWN).text("spec", "resources", "requests", "storage")
    now = grown or first
    if storage.disk is None:
        wanted = Disk(size=now, storage_class_name=kept_class)
    if gibibytes(wanted.size) < gibibytes(now):
        raise ConfigurationError([_shrinks(wanted, now, cluster_id)])
    if wanted.storage_class_name != kept_class:
        pulumi.log.warn(_stays(wanted, kept_class, cluster_id))
    if gibibytes(wanted.size) == gibibytes(first):
        return DiskArgs(size=first, storage_class_name=kept_class)
    return DiskArgs(size=first, storage_class_name=kept_class, grown_to=wanted.size)


def _shrinks(wanted: Disk, now: str, cluster_id: str) -> Fault:
    return Fault(
        path="gpuobs:pyroscope.storage.disk.size",
        value=shown(wanted.size),
        rule=f"at least {now}, which the disk has",
        why="Kubernetes refuses to shrink a claim.",
        fix=f"write size: {now}. {_anew(cluster_id)}",
    )


def _anew(cluster_id: str) -> str:
    delete = in_cluster(
        cluster_id, "kubectl", "delete", "persistentvolumeclaim", CLAIM, "--namespace", NAMESPACE
    )
    return (
        f"To start anew, on an empty disk: leave `storage` out, `pulumi up`, {delete}, and write "
        "the new disk"
    )


def _stays(wanted: Disk, kept: str | None, cluster_id: str) -> str:
    return (
        f"The disk stays in storage class {kept or '(the default when it was made)'}, and "
        f"gpuobs:pyroscope.storage.disk.storageClassName = {wanted.storage_class_name or 'none'} "
        f"has no effect on it: Kubernetes moves no claim to another class. {_anew(cluster_id)}."
    )
