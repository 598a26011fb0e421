"""Restarting the agent's pods, which read the extension's settings when they start.

As ``kubectl rollout restart`` does it: an annotation of the pods' template (kubectl:
pkg/polymorphichelpers/objectrestarter.go). Microsoft's page on configuring the agent asks for it.
"""

from datetime import UTC, datetime

from contract.messages.agent import AgentRequest, RestartedAgent
from operations.clock import GIVE_UP_AFTER, say
from operations.errors import ExitCode
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 300.0
"""Seconds for an API server that is busy."""

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def restart(request: AgentRequest, session: Session) -> RestartedAgent:
    """Let the pods be made again; raises NOT_FOUND, FORBIDDEN, UNREACHABLE, BUSY."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    patch = {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}}
    path = f"/apis/apps/v1/namespaces/{request.namespace}/daemonsets/{request.daemon_set}"

    def attempt() -> None:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        api.merge(path, patch, "restart the agent")

    session.clock.poll(
        attempt,
        what="the agent to be restarted",
        within=session.within(DEADLINE),
        give_up_after={**GIVE_UP_AFTER, ExitCode.NOT_FOUND: 0.0},
    )
    say("the agent's pods are being made again, with their new settings")
    return RestartedAgent(restarted=True)
