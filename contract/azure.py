"""Azure's own words: resource types and API versions, roles, audiences, and ids of resources.

Ids are computed rather than looked up: a Private Link Service has one long before it exists, and
the ``network`` module of azure-native costs a preview more to import than everything else together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# --- resource types and the API versions that are spoken --------------------------------------

MANAGED_CLUSTER = "Microsoft.ContainerService/managedClusters"
MANAGED_CLUSTER_API = "2025-09-01"

GRAFANA = "Microsoft.Dashboard/grafana"
GRAFANA_API = "2024-10-01"

PRIVATE_LINK_SERVICE = "Microsoft.Network/privateLinkServices"
PRIVATE_LINK_SERVICE_API = "2024-05-01"
REQUEST_MESSAGE_CHARACTERS = 140
"""The most that a connection says of itself (Microsoft.Network's specification: "Restricted to 140
chars"); its approval's description is kept within the same."""
OWNER_SERVICE_TAG = "k8s-azure-owner-service"
"""Tag of a Private Link Service with the Service that the cloud controller made it for."""
APPROVE_CONNECTION = f"{PRIVATE_LINK_SERVICE}/privateEndpointConnections/write"
"""The action of Azure RBAC that approves a connection."""

SUBNET = "Microsoft.Network/virtualNetworks/subnets"

MONITOR_WORKSPACE = "Microsoft.Monitor/accounts"
MONITOR_WORKSPACE_API = "2023-04-03"

DATA_COLLECTION_ENDPOINT = "Microsoft.Insights/dataCollectionEndpoints"
DATA_COLLECTION_RULE = "Microsoft.Insights/dataCollectionRules"
DATA_COLLECTION_RULE_ASSOCIATION = "Microsoft.Insights/dataCollectionRuleAssociations"
DATA_COLLECTION_API = "2022-06-01"
ENDPOINT_ASSOCIATION = "configurationAccessEndpoint"
"""The only name under which Azure associates a collection endpoint; a rule must not be in it."""

RULE_GROUP = "Microsoft.AlertsManagement/prometheusRuleGroups"

ACTION_GROUP = "Microsoft.Insights/actionGroups"
ACTION_GROUP_API = "2023-01-01"

EXTENSION = "Microsoft.KubernetesConfiguration/extensions"
EXTENSION_API = "2023-05-01"

STORAGE_ACCOUNT = "Microsoft.Storage/storageAccounts"
STORAGE_API = "2024-01-01"
STACK_TAG = "gpuobs-stack"
"""Tag of a storage account with the stack that made it, which finds it by that again."""

USER_ASSIGNED_IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"

ROLE_ASSIGNMENT = "Microsoft.Authorization/roleAssignments"
ROLE_DEFINITION = "Microsoft.Authorization/roleDefinitions"
PERMISSIONS = "Microsoft.Authorization/permissions"
AUTHORIZATION_API = "2022-04-01"
ROLE_ELIGIBILITY = "Microsoft.Authorization/roleEligibilityScheduleInstances"
ROLE_ELIGIBILITY_API = "2020-10-01"

LOCK = "Microsoft.Authorization/locks"
LOCK_API = "2020-05-01"
LOCKED = "ScopeLocked"
"""The error code of what a management lock refuses."""

COMPUTE_SKUS = "Microsoft.Compute/skus"
COMPUTE_SKUS_API = "2021-07-01"
COMPUTE_LOCATIONS = "Microsoft.Compute/locations"
COMPUTE_USAGES_API = "2024-07-01"

RESOURCE_GROUP = "Microsoft.Resources/subscriptions/resourceGroups"
RESOURCE_GROUP_API = "2024-03-01"
RESOURCE_PROVIDER_API = "2021-04-01"
NOT_REGISTERED = "MissingSubscriptionRegistration"
"""The error code for a resource whose provider the subscription does not have registered."""


def is_at_rest(provisioning_state: str) -> bool:
    """Whether a resource in this state takes a change; all other states end by themselves.

    Source: Azure Resource Manager's terminal states. Empty: it is not said.
    """
    return provisioning_state in ("Succeeded", "Failed", "Canceled", "")


def provider_of(resource_type: str) -> str:
    """The resource provider of a type: what is before its first slash."""
    return resource_type.partition("/")[0]


# --- roles ------------------------------------------------------------------------------------


class Role(StrEnum):
    """A built-in role by its definition's GUID, the same in every tenant.

    Source: Azure's list of built-in roles. Data plane roles of Grafana are not implied by Owner.
    """

    GRAFANA_ADMIN = "22926164-76b3-42b3-bc55-97df8dab3e41"
    GRAFANA_EDITOR = "a79a5197-3a5c-4973-a920-486035ffd60f"
    GRAFANA_VIEWER = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
    MONITORING_DATA_READER = "b0d8363b-8ddd-447d-831f-62ca05bff136"
    NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
    STORAGE_BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"

    @property
    def role_name(self) -> str:
        """What Azure calls it, e.g. ``Grafana Admin``."""
        return self.name.replace("_", " ").title()


DATA_ACTIONS: Final = {
    Role.GRAFANA_ADMIN: "Microsoft.Dashboard/grafana/ActAsGrafanaAdmin/action",
    Role.MONITORING_DATA_READER: "Microsoft.Monitor/accounts/data/metrics/read",
}
"""What a role is needed for; a role of somebody's own may allow it as well."""


def role_definition_id(subscription_id: str, role: Role) -> str:
    """ARM id of ``role``'s definition, as a role assignment in ``subscription_id`` names it."""
    return f"/subscriptions/{subscription_id}/providers/{ROLE_DEFINITION}/{role.value}"


# --- audiences of access tokens ---------------------------------------------------------------

ARM_URL = "https://management.azure.com"
AKS_SERVER_AUDIENCE = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""The Entra application of every AKS API server, the same in all tenants (AKS documentation)."""
GRAFANA_AUDIENCE = "ce34e7e5-485f-4d76-964f-b3d2b16d1e4f"
"""The Entra application of Azure Managed Grafana's data plane, the same in all tenants."""
GRAFANA_AUDIENCE_VARIABLE = "GPUOBS_GRAFANA_AUDIENCE"
"""Another audience, where a cloud or a newer service asks for one."""


def scope_of(audience: str) -> str:
    """The scope to ask Microsoft Entra for, to get a token for ``audience``."""
    return f"{audience}/.default"


def grafana_scope(environment: Mapping[str, str]) -> str:
    """The scope of Grafana's data plane, as ``environment`` has it."""
    return scope_of(environment.get(GRAFANA_AUDIENCE_VARIABLE, "") or GRAFANA_AUDIENCE)


# --- ids --------------------------------------------------------------------------------------


def group_id(subscription_id: str, resource_group: str) -> str:
    """Id of a resource group."""
    return f"/subscriptions/{subscription_id}/resourceGroups/{resource_group}"


def resource_id(subscription_id: str, resource_group: str, resource_type: str, name: str) -> str:
    """Id of a resource."""
    return f"{group_id(subscription_id, resource_group)}/providers/{resource_type}/{name}"


def cluster_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of an AKS cluster."""
    return resource_id(subscription_id, resource_group, MANAGED_CLUSTER, name)


def agent_pool_id(cluster_id: str, name: str) -> str:
    """Id of a cluster's node pool."""
    return f"{cluster_id}/agentPools/{name}"


def extension_id(cluster_id: str, name: str) -> str:
    """Id of a cluster's extension."""
    return f"{cluster_id}/providers/{EXTENSION}/{name}"


def grafana_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of an Azure Managed Grafana workspace."""
    return resource_id(subscription_id, resource_group, GRAFANA, name)


def private_link_service_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of a Private Link Service."""
    return resource_id(subscription_id, resource_group, PRIVATE_LINK_SERVICE, name)


def storage_names_path(subscription_id: str) -> str:
    """Where a POST asks whether a storage account can have a name, unique in all of Azure."""
    namespace = STORAGE_ACCOUNT.partition("/")[0]
    return f"/subscriptions/{subscription_id}/providers/{namespace}/checkNameAvailability"


def storage_account_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of a storage account."""
    return resource_id(subscription_id, resource_group, STORAGE_ACCOUNT, name)


def container_id(account_id: str, name: str) -> str:
    """Id of a blob container of the storage account ``account_id``."""
    return f"{account_id}/blobServices/default/containers/{name}"


MANAGED_ENDPOINTS = "managedPrivateEndpoints"
"""Below a Grafana workspace."""


def managed_endpoint_id(grafana_id: str, name: str) -> str:
    """Id of a managed private endpoint of the workspace ``grafana_id``."""
    return f"{grafana_id}/{MANAGED_ENDPOINTS}/{name}"


def subscription_of(arm_id: str) -> str:
    """The subscription of an ARM id or scope; empty where it is in none."""
    found = _SCOPE.match(arm_id)
    return found[1] if found else ""


def group_of(arm_id: str) -> str:
    """The resource group of an ARM id or scope; empty where it is in none."""
    found = _SCOPE.match(arm_id)
    return (found[2] or "") if found else ""


def name_of(arm_id: str) -> str:
    """The last name of an ARM id: of the resource itself, not of what it is in."""
    return arm_id.rstrip("/").rpartition("/")[2]


def covers(scope: str, arm_id: str) -> bool:
    """Whether ``arm_id`` is ``scope`` or below it: what is set there (a lock, a role) holds."""
    return f"{arm_id}/".lower().startswith(f"{scope}/".lower())


def parent_of(arm_id: str) -> str:
    """The id of what a child resource is in, e.g. of a subnet's network."""
    return arm_id.rsplit("/", 2)[0]


_SCOPE: Final = re.compile(r"/subscriptions/([^/]+)(?:/resourceGroups/([^/]+))?", re.IGNORECASE)


@dataclass(frozen=True)
class ResourceId:
    """An ARM id of a resource in a resource group, taken apart."""

    text: str
    subscription: str
    resource_group: str
    type: str
    """As written, e.g. :data:`PRIVATE_LINK_SERVICE`."""
    name: str

    @classmethod
    def parse(cls, text: str, expected_type: str) -> "ResourceId":
        """The parts of ``text``; raises ValueError if it is no id of ``expected_type``."""
        match = re.fullmatch(
            r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/([^/]+/[^/]+)/([^/]+)",
            text,
            re.IGNORECASE,
        )
        if match is None or match[3].lower() != expected_type.lower():
            raise ValueError(f"{text!r} is not the ARM id of a {expected_type}.")
        return cls(text, match[1], match[2], match[3], match[4])
