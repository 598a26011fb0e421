"""Removing what a Helm that was cut off has left, so that the next one can go on."""

from contract.messages.base import Message


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
