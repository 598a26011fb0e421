"""What the survey finds of the private link: its name, its endpoint, and the subnet it needs."""

from typing import Protocol

from contract import azure
from contract.json import Document
from contract.messages.survey import (
    ClusterFacts,
    LinkGroupFacts,
    Presence,
    PrivateLinkFacts,
    SubnetFacts,
)
from operations.azure import presence_of
from operations.errors import OperationError
from operations.rights import permits

_ALWAYS = (f"{azure.SUBNET}/read", f"{azure.SUBNET}/join/action")
_TO_DISABLE_POLICIES = f"{azure.SUBNET}/write"
"""The cloud controller sets ``privateLinkServiceNetworkPolicies`` to Disabled where it is not
(cloud-provider-azure, ``disablePLSNetworkPolicy``)."""


_IN_A_GROUP = (
    f"{azure.PRIVATE_LINK_SERVICE}/read",
    f"{azure.PRIVATE_LINK_SERVICE}/write",
    f"{azure.PRIVATE_LINK_SERVICE}/delete",
    f"{azure.PRIVATE_LINK_SERVICE}/privateEndpointConnections/delete",
)
"""What the cloud controller does with the service (cloud-provider-azure,
``azure_privatelinkservice.go``)."""


class Get(Protocol):
    """What is at an ARM id, in an API version; raises OperationError."""

    def __call__(self, path: str, api_version: str, **query: str) -> Document:
        """The document."""
        ...


class GetAll(Protocol):
    """All pages of a list; raises OperationError."""

    def __call__(self, path: str, api_version: str, **query: str) -> list[Document]:
        """The documents."""
        ...


def private_link(get: Get, link_id: str) -> PrivateLinkFacts:
    """The Private Link Service of that id."""
    try:
        found = get(link_id, azure.PRIVATE_LINK_SERVICE_API)
    except OperationError as error:
        return PrivateLinkFacts(presence=presence_of(error))
    frontends = found.child("properties").children("loadBalancerFrontendIpConfigurations")
    return PrivateLinkFacts(
        presence=Presence.FOUND,
        frontends=tuple(one.text("id") for one in frontends),
        owner_service=found.text("tags", azure.OWNER_SERVICE_TAG),
    )


def private_endpoint(get: Get, endpoint_id: str) -> Presence:
    """Whether the managed private endpoint of that id is there."""
    try:
        get(endpoint_id, azure.GRAFANA_API)
    except OperationError as error:
        return presence_of(error)
    return Presence.FOUND


def subnet_id(cluster: ClusterFacts, name: str | None) -> str | None:
    """The subnet that the cloud controller takes; None in a network of AKS' own.

    That of the nodes, or the one of ``name`` in their network.
    """
    nodes = next((pool.subnet_id for pool in cluster.pools if pool.subnet_id), "")
    if not nodes or not cluster.principal_id:
        return None
    own = f"/resourcegroups/{cluster.node_resource_group}/".lower()
    if own in nodes.lower():
        return None
    return f"{nodes.rpartition('/')[0]}/{name}" if name else nodes


def subnet(get: Get, get_all: GetAll, subnet_id: str, principal: str) -> SubnetFacts:
    """The subnet, and what the cluster's identity may not do with it."""
    try:
        found = get(subnet_id, azure.PRIVATE_LINK_SERVICE_API)
    except OperationError as error:
        return SubnetFacts(presence=presence_of(error), id=subnet_id)
    policies = found.text("properties", "privateLinkServiceNetworkPolicies")
    needed = _ALWAYS if policies == "Disabled" else (*_ALWAYS, _TO_DISABLE_POLICIES)
    permissions, certain = _permissions(get, get_all, subnet_id, principal)
    missing = tuple(
        action for action in needed if not any(permits(one, action) for one in permissions)
    )
    return SubnetFacts(presence=Presence.FOUND, id=subnet_id, missing=missing, certain=certain)


def link_group(get: Get, get_all: GetAll, group: str, principal: str) -> LinkGroupFacts:
    """What the cluster's identity may not do in the group, whose ARM id is ``group``."""
    permissions, certain = _permissions(get, get_all, group, principal)
    missing = tuple(
        action for action in _IN_A_GROUP if not any(permits(one, action) for one in permissions)
    )
    return LinkGroupFacts(id=group, missing=missing, certain=certain)


def _permissions(
    get: Get, get_all: GetAll, scope: str, principal: str
) -> tuple[list[Document], bool]:
    """What the roles of ``principal`` at ``scope`` allow, and whether all could be read."""
    try:
        assignments = get_all(
            f"{scope}/providers/{azure.ROLE_ASSIGNMENT}",
            azure.AUTHORIZATION_API,
            filter=f"atScope() and assignedTo('{principal}')",
        )
    except OperationError:
        return [], False
    permissions: list[Document] = []
    certain = True
    for definition in {one.text("properties", "roleDefinitionId") for one in assignments}:
        try:
            found = get(definition, azure.AUTHORIZATION_API)
        except OperationError:
            certain = False
        else:
            permissions += found.child("properties").children("permissions")
    return permissions, certain
