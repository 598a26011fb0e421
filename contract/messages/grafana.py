"""What is put on a shared Grafana, and whose it is."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from contract.messages.base import Message


class Source(StrEnum):
    """The data sources of a stack, by what they are for."""

    PYROSCOPE = "pyroscope"
    PROMETHEUS = "prometheus"


class Owner(Message):
    """Who an object on a shared Grafana belongs to; compared exactly, cluster without case."""

    cluster: str
    """ARM id of the cluster, lower case."""
    project: str
    stack: str


class DataSourceRequest(Message):
    """A Grafana data source that this stack owns."""

    endpoint: str
    """Grafana's URL."""
    workspace_id: str
    """ARM id of the Grafana workspace: deleting on a workspace that is gone succeeds. Empty for a
    Grafana of one's own."""
    token_variable: str | None = None
    """Environment variable with a service account's token; None: Azure's Grafana, and a token of
    Entra ID's."""
    owner: Owner
    name: str
    uid: str
    type: str
    """One of :mod:`contract.grafana`."""
    url: str
    json_data: Mapping[str, Any] = Field(default_factory=dict)
    adopt: bool = False

    def as_observed(self) -> "DataSourceRequest":
        """Without the url: at the time of observing, its address may not exist yet."""
        return self.model_copy(update={"url": ""})


class AppliedDataSource(Message):
    """The answer of ``apply-data-source``."""

    uid: str
    name: str


class DashboardRequest(Message):
    """A Grafana dashboard that this stack owns, and the folder it is in."""

    endpoint: str
    workspace_id: str
    token_variable: str | None = None
    """As in :class:`DataSourceRequest`."""
    owner: Owner
    uid: str
    dashboard: Mapping[str, Any]
    """The dashboard's JSON without wrapper; its ``uid`` is ``uid``."""
    folder_uid: str | None = None
    folder_title: str | None = None
    """None: the General folder. A folder that this stack made is deleted when empty."""
    adopt: bool = False


class AppliedDashboard(Message):
    """The answer of ``apply-dashboard``."""

    uid: str
    url: str


class Deletion(Message):
    """The answer of ``delete-data-source`` and ``delete-dashboard``."""

    uid: str
    deleted: bool
    """False where there was nothing to delete, or nothing of this stack's."""
    note: str = ""
