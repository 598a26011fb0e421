"""Ids of Azure's built-in role definitions, the same in every tenant.

Source: Azure's list of built-in roles. Data plane roles of Grafana are not implied by Owner.
"""

from enum import StrEnum


class Role(StrEnum):
    """A built-in role by its definition's GUID."""

    GRAFANA_ADMIN = "22926164-76b3-42b3-bc55-97df8dab3e41"
    GRAFANA_EDITOR = "a79a5197-3a5c-4973-a920-486035ffd60f"
    GRAFANA_VIEWER = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
    MONITORING_DATA_READER = "b0d8363b-8ddd-447d-831f-62ca05bff136"
    MONITORING_READER = "43d0d8ad-25c7-4714-9337-8ba259a9fe05"
    NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
    STORAGE_BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"


def role_definition_id(subscription_id: str, role: Role) -> str:
    """ARM id of ``role``'s definition, as a role assignment in ``subscription_id`` names it."""
    return (
        f"/subscriptions/{subscription_id}/providers/Microsoft.Authorization"
        f"/roleDefinitions/{role.value}"
    )
