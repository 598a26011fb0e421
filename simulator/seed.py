"""The world as it is before anything is deployed: what ``Pulumi.dev.yaml`` expects to exist.

Two environments, ``dev`` and ``prod``, each with a resource group and a cluster; one Grafana and
one Azure Monitor workspace in ``rg-dev``. The caller owns the subscription and is Grafana Admin.
All of it is made through ARM, as a person would have. Both clusters have NVIDIA's DCGM exporter, as
its chart installs it, and a PodMonitor of the metrics add-on for it.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Final

from simulator.arm import roles
from simulator.arm.api import ArmService
from simulator.arm.ids import SUBSCRIPTION_ID, group_id
from simulator.arm.subscription import NAMESPACES
from simulator.clock import Clock, timestamp
from simulator.http import Request
from simulator.identity import sign
from simulator.kubernetes import state
from simulator.values import JsonObject, as_object, as_text, clone_object
from simulator.world import TENANT_ID, Principal, Resource, World

CALLER_ID: Final = "22222222-2222-4222-8222-222222222222"
LOCATION: Final = "westeurope"


def plant(world: World) -> None:
    """Fill a new world; it takes no simulated time."""
    clock, world.clock = world.clock, Clock(0)
    world.principals[CALLER_ID] = Principal(CALLER_ID, "ServicePrincipal", "platform-engineer")
    world.settings["caller"] = CALLER_ID
    world.registrations.update(dict.fromkeys(NAMESPACES, "Registered"))
    scope = f"/subscriptions/{SUBSCRIPTION_ID}"
    world.put(_first_assignment(scope))
    azure = _Azure(world)
    for environment in ("dev", "prod"):
        azure.put(f"rg-{environment}", "", "2024-03-01", {"location": LOCATION})
        azure.put(
            f"rg-{environment}",
            f"Microsoft.ContainerService/managedClusters/aks-{environment}",
            "2025-09-01",
            _cluster(f"aks-{environment}", signs_in=environment == "prod"),
        )
    grafana = azure.put("rg-dev", "Microsoft.Dashboard/grafana/grafana-dev", "2024-10-01", _GRAFANA)
    workspace = azure.put(
        "rg-dev", "Microsoft.Monitor/accounts/amw-dev", "2023-04-03", {"location": LOCATION}
    )
    azure.assign(grafana.id, roles.GRAFANA_ADMIN, CALLER_ID)
    for cluster in world.clusters.values():
        for manifest in (_EXPORTER, _EXPORTER_MONITOR):
            state.add(cluster, clone_object(manifest))
    identity = as_text(as_object(grafana.body.get("identity")).get("principalId"))
    azure.assign(workspace.id, roles.MONITORING_DATA_READER, identity)
    world.operations.clear()
    world.timeline.clear()
    world.clock = Clock(clock.factor)
    world.rewind()


def own(world: World, subscriptions: Mapping[str, str]) -> None:
    """Make the caller owner of further subscriptions, given with their tenants."""
    for subscription, tenant in subscriptions.items():
        if tenant == TENANT_ID:
            world.put(_first_assignment(f"/subscriptions/{subscription}"))


_GRAFANA: JsonObject = {
    "location": LOCATION,
    "sku": {"name": "Standard"},
    "identity": {"type": "SystemAssigned"},
    "properties": {"grafanaMajorVersion": "12"},
}


_EXPORTER_LABELS: JsonObject = {"app.kubernetes.io/name": "dcgm-exporter"}
_EXPORTER: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "dcgm-exporter", "namespace": "default", "labels": _EXPORTER_LABELS},
    "spec": {
        "selector": {"matchLabels": _EXPORTER_LABELS},
        "template": {
            "metadata": {"labels": _EXPORTER_LABELS},
            "spec": {
                "nodeSelector": {"accelerator": "nvidia"},
                "tolerations": [{"operator": "Exists"}],
                "containers": [
                    {
                        "name": "exporter",
                        "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04",
                        "ports": [{"name": "metrics", "containerPort": 9400}],
                    }
                ],
            },
        },
    },
}
_EXPORTER_MONITOR: JsonObject = {
    "apiVersion": "azmonitoring.coreos.com/v1",
    "kind": "PodMonitor",
    "metadata": {"name": "dcgm-exporter", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": _EXPORTER_LABELS},
        "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
    },
}


def _cluster(name: str, *, signs_in: bool) -> JsonObject:
    """A cluster, and whether its pods can sign in as identities of Azure."""
    return {
        "location": LOCATION,
        "identity": {"type": "SystemAssigned"},
        "properties": {
            "dnsPrefix": name,
            "azureMonitorProfile": {"metrics": {"enabled": True}},
            "oidcIssuerProfile": {"enabled": signs_in},
            "securityProfile": {"workloadIdentity": {"enabled": signs_in}},
            "agentPoolProfiles": [
                {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 2}
            ],
        },
    }


def _first_assignment(scope: str) -> Resource:
    """The caller's ownership of the subscription, which nobody in this world granted."""
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}|{CALLER_ID}")
    definitions = f"{scope}/providers/Microsoft.Authorization/roleDefinitions"
    properties: JsonObject = {
        "roleDefinitionId": f"{definitions}/{roles.OWNER}",
        "principalId": CALLER_ID,
        "principalType": "ServicePrincipal",
        "scope": scope,
        "createdOn": timestamp(),
        "updatedOn": timestamp(),
        "createdBy": CALLER_ID,
        "updatedBy": CALLER_ID,
    }
    return Resource(
        f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}",
        roles.ROLE_ASSIGNMENTS,
        {"properties": properties},
        {"effective": True},
    )


class _Azure:
    """Makes resources through ARM and waits for them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._arm = ArmService(world)
        claims: JsonObject = {"aud": "https://management.azure.com", "exp": 2**33, "oid": CALLER_ID}
        self._token = sign(world, claims)

    def put(self, group: str, path: str, version: str, body: JsonObject) -> Resource:
        """Make a resource (or, without a path, its group) and wait until it is there."""
        wanted = group_id(SUBSCRIPTION_ID, group) + (f"/providers/{path}" if path else "")
        return self._put(wanted, version, body)

    def assign(self, scope: str, role: str, principal: str) -> None:
        """Assign a role."""
        name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}|{role}|{principal}")
        definitions = "/providers/Microsoft.Authorization/roleDefinitions"
        self._put(
            f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}",
            "2022-04-01",
            {
                "properties": {
                    "roleDefinitionId": f"/subscriptions/{SUBSCRIPTION_ID}{definitions}/{role}",
                    "principalId": principal,
                    "principalType": "ServicePrincipal",
                }
            },
        )

    def _put(self, wanted: str, version: str, body: JsonObject) -> Resource:
        answer = self._arm.handle(
            Request(
                "PUT",
                wanted,
                {"api-version": version},
                {"authorization": f"Bearer {self._token}"},
                json.dumps(body).encode(),
            )
        )
        self._world.advance()
        found = self._world.get(wanted)
        if answer.status not in (200, 201) or found is None:
            raise RuntimeError(f"seeding {wanted}: {answer.status} {answer.body}")
        return found
