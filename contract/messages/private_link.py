"""The Private Link Service, its use, and the approval of Grafana's connection to it."""

from contract.messages.base import Message

REQUEST_MARK = "gpuobs"
"""First word of every request message: ``gpuobs <project> <stack> <digest>``."""


class OwnEndpoint(Message):
    """The managed private endpoint of this stack, as a Private Link Service can recognise it."""

    workspace: str
    """Name of the Grafana workspace."""
    name: str
    request_message: str


class PrivateLinkRequest(Message):
    """The Private Link Service that the AKS cloud controller makes from the Service.

    For the guard (``hold-private-link``, ``await-private-link-gone``) and the wait
    (``await-private-link``, ``await-private-link-unused``). A stack of before has none of the
    optional fields in its state.
    """

    id: str
    """ARM id of the Private Link Service."""
    namespace: str
    release: str
    node_resource_group: str | None = None
    """Group of the cluster's nodes, where the service is in another group, which clusters may
    share: it holds the load balancer of what is this cluster's. None: the service's own group."""
    own_endpoint: OwnEndpoint | None = None
    """Whose connection holds nothing up; None: not given."""
    protect_connections: bool | None = None
    """False: other people's connections are cut off; None: they are waited for."""


class HeldPrivateLink(Message):
    """``hold-private-link`` answers the namespace it was given."""

    namespace: str


class ReadyPrivateLink(Message):
    """``await-private-link`` answers the id, and the alias that Azure gave the service."""

    id: str
    alias: str


class UnusedPrivateLink(Message):
    """``await-private-link-unused`` answers the id of what nobody else is connected to."""

    id: str


class Released(Message):
    """``await-private-link-gone`` answers the id that Resource Manager no longer knows."""

    id: str


class ApprovalRequest(Message):
    """Approve the one connection that the managed private endpoint made; then refresh Grafana.

    For ``delete-private-endpoint``, too, which ends both.
    """

    grafana_id: str
    endpoint_name: str
    private_link_id: str
    request_message: str
    """The stack-unique message the endpoint was created with; becomes part of the description."""


class DeletedEndpoint(Message):
    """``delete-private-endpoint`` answers the name that Grafana has no endpoint of any more."""

    name: str


class Approval(Message):
    """The endpoint's state and address after the refresh; the address is never empty."""

    state: str
    private_ip: str
    connection: str
