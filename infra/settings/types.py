"""Azure's, Kubernetes' and Grafana's rules on single values, as types.

Each states the service's own limit (from its documentation or its refusals), what would happen, and
what to write. One place for all of them; the sections use them by name.
"""

from typing import Annotated

from infra.settings.section import AsWritten, Stringified, Text, Whole

GUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

# --- Azure in general --------------------------------------------------------------------------

SubscriptionId = Annotated[
    str,
    Text(
        pattern=GUID,
        rule="a subscription's GUID",
        why="Azure knows a subscription by its id only; a name or a resource id is not found.",
        fix="write what `az account show --query id --output tsv` prints",
    ),
]
PrincipalId = Annotated[
    str,
    Text(
        pattern=GUID,
        rule="the object id (a GUID) of a user, group or service principal",
        why="a role assignment to anything else is refused with PrincipalNotFound.",
        fix="write what `az ad group show --group NAME --query id --output tsv` prints; for a user "
        "or a service principal `az ad user show --id NAME --query id --output tsv`, or `az ad sp "
        "show --id APPLICATION-ID --query id --output tsv`",
    ),
]
Location = Annotated[
    str,
    Text(
        pattern=r"[a-z][a-z0-9]{2,49}",
        rule="a region's name: lower-case letters and digits, no spaces",
        why="a display name such as `West Europe` differs from what Azure answers, which shows as "
        "a change at every update.",
        fix="write a name from `az account list-locations --query '[].name'`, e.g. westeurope",
    ),
]
ResourceGroupName = Annotated[
    str,
    Text(
        pattern=r"[-\w.()]{0,89}[-\w()]",
        rule="a resource group's name: 1 to 90 letters, digits, `_-.()`, not ending in a dot",
        why="Azure refuses any other name.",
        fix="write the group's name, not its resource id",
    ),
]
StackReference = Annotated[
    str,
    Text(
        pattern=r"([-\w.]{1,100}/)?[-\w.]{1,100}",
        rule="a stack's name, or `project/stack`",
        why="Pulumi gives no stack another name.",
        fix="write the name that the stack had when it was deployed",
    ),
]
SubnetId = Annotated[
    str,
    Text(
        pattern=rf"/subscriptions/{GUID}/resourceGroups/[^/]+/providers/Microsoft\.Network"
        r"/virtualNetworks/[^/]+/subnets/[^/]+",
        rule="a subnet's ARM id: /subscriptions/.../virtualNetworks/NAME/subnets/NAME",
        why="AKS refuses the pool.",
        fix="write what `az network vnet subnet list --vnet-name NAME --resource-group GROUP "
        "--query '[].id' --output tsv` prints",
    ),
]
SubnetName = Annotated[
    str,
    Text(
        pattern=r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?",
        rule="a subnet's name (1 to 80 characters), not its ARM id",
        why="the AKS cloud controller looks for a subnet of that name in the cluster's network and "
        "makes no private link when there is none.",
        fix="write the last part of the subnet's id",
    ),
]

# --- AKS ---------------------------------------------------------------------------------------

ClusterName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z0-9]([-_a-zA-Z0-9]{0,61}[a-zA-Z0-9])?",
        rule="a cluster's name: 1 to 63 letters, digits, `-_`, letters or digits at both ends",
        why="AKS refuses any other name.",
        fix="write the cluster's name, not its ARM id",
    ),
]
KubernetesVersion = Annotated[
    str,
    Text(
        pattern=r"[0-9]+\.[0-9]+(\.[0-9]+)?",
        rule='a version such as "1.33" or "1.33.2"',
        why="AKS refuses anything else.",
        fix="write one of `az aks get-versions --location REGION --output table`, in quotes",
    ),
]
VmSize = Annotated[
    str,
    Text(
        pattern=r"Standard_[A-Z][A-Za-z0-9_-]*",
        rule="a VM size as Azure spells it: Standard_...",
        why="an unknown size is refused, another spelling shows as a change at every update.",
        fix="write one of `az vm list-skus --location REGION --query '[].name'`",
    ),
]
GpuVmSize = Annotated[
    str,
    Text(
        pattern=r"Standard_N[CDV](?![0-9]+as_v4$)(?![A-Za-z0-9]*_MI300X)[A-Za-z0-9_-]*",
        rule="a VM size with NVIDIA GPUs: Standard_NC..., Standard_ND..., Standard_NV...",
        why="only CUDA's allocations are recorded: on another GPU, or on none, the flame graph "
        "stays empty.",
        fix="choose a size such as Standard_NC24ads_A100_v4 or Standard_NC40ads_H100_v5",
    ),
]
PoolName = Annotated[
    str,
    Text(
        pattern=r"[a-z][a-z0-9]{0,11}",
        rule="a Linux node pool's name: 1 to 12 lower-case letters and digits, a letter first",
        why="AKS refuses any other name.",
        fix="shorten it and leave out hyphens and capitals, e.g. gpu or gpua100",
    ),
]
NodeCount = Annotated[
    int,
    Whole(
        minimum=0,
        maximum=1000,
        why="AKS refuses the pool.",
        fix="write the number of nodes",
    ),
]
SystemNodeCount = Annotated[
    int,
    Whole(
        minimum=1,
        maximum=1000,
        why="a system pool without a node leaves the cluster without its own services.",
        fix="write at least 1; 2 survive the loss of a node",
    ),
]
DiskSizeGb = Annotated[
    int,
    Whole(
        minimum=30,
        maximum=2048,
        why="AKS refuses the pool.",
        fix="write the size of the node's system disk in GB, or leave it out for AKS' default",
    ),
]
MaxPods = Annotated[
    int,
    Whole(
        minimum=10,
        maximum=250,
        why="AKS refuses the pool.",
        fix="leave it out for AKS' default",
    ),
]
Zone = Annotated[
    str,
    Stringified(),
    Text(
        pattern=r"[1-3]",
        rule='an availability zone: "1", "2" or "3"',
        why="AKS refuses the pool.",
        fix='write the zones as a list, e.g. ["1", "2"], or leave it out',
    ),
]
LabelValue = Annotated[
    str,
    AsWritten(),
    Text(
        pattern=r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?",
        rule="a Kubernetes label's value: at most 63 letters, digits, `-_.`, "
        "letters or digits at both ends",
        why="Kubernetes refuses the label, and AKS the pool.",
        fix="shorten it and replace other characters by hyphens; quote a number with a dot",
    ),
]
LABEL_KEY_PATTERN = (
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
)
TAINT_PATTERN = (
    rf"{LABEL_KEY_PATTERN}(=([A-Za-z0-9]([-_.A-Za-z0-9]{{0,61}}[A-Za-z0-9])?)?)?"
    r":(NoSchedule|PreferNoSchedule|NoExecute)"
)
Taint = Annotated[
    str,
    Text(
        pattern=TAINT_PATTERN,
        rule="a taint: key=value:Effect, with Effect NoSchedule, PreferNoSchedule or NoExecute",
        why="AKS refuses the pool.",
        fix="write it as in `sku=gpu:NoSchedule`",
    ),
]

# --- cluster extension -------------------------------------------------------------------------

ExtensionName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z0-9][a-zA-Z0-9.-]{0,252}",
        rule="an extension's name: 1 to 253 letters, digits, `-.`, a letter or digit first",
        why="Azure refuses any other name.",
        fix="leave it out for inspektor-gadget",
    ),
]
ReleaseTrain = Annotated[
    str,
    Text(
        pattern=r"[A-Za-z][A-Za-z0-9-]{0,62}",
        rule="a release train's name, such as preview or stable",
        why="Azure finds no version of the extension in a train it does not know.",
        fix="leave it out for preview",
    ),
]
Version = Annotated[
    str,
    Text(
        pattern=r"[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?",
        rule='one full version, such as "1.15.0"; no range, no `latest`',
        why="what is deployed would depend on the day.",
        fix="write the version in quotes: YAML reads 1.20 as the number 1.2",
    ),
]

# --- Pyroscope and its private link ------------------------------------------------------------

ImageTag = Annotated[
    str,
    Text(
        pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}",
        rule="an image's tag: 1 to 128 letters, digits, `_.-`",
        why="the image cannot be pulled.",
        fix="write the tag alone, in quotes",
    ),
]
Quantity = Annotated[
    str,
    Text(
        pattern=r"[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)",
        rule="a Kubernetes quantity with a unit, such as 50Gi",
        why="Kubernetes refuses the claim, or reads a bare number as bytes.",
        fix='write it with its unit, e.g. "50Gi"',
    ),
]
PrivateLinkName = Annotated[
    str,
    Text(
        pattern=r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?",
        rule="a Private Link Service's name: 1 to 80 letters, digits, `_.-`, a letter or digit "
        "first, a letter, digit or `_` last",
        why="the AKS cloud controller would retry endlessly and the private link never appear.",
        fix="shorten it, or leave it out for a name derived from the stack",
    ),
]
Visibility = Annotated[
    str,
    Text(
        pattern=rf"\*|{GUID}",
        rule="`*` or a subscription's GUID",
        why="anything else, such as a resource id or several ids with commas, silently matches no "
        "subscription.",
        fix='leave it out for ["*"]: connections still wait for an approval',
    ),
]
AutoApproval = Annotated[
    str,
    Text(
        pattern=GUID,
        rule="a subscription's GUID, one per entry",
        why="commas, resource ids and names silently match no subscription, and `*` would let "
        "every Azure customer in.",
        fix="write the subscription of Grafana's endpoint, as a pending connection shows it",
    ),
]
AddressCount = Annotated[
    int,
    Whole(
        minimum=1,
        maximum=8,
        why="Azure refuses the private link.",
        fix="leave it out for 1, which is enough for about 64,000 connections",
    ),
]
Ipv4Address = Annotated[
    str,
    Text(
        pattern=r"((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\.(?!$)|$)){4}",
        rule="an IPv4 address",
        why="Azure refuses the private link: it knows IPv4 only.",
        fix="write a free address of the private link's subnet, e.g. 10.224.0.40",
    ),
]
Fqdn = Annotated[
    str,
    Text(
        pattern=r"(?=.{1,253}$)([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63}",
        rule="a fully qualified host name: no scheme, no port, no space",
        why="Azure refuses the private link.",
        fix="write e.g. pyroscope.example.com",
    ),
]

# --- Azure Blob Storage ------------------------------------------------------------------------

StorageAccountName = Annotated[
    str,
    Text(
        pattern=r"[a-z0-9]{3,24}",
        rule="a storage account's name: 3 to 24 lower-case letters and digits",
        why="Azure refuses any other name.",
        fix="write the account's name, not its ARM id or URL",
    ),
]
ContainerName = Annotated[
    str,
    Text(
        pattern=r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*",
        rule="a container's name: 3 to 63 lower-case letters, digits and single hyphens between "
        "them",
        why="Azure refuses any other name.",
        fix="write the container's name, not its URL",
    ),
]

# --- Grafana -----------------------------------------------------------------------------------

GrafanaName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z][-a-zA-Z0-9]{0,21}[a-zA-Z0-9]",
        rule="a Grafana workspace's name: 2 to 23 letters, digits, hyphens, a letter first, no "
        "hyphen last",
        why="Azure refuses any other name.",
        fix="write the workspace's name, not its URL or ARM id",
    ),
]
ExistingGrafanaName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z][-a-zA-Z0-9]{0,28}[a-zA-Z0-9]",
        rule="a Grafana workspace's name: 2 to 30 letters, digits, hyphens, a letter first, no "
        "hyphen last",
        why="Azure has no workspace of any other name.",
        fix="write the workspace's name, not its URL or ARM id",
    ),
]
"""Workspaces of before the limit of 23 have up to 30 characters (Azure's REST specification)."""
PrivateEndpointName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z][-a-zA-Z0-9]{1,18}[a-zA-Z0-9]",
        rule="a managed private endpoint's name: 3 to 20 letters, digits, hyphens, a letter first, "
        "no hyphen last",
        why="Azure refuses any other name.",
        fix="shorten it, or leave it out for a name derived from the stack",
    ),
]
GrafanaUid = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z0-9_-]{1,40}",
        rule="a Grafana uid: 1 to 40 letters, digits, `-_`, no space",
        why="Grafana refuses it, or answers 404 to every later call that uses it.",
        fix="shorten it, or leave it out for a uid derived from the stack",
    ),
]
GrafanaTitle = Annotated[
    str,
    Text(
        pattern=r"\S(.{0,187}\S)?",
        rule="1 to 189 characters, no space at either end",
        why="Grafana refuses a longer title, and trims spaces, which shows as drift.",
        fix="shorten it",
    ),
]

# --- Azure Monitor -----------------------------------------------------------------------------

MonitorWorkspaceName = Annotated[
    str,
    Text(
        pattern=r"[a-zA-Z0-9][-a-zA-Z0-9]{2,61}[a-zA-Z0-9]",
        rule="an Azure Monitor workspace's name: 4 to 63 letters, digits, hyphens, letters or "
        "digits at both ends",
        why="Azure refuses any other name.",
        fix="write the workspace's name, not its ARM id",
    ),
]
