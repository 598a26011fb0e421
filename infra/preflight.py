"""What must hold of things that exist already, checked before the first resource is touched.

Pure: :func:`survey_request` says what to look up, the operation ``survey`` looks it up (the program
runs it), and :func:`judge` turns the facts into what the program needs to know, or into one message
that says everything that does not fit. What the stack file alone can tell is checked by
:mod:`infra.settings`.
"""

from dataclasses import dataclass
from typing import Protocol

from infra.names import Names
from infra.settings import Settings
from operations.requests import (
    ClusterFacts,
    GrafanaFacts,
    Presence,
    Survey,
    SurveyRequest,
    WorkspaceFacts,
)


class ClientConfig(Protocol):
    """Who the azure-native provider is: what its ``get_client_config`` answers."""

    @property
    def subscription_id(self) -> str: ...  # noqa: D102
    @property
    def object_id(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class Existing:
    """What the program needs to know of things that exist, and what follows from it."""

    subscription_id: str
    location: str
    """Region of the resources this stack makes, e.g. ``westeurope``."""
    cluster: ClusterFacts | None
    """None: this stack makes it; the same for the others."""
    grafana: GrafanaFacts | None
    workspace: WorkspaceFacts | None
    azure_monitor_metrics: bool
    """Whether the agent writes to Azure Monitor (``azureMonitor.enabled``); on a cluster that this
    stack makes, also whether the metrics add-on is on."""
    warnings: tuple[str, ...]
    """Sentences on what works less well than it could."""


def survey_request(settings: Settings, names: Names, client_config: ClientConfig) -> SurveyRequest:
    """Which existing things ``settings`` rely on."""
    raise NotImplementedError


def judge(settings: Settings, survey: Survey, request: SurveyRequest) -> Existing:
    """What follows from ``survey``, the answer to ``request``.

    Raises:
        ConfigurationError: with everything that does not fit.
    """
    found = Presence.FOUND
    return Existing(
        subscription_id=survey.subscription_id,
        location=settings.azure.location or survey.cluster.location,
        cluster=survey.cluster if survey.cluster.presence == found else None,
        grafana=survey.grafana if survey.grafana.presence == found else None,
        workspace=survey.workspace if survey.workspace.presence == found else None,
        azure_monitor_metrics=survey.cluster.metrics_enabled,
        warnings=(),
    )
