"""The functions (invokes) this provider knows: reads of the declared types, and credentials.

``getClientConfig`` is the provider's own and not here.
"""

from dataclasses import dataclass
from typing import Final

from simulator.plugins.azure_native import types
from simulator.plugins.azure_native.types import ResourceType


@dataclass(frozen=True, kw_only=True)
class Read:
    """GET of a resource; its outputs and its id are the answer."""

    type: ResourceType


@dataclass(frozen=True, kw_only=True)
class Action:
    """POST below a resource; the answer's fields are the outputs."""

    type: ResourceType
    action: str
    query: tuple[tuple[str, str], ...] = ()
    """Optional arguments and their names in the query."""


CLIENT_CONFIG: Final = "azure-native:authorization:getClientConfig"

_CLUSTER_CREDENTIALS = (("serverFqdn", "server-fqdn"), ("format", "format"))

FUNCTIONS: Final[dict[str, Read | Action]] = {
    "azure-native:resources:getResourceGroup": Read(type=types.RESOURCE_GROUP),
    "azure-native:containerservice:getManagedCluster": Read(type=types.MANAGED_CLUSTER),
    "azure-native:containerservice:getAgentPool": Read(type=types.AGENT_POOL),
    "azure-native:kubernetesconfiguration:getExtension": Read(type=types.EXTENSION),
    "azure-native:dashboard:getGrafana": Read(type=types.GRAFANA),
    "azure-native:dashboard:getManagedPrivateEndpoint": Read(type=types.MANAGED_PRIVATE_ENDPOINT),
    "azure-native:monitor:getAzureMonitorWorkspace": Read(type=types.AZURE_MONITOR_WORKSPACE),
    "azure-native:monitor:getDataCollectionEndpoint": Read(type=types.DATA_COLLECTION_ENDPOINT),
    "azure-native:monitor:getDataCollectionRule": Read(type=types.DATA_COLLECTION_RULE),
    "azure-native:containerservice:listManagedClusterUserCredentials": Action(
        type=types.MANAGED_CLUSTER,
        action="listClusterUserCredential",
        query=_CLUSTER_CREDENTIALS,
    ),
    "azure-native:containerservice:listManagedClusterAdminCredentials": Action(
        type=types.MANAGED_CLUSTER,
        action="listClusterAdminCredential",
        query=_CLUSTER_CREDENTIALS[:1],
    ),
}
