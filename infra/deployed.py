"""What this stack has deployed before, by the names of its resources in the program.

A thing that exists is either this stack's own or in its way, and only the stack's state tells. The
engine reads it for a program (``readStackResourceOutputs``, the function behind stack references).
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pulumi

from contract.json import Document, as_object


class Own(StrEnum):
    """Resources of the program that stand for something which others may have made as well."""

    CLUSTER_LEFTOVERS = "cluster-leftovers"
    NAMESPACE = "inspektor-gadget-namespace"
    NAMESPACE_PROTECTION = "inspektor-gadget-namespace-protection"
    EXTENSION = "inspektor-gadget-extension"
    EXTENSION_RECOVERY = "inspektor-gadget-extension-recovery"
    GPU_POOL = "gpu-pool-pool"
    DEVICE_PLUGIN = "gpu-pool-device-plugin-daemon-set"
    POD_MONITOR = "alerts-pod-monitor"
    LINK_ROLE = "private-link-role-assignment"
    RELEASE_GUARD = "pyroscope-private-link-guard"
    RELEASE = "pyroscope-release"
    ELSEWHERE = "pyroscope-elsewhere-service"
    AGENT_SERVICE = "pyroscope-agent-service"
    STORAGE_ACCOUNT = "profile-storage-account"
    STORAGE_ROLE = "profile-storage-role"
    RELEASE_RECOVERY = "pyroscope-release-recovery"
    RELEASE_REPAIR = "pyroscope-release-repair"
    COLLECTION_RULE = "prometheus-rule"
    ACCESS_ENDPOINT = "prometheus-endpoint-association"
    PRIVATE_ENDPOINT = "private-endpoint-endpoint"
    APPROVAL = "private-endpoint-approval"
    PROFILES_SOURCE = "data-sources-pyroscope"
    METRICS_SOURCE = "data-sources-prometheus"
    DASHBOARD = "dashboard-dashboard"


@dataclass(frozen=True)
class Deployed(Container[str]):
    """The names of what is deployed, with the outputs of each."""

    outputs: Mapping[str, Document] | None
    """None where the state cannot be read."""

    def __contains__(self, name: object) -> bool:
        """Whether a resource of that name is deployed, as far as is known."""
        return self.outputs is None or name in self.outputs

    @property
    def known(self) -> Container[str]:
        """The names that the state does hold, where it can be read."""
        return self.outputs or {}

    def outputs_of(self, name: str) -> Document:
        """The outputs of a resource; empty where it is not known."""
        return (self.outputs or {}).get(name, Document({}))


EVERYTHING: Final = Deployed(None)
"""Where the state cannot be read: nothing is then taken for somebody else's."""

_READ = "pulumi:pulumi:readStackResourceOutputs"


def deployed() -> Deployed:
    """What is in the state of this stack; :data:`EVERYTHING` if it cannot be read."""
    try:
        found = pulumi.runtime.invoke(_READ, {"stackName": _own_name()}).value
    # The SDK raises a plain Exception for an invoke that failed.
    except Exception as error:
        pulumi.log.debug(f"the state of this stack cannot be read: {error}")
        return EVERYTHING
    urns = as_object(as_object(found).get("outputs"))
    return Deployed(
        {
            urn.rpartition("::")[2]: Document(as_object(one)).child("outputs")
            for urn, one in urns.items()
        }
    )


def _own_name() -> str:
    return f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
