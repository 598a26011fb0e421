"""The AKS cloud controller."""

from dataclasses import dataclass

from simulator.values import JsonObject, as_object
from simulator.world import World


@dataclass
class Outcome:
    """What the controller wants of one Service."""

    service: str

    def to_json(self) -> JsonObject:
        """As JSON."""
        return {"service": self.service}


def key_of(manifest: JsonObject) -> str:
    """``namespace/name`` of a manifest."""
    metadata = as_object(manifest.get("metadata"))
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def reconcile(world: World, cluster_id: str, services: list[JsonObject]) -> list[Outcome]:
    """Bring the load balancers and private links of a cluster into line with its Services."""
    return [Outcome(key_of(item)) for item in services]
