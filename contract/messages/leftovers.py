"""What a run that was killed has left in the cluster: made, and in no stack's state.

Every object that a stack makes there carries its mark. What carries it and is not in the state is
from a run that ended between Kubernetes' answer and the engine's note of it: nobody else's, and
nothing uses it yet.
"""

from typing import Final

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.choices import DEVICE_PLUGIN_NAMESPACE
from contract.messages.base import Message

STACK_MARK: Final = "gpuobs/stack"
"""Annotation of whatever a stack makes in the cluster: which stack it is."""

NAMESPACE_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}"
DAEMON_SETS: Final = f"/apis/apps/v1/namespaces/{DEVICE_PLUGIN_NAMESPACE}/daemonsets"
POD_MONITORS: Final = f"/apis/azmonitoring.coreos.com/v1/namespaces/{NAMESPACE}/podmonitors"
SERVICE_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/services/{PYROSCOPE_SERVICE}"
"""Where a stack makes something: its namespace, the Service to which the agents push where no chart
makes it, and lists that others' objects are in as well."""


class LeftoversRequest(Message):
    """What ``clear-leftovers`` and ``remove-leftovers`` are about.

    The first removes what the observed revision names, which is a list of :class:`Leftover`; the
    second whatever carries the mark.
    """

    cluster_id: str
    """ARM id."""
    admin: bool = False
    """Whether to use the administrator's kubeconfig."""
    mark: str
    keeps_namespace: bool = False
    """Whether the namespace stays, also one that this stack has made."""


class Leftover(Message):
    """An object in the cluster that carries the stack's mark."""

    path: str
    """Of Kubernetes' API."""
    uid: str
    """Another one for each object of a name."""

    def __str__(self) -> str:
        """One word: what a command is given, and what it reads back."""
        return f"{self.path}@{self.uid}"

    @classmethod
    def parse(cls, text: str) -> "Leftover":
        """The object that ``text``, from :meth:`__str__`, names."""
        path, _, uid = text.rpartition("@")
        return cls(path=path, uid=uid)


class RemovedLeftovers(Message):
    """The answer of both."""

    removed: tuple[str, ...] = ()
    """Paths."""
