"""Whose a connection of a Private Link Service is: this stack's, or somebody else's.

Public sources corroborate the name that Azure Managed Grafana gives the private endpoint behind a
managed private endpoint, ``grafana-<workspace>-<endpoint>``; that the connection shows the request
message word for word, none does. So both count, and what they cannot tell apart is nobody's. Two
pairs of names can share an endpoint's name: ``a-b`` and ``c``, ``a`` and ``b-c``.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto

from contract.azure import REQUEST_MESSAGE_CHARACTERS
from contract.messages.private_link import REQUEST_MARK, OwnEndpoint
from operations.connections import Connection
from operations.session import REVISION_CHARACTERS, revision_at_end

_AZURES_OWN_TEXTS = ("", "please approve", "awaiting approval", "auto-approved")
"""What pending and approved connections say in Microsoft's documentation where nobody wrote it."""
_STACK_MARK = re.compile(rf"(?:^|\s){REQUEST_MARK}(?: [a-z0-9-]+){{1,2}} [0-9a-f]{{8}}(?=\s|$)")
_WORKSPACE_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]{0,28}[a-zA-Z0-9]")
"""Of Azure Managed Grafana, 2 to 30 characters."""
_ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]{1,18}[a-zA-Z0-9]")
"""Of managed private endpoints, 3 to 20 characters."""


class Whose(Enum):
    """Whose connection it is."""

    OURS = auto()
    ANOTHERS = auto()
    UNCLEAR = auto()
    """Our endpoint's id, and nothing that shows whether it is ours or another pair of names'."""


def endpoint_name(own: OwnEndpoint) -> str:
    """The name that Managed Grafana gives the private endpoint behind its own."""
    return f"grafana-{own.workspace}-{own.name}"


def description_of(message: str, revision: str) -> str:
    """What our approval says: the request message and ``revision``, within Azure's length.

    Of a message that is too long for both, the end of the stack's name gives way.
    """
    text = " ".join(part for part in (message, revision) if part)
    if len(text) <= REQUEST_MESSAGE_CHARACTERS:
        return text
    return f"{_shortened(message)} {revision}".rstrip()


def candidates(connections: Sequence[Connection], own: OwnEndpoint) -> list[Connection]:
    """The connections whose endpoint has our endpoint's name."""
    suffix = f"/privateEndpoints/{endpoint_name(own)}".lower()
    return [one for one in connections if one.endpoint_id.lower().endswith(suffix)]


def whose(connection: Connection, own: OwnEndpoint, *, alone: bool) -> Whose:
    """Whose ``connection`` is; ``alone``: no other has our endpoint's name.

    Our message makes it ours and another stack's mark another's. Without either it is ours by its
    endpoint's name if no other pair of names gives that name; while it is pending, also only if its
    text is Azure's own, as ours would show.
    """
    if not candidates([connection], own):
        return Whose.ANOTHERS
    text = connection.description
    if _shows(text, own.request_message) or _shows(text, _shortened(own.request_message)):
        return Whose.OURS
    if _STACK_MARK.search(text) or revision_at_end(text):
        return Whose.ANOTHERS
    if not alone or other_names(own):
        return Whose.UNCLEAR
    if connection.status == "Pending" and text.strip().rstrip(".").lower() not in _AZURES_OWN_TEXTS:
        return Whose.UNCLEAR
    return Whose.OURS


def other_names(own: OwnEndpoint) -> list[tuple[str, str]]:
    """The other pairs of a workspace's and an endpoint's name that give our endpoint's name."""
    joined = f"{own.workspace}-{own.name}"
    splits = [
        (joined[:at], joined[at + 1 :]) for at, character in enumerate(joined) if character == "-"
    ]
    return [
        (workspace, name)
        for workspace, name in splits
        if (workspace, name) != (own.workspace, own.name)
        and _WORKSPACE_NAME.fullmatch(workspace)
        and _ENDPOINT_NAME.fullmatch(name)
    ]


def _shows(description: str, message: str) -> bool:
    """Whether the whole message stands in the description, not just as the start of another's."""
    return bool(message) and bool(re.search(rf"(?:^|\s){re.escape(message)}(?:\s|$)", description))


def _shortened(message: str) -> str:
    """``message`` with its last word, the digest, within what leaves room for a revision."""
    room = REQUEST_MESSAGE_CHARACTERS - REVISION_CHARACTERS - 1
    if len(message) <= room:
        return message
    rest, _, digest = message.rpartition(" ")
    return f"{rest[: room - len(digest) - 1].rstrip(' -')} {digest}"
