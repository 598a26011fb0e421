"""What the agent needs that neither its extension nor Kubernetes' objects say: commands.

They keep its namespace while Pyroscope is in it, and restart its pods for changed settings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_command.local import Command

from components.operation import observed_operation, operation
from contract.agent import AGENT_DAEMON_SET, PYROSCOPE_SERVICE
from contract.messages.agent import AgentRequest
from contract.messages.base import Verb
from contract.messages.namespace import NamespaceRequest


@dataclass(frozen=True, kw_only=True)
class AgentPlace:
    """Where the agent is."""

    cluster_id: pulumi.Input[str]
    """ARM id."""
    admin: bool
    """Whether to use the administrator's kubeconfig."""
    namespace: pulumi.CustomResource
    deleted_with: pulumi.Resource | None
    """The cluster, where this stack makes it."""

    @property
    def identity(self) -> list[pulumi.Input[str]]:
        """What another one of is another agent."""
        return [self.cluster_id, self.namespace.id]


def namespace_protection(
    parent: pulumi.Resource,
    name: str,
    place: AgentPlace,
    release: str | None,
    stack_mark: str | None,
    unkept: str | None,
) -> Command:
    """Keeps the namespace from being deleted while Pyroscope is in it.

    ``release``: the Helm release that may take the namespace over; None: it is somebody else's.
    ``stack_mark``: of the stack that has made it.
    ``unkept``: not None where it was kept, and is not any more.
    """

    def request(parts: Sequence[str]) -> str:
        cluster_id, namespace = parts
        return NamespaceRequest(
            cluster_id=cluster_id,
            admin=place.admin,
            namespace=namespace,
            service=PYROSCOPE_SERVICE,
            release=release,
            stack_mark=stack_mark,
        ).to_json()

    return observed_operation(
        f"{name}-namespace-protection",
        Verb.KEEP_NAMESPACE,
        pulumi.Output.all(*place.identity).apply(request),
        observed=unkept,
        delete=Verb.RELEASE_NAMESPACE,
        triggers=place.identity,
        opts=pulumi.ResourceOptions(
            parent=parent,
            # Its objects have fixed names.
            delete_before_replace=True,
            deleted_with=place.deleted_with,
        ),
    )


def restart_for_settings(
    parent: pulumi.Resource,
    name: str,
    place: AgentPlace,
    settings: Mapping[str, str],
    extension: pulumi.Resource,
) -> None:
    """Restarts the agent's pods when ``settings`` change, once ``extension`` has them.

    They read their settings when they start: changed ones are in vain without a restart.
    """

    def request(parts: Sequence[str]) -> str:
        cluster_id, namespace = parts
        return AgentRequest(
            cluster_id=cluster_id,
            admin=place.admin,
            namespace=namespace,
            daemon_set=AGENT_DAEMON_SET,
            settings=settings,
        ).to_json()

    operation(
        f"{name}-settings",
        Verb.RECORD_AGENT_SETTINGS,
        pulumi.Output.all(*place.identity).apply(request),
        update=Verb.RESTART_AGENT,
        triggers=place.identity,
        opts=pulumi.ResourceOptions(
            parent=parent, depends_on=[extension], deleted_with=place.deleted_with
        ),
    )
