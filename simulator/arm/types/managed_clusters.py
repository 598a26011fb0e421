"""AKS clusters: the node resource group (locked when asked), identities, inline pools, kubeconfigs.

The first PUT makes the pools that ``agentPoolProfiles`` lists. A later one changes those it lists
and leaves others alone (azure-native 1686; without any list AKS 2495); it refuses one that is not
there (azure-native 579, 2719), another size of the nodes (bicep-registry-modules 7130), and a
version for some of the cluster's pools only, those that it does not list included (azure-native
2094, ARO-HCP 662). Nodes are not upgraded along with the cluster (azure-native 2094), and a version
that is left out stays. The answer lists every pool, also those made as resources of their own.
"""

import secrets
import uuid
from functools import partial
from typing import Final

from simulator.arm import identities, private_link, roles, schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.ids import group_id
from simulator.arm.resource_type import Call
from simulator.arm.types import run_command
from simulator.arm.types.agent_pools import POOL_FIELDS, accept_pool, check_pool, choose_size
from simulator.arm.types.aks import AksType
from simulator.arm.types.kubeconfig import kubeconfigs
from simulator.clock import timestamp
from simulator.http import Response
from simulator.kubernetes.state import new_cluster
from simulator.values import (
    JsonObject,
    as_object,
    as_objects,
    as_text,
    bury,
    clone_object,
    dig,
    is_object,
)
from simulator.world import Operation, Principal, Resource, World

POOLS: Final = "Microsoft.ContainerService/managedClusters/agentPools"
GROUPS: Final = "Microsoft.Resources/resourceGroups"
DEFAULT_VERSION: Final = "1.33"
VERSIONS: Final = {"1.32": "1.32.7", "1.33": "1.33.3", "1.34": "1.34.1"}

_NEW: Final = "2026-06-01"
"""What this version, the Azure CLI's, has and 2025-09-01 has not."""
_SWITCH = schema.record({"enabled": schema.flag()})

PROPERTIES = schema.record(
    {
        "kubernetesVersion": schema.text(
            pattern=r"\d+\.\d+(\.\d+)?", default=DEFAULT_VERSION, blank=True
        ),
        "dnsPrefix": schema.text(create_only=True),
        "fqdnSubdomain": schema.text(create_only=True),
        "nodeResourceGroup": schema.text(pattern=r".{1,80}", create_only=True),
        "nodeResourceGroupProfile": schema.record(
            {"restrictionLevel": schema.text("Unrestricted", "ReadOnly", default="Unrestricted")}
        ),
        "agentPoolProfiles": schema.items(
            schema.record({"name": schema.text(required=True), **POOL_FIELDS})
        ),
        "azureMonitorProfile": schema.record(
            {
                "metrics": schema.record(
                    {
                        "enabled": schema.flag(default=False),
                        "kubeStateMetrics": schema.anything(),
                        "controlPlane": schema.anything(since=_NEW),
                    }
                ),
                "containerInsights": schema.anything(since=_NEW),
                "appMonitoring": schema.anything(since=_NEW),
            }
        ),
        "oidcIssuerProfile": schema.record(
            {"enabled": schema.flag(default=False), **schema.computed("issuerURL")}
        ),
        "securityProfile": schema.record(
            {
                "workloadIdentity": _SWITCH,
                "imageCleaner": schema.anything(),
                "defender": schema.anything(),
                "azureKeyVaultKms": schema.anything(),
                "customCATrustCertificates": schema.texts(),
            }
        ),
        "networkProfile": schema.record(
            {
                "networkPlugin": schema.text("azure", "kubenet", "none", default="azure"),
                "networkPluginMode": schema.text("overlay"),
                "networkPolicy": schema.text("azure", "calico", "cilium", "none"),
                "networkDataplane": schema.text("azure", "cilium"),
                "loadBalancerSku": schema.text(
                    "standard", "basic", default="standard", create_only=True
                ),
                "outboundType": schema.text(default="loadBalancer"),
                "podCidr": schema.text(create_only=True),
                "serviceCidr": schema.text(create_only=True),
                "dnsServiceIP": schema.text(create_only=True),
                "loadBalancerProfile": schema.anything(),
                "natGatewayProfile": schema.anything(),
                "staticEgressGatewayProfile": schema.anything(),
                "advancedNetworking": schema.anything(),
                "networkMode": schema.text("transparent", "bridge", create_only=True),
                "podCidrs": schema.texts(),
                "serviceCidrs": schema.texts(),
                "ipFamilies": schema.texts(),
            }
        ),
        "enableRBAC": schema.flag(default=True),
        "disableLocalAccounts": schema.flag(default=False),
        "aadProfile": schema.record(
            {
                "managed": schema.flag(),
                "enableAzureRBAC": schema.flag(),
                "adminGroupObjectIDs": schema.texts(),
                "tenantID": schema.text(),
                "clientAppID": schema.text(),
                "serverAppID": schema.text(),
                "serverAppSecret": schema.text(),
            }
        ),
        "apiServerAccessProfile": schema.record(
            {
                "enablePrivateCluster": schema.flag(create_only=True),
                "authorizedIPRanges": schema.texts(),
                "privateDNSZone": schema.text(),
                "enablePrivateClusterPublicFQDN": schema.flag(),
                "enableVnetIntegration": schema.flag(),
                "subnetId": schema.text(),
                "disableRunCommand": schema.flag(),
            }
        ),
        "servicePrincipalProfile": schema.record(
            {"clientId": schema.text(), "secret": schema.text()}
        ),
        "addonProfiles": schema.anything(),
        "autoScalerProfile": schema.anything(),
        "autoUpgradeProfile": schema.anything(),
        "linuxProfile": schema.anything(),
        "storageProfile": schema.anything(),
        "supportPlan": schema.text("KubernetesOfficial", "AKSLongTermSupport"),
        "nodeProvisioningProfile": schema.anything(),
        "publicNetworkAccess": schema.text("Enabled", "Disabled"),
        "metricsProfile": schema.anything(),
        "aiToolchainOperatorProfile": schema.anything(),
        "bootstrapProfile": schema.anything(),
        "diskEncryptionSetID": schema.text(create_only=True),
        "httpProxyConfig": schema.anything(),
        "identityProfile": schema.anything(),
        "ingressProfile": schema.anything(),
        "podIdentityProfile": schema.anything(),
        "privateLinkResources": schema.anything(),
        "serviceMeshProfile": schema.anything(),
        "upgradeSettings": schema.anything(),
        "windowsProfile": schema.anything(),
        "workloadAutoScalerProfile": schema.anything(),
        "hostedSystemProfile": schema.anything(since=_NEW),
        "schedulerProfile": schema.anything(since=_NEW),
        "status": schema.anything(since=_NEW),
        **schema.computed(
            "provisioningState",
            "powerState",
            "fqdn",
            "azurePortalFQDN",
            "privateFQDN",
            "currentKubernetesVersion",
            "maxAgentPools",
            "resourceUID",
        ),
    },
    required=True,
)


class ManagedClusters(AksType):
    """``Microsoft.ContainerService/managedClusters``; long-running.

    The Azure CLI reads one with 2023-01-01 (``az aks update --enable-azure-monitor-metrics``) and
    does all else with 2026-06-01; azure-native sends 2025-09-01, the newest SDK 2026-08-01. The
    members are those of the published models (azure-mgmt-containerservice 41.6, azure-native 3.29).
    """

    type = "Microsoft.ContainerService/managedClusters"
    wire_type = "Microsoft.ContainerService/ManagedClusters"
    name_pattern = r"[a-zA-Z0-9]([-\w]{0,61}[a-zA-Z0-9])?"
    create_seconds = 240
    update_seconds = 90
    delete_seconds = 300
    schema = schema.envelope(
        PROPERTIES,
        identity=schema.record(
            {
                "type": schema.text("SystemAssigned", "UserAssigned", "None"),
                "userAssignedIdentities": schema.anything(),
                "delegatedResources": schema.anything(),
                **schema.computed("principalId", "tenantId"),
            }
        ),
        sku=schema.record(
            {
                "name": schema.text("Base", "Automatic", default="Base"),
                "tier": schema.text("Free", "Standard", "Premium", default="Free"),
            }
        ),
        kind=schema.text(),
        extendedLocation=schema.anything(),
        **schema.computed("eTag"),
    )

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.actions["listclusterusercredential"] = self._user_credential
        self.actions["listclusteradmincredential"] = self._admin_credential
        self.actions["runcommand"] = self._run_command
        self.actions["rotateclustercertificates"] = partial(self._operate, "rotate")
        self.actions["start"] = partial(self._operate, "start")
        self.actions["stop"] = partial(self._operate, "stop")

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """A DNS prefix, one identity, a system pool, and pools that Azure accepts."""
        properties = new.properties
        if not properties.get("dnsPrefix") and not properties.get("fqdnSubdomain"):
            raise bad_request(
                "Required parameter properties.dnsPrefix is missing (null).", "InvalidParameter"
            )
        prefix = as_text(properties.get("dnsPrefix"))
        if prefix and (len(prefix) > 54 or not prefix.replace("-", "").isalnum()):
            raise bad_request(
                f"The value '{prefix}' of properties.dnsPrefix is not valid: at most 54 letters, "
                "digits and hyphens.",
                "InvalidParameter",
            )
        if old is not None and not _properties(call).get("kubernetesVersion"):
            properties["kubernetesVersion"] = old.properties.get("kubernetesVersion")
        _check_version(as_text(properties.get("kubernetesVersion")), old)
        kind = as_text(as_object(new.body.get("identity")).get("type"))
        if kind in ("", "None") and not properties.get("servicePrincipalProfile"):
            raise bad_request(
                "Provisioning of resource(s) needs an identity or a service principal.",
                "InvalidParameter",
            )
        profiles = as_objects(properties.get("agentPoolProfiles"))
        if old is None and not any(
            as_text(item.get("mode"), "User").lower() == "system" for item in profiles
        ):
            raise bad_request(
                "Must define at least one system pool. For more information on system pools see "
                "https://aka.ms/systempool",
                "InvalidParameter",
            )
        location = as_text(new.body.get("location"))
        for profile in profiles:
            pool_id = f"{new.id}/agentPools/{as_text(profile.get('name'))}"
            present = self.world.get(pool_id)
            choose_size(profile, present)
            if old is not None:
                _check_present(profile, present)
            check_pool(
                self.world, profile, pool_id, location, present.properties if present else None
            )
        if old is not None:
            self._check_versions(new, profiles)

    def _check_versions(self, new: Resource, profiles: list[JsonObject]) -> None:
        """All pools of the cluster say a version, or none; and it is their own or the cluster's."""
        said = {
            f"{new.key}/agentpools/{as_text(item.get('name')).lower()}": as_text(
                item.get("orchestratorVersion")
            )
            for item in profiles
        }
        if not any(said.values()):
            return
        version = as_text(new.properties.get("kubernetesVersion"))
        allowed = all(
            said.get(pool.key)
            in (as_text(pool.properties.get("orchestratorVersion")), version, VERSIONS.get(version))
            for pool in self._pools_of(new)
        )
        if not allowed:
            raise bad_request(
                "Using managed cluster api, all Agent pools' OrchestratorVersion must be all "
                "specified or all unspecified. If all specified, they must be stay unchanged or "
                "the same with control plane. For agent pool specific change, please use per agent "
                "pool operations: https://aka.ms/agent-pool-rest-api",
                "NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged",
            )

    def _pools_of(self, cluster: Resource) -> list[Resource]:
        return [
            pool
            for _, pool in sorted(self.world.resources.items())
            if pool.type == POOLS and pool.key.startswith(cluster.key + "/agentpools/")
        ]

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """The control plane's identity and name are there at once."""
        location = as_text(new.body.get("location")).lower().replace(" ", "")
        new.body["location"] = location
        new.body["identity"] = identities.system_assigned(
            self.world,
            new.body.get("identity"),
            old.body.get("identity") if old else None,
            new.name,
        )
        new.body.setdefault("sku", {"name": "Base", "tier": "Free"})
        properties = new.properties
        group = f"MC_{call.id.group}_{new.name}_{location}"[:80]
        properties.setdefault(
            "nodeResourceGroup", as_text(old.properties.get("nodeResourceGroup")) if old else group
        )
        properties.setdefault("nodeResourceGroupProfile", {"restrictionLevel": "Unrestricted"})
        if old and "identityProfile" in old.properties:
            properties.setdefault("identityProfile", old.properties["identityProfile"])
        new.hidden["profiles"] = properties.pop("agentPoolProfiles", [])
        if old is None:
            fqdn = f"{as_text(properties.get('dnsPrefix'))}-{uuid.uuid4().hex[:8]}"
            properties["fqdn"] = f"{fqdn}.hcp.{location}.azmk8s.io"
            properties["powerState"] = {"code": "Running"}
            properties["maxAgentPools"] = 100
            properties["resourceUID"] = uuid.uuid4().hex[:24]

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """Nodes run, the API server answers, the node resource group exists."""
        properties = resource.properties
        self._upgrade(properties)
        self._make_node_group(resource)
        for profile in as_objects(resource.hidden.pop("profiles", [])):
            name = as_text(profile.get("name"))
            pool_id = f"{resource.id}/agentPools/{name}"
            fields = {key: item for key, item in profile.items() if key != "name"}
            accept_pool(self.world, pool_id, fields)
        if "identityProfile" not in properties:
            properties["identityProfile"] = self._kubelet_identity(resource)
        if dig(properties, "oidcIssuerProfile", "enabled") is True:
            location = as_text(resource.body.get("location"))
            issuer = (
                f"https://{location}.oic.prod-aks.azure.com/{uuid.UUID(int=1)}/{resource.name}/"
            )
            bury(properties, issuer, "oidcIssuerProfile", "issuerURL")
        if resource.key not in self.world.clusters:
            self.world.clusters[resource.key] = new_cluster()
        return None

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Everything in the node resource group goes; a private link in use stops that."""
        group = self.world.get(self._node_group(resource))
        if group is not None:
            for service in self.world.below(group.id):
                is_link = service.type == private_link.PRIVATE_LINK_SERVICES
                if is_link and private_link.connections(service):
                    return ArmError(
                        400,
                        "DeletePrivateLinkServiceFailed",
                        f"Deleting the node resource group failed: private link service "
                        f"{service.id} still has private endpoint connections.",
                    )
            self.remove_all_below(group)
            self.world.drop(group.id)
        self.remove_all_below(resource)
        self.world.clusters.pop(resource.key, None)
        return None

    def wire(self, resource: Resource) -> JsonObject:
        """With all pools, as AKS answers."""
        shown = super().wire(resource)
        profiles: list[object] = [
            {"name": pool.name, **clone_object(pool.properties)}
            for pool in self._pools_of(resource)
        ]
        pending = as_objects(resource.hidden.get("profiles"))
        bury(
            shown,
            profiles or [clone_object(item) for item in pending],
            "properties",
            "agentPoolProfiles",
        )
        return shown

    def _upgrade(self, properties: JsonObject) -> None:
        version = as_text(properties.get("kubernetesVersion"))
        properties["currentKubernetesVersion"] = VERSIONS.get(version, version)

    def _node_group(self, resource: Resource) -> str:
        subscription = resource.id.split("/")[2]
        return group_id(subscription, as_text(resource.properties.get("nodeResourceGroup")))

    def _make_node_group(self, resource: Resource) -> None:
        wanted = self._node_group(resource)
        if self.world.get(wanted) is None:
            self.world.put(
                Resource(
                    wanted,
                    GROUPS,
                    {
                        "location": resource.body.get("location"),
                        "managedBy": resource.id,
                        "properties": {"provisioningState": "Succeeded"},
                    },
                )
            )

    def _kubelet_identity(self, resource: Resource) -> JsonObject:
        principal = str(uuid.uuid4())
        name = f"{resource.name}-agentpool"
        self.world.principals[principal] = Principal(principal, "ServicePrincipal", name)
        identity = f"{self._node_group(resource)}/providers/Microsoft.ManagedIdentity"
        return {
            "kubeletidentity": {
                "resourceId": f"{identity}/userAssignedIdentities/{name}",
                "clientId": str(uuid.uuid4()),
                "objectId": principal,
            }
        }

    def _user_credential(self, call: Call, resource: Resource) -> Response:
        style = call.request.query.get("format", "azure")
        if style not in ("azure", "exec"):
            raise bad_request(f"The format '{style}' is not azure or exec.", "InvalidParameter")
        return self._credential(resource, "user")

    def _admin_credential(self, call: Call, resource: Resource) -> Response:
        if resource.properties.get("disableLocalAccounts") is True:
            raise bad_request(
                "Getting static credential is not allowed because this cluster is set to disable "
                "local accounts."
            )
        return self._credential(resource, "admin")

    def _operate(self, kind: str, call: Call, resource: Resource) -> Response:
        self.busy(call, resource)
        operation = self.world.start(self.handler, kind, resource.id, self.update_seconds)
        return Response(202, None, self.headers(call, resource, operation))

    def _run_command(self, call: Call, resource: Resource) -> Response:
        command = as_text(call.request.json_object().get("command"))
        if not command:
            raise bad_request("Required parameter command is missing (null).", "InvalidParameter")
        if dig(resource.properties, "apiServerAccessProfile", "disableRunCommand") is True:
            raise bad_request("Run command is disabled on this cluster.")
        operation = self.world.start(
            self.handler, "run", resource.id, run_command.COMMAND_SECONDS, command=command
        )
        operation.details["began"] = timestamp()
        name = operation.id.replace("-", "")
        url = f"{self.world.arm_url}{resource.id}/commandResults/{name}?api-version={call.version}"
        return Response(202, None, {"Location": url})

    def poll(self, operation: Operation, path: str) -> Response:
        """A command's result; else as every operation of AKS."""
        if operation.kind != "run":
            return super().poll(operation, path)
        result: JsonObject = {
            "id": operation.id.replace("-", ""),
            "properties": {
                "provisioningState": "Running" if operation.running else operation.status,
                "startedAt": operation.details.get("began"),
            },
        }
        if operation.running:
            return Response(202, result, {"Location": f"{self.world.arm_url}{path}"})
        for name in ("exitCode", "finishedAt", "logs"):
            bury(result, operation.details.get(name), "properties", name)
        return Response(200, result)

    def finish_other(self, resource: Resource, operation: Operation) -> None:
        """The end of a start, a stop, a rotation of the credentials, or a command."""
        if operation.error:
            return
        if operation.kind == "run":
            cluster = self.world.clusters[resource.key]
            code, text = run_command.run(cluster, as_text(operation.details.get("command")))
            operation.details.update(exitCode=code, logs=text, finishedAt=timestamp())
        elif operation.kind == "rotate":
            self.world.clusters[resource.key].tokens.clear()
        else:
            code = "Running" if operation.kind == "start" else "Stopped"
            resource.properties["powerState"] = {"code": code}

    def _credential(self, resource: Resource, user: str) -> Response:
        state = self.world.clusters.get(resource.key)
        if state is None:
            raise bad_request(
                f"The cluster {resource.name} is not running yet; it has no credentials."
            )
        state.tokens.setdefault(user, secrets.token_hex(32))
        return Response(200, {"kubeconfigs": kubeconfigs(self.world, resource, user)})


def _properties(call: Call) -> JsonObject:
    return as_object(call.request.json_object().get("properties"))


def _check_version(version: str, old: Resource | None) -> None:
    """A version that AKS has, and not an older one than the cluster runs (rancher 24071)."""
    if ".".join(version.split(".")[:2]) not in VERSIONS:
        raise bad_request(
            f"Version {version} is not supported in this region. Supported: {', '.join(VERSIONS)}.",
            "K8sVersionNotSupported",
        )
    running = as_text(old.properties.get("currentKubernetesVersion")) if old else ""
    if running and _numbers(version) < _numbers(running)[: len(_numbers(version))]:
        raise bad_request(
            f"Downgrading Kubernetes version {running} to {version} is not allowed. Please see "
            "https://aka.ms/aks-supported-k8s-ver for version details.",
            "OperationNotAllowed",
        )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _check_present(profile: JsonObject, pool: Resource | None) -> None:
    """What a PUT of a cluster may not do to its pools."""
    name = as_text(profile.get("name"))
    if pool is None:
        raise bad_request(
            "A new agent pool was introduced. Adding agent pools to an existing cluster is not "
            "allowed through managed cluster operations. For agent pool specific change, please "
            "use per agent pool operations: https://aka.ms/agent-pool-rest-api",
            "BadRequest",
            "agentPoolProfiles",
        )
    given = {key: value for key, value in profile.items() if key != "name"}
    changes = schema.forbidden_changes(schema.record(POOL_FIELDS), pool.properties, given)
    if changes:
        raise bad_request(
            f"Changing property 'properties.{changes[0]}' of agent pool '{name}' is not allowed.",
            "PropertyChangeNotAllowed",
            f"properties.{changes[0]}",
        )


def identity_may(world: World, cluster: Resource, action: str, scope: str) -> bool:
    """Whether the cluster's own identity may do ``action`` at ``scope``.

    In the node resource group it may do everything; elsewhere it needs a role assignment.
    """
    subscription = cluster.id.split("/")[2]
    group = as_text(cluster.properties.get("nodeResourceGroup"))
    if roles.covers(group_id(subscription, group), scope):
        return True
    identity = cluster.body.get("identity")
    principal = as_text(identity.get("principalId")) if is_object(identity) else ""
    return bool(principal) and roles.may(world, principal, action, scope)
