"""ARM ids of the resources that this stack's requests name, computed from their parts.

Computed rather than looked up: a Private Link Service has an id long before it exists, and the
``network`` module of azure-native costs a preview more to import than everything else together.
"""


def group_id(subscription_id: str, resource_group: str) -> str:
    """Id of a resource group."""
    return f"/subscriptions/{subscription_id}/resourceGroups/{resource_group}"


def resource_id(subscription_id: str, resource_group: str, kind: str, name: str) -> str:
    """Id of a resource of type ``kind``, e.g. ``Microsoft.Dashboard/grafana``."""
    return f"{group_id(subscription_id, resource_group)}/providers/{kind}/{name}"


def cluster_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of an AKS cluster."""
    kind = "Microsoft.ContainerService/managedClusters"
    return resource_id(subscription_id, resource_group, kind, name)


def private_link_service_id(subscription_id: str, resource_group: str, name: str) -> str:
    """Id of a Private Link Service."""
    kind = "Microsoft.Network/privateLinkServices"
    return resource_id(subscription_id, resource_group, kind, name)
