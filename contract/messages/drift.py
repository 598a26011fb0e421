"""Observing what commands made, so that drift shows and heals."""

from collections.abc import Mapping

from pydantic import Field

from contract.messages.base import Message
from contract.messages.grafana import DashboardRequest, DataSourceRequest
from contract.messages.private_link import ApprovalRequest

APPROVAL = "approval"
"""What the approval is called among the things that are observed."""
PRIVATE_IP_PLACEHOLDER = "{privateIp}"
"""Stands for the private endpoint's address in the url of a source to observe.

The address is the approval's answer, and the approval is observed in the same call; so ``observe``
puts in the address that the endpoint has now, before it compares the source or hashes its request.
Where the endpoint has none, the source is not in sync.
"""


class ObserveRequest(Message):
    """Objects to observe in one call, under names of the caller's choice."""

    approval: ApprovalRequest | None = None
    data_sources: Mapping[str, DataSourceRequest] = Field(default_factory=dict)
    dashboards: Mapping[str, DashboardRequest] = Field(default_factory=dict)
    on_new_grafana: bool = False
    """Grafana itself is created in this very update: nothing can be on it yet, and the caller has
    no role there before the update has assigned one."""

    @property
    def names(self) -> frozenset[str]:
        """Under which a revision is answered."""
        return frozenset(
            (
                *([APPROVAL] if self.approval is not None else []),
                *self.data_sources,
                *self.dashboards,
            )
        )


class Observation(Message):
    """The answer of ``observe``."""

    revisions: Mapping[str, str]
    """By name; the approval's under :data:`APPROVAL`."""
    problems: tuple[str, ...] = ()
    """Sentences on what could not be observed (its revision is then a fresh one)."""
