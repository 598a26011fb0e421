"""The Grafana that objects are put on, and whose they are: what every request to it says."""

from dataclasses import dataclass

import pulumi

from contract.messages.grafana import Owner


@dataclass(frozen=True, kw_only=True)
class OwnerArgs:
    """Whose an object on a shared Grafana is; others' objects are neither changed nor deleted."""

    cluster_id: str
    """ARM id of the cluster."""
    project: str
    stack: str

    def mark(self) -> Owner:
        """The owner as requests and live objects carry it."""
        return Owner(cluster=self.cluster_id.lower(), project=self.project, stack=self.stack)


@dataclass(frozen=True, kw_only=True)
class GrafanaTargetArgs:
    """Where objects go."""

    endpoint: pulumi.Input[str]
    """URL of Grafana itself, without a trailing slash."""
    workspace_id: pulumi.Input[str]
    """ARM id of the workspace."""
