"""What the caller may do once a role is activated (Privileged Identity Management).

Asked only where a right is missing. A directory without it answers with an error, as does a service
that is in the way: then nothing is concluded, and what is missing stays missing.
"""

from collections.abc import Callable, Iterator, Sequence

from contract import azure
from contract.json import Document
from operations.errors import OperationError

FOR_THE_CALLER = "asTarget()"
"""The filter for what is the caller's own, also through a group (Azure's REST reference,
``RoleEligibilityScheduleInstances_ListForScope``)."""


def eligible_permissions(
    get_all: Callable[..., Sequence[Document]],
    permissions_of: Callable[[str], Sequence[Document] | None],
    scope: str,
) -> list[Document]:
    """What the roles allow that the caller is eligible for at ``scope`` or above it.

    ``permissions_of`` a role, by the GUID of its definition; None: it cannot be read.
    """
    path = f"{scope}/providers/{azure.ROLE_ELIGIBILITY}"
    try:
        listed = get_all(path, azure.ROLE_ELIGIBILITY_API, filter=FOR_THE_CALLER)
    except OperationError:
        return []
    return [
        permission
        for role in dict.fromkeys(_roles_at(scope, listed))
        for permission in permissions_of(role) or ()
    ]


def _roles_at(scope: str, listed: Sequence[Document]) -> Iterator[str]:
    for one in listed:
        at = one.text("properties", "scope")
        # What is listed and in no subscription is above the scope: a management group.
        if azure.covers(at, scope) or not at.lower().startswith("/subscriptions/"):
            yield azure.name_of(one.text("properties", "roleDefinitionId")).lower()
