"""The Private Link Service, its use, and the approval of Grafana's connection to it."""

from contract.messages.base import Message


class PrivateLinkRequest(Message):
    """The Private Link Service that the AKS cloud controller makes from the Service.

    For the guard (``hold-private-link``, ``await-private-link-gone``) and the wait
    (``await-private-link``, ``await-private-link-unused``). All of it is identity: a change of any
    part replaces the command.
    """

    id: str
    """ARM id of the Private Link Service."""
    namespace: str
    release: str


class HeldPrivateLink(Message):
    """``hold-private-link`` answers the namespace, which ties the release to the guard."""

    namespace: str


class ReadyPrivateLink(Message):
    """``await-private-link`` answers the id, which ties the endpoint to the wait."""

    id: str
    alias: str


class UnusedPrivateLink(Message):
    """``await-private-link-unused`` answers the id of what nothing is connected to."""

    id: str


class Released(Message):
    """``await-private-link-gone`` answers the id that Resource Manager no longer knows."""

    id: str


class ApprovalRequest(Message):
    """Approve the one connection that the managed private endpoint made; then refresh Grafana."""

    grafana_id: str
    endpoint_name: str
    private_link_id: str
    request_message: str
    """The stack-unique message the endpoint was created with; becomes part of the description."""


class Approval(Message):
    """The endpoint's state and address after the refresh; the address is never empty."""

    state: str
    private_ip: str
    connection: str
