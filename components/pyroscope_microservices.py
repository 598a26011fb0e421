"""The chart's values for Pyroscope as micro-services, below ``pyroscope``.

By the chart's ``pyroscope.components`` alone, which every release from 1.15.0 on reads in the same
way: whatever a component says there takes the place of what ``pyroscope`` says for all of them.
``architecture.microservices.enabled``, of 1.15.1 and later, would bring the chart's own components
beside these. What a component does not say it has from ``pyroscope``, so nothing there may be meant
for one of them only: neither the private link's annotations nor a disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.json import as_object
from contract.microservices import REPLICATION, STATEFUL, ServerComponent

RING: Final = {
    "distributor.replication-factor": str(REPLICATION),
    "store-gateway.sharding-ring.replication-factor": str(REPLICATION),
    # As the chart has it for its own micro-services: a single server that is still writing what it
    # holds would else be one of the members.
    "memberlist.cluster-label": f"{NAMESPACE}-{PYROSCOPE_SERVICE}-micro-services",
}
"""Flags of every component: they must agree on them."""
_ZONE, _NODE = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@dataclass(frozen=True, kw_only=True)
class ServerComponentArgs:
    """One micro-service."""

    replicas: int
    resources: Mapping[str, Any]
    """Of each of its pods."""


def selector(component: str) -> dict[str, str]:
    """The labels by which the chart's Services find a component's pods."""
    return {
        "app.kubernetes.io/name": PYROSCOPE_SERVICE,
        "app.kubernetes.io/instance": PYROSCOPE_SERVICE,
        "app.kubernetes.io/component": component,
    }


def default_components(
    components: Mapping[str, ServerComponentArgs], said: Mapping[str, object]
) -> dict[str, object]:
    """What a stack file's own values for all components, ``said``, take the place of."""

    def unless_said(**values: object) -> dict[str, object]:
        return {key: value for key, value in values.items() if key not in said}

    # The chart's: a store gateway is ready before it has found its blocks, and no compaction is cut
    # off.
    special: dict[str, dict[str, object]] = {
        ServerComponent.STORE_GATEWAY: unless_said(readinessProbe={"initialDelaySeconds": 60}),
        ServerComponent.COMPACTOR: unless_said(terminationGracePeriodSeconds=1200),
    }
    return {
        name: {**unless_said(topologySpreadConstraints=_spread(name)), **special.get(name, {})}
        for name in components
    }


def with_annotations_where_they_belong(extra: Mapping[str, object]) -> dict[str, object]:
    """A stack file's values with its Service's annotations on the one that Grafana reaches.

    Said of every component they would be on Services without a load balancer as well.
    """
    pyroscope = as_object(extra.get("pyroscope"))
    service = as_object(pyroscope.get("service"))
    if "annotations" not in service:
        return {**extra}
    rest = {key: value for key, value in service.items() if key != "annotations"}
    annotations = {"service": {"annotations": service["annotations"]}}
    moved = {ServerComponent.QUERY_FRONTEND.value: annotations}
    return {**extra, "pyroscope": {**pyroscope, "service": rest, "components": moved}}


def owned_components(
    components: Mapping[str, ServerComponentArgs],
    exposure: Mapping[str, object],
    persistence: object,
) -> dict[str, object]:
    """What the product decides: the Service that is exposed, and what has a disk."""
    found: dict[str, dict[str, object]] = {
        name: {
            "kind": "StatefulSet" if name in STATEFUL else "Deployment",
            "replicaCount": args.replicas,
            "resources": args.resources,
        }
        for name, args in components.items()
    }
    found[ServerComponent.QUERY_FRONTEND]["service"] = {**exposure}
    # The one component whose data is nowhere else yet.
    found[ServerComponent.INGESTER]["persistence"] = persistence
    return {**found}


def _spread(component: str) -> list[dict[str, object]]:
    """Over zones, and over nodes; where there are too few of them, together all the same."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector(component)},
        }
        for key in (_ZONE, _NODE)
    ]
