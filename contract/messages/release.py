"""Pyroscope's release: what a Helm that was cut off has left, and what was changed by hand."""

from collections.abc import Sequence

from contract.messages.base import Message


class DriftedObject(Message):
    """An object of the release that is not as Helm rendered it."""

    path: str
    """Of Kubernetes' API."""
    name: str
    """For a person: ``Service gadget/pyroscope``."""
    seen: str
    """Another one each time that something has changed."""
    fields: Sequence[str] = ()
    """What differs: ``spec.replicas``. None: the object is gone."""
    further: int = 0
    """How many more differ."""
    restarts: bool = False
    """Whether putting it back starts its pods anew."""


class RepairRequest(Message):
    """The objects of the release that are to be as Helm rendered them."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    objects: tuple[DriftedObject, ...]


class RepairedRelease(Message):
    """The answer of ``repair-release``."""

    put_back: tuple[str, ...]
    """Names of the objects that were changed or made again."""


class RecordOfRelease(Message):
    """A Secret in which Helm keeps a revision, as it was found."""

    name: str
    uid: str
    status: str


class RecoveryRequest(Message):
    """The records that are in the way of the release."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str
    records: tuple[RecordOfRelease, ...]


class RecoveredRelease(Message):
    """The answer of ``recover-release``."""

    removed: tuple[str, ...]
    """Names of the records that were there and are gone."""
