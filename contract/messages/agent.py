"""Restarting the agent, which reads its settings when it starts."""

from collections.abc import Mapping

from pydantic import Field

from contract.messages.base import Message


class AgentRequest(Message):
    """The agent's DaemonSet, and the settings that it is to have."""

    cluster_id: str
    """ARM id of the cluster."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    namespace: str
    daemon_set: str
    settings: Mapping[str, str] = Field(default_factory=dict)
    """Those of the stack file: what a restart is for."""


class RestartedAgent(Message):
    """The answer of ``record-agent-settings`` and ``restart-agent``."""

    restarted: bool
