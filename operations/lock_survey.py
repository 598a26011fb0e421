"""What the survey finds of management locks: one list a subscription, or one a resource group."""

import re
from collections.abc import Iterable

from contract import azure
from contract.json import Document
from contract.messages.survey import LockFacts
from operations.errors import OperationError
from operations.link_survey import GetAll

_LOCK = re.compile(rf"(.+)/providers/{re.escape(azure.LOCK)}/[^/]+", re.IGNORECASE)

_IN_A_GROUP = re.compile(r"/subscriptions/([^/]+)/resourceGroups/([^/]+)", re.IGNORECASE)


def subscriptions(ids: Iterable[str | None]) -> dict[str, set[str]]:
    """The resource groups of ``ids`` by their subscription; what is no id is reported elsewhere."""
    found: dict[str, set[str]] = {}
    for match in filter(None, (_IN_A_GROUP.match(one or "") for one in ids)):
        found.setdefault(match[1].lower(), set()).add(match[2].lower())
    return found


def locks(get_all: GetAll, subscription: str, groups: Iterable[str]) -> tuple[LockFacts, ...]:
    """The locks of the subscription; of ``groups`` where not all of it may be read."""
    try:
        return tuple(_facts(_listed(get_all, f"/subscriptions/{subscription}")))
    except OperationError:
        found: list[Document] = []
        for group in sorted(groups):
            try:
                found += _listed(get_all, azure.group_id(subscription, group))
            except OperationError:
                continue  # not there yet, or closed
        return tuple(_facts(found))


def _listed(get_all: GetAll, scope: str) -> list[Document]:
    """Those at ``scope`` and below it."""
    return get_all(f"{scope}/providers/{azure.LOCK}", azure.LOCK_API)


def _facts(listed: Iterable[Document]) -> Iterable[LockFacts]:
    for one in listed:
        match = _LOCK.fullmatch(one.text("id"))
        if match is not None:
            read_only = one.text("properties", "level") == "ReadOnly"
            yield LockFacts(id=one.text("id"), scope=match[1], read_only=read_only)
