"""What a permission of Azure RBAC, with its wildcards, allows.

A permission is a row of a role definition, or of the caller's own permissions at a scope:
``actions`` without ``notActions``, and for data ``dataActions`` without ``notDataActions``.
"""

import re
from collections.abc import Iterable, Sequence

from contract.json import Document
from contract.messages.survey import WantedRight


def permits(permission: Document, action: str) -> bool:
    """Whether ``permission`` allows ``action`` on a resource."""
    return _allows(permission.texts("actions"), permission.texts("notActions"), action)


def permits_data(permission: Document, action: str) -> bool:
    """Whether ``permission`` allows ``action`` on data."""
    return _allows(permission.texts("dataActions"), permission.texts("notDataActions"), action)


def not_permitted(wanted: WantedRight, permissions: Sequence[Document]) -> tuple[str, ...]:
    """What of ``wanted``, on resources and on data, none of the permissions allows."""
    kinds = ((wanted.actions, permits), (wanted.data_actions, permits_data))
    return tuple(
        action
        for actions, allows in kinds
        for action in actions
        if not any(allows(one, action) for one in permissions)
    )


def _allows(actions: Iterable[str], but_not: Iterable[str], action: str) -> bool:
    return _matches(actions, action) and not _matches(but_not, action)


def _matches(patterns: Iterable[str], action: str) -> bool:
    return any(
        re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), action, re.IGNORECASE)
        for pattern in patterns
    )
