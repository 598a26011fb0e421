"""Azure Blob Storage for profiles: what stays of it, and whether the server gets at it."""

from contract.messages.base import Message


class KeptStorageRequest(Message):
    """A storage account that stays when the stack goes."""

    account_id: str
    """ARM id."""
    container: str


class KeptStorage(Message):
    """``hold-profile-storage`` and ``leave-profile-storage`` answer what they were given."""

    account_id: str


class StorageStartRequest(Message):
    """The server that is to sign in to the container."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str
    pod: str
    account: str
    container: str
    client_id: str
    """Of the identity that it signs in as: another one has to be let in as well."""


class StorageStart(Message):
    """The answer of ``await-profile-storage``."""

    started: bool
    """Whether the server was seen to be ready."""
