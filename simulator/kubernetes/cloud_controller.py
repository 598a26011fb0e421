"""The AKS cloud controller: load balancers and Private Link Services from Services.

It knows the Services only as manifests handed to :func:`reconcile`, and answers what it wants of
each (address, finalizer, events); who hands them over, a simulated API server or the watch of a
real one, carries that out. What it makes and removes in Azure it starts itself, as operations that
take time: call again after every change of the Services and until nothing is ``pending``.

Source: kubernetes-sigs/cloud-provider-azure, ``pkg/provider/azure_privatelinkservice.go``. When a
Service goes, ``safeDeletePLS`` deletes every connection of its Private Link Service, whosever it
is, one after the other, and then the service: nothing that is connected holds a Service up.
"""

import re
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from simulator.arm import private_link
from simulator.arm.ids import group_id
from simulator.arm.types.managed_clusters import identity_may
from simulator.values import JsonObject, as_list, as_object, as_text, bury, dig, is_object
from simulator.world import ClusterState, Operation, Resource, World

FINALIZER: Final = "service.kubernetes.io/load-balancer-cleanup"
PREFIX: Final = "service.beta.kubernetes.io/azure-"
INTERNAL: Final = PREFIX + "load-balancer-internal"
PLS: Final = PREFIX + "pls-"
KNOWN: Final = frozenset(
    {
        "create",
        "name",
        "resource-group",
        "ip-configuration-subnet",
        "ip-configuration-ip-address-count",
        "ip-configuration-ip-address",
        "fqdns",
        "proxy-protocol",
        "visibility",
        "auto-approval",
    }
)
POOLS: Final = "Microsoft.ContainerService/managedClusters/agentPools"
OWNER_TAG: Final = "k8s-azure-owner-service"
CLUSTER_TAG: Final = "k8s-azure-cluster-name"

LOAD_BALANCERS: Final = "cloud-controller:load-balancer"
SERVICES_HANDLER: Final = f"arm:{private_link.PRIVATE_LINK_SERVICES}"
CONNECTIONS_HANDLER: Final = f"{SERVICES_HANDLER}/privateEndpointConnections"
LOAD_BALANCER_SECONDS: Final = 30
CREATE_SECONDS: Final = 40
UPDATE_SECONDS: Final = 20
DELETE_SECONDS: Final = 30
DISCONNECT_SECONDS: Final = 10


@dataclass(frozen=True)
class Event:
    """An event to record about the Service."""

    type: str
    reason: str
    message: str


@dataclass
class Outcome:
    """What the controller wants of one Service."""

    service: str
    """``namespace/name``."""
    address: str | None = None
    """For ``status.loadBalancer.ingress[0].ip``; None: no ingress."""
    finalizer: bool = False
    """Whether the Service must carry :data:`FINALIZER`."""
    pending: bool = False
    """Something is under way in Azure."""
    events: list[Event] = field(default_factory=list[Event])

    def to_json(self) -> JsonObject:
        """As JSON."""
        return {
            "service": self.service,
            "address": self.address,
            "finalizer": self.finalizer,
            "pending": self.pending,
            "events": [
                {"type": item.type, "reason": item.reason, "message": item.message}
                for item in self.events
            ],
        }


class _RefusedError(Exception):
    """The controller cannot do what the annotations ask for; the message goes to an event."""


def key_of(manifest: JsonObject) -> str:
    """``namespace/name`` of a manifest."""
    metadata = as_object(manifest.get("metadata"))
    return f"{as_text(metadata.get('namespace'))}/{as_text(metadata.get('name'))}"


def control(world: World) -> None:
    """Let load balancers come into being."""

    def finish(operation: Operation) -> None:
        cluster_id, _, service = operation.target.partition("|")
        state = world.clusters.get(cluster_id)
        if state is not None and not operation.error:
            number = zlib.crc32(service.encode()) % 200 + 10
            while f"10.224.0.{number}" in state.frontends.values():
                number += 1
            state.frontends[service] = f"10.224.0.{number}"

    world.register(LOAD_BALANCERS, finish)


def reconcile(world: World, cluster_id: str, services: Sequence[JsonObject]) -> list[Outcome]:
    """Bring a cluster's load balancers and private links into line with its Services.

    Args:
        world: the world, in which Private Link Services are made and removed.
        cluster_id: ARM id of the cluster.
        services: every Service of the cluster, as manifests with annotations and deletionTimestamp.
    """
    cluster = world.get(cluster_id)
    state = world.clusters.get(cluster_id.lower())
    if cluster is None or state is None:
        return [Outcome(key_of(item)) for item in services]
    return [_Service(world, cluster, state, item).outcome() for item in services]


class _Service:
    """One Service of one cluster."""

    def __init__(
        self, world: World, cluster: Resource, state: ClusterState, manifest: JsonObject
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._state = state
        self._manifest = manifest
        self._key = key_of(manifest)
        annotations = as_object(dig(manifest, "metadata", "annotations"))
        self._annotations = {
            name.lower(): value for name, value in annotations.items() if isinstance(value, str)
        }

    def outcome(self) -> Outcome:
        wanted = dig(self._manifest, "spec", "type") == "LoadBalancer"
        if not wanted or dig(self._manifest, "metadata", "deletionTimestamp"):
            return self._removed()
        return self._present()

    # --- it exists -----------------------------------------------------------------------------

    def _present(self) -> Outcome:
        outcome = Outcome(self._key, finalizer=True)
        target = f"{self._cluster.key}|{self._key}"
        if self._key not in self._state.frontends:
            if self._world.running(target, "create") is None:
                self._world.start(LOAD_BALANCERS, "create", target, LOAD_BALANCER_SECONDS)
            outcome.pending = True
            return outcome
        outcome.address = self._state.addresses.get(self._key)
        try:
            ready = self._private_link()
        except _RefusedError as refusal:
            message = f"Error syncing load balancer: failed to ensure load balancer: {refusal}"
            outcome.events.append(Event("Warning", "SyncLoadBalancerFailed", message))
            return outcome
        outcome.pending = not ready
        if ready:
            if outcome.address is None:
                outcome.events.append(
                    Event("Normal", "EnsuredLoadBalancer", "Ensured load balancer")
                )
            outcome.address = self._state.frontends[self._key]
            self._state.addresses[self._key] = outcome.address
        return outcome

    def _private_link(self) -> bool:
        """Make or change the private link the annotations ask for; whether it is as they say."""
        if self._annotation("create").lower() != "true":
            return True
        self._check_annotations()
        wanted = self._wanted_id()
        own = self._owned()
        if own is not None and own.key != wanted.lower():
            raise _RefusedError(
                f"cannot change existing name of private link service: {own.name} to "
                f"{wanted.rsplit('/', 1)[-1]}"
            )
        if own is None:
            self._check_load_balancer()
            self._check_subnet()
            self._check_free(wanted)
            self._create(wanted)
            return False
        if self._world.running(own.id) is not None:
            return False
        properties = self._wanted_properties()
        if any(own.properties.get(name) != value for name, value in properties.items()):
            own.properties.update(properties)
            own.properties["provisioningState"] = "Updating"
            self._world.start(SERVICES_HANDLER, "update", own.id, UPDATE_SECONDS)
            return False
        return own.state == "Succeeded"

    def _check_annotations(self) -> None:
        for name in self._annotations:
            if name.startswith(PLS) and name.removeprefix(PLS) not in KNOWN:
                raise _RefusedError(f"unknown private link service annotation {name}")
        if self._annotations.get(INTERNAL, "").lower() != "true":
            raise _RefusedError("a private link service needs an internal load balancer")
        name = self._name()
        if len(name) > 80 or not re.fullmatch(r"[a-zA-Z0-9]([-\w.]*\w)?", name):
            raise _RefusedError(
                f"private link service name '{name}' is invalid: InvalidResourceName, at most 80 "
                "letters, digits, '_', '.' and '-'"
            )
        count = self._annotation("ip-configuration-ip-address-count") or "1"
        if not count.isdigit() or not 1 <= int(count) <= 8:
            raise _RefusedError(f"ip-address-count '{count}' is not a number from 1 to 8")
        addresses = self._annotation("ip-configuration-ip-address").split()
        for address in addresses:
            if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", address):
                raise _RefusedError(f"ip-address '{address}' is not an IPv4 address")
        if len(addresses) > int(count):
            raise _RefusedError(
                f"{len(addresses)} ip addresses are more than ip-address-count {count}"
            )
        if self._annotation("proxy-protocol") not in ("", "true", "false"):
            raise _RefusedError("proxy-protocol is neither true nor false")

    def _check_load_balancer(self) -> None:
        """Azure's Private Link page: a Standard load balancer, with network interfaces behind it.

        The words of the refusals are assumed.
        """
        network = as_object(self._cluster.properties.get("networkProfile"))
        if as_text(network.get("loadBalancerSku")).lower() == "basic":
            raise _RefusedError("a private link service needs a Standard load balancer")
        if as_text(dig(network, "loadBalancerProfile", "backendPoolType")).lower() == "nodeip":
            raise _RefusedError(
                "a private link service needs a load balancer with backend pools of network "
                "interfaces, not of IP addresses"
            )

    def _check_subnet(self) -> None:
        """In a network of its owner's: the subnet, the rights on it, its policies Disabled.

        Source: ``reconcilePLSIpConfigs`` and ``disablePLSNetworkPolicy``.
        """
        subnet_id = self._subnet_id()
        if not subnet_id:
            return
        subnet = self._world.get(subnet_id)
        name = subnet_id.rsplit("/", 1)[-1]
        if subnet is None:
            raise _RefusedError(
                f"failed to get private link service subnet({name}) for service({self._key})"
            )
        actions = "Microsoft.Network/virtualNetworks/subnets"
        self._check_right(f"{actions}/read", subnet_id, subnet_id)
        self._check_right(f"{actions}/join/action", subnet_id, subnet_id)
        if subnet.properties.get("privateLinkServiceNetworkPolicies") != "Disabled":
            self._check_right(f"{actions}/write", subnet_id, subnet_id)
            subnet.properties["privateLinkServiceNetworkPolicies"] = "Disabled"
            self._world.touch()

    def _subnet_id(self) -> str:
        """The subnet for the link's addresses; empty in a network of AKS' own."""
        pools = [
            as_text(pool.properties.get("vnetSubnetID"))
            for pool in self._world.below(self._cluster.id)
            if pool.type == POOLS
        ]
        nodes = next((pool for pool in pools if pool), "")
        internal = self._annotations.get(INTERNAL + "-subnet", "").strip()
        name = self._annotation("ip-configuration-subnet") or internal
        return f"{nodes.rpartition('/')[0]}/{name}" if nodes and name else nodes

    def _check_free(self, wanted: str) -> None:
        group = wanted.split("/providers/")[0]
        self._check_right("Microsoft.Network/privateLinkServices/write", wanted)
        if self._world.get(group) is None:
            raise _RefusedError(
                f"ResourceGroupNotFound: resource group '{group}' could not be found"
            )
        taken = self._world.get(wanted)
        if taken is not None:
            owner = as_text(dig(taken.body, "tags", OWNER_TAG)) or "something else"
            raise _RefusedError(
                f"private link service {taken.name} is already in use by service {owner}; "
                f"{self._key} cannot share it"
            )

    def _create(self, wanted: str) -> None:
        location = as_text(self._cluster.body.get("location"))
        name = wanted.rsplit("/", 1)[-1]
        # The load balancer is the cluster's, wherever its owner wants the link.
        nodes = as_text(self._cluster.properties.get("nodeResourceGroup"))
        network = f"{group_id(wanted.split('/')[2], nodes)}/providers/Microsoft.Network"
        frontend = f"{network}/loadBalancers/kubernetes-internal/frontendIPConfigurations"
        properties: JsonObject = {
            "provisioningState": "Updating",
            "resourceGuid": str(uuid.uuid4()),
            "alias": f"{name}.{uuid.uuid4()}.{location}.azure.privatelinkservice",
            "loadBalancerFrontendIpConfigurations": [
                {"id": f"{frontend}/{self._key.replace('/', '-')}"}
            ],
            "networkInterfaces": [{"id": f"{network}/networkInterfaces/{name}.nic.{uuid.uuid4()}"}],
            "privateEndpointConnections": [],
            **self._wanted_properties(),
        }
        tags: JsonObject = {OWNER_TAG: self._key, CLUSTER_TAG: self._cluster.name}
        body: JsonObject = {
            "location": location,
            "etag": f'W/"{uuid.uuid4()}"',
            "tags": tags,
            "properties": properties,
        }
        self._world.put(
            Resource(
                wanted, private_link.PRIVATE_LINK_SERVICES, body, {"cluster": self._cluster.key}
            )
        )
        self._world.start(SERVICES_HANDLER, "create", wanted, CREATE_SECONDS)

    def _wanted_properties(self) -> JsonObject:
        addresses = self._annotation("ip-configuration-ip-address").split()
        count = int(self._annotation("ip-configuration-ip-address-count") or "1")
        configurations: list[JsonObject] = []
        for index in range(count):
            fixed = addresses[index] if index < len(addresses) else None
            configuration: JsonObject = {
                "privateIPAllocationMethod": "Static" if fixed else "Dynamic",
                "primary": index == 0,
                "privateIPAddressVersion": "IPv4",
                "subnet": {"id": self._annotation("ip-configuration-subnet") or "aks-subnet"},
            }
            if fixed:
                configuration["privateIPAddress"] = fixed
            configurations.append({"name": f"ipconfig-{index}", "properties": configuration})
        return {
            "ipConfigurations": configurations,
            "visibility": {"subscriptions": self._annotation("visibility").split()},
            "autoApproval": {"subscriptions": self._annotation("auto-approval").split()},
            "fqdns": self._annotation("fqdns").split(),
            "enableProxyProtocol": self._annotation("proxy-protocol") == "true",
        }

    # --- it goes -------------------------------------------------------------------------------

    def _removed(self) -> Outcome:
        outcome = Outcome(self._key)
        own = self._owned()
        if own is None:
            if self._key in self._state.frontends:
                self._state.frontends.pop(self._key, None)
                self._state.addresses.pop(self._key, None)
                self._world.touch()
            return outcome
        outcome.finalizer = True
        outcome.address = self._state.addresses.get(self._key)
        try:
            self._remove(own)
            outcome.pending = True
        except _RefusedError as refusal:
            message = f"Error syncing load balancer: failed to delete load balancer: {refusal}"
            outcome.events.append(Event("Warning", "SyncLoadBalancerFailed", message))
        return outcome

    def _remove(self, own: Resource) -> None:
        """Delete what is connected, one connection after the other, then the private link."""
        if self._world.running(own.id, "delete", "disconnect") is not None:
            return
        connections = private_link.connections(own)
        action = "Microsoft.Network/privateLinkServices/"
        action += "privateEndpointConnections/delete" if connections else "delete"
        self._check_right(action, own.id)
        running = self._world.running(own.id)
        if running is not None:
            self._world.cancel(running)
        if connections:
            first = connections[0]
            bury(first, "Deleting", "properties", "provisioningState")
            self._world.start(
                CONNECTIONS_HANDLER,
                "disconnect",
                own.id,
                DISCONNECT_SECONDS,
                connection=as_text(first.get("name")),
            )
        else:
            own.properties["provisioningState"] = "Deleting"
            self._world.start(SERVICES_HANDLER, "delete", own.id, DELETE_SECONDS)

    def _check_right(self, action: str, target: str, scope: str = "") -> None:
        """Refuse what the cluster's identity may not do; in the node resource group it may all."""
        identity = as_text(dig(self._cluster.body, "identity", "principalId"))
        scope = scope or target.split("/providers/")[0]
        if not identity_may(self._world, self._cluster, action, scope):
            raise _RefusedError(
                f"403: AuthorizationFailed: The client '{identity}' with object id '{identity}' "
                f"does not have authorization to perform action '{action}' over scope '{target}'"
            )

    # --- looking up ----------------------------------------------------------------------------

    def _annotation(self, name: str) -> str:
        return self._annotations.get(PLS + name, "").strip()

    def _name(self) -> str:
        uid = as_text(dig(self._manifest, "metadata", "uid")).replace("-", "")
        return self._annotation("name") or f"pls-a{uid}"[:80]

    def _wanted_id(self) -> str:
        subscription = self._cluster.id.split("/")[2]
        group = self._annotation("resource-group") or as_text(
            self._cluster.properties.get("nodeResourceGroup")
        )
        return (
            f"{group_id(subscription, group)}/providers/Microsoft.Network/privateLinkServices/"
            f"{self._name()}"
        )

    def _owned(self) -> Resource | None:
        """The private link that this Service made."""
        for service in self._world.of_type(private_link.PRIVATE_LINK_SERVICES):
            tags = service.body.get("tags")
            if not is_object(tags) or tags.get(OWNER_TAG) != self._key:
                continue
            if service.hidden.get("cluster") == self._cluster.key:
                return service
        return None


def ports_of(manifest: JsonObject) -> list[int]:
    """The ports of a Service."""
    found = as_list(dig(manifest, "spec", "ports"))
    return [int(port) for item in found if isinstance(port := as_object(item).get("port"), int)]
