"""Node pools. Quota is checked when a pool is accepted; Spot pools get Azure's taint and label.

The members are those of the published model (azure-mgmt-containerservice 41.6 for 2026-06-01, the
typed inputs of azure-native 3.29 for 2025-09-01): nothing follows here from those that are
:func:`schema.anything`, but they are accepted and kept.

While the autoscaler is on, a request must carry the number of nodes that the pool has: another one
counts as scaling by hand (terraform-provider-azurerm, pull request 4543, quotes the refusal). A
number outside the limits is refused for a new pool only; of one that is there the limits may move
past it (AKS 1758; terraform-provider-azurerm sends the present number with any limits). How soon
the autoscaler then follows is not said anywhere; here it does when :func:`autoscale` is called.
"""

import re
from typing import Final

from simulator.arm import compute, roles, schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.resource_type import Call
from simulator.arm.types.aks import AksType
from simulator.arm.types.virtual_networks import SUBNETS
from simulator.values import (
    JsonObject,
    as_integer,
    as_number,
    as_object,
    as_text,
    clone,
    dig,
    texts,
)
from simulator.world import Operation, Resource, World

TYPE: Final = "Microsoft.ContainerService/managedClusters/agentPools"
SPOT_KEY: Final = "kubernetes.azure.com/scalesetpriority"
SPOT_TAINT: Final = f"{SPOT_KEY}=spot:NoSchedule"
TAINT_PATTERN: Final = r"[^=:]+(=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)"

POOL_FIELDS: Final = {
    "count": schema.integer(required=True),
    "vmSize": schema.text(create_only=True, blank=True),
    "mode": schema.text("System", "User", "Gateway", default="User"),
    "type": schema.text(
        "VirtualMachineScaleSets",
        "AvailabilitySet",
        "VirtualMachines",
        default="VirtualMachineScaleSets",
        create_only=True,
    ),
    "osType": schema.text("Linux", "Windows", default="Linux", create_only=True),
    "osSKU": schema.text(
        "Ubuntu", "AzureLinux", "Ubuntu2204", "Ubuntu2404", default="Ubuntu", blank=True
    ),
    "osDiskSizeGB": schema.integer(create_only=True),
    "osDiskType": schema.text("Managed", "Ephemeral", create_only=True),
    "maxPods": schema.integer(create_only=True),
    "vnetSubnetID": schema.text(create_only=True),
    "podSubnetID": schema.text(create_only=True),
    "availabilityZones": schema.items(schema.text(), create_only=True),
    "enableAutoScaling": schema.flag(default=False),
    "minCount": schema.integer(),
    "maxCount": schema.integer(),
    "nodeTaints": schema.texts(),
    "nodeLabels": schema.mapping(),
    "tags": schema.TAGS,
    "scaleSetPriority": schema.text("Regular", "Spot", default="Regular", create_only=True),
    "scaleSetEvictionPolicy": schema.text("Delete", "Deallocate", create_only=True),
    "spotMaxPrice": schema.number(),
    "gpuInstanceProfile": schema.text(
        "MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g", create_only=True
    ),
    "gpuProfile": schema.record(
        {
            "driver": schema.text("Install", "None", create_only=True),
        }
    ),
    "kubeletConfig": schema.anything(),
    "linuxOSConfig": schema.anything(),
    "orchestratorVersion": schema.text(blank=True),
    "upgradeSettings": schema.record(
        {
            "maxSurge": schema.text(),
            "maxUnavailable": schema.text(),
            "drainTimeoutInMinutes": schema.integer(),
            "nodeSoakDurationInMinutes": schema.integer(),
            "undrainableNodeBehavior": schema.text("Cordon", "Schedule"),
        }
    ),
    "enableNodePublicIP": schema.flag(),
    "enableEncryptionAtHost": schema.flag(),
    "scaleDownMode": schema.text("Delete", "Deallocate"),
    "workloadRuntime": schema.text("OCIContainer", "KataVmIsolation", "WasmWasi"),
    "kubeletDiskType": schema.text("OS", "Temporary"),
    "enableUltraSSD": schema.flag(),
    "enableFIPS": schema.flag(),
    "messageOfTheDay": schema.text(create_only=True),
    "podIPAllocationMode": schema.text("DynamicIndividual", "StaticBlock"),
    "nodePublicIPPrefixID": schema.text(create_only=True),
    "proximityPlacementGroupID": schema.text(create_only=True),
    "capacityReservationGroupID": schema.text(create_only=True),
    "hostGroupID": schema.text(create_only=True),
    "creationData": schema.anything(create_only=True),
    "networkProfile": schema.anything(),
    "windowsProfile": schema.anything(),
    "securityProfile": schema.record(
        {
            "enableVTPM": schema.flag(),
            "enableSecureBoot": schema.flag(),
            "sshAccess": schema.text("LocalUser", "Disabled", "EntraID"),
        }
    ),
    "gatewayProfile": schema.anything(),
    "virtualMachinesProfile": schema.anything(),
    "virtualMachineNodesStatus": schema.anything(),
    "localDNSProfile": schema.anything(),
    "artifactStreamingProfile": schema.anything(since="2026-06-01"),
    "status": schema.anything(),
    **schema.computed(
        "provisioningState", "powerState", "currentOrchestratorVersion", "nodeImageVersion", "eTag"
    ),
}
DRIVER_SECONDS: Final = 120
"""For NVIDIA's driver, which a GPU node installs before it joins the cluster: a pool is there when
its nodes have it (Azure/AgentBaker, ``ensureGPUDrivers`` in cse_main.sh)."""
DEFAULT_SIZE: Final = "Standard_D4ds_v5"
"""What the service chooses where a pool names no VM size."""


class AgentPools(AksType):
    """``Microsoft.ContainerService/managedClusters/agentPools``; long-running.

    2026-06-01, which the Azure CLI sends, has artifact streaming; 2025-09-01, azure-native's, not.
    """

    type = TYPE
    name_pattern = r"[a-z][a-z0-9]{0,11}"
    create_seconds = 180
    update_seconds = 60
    delete_seconds = 120
    schema = schema.record(
        {"properties": schema.record(POOL_FIELDS, required=True), **schema.ENVELOPE}
    )

    def seconds(self, kind: str, resource: Resource) -> float:
        """Longer for nodes that install a driver."""
        installs = kind == "create" and has_driver(resource.properties)
        return super().seconds(kind, resource) + (DRIVER_SECONDS if installs else 0)

    def busy(self, call: Call, resource: Resource | None) -> None:
        """Neither the pool nor its cluster may be in the middle of something."""
        super().busy(call, resource)
        super().busy(call, self.world.get(call.id.parent))

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """What Azure accepts as a pool, within the quota."""
        cluster = self.world.get(call.id.parent)
        location = as_text(cluster.body.get("location")) if cluster else ""
        choose_size(new.properties, old)
        if cluster is not None and new.properties.get("enableAutoScaling") is True:
            _check_no_auto_provisioning(cluster)
        check_pool(self.world, new.properties, new.id, location, old.properties if old else None)
        if old is None and new.properties.get("vnetSubnetID"):
            self._check_subnet(call, as_text(new.properties.get("vnetSubnetID")))

    def _check_subnet(self, call: Call, subnet: str) -> None:
        """All pools of a cluster are in its owner's one virtual network, or none is.

        Sources: MicrosoftDocs/azure-docs 116169 (a managed network); acs-engine,
        ``agentPoolOnlyApi``, ``ErrorVnetNotMatch`` (another one); for the right of whoever asks
        Microsoft's page on LinkedAuthorizationFailed. A subnet that is not there: in words of ours.
        """
        join = f"{SUBNETS}/join/action"
        if not roles.may(self.world, call.principal, join, subnet):
            raise ArmError(
                403,
                "LinkedAuthorizationFailed",
                f"The client '{call.principal}' with object id '{call.principal}' has permission "
                f"to perform action '{TYPE}/write' on scope '{call.id.text}'; however, it does "
                f"not have permission to perform action '{join}' on the linked scope(s) "
                f"'{subnet}' or the linked scope(s) are invalid.",
            )
        if self.world.get(subnet) is None:
            raise bad_request(f"The subnet '{subnet}' could not be found.", "InvalidParameter")
        for pool in self.world.below(call.id.parent):
            if pool.type != TYPE or pool.key == call.id.text.lower():
                continue
            other = as_text(pool.properties.get("vnetSubnetID"))
            if not other:
                raise bad_request(
                    f"Cannot use a custom subnet because agent pool {pool.name} is using a managed "
                    "subnet. Please omit the vnetSubnetID parameter from the request.",
                    "InvalidParameter",
                )
            if _network_of(other) != _network_of(subnet):
                raise bad_request(
                    "Vnet for subnet does not match with other subnet", "InvalidParameter"
                )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Spot's marks are added at once."""
        complete_pool(new.properties)

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """The nodes run."""
        settle_pool(self.world, resource)
        return None

    def check_delete(self, call: Call, resource: Resource) -> None:
        """A cluster keeps a system pool."""
        if resource.properties.get("mode") != "System":
            return
        prefix = call.id.parent.lower() + "/agentpools/"
        systems = [
            item
            for item in self.world.of_type(TYPE)
            if item.key.startswith(prefix) and item.properties.get("mode") == "System"
        ]
        if len(systems) == 1:
            raise bad_request(
                f"There has to be at least one system agent pool; '{resource.name}' is the last.",
                "InvalidParameter",
            )


def _network_of(subnet: str) -> str:
    return subnet.lower().rpartition("/subnets/")[0]


def choose_size(pool: JsonObject, old: Resource | None) -> None:
    """A pool without a VM size keeps the one it has; a new one gets the service's choice."""
    if not pool.get("vmSize"):
        pool["vmSize"] = old.properties.get("vmSize") if old else DEFAULT_SIZE


def _check_no_auto_provisioning(cluster: Resource) -> None:
    """Node auto-provisioning and the cluster autoscaler exclude each other.

    From the limitations on Microsoft's page about the former; the code is assumed.
    """
    if dig(cluster.properties, "nodeProvisioningProfile", "mode") == "Auto":
        raise bad_request(
            "The cluster autoscaler cannot be enabled on an agent pool of a cluster with node "
            "auto-provisioning.",
            "InvalidParameter",
        )


def check_pool(
    world: World, pool: JsonObject, pool_id: str, location: str, old: JsonObject | None = None
) -> None:
    """Raise :class:`ArmError` for what Azure refuses in a pool; ``old`` is the pool as it is."""
    name = pool_id.rsplit("/", 1)[-1]
    if not re.fullmatch(r"[a-z][a-z0-9]{0,11}", name):
        raise bad_request(
            f"The agent pool name '{name}' is invalid: lower-case letters and digits, beginning "
            "with a letter, at most 12.",
            "InvalidParameter",
        )
    size = compute.size_of(as_text(pool.get("vmSize")))
    if size is None:
        raise bad_request(
            f"The VM size of {pool.get('vmSize')} is not allowed in your subscription in location "
            f"'{location}'.",
            "ErrCode_VMSizeNotSupported",
        )
    for taint in texts(pool.get("nodeTaints")):
        if not re.fullmatch(TAINT_PATTERN, taint):
            raise bad_request(f"The node taint '{taint}' is invalid.", "InvalidParameter")
    _check_scaling(pool, name, old)
    _check_spot(pool, name)
    _check_gpu(pool, name, size)
    asked = size.cores * as_integer(pool.get("count"))
    free = compute.limit_of(world, location, size.family) - compute.used(
        world, location, size.family, pool_id
    )
    if asked > free:
        raise bad_request(
            f"Preflight validation check for resource(s) failed. Insufficient vcpu quota requested "
            f"{asked}, remaining {free} for family {size.family} for region {location}.",
            "ErrCode_InsufficientVCPUQuota",
        )


def _check_scaling(pool: JsonObject, name: str, old: JsonObject | None) -> None:
    count = as_integer(pool.get("count"))
    least, most = as_integer(pool.get("minCount"), -1), as_integer(pool.get("maxCount"), -1)
    if pool.get("enableAutoScaling") is not True:
        if least >= 0 or most >= 0:
            raise bad_request(
                f"Agent pool '{name}': minCount and maxCount need enableAutoScaling.",
                "InvalidParameter",
            )
        return
    if old is not None and count != as_integer(old.get("count")):
        if old.get("enableAutoScaling") is True:
            message = (
                f"Cannot manually scale AgentPool '{name}' of an AKS cluster with cluster "
                "autoscaler enabled. Please disable cluster autoscaler in the cluster to manually "
                "scale."
            )
        else:
            # AKS 1248
            message = (
                "Cannot manually scale and enable cluster autoscaler in the same update operation "
                f"on VMSS Agentpool '{name}'."
            )
        raise bad_request(message, "InvalidParameter")
    within = old is not None or least <= count <= most
    if least < 0 or most < 1 or least > most or not within:
        raise bad_request(
            f"Agent pool '{name}': autoscaling needs minCount <= count <= maxCount, not "
            f"{least} <= {count} <= {most}.",
            "InvalidParameter",
        )
    if pool.get("mode") == "System" and least < 1:
        raise bad_request(f"System agent pool '{name}' needs minCount >= 1.", "InvalidParameter")


def _check_spot(pool: JsonObject, name: str) -> None:
    spot = pool.get("scaleSetPriority") == "Spot"
    if spot and pool.get("mode") == "System":
        raise bad_request(f"System agent pool '{name}' cannot be Spot.", "InvalidParameter")
    if not spot and pool.get("scaleSetEvictionPolicy"):
        raise bad_request(
            f"Agent pool '{name}': scaleSetEvictionPolicy needs scaleSetPriority Spot.",
            "InvalidParameter",
        )
    price = as_number(pool.get("spotMaxPrice"), -1)
    if price != -1 and price <= 0:
        raise bad_request(
            f"Agent pool '{name}': spotMaxPrice is -1 or above 0, not {price}.", "InvalidParameter"
        )


def _check_gpu(pool: JsonObject, name: str, size: compute.VmSize) -> None:
    if size.gpus == 0 and (pool.get("gpuProfile") or pool.get("gpuInstanceProfile")):
        raise bad_request(
            f"Agent pool '{name}': {size.name} has no GPU, so no GPU profile.", "InvalidParameter"
        )
    if pool.get("gpuInstanceProfile") and not re.search("A100|H100", size.name):
        raise bad_request(
            f"Agent pool '{name}': {size.name} cannot be split into MIG instances.",
            "InvalidParameter",
        )


_DEFAULTS: Final[JsonObject] = {
    "enableEncryptionAtHost": False,
    "enableFIPS": False,
    "enableNodePublicIP": False,
    "enableUltraSSD": False,
    "kubeletDiskType": "OS",
    "maxPods": 250,
    "osDiskSizeGB": 128,
    "osDiskType": "Managed",
    "scaleDownMode": "Delete",
    "securityProfile": {"enableSecureBoot": False, "enableVTPM": False, "sshAccess": "LocalUser"},
    "upgradeSettings": {"maxSurge": "10%", "maxUnavailable": "0"},
    "workloadRuntime": "OCIContainer",
}
"""What a pool comes back with where its request says nothing (answers in azure-rest-api-specs'
examples of ``AgentPools`` and in recordings of the Azure CLI's tests)."""


def has_driver(pool: JsonObject) -> bool:
    """Whether AKS installs the driver of the nodes' GPUs."""
    size = compute.size_of(as_text(pool.get("vmSize")))
    driver = as_text(dig(pool, "gpuProfile", "driver"), "Install")
    return size is not None and size.gpus > 0 and driver == "Install"


def complete_pool(pool: JsonObject) -> None:
    """Add what Azure adds: Spot's taint and label, defaults of the node."""
    if pool.get("scaleSetPriority") == "Spot":
        pool.setdefault("scaleSetEvictionPolicy", "Delete")
        pool.setdefault("spotMaxPrice", -1)
        taints = texts(pool.get("nodeTaints"))
        if SPOT_TAINT not in taints:
            pool["nodeTaints"] = [*taints, SPOT_TAINT]
        labels = dict(as_object(pool.get("nodeLabels")))
        pool["nodeLabels"] = {**labels, SPOT_KEY: "spot"}
    size = compute.size_of(as_text(pool.get("vmSize")))
    if size is not None and size.gpus:
        pool.setdefault("gpuProfile", {"driver": "Install"})
    for name, value in _DEFAULTS.items():
        pool.setdefault(name, clone(value))
    pool["powerState"] = {"code": "Running"}


def settle_pool(world: World, pool: Resource) -> None:
    """What is known of a pool once its nodes run."""
    cluster = world.get(pool.id.rsplit("/", 2)[0])
    if cluster is not None:
        # The nodes keep their version when only the cluster is upgraded (azure-native 2094).
        version = cluster.properties.get("currentKubernetesVersion")
        pool.properties.setdefault("orchestratorVersion", version)
        pool.properties.setdefault("currentOrchestratorVersion", version)
    pool.properties["nodeImageVersion"] = "AKSUbuntu-2204gen2containerd-202611.10.0"
    pool.properties["provisioningState"] = "Succeeded"


def accept_pool(world: World, pool_id: str, fields: JsonObject) -> Resource:
    """Make or change a pool that a cluster's ``agentPoolProfiles`` list."""
    pool = world.get(pool_id) or Resource(pool_id, TYPE, {"properties": {}})
    pool.properties.update(fields)
    complete_pool(pool.properties)
    settle_pool(world, pool)
    return world.put(pool)


def autoscale(world: World, pool_id: str, count: int) -> None:
    """What the cluster autoscaler does to a pool of its: other nodes, and no request of anybody.

    Raises:
        ArmError: there is no such pool, or the autoscaler has it not, or not for that many nodes.
    """
    pool = world.get(pool_id)
    if pool is None or pool.type != TYPE or pool.properties.get("enableAutoScaling") is not True:
        raise bad_request(f"The autoscaler has no pool '{pool_id}'.", "InvalidParameter")
    least, most = (as_integer(pool.properties.get(key)) for key in ("minCount", "maxCount"))
    if not least <= count <= most:
        raise bad_request(f"The autoscaler keeps '{pool.name}' within {least} and {most}.")
    pool.properties["count"] = count
    world.touch()
