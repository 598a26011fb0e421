"""The resource types this provider knows: one declaration each.

Paths, API versions and input names are those of azure-native 3.29; ``create_only`` is what its
metadata marks as needing another resource: by hand (``forceNewMap`` of replacement.go), else what
the specification marks as create-only.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from simulator.plugins.azure_native import shapes
from simulator.plugins.properties import Object, is_list
from simulator.values import as_object, is_object

GROUP: Final = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"
READ_ONLY: Final = frozenset(
    {
        "accountId",
        "createdAt",
        "currentOrchestratorVersion",
        "eTag",
        "endpoint",
        "grafanaVersion",
        "nodeImageVersion",
        "outboundIPs",
        "powerState",
        "principalId",
        "privateEndpointConnections",
        "provisioningState",
        "tenantId",
    }
)
"""Names that, inside an object among the inputs, only Azure sets."""


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """How one resource type of azure-native becomes an ARM resource."""

    pulumi_type: str
    path: str
    """ARM id; ``{subscriptionId}`` is the provider's, the other fields are inputs."""
    api_version: str
    top: frozenset[str] = frozenset()
    """Inputs at the top of the request's body."""
    properties: frozenset[str] = frozenset()
    """Inputs below ``properties``, where the SDK has them flat."""
    required: frozenset[str] = frozenset()
    """Required inputs besides the fields of the path."""
    create_only: frozenset[str] = frozenset()
    """Inputs, beside the path's, whose change replaces; dotted, lists as ``name[]``."""
    name: str
    """The path's last field: made up by the provider where the program leaves it out."""
    random_name: bool = True
    """Whether a made-up name has a random end (top-level resources) or none (sub-resources)."""
    put_is_long: bool = False
    delete_is_long: bool = False
    computed_flat: bool = False
    """Whether outputs below ``properties`` are flat in the SDK though no input is there."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that ARM calls by another name (``x-ms-client-name`` of the specification)."""
    is_always_there: bool = False
    """Whether it comes with its parent: making it changes it, deleting it sends an empty one
    (``GetDefaultResourceState`` of the provider)."""
    preview_unknown: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Names below objects among the inputs that only the service knows, for previews."""

    @property
    def path_inputs(self) -> tuple[str, ...]:
        """The inputs in the path, in order."""
        return tuple(name for name in re.findall(r"{(\w+)}", self.path) if name != "subscriptionId")

    @property
    def inputs(self) -> frozenset[str]:
        """Every input there is."""
        return self.top | self.properties | frozenset(self.path_inputs)

    @property
    def located(self) -> bool:
        """Whether the resource has a location, by default its group's."""
        return "location" in self.top

    def replaces(self, path: str) -> bool:
        """Whether a change at this input path needs another resource."""
        return path in self.create_only or path in self.path_inputs

    def id_of(self, inputs: Object, subscription_id: str) -> str:
        """The ARM id that these inputs name."""
        values = {name: str(inputs[name]).strip("/") for name in self.path_inputs}
        return self.path.format(subscriptionId=subscription_id, **values)

    def body(self, inputs: Object) -> Object:
        """The request's body: without nested members that the SDK does not have."""
        known = {
            name: _to_arm(name, shapes.known_members(self.pulumi_type, name, value))
            for name, value in inputs.items()
        }
        body: Object = {name: value for name, value in known.items() if name in self.top}
        nested = {
            self.renamed.get(name, name): value
            for name, value in known.items()
            if name in self.properties
        }
        if self.properties:
            body["properties"] = nested
        return body

    def outputs(self, response: Object) -> Object:
        """The outputs as the SDK has them: ``properties`` flat where the inputs are."""
        outputs = {key: value for key, value in response.items() if key not in ("id", "properties")}
        here = {wire: name for name, wire in self.renamed.items()}
        nested = {
            here.get(name, name): value
            for name, value in as_object(response.get("properties")).items()
        }
        if self.properties or self.computed_flat:
            outputs = {**nested, **outputs}
        elif nested:
            outputs["properties"] = nested
        return {**_without_nulls(outputs), "azureApiVersion": self.api_version}

    def projected(self, outputs: Object) -> Object:
        """The part of ``outputs`` that inputs could have set."""
        settable = (self.top | self.properties) - set(self.path_inputs)
        if self.pulumi_type == AGENT_POOL.pulumi_type:
            settable = settable - {"type"}  # the output of that name is the ARM type
        return {
            name: _without_read_only(name, value)
            for name, value in outputs.items()
            if name in settable
        }

    def path_inputs_of(self, resource_id: str) -> Object:
        """The inputs that the id of an existing resource names.

        Raises:
            ValueError: the id is not one of this type.
        """
        pattern = re.sub(r"/{(resourceUri|scope)}", r"/(?P<\1>.+)", self.path)
        pattern = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern)
        match = re.fullmatch(pattern, resource_id, re.IGNORECASE)
        if match is None:
            raise ValueError(
                f"{resource_id!r} is not the id of a {self.pulumi_type}, "
                f"which looks like {self.path}"
            )
        return {key: value for key, value in match.groupdict().items() if key != "subscriptionId"}


def _to_arm(name: str, value: object) -> object:
    if name == "identity":
        identity = as_object(value)
        assigned = identity.get("userAssignedIdentities")
        if is_list(assigned):
            # A list in the SDK, an object of empty objects on the wire.
            named: Object = {str(item): {} for item in assigned}
            return {**identity, "userAssignedIdentities": named}
    return value


def _without_nulls(value: Object) -> Object:
    return {
        key: _without_nulls(as_object(item)) if is_object(item) else item
        for key, item in value.items()
        if item is not None
    }


def _without_read_only(name: str, value: object) -> object:
    if is_object(value):
        fields = as_object(value)
        if name == "identity" and isinstance(fields.get("userAssignedIdentities"), dict):
            fields = {
                **fields,
                "userAssignedIdentities": list(as_object(fields["userAssignedIdentities"])),
            }
        return {
            key: _without_read_only(key, item)
            for key, item in fields.items()
            if key not in READ_ONLY
        }
    if is_list(value):
        return [_without_read_only("", item) for item in value]
    return value


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESOURCE_GROUP: Final = ResourceType(
    pulumi_type="azure-native:resources:ResourceGroup",
    path=GROUP,
    api_version="2024-03-01",
    top=_words("location managedBy tags"),
    create_only=_words("location"),
    name="resourceGroupName",
    delete_is_long=True,
)

MANAGED_CLUSTER: Final = ResourceType(
    pulumi_type="azure-native:containerservice:ManagedCluster",
    path=f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/{{resourceName}}",
    api_version="2025-09-01",
    top=_words("extendedLocation identity kind location sku tags"),
    properties=_words(
        "aadProfile addonProfiles agentPoolProfiles aiToolchainOperatorProfile "
        "apiServerAccessProfile autoScalerProfile autoUpgradeProfile azureMonitorProfile "
        "bootstrapProfile disableLocalAccounts diskEncryptionSetID dnsPrefix enableRBAC "
        "fqdnSubdomain httpProxyConfig identityProfile ingressProfile kubernetesVersion "
        "linuxProfile metricsProfile networkProfile nodeProvisioningProfile nodeResourceGroup "
        "nodeResourceGroupProfile oidcIssuerProfile podIdentityProfile privateLinkResources "
        "publicNetworkAccess securityProfile serviceMeshProfile servicePrincipalProfile "
        "storageProfile supportPlan upgradeSettings windowsProfile workloadAutoScalerProfile"
    ),
    create_only=_words(
        "diskEncryptionSetID dnsPrefix fqdnSubdomain linuxProfile location nodeResourceGroup "
        "networkProfile.dnsServiceIP networkProfile.networkDataplane networkProfile.networkMode "
        "networkProfile.networkPlugin networkProfile.networkPluginMode "
        "networkProfile.networkPolicy networkProfile.outboundType networkProfile.podCidr "
        "networkProfile.serviceCidr networkProfile.serviceCidrs windowsProfile"
    ),
    name="resourceName",
    put_is_long=True,
    delete_is_long=True,
    preview_unknown={
        "identity": ("principalId", "tenantId"),
        "oidcIssuerProfile": ("issuerURL",),
    },
)

AGENT_POOL: Final = ResourceType(
    pulumi_type="azure-native:containerservice:AgentPool",
    path=f"{MANAGED_CLUSTER.path}/agentPools/{{agentPoolName}}",
    api_version="2025-09-01",
    properties=_words(
        "availabilityZones capacityReservationGroupID count creationData enableAutoScaling "
        "enableEncryptionAtHost enableFIPS enableNodePublicIP enableUltraSSD gatewayProfile "
        "gpuInstanceProfile gpuProfile hostGroupID kubeletConfig kubeletDiskType linuxOSConfig "
        "localDNSProfile maxCount maxPods messageOfTheDay minCount mode networkProfile nodeLabels "
        "nodePublicIPPrefixID nodeTaints orchestratorVersion osDiskSizeGB osDiskType osSKU osType "
        "podIPAllocationMode podSubnetID powerState proximityPlacementGroupID scaleDownMode "
        "scaleSetEvictionPolicy scaleSetPriority securityProfile spotMaxPrice tags type "
        "upgradeSettings virtualMachineNodesStatus virtualMachinesProfile vmSize vnetSubnetID "
        "windowsProfile workloadRuntime"
    ),
    create_only=_words("gpuInstanceProfile networkProfile.nodePublicIPTags vmSize"),
    name="agentPoolName",
    random_name=False,
    put_is_long=True,
    delete_is_long=True,
)

EXTENSION: Final = ResourceType(
    pulumi_type="azure-native:kubernetesconfiguration:Extension",
    path=(
        f"{GROUP}/providers/{{clusterRp}}/{{clusterResourceName}}/{{clusterName}}"
        "/providers/Microsoft.KubernetesConfiguration/extensions/{extensionName}"
    ),
    api_version="2023-05-01",
    top=_words("identity plan"),
    properties=_words(
        "aksAssignedIdentity autoUpgradeMinorVersion configurationProtectedSettings "
        "configurationSettings extensionType releaseTrain scope statuses version"
    ),
    name="extensionName",
    random_name=False,
    put_is_long=True,
    delete_is_long=True,
)

GRAFANA: Final = ResourceType(
    pulumi_type="azure-native:dashboard:Grafana",
    path=f"{GROUP}/providers/Microsoft.Dashboard/grafana/{{workspaceName}}",
    api_version="2024-10-01",
    top=_words("identity location properties sku tags"),
    create_only=_words("location"),
    name="workspaceName",
    put_is_long=True,
    delete_is_long=True,
    preview_unknown={
        "identity": ("principalId", "tenantId"),
        "properties": ("endpoint", "grafanaVersion", "outboundIPs", "provisioningState"),
    },
)

MANAGED_PRIVATE_ENDPOINT: Final = ResourceType(
    pulumi_type="azure-native:dashboard:ManagedPrivateEndpoint",
    path=f"{GRAFANA.path}/managedPrivateEndpoints/{{managedPrivateEndpointName}}",
    api_version="2024-10-01",
    top=_words("location tags"),
    properties=_words(
        "groupIds privateLinkResourceId privateLinkResourceRegion privateLinkServiceUrl "
        "requestMessage"
    ),
    create_only=_words(
        "groupIds location privateLinkResourceId privateLinkResourceRegion "
        "privateLinkServiceUrl requestMessage"
    ),
    name="managedPrivateEndpointName",
    random_name=False,
    put_is_long=True,
    delete_is_long=True,
)

AZURE_MONITOR_WORKSPACE: Final = ResourceType(
    pulumi_type="azure-native:monitor:AzureMonitorWorkspace",
    path=f"{GROUP}/providers/Microsoft.Monitor/accounts/{{azureMonitorWorkspaceName}}",
    api_version="2023-04-03",
    top=_words("location tags"),
    properties=_words("publicNetworkAccess"),
    create_only=_words("location"),
    name="azureMonitorWorkspaceName",
    delete_is_long=True,
)

DATA_COLLECTION_ENDPOINT: Final = ResourceType(
    pulumi_type="azure-native:monitor:DataCollectionEndpoint",
    path=(
        f"{GROUP}/providers/Microsoft.Insights/dataCollectionEndpoints"
        "/{dataCollectionEndpointName}"
    ),
    api_version="2022-06-01",
    top=_words("identity kind location tags"),
    properties=_words("description immutableId networkAcls"),
    create_only=_words("location"),
    name="dataCollectionEndpointName",
)

DATA_COLLECTION_RULE: Final = ResourceType(
    pulumi_type="azure-native:monitor:DataCollectionRule",
    path=f"{GROUP}/providers/Microsoft.Insights/dataCollectionRules/{{dataCollectionRuleName}}",
    api_version="2022-06-01",
    top=_words("identity kind location tags"),
    properties=_words(
        "dataCollectionEndpointId dataFlows dataSources description destinations streamDeclarations"
    ),
    create_only=_words("location"),
    name="dataCollectionRuleName",
)

DATA_COLLECTION_RULE_ASSOCIATION: Final = ResourceType(
    pulumi_type="azure-native:monitor:DataCollectionRuleAssociation",
    path="/{resourceUri}/providers/Microsoft.Insights/dataCollectionRuleAssociations/{associationName}",
    api_version="2022-06-01",
    properties=_words("dataCollectionEndpointId dataCollectionRuleId description"),
    name="associationName",
    random_name=False,
)

PROMETHEUS_RULE_GROUP: Final = ResourceType(
    pulumi_type="azure-native:alertsmanagement:PrometheusRuleGroup",
    path=f"{GROUP}/providers/Microsoft.AlertsManagement/prometheusRuleGroups/{{ruleGroupName}}",
    api_version="2023-03-01",
    top=_words("location tags"),
    properties=_words("clusterName description enabled interval rules scopes"),
    required=_words("rules scopes"),
    create_only=_words("location"),
    name="ruleGroupName",
)

ACTION_GROUP: Final = ResourceType(
    pulumi_type="azure-native:monitor:ActionGroup",
    path=f"{GROUP}/providers/Microsoft.Insights/actionGroups/{{actionGroupName}}",
    api_version="2024-10-01-preview",
    top=_words("identity location tags"),
    properties=_words(
        "armRoleReceivers automationRunbookReceivers azureAppPushReceivers azureFunctionReceivers "
        "emailReceivers enabled eventHubReceivers groupShortName incidentReceivers itsmReceivers "
        "logicAppReceivers smsReceivers voiceReceivers webhookReceivers"
    ),
    required=_words("groupShortName"),
    create_only=_words("location"),
    name="actionGroupName",
)

ROLE_ASSIGNMENT: Final = ResourceType(
    pulumi_type="azure-native:authorization:RoleAssignment",
    path="/{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}",
    api_version="2022-04-01",
    properties=_words(
        "condition conditionVersion delegatedManagedIdentityResourceId description principalId "
        "principalType roleDefinitionId"
    ),
    required=_words("principalId roleDefinitionId"),
    create_only=_words("principalId"),
    name="roleAssignmentName",
)

STORAGE_ACCOUNT: Final = ResourceType(
    pulumi_type="azure-native:storage:StorageAccount",
    path=f"{GROUP}/providers/Microsoft.Storage/storageAccounts/{{accountName}}",
    api_version="2024-01-01",
    top=_words("extendedLocation identity kind location sku tags"),
    properties=_words(
        "accessTier allowBlobPublicAccess allowCrossTenantReplication allowSharedKeyAccess "
        "allowedCopyScope azureFilesIdentityBasedAuthentication customDomain "
        "defaultToOAuthAuthentication dnsEndpointType enableExtendedGroups enableHttpsTrafficOnly "
        "enableNfsV3 encryption immutableStorageWithVersioning isHnsEnabled isLocalUserEnabled "
        "isSftpEnabled keyPolicy largeFileSharesState minimumTlsVersion networkRuleSet "
        "publicNetworkAccess routingPreference sasPolicy"
    ),
    renamed={
        "enableHttpsTrafficOnly": "supportsHttpsTrafficOnly",
        "enableNfsV3": "isNfsV3Enabled",
        "networkRuleSet": "networkAcls",
    },
    required=_words("kind sku"),
    create_only=_words("enableNfsV3 isHnsEnabled location"),
    name="accountName",
    put_is_long=True,
)

BLOB_SERVICE_PROPERTIES: Final = ResourceType(
    pulumi_type="azure-native:storage:BlobServiceProperties",
    path=f"{STORAGE_ACCOUNT.path}/blobServices/{{blobServicesName}}",
    api_version="2024-01-01",
    properties=_words(
        "automaticSnapshotPolicyEnabled changeFeed containerDeleteRetentionPolicy cors "
        "defaultServiceVersion deleteRetentionPolicy isVersioningEnabled "
        "lastAccessTimeTrackingPolicy restorePolicy"
    ),
    name="blobServicesName",
    random_name=False,
    is_always_there=True,
)

BLOB_CONTAINER: Final = ResourceType(
    pulumi_type="azure-native:storage:BlobContainer",
    path=f"{STORAGE_ACCOUNT.path}/blobServices/default/containers/{{containerName}}",
    api_version="2024-01-01",
    properties=_words(
        "defaultEncryptionScope denyEncryptionScopeOverride enableNfsV3AllSquash "
        "enableNfsV3RootSquash immutableStorageWithVersioning metadata publicAccess"
    ),
    name="containerName",
    random_name=False,
)

USER_ASSIGNED_IDENTITY: Final = ResourceType(
    pulumi_type="azure-native:managedidentity:UserAssignedIdentity",
    path=f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{{resourceName}}",
    api_version="2023-01-31",
    top=_words("location tags"),
    create_only=_words("location"),
    name="resourceName",
    computed_flat=True,
)

FEDERATED_IDENTITY_CREDENTIAL: Final = ResourceType(
    pulumi_type="azure-native:managedidentity:FederatedIdentityCredential",
    path=(
        f"{USER_ASSIGNED_IDENTITY.path}/federatedIdentityCredentials"
        "/{federatedIdentityCredentialResourceName}"
    ),
    api_version="2023-01-31",
    properties=_words("audiences issuer subject"),
    required=_words("audiences issuer subject"),
    name="federatedIdentityCredentialResourceName",
    random_name=False,
)

TYPES: Final = {
    declared.pulumi_type: declared
    for declared in (
        RESOURCE_GROUP,
        MANAGED_CLUSTER,
        AGENT_POOL,
        EXTENSION,
        GRAFANA,
        MANAGED_PRIVATE_ENDPOINT,
        AZURE_MONITOR_WORKSPACE,
        DATA_COLLECTION_ENDPOINT,
        DATA_COLLECTION_RULE,
        DATA_COLLECTION_RULE_ASSOCIATION,
        PROMETHEUS_RULE_GROUP,
        ACTION_GROUP,
        STORAGE_ACCOUNT,
        BLOB_SERVICE_PROPERTIES,
        BLOB_CONTAINER,
        USER_ASSIGNED_IDENTITY,
        FEDERATED_IDENTITY_CREDENTIAL,
        ROLE_ASSIGNMENT,
    )
}
