"""Keeping the agent's namespace while Pyroscope is in it."""

from contract.messages.base import Message


class NamespaceRequest(Message):
    """The namespace that the agent's extension and Pyroscope share."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str
    service: str
    """While the Service of this name is in it, nobody can delete the namespace."""
    release: str | None = None
    """Helm release of the extension, which may take the namespace over; None: the namespace is
    somebody else's, and not marked."""
    stack_mark: str | None = None
    """Of the stack that has made the namespace; None: it is not marked with one."""


class KeptNamespace(Message):
    """The answer of ``keep-namespace`` and ``release-namespace``."""

    namespace: str
    protected: bool
    """Whether its deletion is refused from now on."""
    note: str = ""
    """What could not be done, and why that is no failure."""
