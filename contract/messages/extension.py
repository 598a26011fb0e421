"""The agent's extension, where Azure could not remove it: it is to be forgotten."""

from contract.messages.base import Message


class ExtensionRecoveryRequest(Message):
    """An extension that failed because Helm may not delete the namespace that its chart carries."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str
    extension_id: str
    """ARM id."""
    release: str
    """Its Helm release, by which Helm knows it."""
    seen: str
    """Another one each time that it is to be forgotten."""


class RecoveredExtension(Message):
    """The answer of ``recover-extension``."""

    extension_id: str
    """What neither Azure nor Helm knows any more."""
    seen: str
    """The request's: what makes the extension another one."""
