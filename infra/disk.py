"""What becomes of a disk that is there already when a stack file asks for another.

The claim behind it was made from the StatefulSet's template, which only the stack's state tells.
"""

from collections.abc import Mapping

import pulumi

from components.pyroscope_disk import CLAIM, DiskArgs
from contract.agent import NAMESPACE
from contract.json import Document, as_object
from infra.faults import ConfigurationError, Fault, shown
from infra.settings import Disk, gibibytes

_READ = "pulumi:pulumi:readStackResourceOutputs"
"""The engine's function behind stack references; it reads this stack's own state as well."""
_RELEASE, _GROWN = "pyroscope-release", "pyroscope-disk"


def planned_disk(wanted: Disk | None) -> DiskArgs | None:
    """The disk as the component is told of it: as it was made, and the size it shall grow to.

    Raises:
        ConfigurationError: it would have to shrink.
    """
    if wanted is None:
        return None
    return _planned(wanted, _outputs())


def _planned(wanted: Disk, state: Mapping[str, Document]) -> DiskArgs:
    release = state.get(_RELEASE, Document({}))
    made = release.child("values", "pyroscope", "persistence")
    if not made.flag("enabled"):
        return DiskArgs(size=wanted.size, storage_class_name=wanted.storage_class_name)
    first, kept_class = made.text("size"), made.text("storageClassName") or None
    grown = state.get(_GROWN, Document({})).text("spec", "resources", "requests", "storage")
    now = grown or first
    if gibibytes(wanted.size) < gibibytes(now):
        raise ConfigurationError([_shrinks(wanted, now)])
    if wanted.storage_class_name != kept_class:
        pulumi.log.warn(_stays(wanted, kept_class))
    if gibibytes(wanted.size) == gibibytes(first):
        return DiskArgs(size=first, storage_class_name=kept_class)
    return DiskArgs(size=first, storage_class_name=kept_class, grown_to=wanted.size)


def _shrinks(wanted: Disk, now: str) -> Fault:
    return Fault(
        path="gpuobs:pyroscope.storage.disk.size",
        value=shown(wanted.size),
        rule=f"at least {now}, which the disk has",
        why="Kubernetes refuses to shrink a claim.",
        fix=f"write size: {now}. {_ANEW}",
    )


_ANEW = (
    "To start anew, on an empty disk: leave `storage` out, `pulumi up`, kubectl delete "
    f"persistentvolumeclaim {CLAIM} --namespace {NAMESPACE}, and write the new disk"
)


def _stays(wanted: Disk, kept: str | None) -> str:
    return (
        f"The disk stays in storage class {kept or '(the default when it was made)'}, and "
        f"gpuobs:pyroscope.storage.disk.storageClassName = {wanted.storage_class_name or 'none'} "
        f"has no effect on it: Kubernetes moves no claim to another class. {_ANEW}."
    )


def _outputs() -> dict[str, Document]:
    """The outputs of what this stack has deployed, by name; nothing where they cannot be read."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    try:
        found = pulumi.runtime.invoke(_READ, {"stackName": name}).value
    # The SDK raises a plain Exception for an invoke that failed.
    except Exception as error:
        pulumi.log.debug(f"the state of this stack cannot be read: {error}")
        return {}
    urns = as_object(as_object(found).get("outputs"))
    return {urn.rpartition("::")[2]: Document(as_object(one)) for urn, one in urns.items()}
