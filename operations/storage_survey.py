"""Looking up the storage account of the profiles, and the container in it."""

from collections.abc import Callable

from contract import azure
from contract.json import Document
from contract.messages.survey import Presence, StorageFacts
from operations.azure import parse_id, presence_of
from operations.errors import OperationError

Get = Callable[[str, str], Document]
"""Reads one resource: its path, and the API version."""


def storage(get: Get, container: str, account_id: str) -> StorageFacts:
    """What is known of the account and of ``container``."""
    try:
        account = parse_id(account_id, azure.STORAGE_ACCOUNT)
        found = get(account.text, azure.STORAGE_API)
    except OperationError as error:
        return StorageFacts(presence=presence_of(error), detail=error.sentence())
    properties = found.child("properties")
    # Left out, both mean every network (the specification of storage accounts, 2024-01-01).
    access = properties.text("publicNetworkAccess") or "Enabled"
    action = properties.text("networkAcls", "defaultAction") or "Allow"
    return StorageFacts(
        presence=Presence.FOUND,
        mark=found.text("tags", azure.STACK_TAG),
        open=(access, action) == ("Enabled", "Allow"),
        container=_container(get, azure.container_id(account_id, container)),
    )


def _container(get: Get, container_id: str) -> Presence:
    try:
        get(container_id, azure.STORAGE_API)
    except OperationError as error:
        return presence_of(error)
    return Presence.FOUND
