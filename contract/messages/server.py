"""The end of a server, which writes what it holds in memory before its pods are gone."""

from contract.messages.base import Message


class ServerRequest(Message):
    """The server whose pods are waited for."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str


class HeldServer(Message):
    """``hold-server`` answers the namespace it was given."""

    namespace: str


class StoppedServer(Message):
    """The answer of ``await-server-stopped``."""

    seen: bool
    """Whether it was seen that no pod is left; False: it could not be looked at."""
