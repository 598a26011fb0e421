"""Pyroscope as micro-services: which it runs, and what each asks for unless a stack file says so.

The components and their sizes are those of the chart's ``values-micro-services.yaml`` (the same at
1.15.0 and 1.19.2), for the storage that servers before 1.20 have as their own ("v1"). Two of it are
left out, tenant settings and ad-hoc profiles: Grafana's panels ask neither. How the components work
together: ``docs/sources/reference-pyroscope-architecture`` in the server's repository.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ServerMode(StrEnum):
    """How Pyroscope runs."""

    SINGLE = "single"
    DISTRIBUTED = "distributed"


class ServerComponent(StrEnum):
    """A micro-service, by its name in the chart, which is the server's ``target`` as well."""

    DISTRIBUTOR = "distributor"
    INGESTER = "ingester"
    QUERY_FRONTEND = "query-frontend"
    QUERY_SCHEDULER = "query-scheduler"
    QUERIER = "querier"
    STORE_GATEWAY = "store-gateway"
    COMPACTOR = "compactor"


STATEFUL: Final = frozenset(
    {ServerComponent.INGESTER, ServerComponent.STORE_GATEWAY, ServerComponent.COMPACTOR}
)
"""What is a StatefulSet; the others are Deployments."""

REPLICATION: Final = 3
"""How many ingesters have each profile, and how many store gateways each block. Two of the three
must answer, so that one may be away."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a component asks for."""

    replicas: int
    cpu: str
    """Requested by each pod; a Kubernetes quantity, as the others."""
    memory: str
    memory_limit: str
    cpu_limit: str
    """Not the chart's, which has none: policies that demand limits ask for one."""

    @property
    def resources(self) -> dict[str, dict[str, str]]:
        """As in a pod."""
        return {
            "requests": {"cpu": self.cpu, "memory": self.memory},
            "limits": {"cpu": self.cpu_limit, "memory": self.memory_limit},
        }


_LARGE: Final = Size(replicas=3, cpu="1", memory="8Gi", memory_limit="16Gi", cpu_limit="4")
_SMALL: Final = Size(replicas=2, cpu="100m", memory="256Mi", memory_limit="1Gi", cpu_limit="1")
SIZES: Final = {
    ServerComponent.DISTRIBUTOR: Size(
        replicas=2, cpu="500m", memory="256Mi", memory_limit="1Gi", cpu_limit="2"
    ),
    ServerComponent.INGESTER: _LARGE,
    ServerComponent.QUERY_FRONTEND: _SMALL,
    ServerComponent.QUERY_SCHEDULER: _SMALL,
    ServerComponent.QUERIER: Size(
        replicas=3, cpu="1", memory="256Mi", memory_limit="1Gi", cpu_limit="4"
    ),
    ServerComponent.STORE_GATEWAY: _LARGE,
    ServerComponent.COMPACTOR: _LARGE,
}
"""The chart's."""


def service_name(release: str, mode: ServerMode) -> str:
    """The Service that answers queries, to which the private link leads."""
    if mode is ServerMode.SINGLE:
        return release
    return f"{release}-{ServerComponent.QUERY_FRONTEND}"


def first_pod(release: str, mode: ServerMode) -> str:
    """The pod that keeps profiles, or the first of those that do."""
    return (
        f"{release}-0" if mode is ServerMode.SINGLE else f"{release}-{ServerComponent.INGESTER}-0"
    )
