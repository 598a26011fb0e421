"""Part ``components`` of section ``pyroscope``: its micro-services, where it runs as such."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from contract.microservices import REPLICATION, SIZES, ServerComponent
from infra.settings.scheduling import broken_resources
from infra.settings.section import RuleViolation, Section, Whole

MOST_REPLICAS = 100

Replicas = Annotated[
    int,
    Whole(
        minimum=1,
        maximum=MOST_REPLICAS,
        why="without a pod the component does nothing, and Pyroscope does not work without it.",
        fix="write replicas: 3, or leave it out",
    ),
]
ReplicatedReplicas = Annotated[
    int,
    Whole(
        minimum=REPLICATION,
        maximum=MOST_REPLICAS,
        why=f"each profile is on {REPLICATION} of them, of which two must answer.",
        fix=f"write replicas: {REPLICATION}, or leave it out",
    ),
]


class ComponentSettings(Section):
    """One micro-service of Pyroscope."""

    replicas: Replicas | None = None
    """How many pods of it there are; default: the chart's."""
    resources: Mapping[str, Any] = Field(default_factory=dict)
    """Requests and limits of each of its pods, in place of the chart's."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """What Kubernetes refuses."""
        yield from broken_resources(self.resources)


class ReplicatedComponentSettings(ComponentSettings):
    """One whose data is on three of its pods."""

    replicas: ReplicatedReplicas | None = None
    """How many pods of it there are, at least 3; default: the chart's."""


@dataclass(frozen=True, kw_only=True)
class WantedComponent:
    """What a component shall have."""

    replicas: int
    resources: Mapping[str, Any]
    """As in a pod."""


class ComponentsSettings(Section):
    """Pyroscope's micro-services."""

    distributor: ComponentSettings = ComponentSettings()
    """Takes profiles from the agents and sends each to 3 ingesters."""
    ingester: ReplicatedComponentSettings = ReplicatedComponentSettings()
    """Keeps the newest profiles, each on a disk of its own, and writes them to Blob."""
    query_frontend: ComponentSettings = ComponentSettings()
    """Answers Grafana, through the private link."""
    query_scheduler: ComponentSettings = ComponentSettings()
    """Hands queries to queriers."""
    querier: ComponentSettings = ComponentSettings()
    """Computes what is asked for, from ingesters and store gateways."""
    store_gateway: ReplicatedComponentSettings = ReplicatedComponentSettings()
    """Reads what is in Blob."""
    compactor: ComponentSettings = ComponentSettings()
    """Merges the blocks in Blob, and deletes those that are older than `retention`."""

    @property
    def wanted(self) -> dict[ServerComponent, WantedComponent]:
        """What each shall have, the chart's sizes where nothing else is said."""
        found: dict[ServerComponent, WantedComponent] = {}
        for component, size in SIZES.items():
            said: ComponentSettings = getattr(self, component.replace("-", "_"))
            found[component] = WantedComponent(
                replicas=said.replicas or size.replicas,
                resources=said.resources or size.resources,
            )
        return found
