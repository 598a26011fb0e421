"""What is expected of a call that meets a transient fault once.

Nothing is expected of a call that no rule is about: :func:`expected` raises, and the gate fails.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from tests.faults.calls import Call

RETRY_AFTER: Final = frozenset({"429", "503"})
"""The kinds that tell when to ask again."""


class Outcome(Enum):
    """How a run goes on."""

    OUTLIVED = "outlived"
    """The run itself ends well."""
    NEXT_RUN = "next run"
    """The run may end with an error that names the cause; the next one ends well."""
    BELIEVED = "believed"
    """The provider takes the answer for a success, and nothing that it says shows otherwise."""


class NoExpectationError(LookupError):
    """Nobody has said what is expected of a call."""


_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "azure-native": frozenset({"arm"}),
    "kubernetes": frozenset({"kubernetes"}),
    "token": frozenset({"identity"}),
    "program": frozenset({"arm", "grafana", "kubernetes"}),
    "keep-namespace": frozenset({"arm", "kubernetes"}),
    "release-namespace": frozenset({"arm", "kubernetes"}),
    "remove-leftovers": frozenset({"arm", "kubernetes", "grafana"}),
    "record-agent-settings": frozenset({"arm", "kubernetes"}),
    "restart-agent": frozenset({"arm", "kubernetes"}),
    "await-private-link": frozenset({"arm", "kubernetes"}),
    "await-private-link-unused": frozenset({"arm", "kubernetes"}),
    "await-private-link-gone": frozenset({"arm", "kubernetes"}),
    "approve-private-endpoint": frozenset({"arm", "grafana"}),
    "delete-private-endpoint": frozenset({"arm"}),
    "apply-data-source": frozenset({"arm", "grafana"}),
    "delete-data-source": frozenset({"arm", "grafana"}),
    "apply-dashboard": frozenset({"arm", "grafana"}),
    "delete-dashboard": frozenset({"arm", "grafana"}),
}
"""Who is known to call which services."""
_UNREADABLE: Final = frozenset({"200 page", "200 empty"})
"""azure-native takes a success that is no resource for an error (``handleAzCoreResponseError``)."""
_LONG_DELETIONS: Final = frozenset(
    {
        *("resourceGroups", "managedClusters", "agentPools", "extensions"),
        *("grafana", "managedPrivateEndpoints", "accounts"),
    }
)
"""Of these types azure-native reads the answer to a DELETE; of others only the status
(``asyncStyle`` in ``Delete`` of client_azcore.go). An empty one is taken for done in both."""


def expected(call: Call, kind: str) -> Outcome:
    """What is expected where ``kind`` strikes ``call`` once.

    Raises:
        NoExpectationError: nothing has been said of such a call.
    """
    if call.service not in _KNOWN.get(call.caller, ()):
        raise NoExpectationError(f"{call}: say in tests/faults/expected.py what is expected of it")
    if call.caller == "kubernetes":
        # client-go repeats what says when to ask again, and nothing else.
        return Outcome.OUTLIVED if kind in RETRY_AFTER else Outcome.NEXT_RUN
    if call.caller == "azure-native" and kind in _UNREADABLE:
        if call.method == "DELETE" and (kind == "200 empty" or not _is_long(call)):
            return Outcome.BELIEVED
        return Outcome.NEXT_RUN
    return Outcome.OUTLIVED


def _is_long(deletion: Call) -> bool:
    *_, kind, _ = deletion.path.split("/")
    return kind in _LONG_DELETIONS
