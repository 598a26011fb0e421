"""The Private Link Service that AKS's cloud controller makes from the annotations of a Service.

Pure. The annotations are documented at https://cloud-provider-azure.sigs.k8s.io/topics/pls-integration/.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ANNOTATION_PREFIX = "service.beta.kubernetes.io/"

ANNOTATIONS = {
    "visibility": "azure-pls-visibility",
    "auto_approval": "azure-pls-auto-approval",
    "resource_group": "azure-pls-resource-group",
    "subnet": "azure-pls-ip-configuration-subnet",
    "address_count": "azure-pls-ip-configuration-ip-address-count",
    "addresses": "azure-pls-ip-configuration-ip-address",
    "fqdns": "azure-pls-fqdns",
}
"""By field of :class:`PrivateLinkArgs`: the annotation that says it."""


@dataclass(frozen=True, kw_only=True)
class OwnEndpointArgs:
    """The managed private endpoint that is made for the link, by its names."""

    workspace: str
    """Name of the Grafana workspace."""
    name: str
    request_message: str


@dataclass(frozen=True, kw_only=True)
class PrivateLinkArgs:
    """What the cloud controller is asked for."""

    id: str
    """ARM id that it will have."""
    name: str
    """At most 80 letters, digits, ``_.-``."""
    visibility: Sequence[str]
    """``*``, or subscription ids; Grafana's endpoint lives in a subscription of Microsoft's."""
    auto_approval: Sequence[str] | None = None
    """Subscription ids whose connections need no approval."""
    resource_group: str | None = None
    """None: the nodes' group."""
    subnet: str | None = None
    address_count: int | None = None
    addresses: Sequence[str] | None = None
    """IPv4."""
    fqdns: Sequence[str] | None = None
    node_resource_group: str | None = None
    """The nodes' group, needed with ``resource_group``: clusters may share that one."""
    own_endpoint: OwnEndpointArgs | None = None
    """The endpoint that is made for this link; its connection never holds up a deletion."""
    protect_connections: bool = True
    """Whether a deletion waits for other people's connections, which it would cut off."""

    @property
    def annotations(self) -> dict[str, str]:
        """The Service's annotations.

        Lists are separated by spaces: with commas they never match, without an error.
        """
        given = {
            annotation: _text(getattr(self, field)) for field, annotation in ANNOTATIONS.items()
        }
        annotations = {
            "azure-load-balancer-internal": "true",
            "azure-pls-create": "true",
            "azure-pls-name": self.name,
            # The proxy protocol's header breaks the load balancer's health probes.
            "azure-pls-proxy-protocol": "false",
            **{annotation: text for annotation, text in given.items() if text},
        }
        return {f"{ANNOTATION_PREFIX}{key}": value for key, value in annotations.items()}


def _text(value: Sequence[str] | str | int | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return str(value) if isinstance(value, int) else " ".join(value)
