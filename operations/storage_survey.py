"""Looking up the storage account of the profiles, and the container in it."""

from collections.abc import Callable
from contextlib import suppress

from contract import azure
from contract.json import Document
from contract.messages.survey import Presence, StorageFacts
from operations.azure import parse_id, presence_of
from operations.errors import OperationError

Get = Callable[[str, str], Document]
"""Reads one resource: its path, and the API version."""
NameRefused = Callable[[azure.ResourceId], str]
"""Why a new account cannot have its name; empty: it can."""


def storage(get: Get, name_refused: NameRefused, container: str, account_id: str) -> StorageFacts:
    """What is known of the account and of ``container``."""
    account = parse_id(account_id, azure.STORAGE_ACCOUNT)
    try:
        found = get(account.text, azure.STORAGE_API)
    except OperationError as error:
        presence = presence_of(error)
        refused = ""
        if presence is Presence.ABSENT:
            # Whoever may not ask is answered when the account is made.
            with suppress(OperationError):
                refused = name_refused(account)
        return StorageFacts(presence=presence, detail=error.sentence(), name_refused=refused)
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
