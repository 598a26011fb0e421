"""What this stack has deployed before, by the names of its resources in the program.

A thing that exists is either this stack's own or in its way, and only the stack's state tells. The
engine reads it for a program (``readStackResourceOutputs``, the function behind stack references).
"""

from collections.abc import Container
from enum import StrEnum
from typing import Final

import pulumi

from contract.json import as_object


class Own(StrEnum):
    """Resources of the program that stand for something which others may have made as well."""

    NAMESPACE = "inspektor-gadget-namespace"
    EXTENSION = "inspektor-gadget-extension"
    GPU_POOL = "gpu-pool-pool"
    RELEASE = "pyroscope-release"
    COLLECTION_RULE = "prometheus-rule"
    PRIVATE_ENDPOINT = "private-endpoint-endpoint"
    APPROVAL = "private-endpoint-approval"
    PROFILES_SOURCE = "data-sources-pyroscope"
    METRICS_SOURCE = "data-sources-prometheus"
    DASHBOARD = "dashboard-dashboard"


class _Everything(Container[str]):
    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Final[Container[str]] = _Everything()
"""Where the state cannot be read: nothing is then taken for somebody else's."""

_READ = "pulumi:pulumi:readStackResourceOutputs"


def deployed() -> Container[str]:
    """The names of what is in the state of this stack; :data:`EVERYTHING` if it cannot be read."""
    try:
        found = pulumi.runtime.invoke(_READ, {"stackName": _own_name()}).value
    # The SDK raises a plain Exception for an invoke that failed.
    except Exception as error:
        pulumi.log.debug(f"the state of this stack cannot be read: {error}")
        return EVERYTHING
    urns = as_object(as_object(found).get("outputs"))
    return frozenset(urn.rpartition("::")[2] for urn in urns)


def _own_name() -> str:
    return f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
