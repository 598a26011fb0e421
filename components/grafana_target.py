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
class Placement:
    """Where an object goes and whose it is, once all of it is known."""

    endpoint: str
    """URL of Grafana itself, without a trailing slash."""
    workspace_id: str
    """ARM id of the workspace; empty: a Grafana of one's own."""
    token_variable: str | None
    owner: OwnerArgs
    adopt: bool
    """Whether an object of the same name or uid that is not this owner's is taken over."""


@dataclass(frozen=True, kw_only=True)
class GrafanaTargetArgs:
    """Where objects go."""

    endpoint: pulumi.Input[str]
    """URL of Grafana itself, without a trailing slash."""
    workspace_id: pulumi.Input[str]
    """ARM id of the workspace; empty: a Grafana that is not Azure's."""
    token_variable: str | None = None
    """Environment variable with the token of a service account, for one that is not Azure's."""

    @property
    def identity(self) -> pulumi.Input[str]:
        """What stays the same as long as it is the same Grafana."""
        return self.workspace_id if self.token_variable is None else self.endpoint

    def placement(self, owner: OwnerArgs, *, adopt: bool) -> pulumi.Output[Placement]:
        """Where an object of ``owner`` goes, once it is known."""
        return pulumi.Output.all(self.endpoint, self.workspace_id).apply(
            lambda parts: Placement(
                endpoint=parts[0],
                workspace_id=parts[1],
                token_variable=self.token_variable,
                owner=owner,
                adopt=adopt,
            )
        )
