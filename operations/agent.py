"""Restarting the agent's pods, which read the extension's settings when they start.

Which settings they started with is kept on their DaemonSet, so that only other settings restart
them, whatever else about the command changes (how the cluster is reached, for example).

As ``kubectl rollout restart`` does it: an annotation of the pods' template (kubectl:
pkg/polymorphichelpers/objectrestarter.go). Microsoft's page on configuring the agent asks for it.
"""

import hashlib
import json
from datetime import UTC, datetime

from contract.messages.agent import AgentRequest, RestartedAgent
from operations.clock import GIVE_UP_AFTER, GIVE_UP_LOOKING_AFTER, say
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 300.0
"""Seconds for an API server that is busy."""

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


SETTINGS = "gpuobs/agent-settings"
"""Annotation of the DaemonSet: a digest of the settings that its pods started with."""


def record(request: AgentRequest, session: Session) -> RestartedAgent:
    """Keep which settings the pods start with. Where that cannot be, any update restarts them."""

    def attempt() -> None:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        api.merge(_path(request), _marked(request), "record the agent's settings")

    try:
        session.clock.poll(
            attempt,
            what="the agent's settings to be recorded",
            within=session.within(DEADLINE),
            give_up_after=GIVE_UP_LOOKING_AFTER,
        )
    except OperationError as error:
        say(f"note: the agent's settings are not recorded: {error.sentence()}")
    return RestartedAgent(restarted=False)


def restart(request: AgentRequest, session: Session) -> RestartedAgent:
    """Let the pods be made again, unless they have these settings.

    Raises NOT_FOUND, FORBIDDEN, UNREACHABLE, BUSY.
    """

    def attempt() -> bool:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        metadata = api.get(_path(request), "read the agent's settings").child("metadata")
        if metadata.child("annotations").text(SETTINGS) == _digest(request):
            return False
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        template = {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}
        api.merge(_path(request), {**_marked(request), "spec": template}, "restart the agent")
        return True

    restarted = session.clock.poll(
        attempt,
        what="the agent to be restarted",
        within=session.within(DEADLINE),
        give_up_after={**GIVE_UP_AFTER, ExitCode.NOT_FOUND: 0.0},
    )
    if restarted:
        say("the agent's pods are being made again, with their new settings")
    return RestartedAgent(restarted=restarted)


def _path(request: AgentRequest) -> str:
    return f"/apis/apps/v1/namespaces/{request.namespace}/daemonsets/{request.daemon_set}"


def _marked(request: AgentRequest) -> dict[str, object]:
    return {"metadata": {"annotations": {SETTINGS: _digest(request)}}}


def _digest(request: AgentRequest) -> str:
    text = json.dumps(dict(request.settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
