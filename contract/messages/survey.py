"""Looking up what exists already: which things, and the facts about each."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from contract.messages.base import Message
from contract.messages.grafana import Owner
from contract.messages.leftovers import Leftover
from contract.messages.namespace import NamespaceRequest
from contract.messages.release import DriftedObject

DASHBOARD = "dashboard"
"""What the dashboard is called among the things on Grafana; the others are :class:`Source`."""


class WantedSource(Message):
    """What a data source of this stack is to be called in Grafana."""

    name: str
    uid: str
    type: str
    """One of :mod:`contract.grafana`."""


class WantedOnGrafana(Message):
    """What this stack puts on a shared Grafana."""

    owner: Owner
    sources: Mapping[str, WantedSource]
    """By :class:`contract.messages.grafana.Source`."""
    dashboard_uid: str


class WantedRight(Message):
    """What the caller must be allowed to do."""

    key: int
    """The asker's own; the answer has it again."""
    scope: str
    """ARM id of what it is on."""
    actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()


class WantedOwnGrafana(Message):
    """A Grafana that is not Azure's, and what it must have and allow."""

    url: str
    token_variable: str
    """Environment variable with a service account's token."""
    permissions: tuple[str, ...]
    """In the words of Grafana's access control, e.g. ``datasources:create``."""
    plugins: tuple[str, ...]
    """Types of data sources."""


class WantedPyroscope(Message):
    """A Pyroscope that is there already."""

    url: str
    data_source: str | None = None
    """Uid of the data source of Grafana that shows it; None: it is to be made."""


class SurveyRequest(Message):
    """Which things to look up, by their ARM ids; None: not asked.

    Things that this stack creates are asked for too: absent before the first update, and perhaps
    stopped or upgraded by hand after it.
    """

    subscription_id: str | None = None
    """None: the subscription of ``provider_subscription_id``."""
    provider_subscription_id: str
    """Subscription, tenant and client or object id that the azure-native provider uses."""
    provider_object_id: str
    provider_tenant_id: str = ""
    namespaces: tuple[str, ...]
    """Resource provider namespaces this stack needs, e.g. that of Grafana workspaces."""
    cluster_id: str | None = None
    extension_id: str | None = None
    """The agent's cluster extension."""
    gpu_pool_id: str | None = None
    """The pool of GPU nodes that this stack makes."""
    grafana_id: str | None = None
    workspace_id: str | None = None
    look_for_access_endpoint: bool = False
    """Whether to ask for the data collection endpoint that the cluster is associated with."""
    collection_rule_id: str | None = None
    """This stack's own data collection rule from the cluster to the workspace: are there others?"""
    resource_group: str | None = None
    """An existing group for this stack's own resources."""
    gpu_vm_size: str | None = None
    """VM size of the GPU pool: its quota, and the cores of a node."""
    location: str | None = None
    size_nodes: bool = False
    """Whether to look up how large nodes are: those of the cluster, and of ``node_vm_size``."""
    node_vm_size: str | None = None
    """VM size of nodes that this stack makes, besides those of the GPU pool."""
    private_link_name: str | None = None
    """The Private Link Service that is to be made: is the name another's?"""
    private_link_group: str | None = None
    """Its resource group; None: the group of the cluster's nodes."""
    private_link_subnet: str | None = None
    """Name of the subnet for its addresses, in the network of the cluster; None: the nodes' own."""
    private_endpoint_name: str | None = None
    """The managed private endpoint on the Grafana workspace."""
    wait: float = 0.0
    """Seconds to wait for a cluster or a Grafana that is in the middle of an operation, or what of
    this stack's is made there."""
    look_inside: bool = False
    """Whether to ask the cluster's API server what is in it."""
    stack_mark: str = ""
    """What carries it there is this stack's."""
    look_at_release: bool = False
    """Whether to ask it what Helm has not finished of Pyroscope's release, and what was changed of
    its objects by hand."""
    kept_namespace: NamespaceRequest | None = None
    """How this stack has marked and protected the agent's namespace: is it still so?"""
    admin: bool = False
    """Whether to ask it with the administrator's kubeconfig."""
    list_endpoints: bool = False
    """Whether to list Grafana's managed private endpoints."""
    only_own_endpoint: str = ""
    """What this stack calls its own, by a name that nobody else gives; empty: the stack file says
    the name."""
    only_own_link: str = ""
    """The same of its Private Link Service."""
    action_group_ids: tuple[str, ...] = ()
    """Existing action groups that alerts are to tell."""
    chart_registry: str | None = None
    """Host of the registry that the Pyroscope chart comes from, e.g. ``ghcr.io``; None for
    a mirror of the user's own, which wants a login."""
    list_assignments: bool = False
    """Whether to list the roles that are assigned on the Grafana workspace."""
    rights: tuple[WantedRight, ...] = ()
    """What the caller needs to be allowed."""
    storage_account_id: str | None = None
    """Storage account of the profiles, also where this stack makes it."""
    storage_container: str = ""
    """The container in it."""
    makes_storage: bool = False
    """Whether this stack makes the account where it is not there."""
    storage_mark: str = ""
    """What the stack's own account is marked with."""
    pyroscope: WantedPyroscope | None = None
    """Which server is to be used; None: the stack's own."""
    own_grafana: WantedOwnGrafana | None = None
    """In place of ``grafana_id``."""
    on_grafana: WantedOnGrafana | None = None
    """What of it would meet others' objects on that Grafana, once it is there."""


class Presence(StrEnum):
    """What a lookup found."""

    FOUND = "found"
    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    UNAUTHENTICATED = "unauthenticated"
    """The caller's token is not accepted: another tenant's, or expired."""
    UNREGISTERED = "unregistered"
    """The subscription does not have its resource provider registered."""
    REFUSED = "refused"
    """For another reason, which the service states."""
    UNREACHABLE = "unreachable"
    NOT_ASKED = "not-asked"


class PoolFacts(Message):
    """A node pool of an existing cluster."""

    name: str
    mode: str = ""
    """``System`` or ``User``."""
    count: int = 0
    """Nodes that it has now."""
    min_count: int | None = None
    """Of the autoscaler; None: it is off."""
    max_count: int | None = None
    subnet_id: str = ""
    """ARM id of its nodes' subnet, in a network of the cluster's owner; empty: AKS' own network."""
    managed_gpu: bool = False
    """Whether AKS itself manages what its GPUs need (preview)."""
    vm_size: str = ""
    os_sku: str = ""
    mig_profile: str = ""
    spot: bool = False
    taints: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    tags: Mapping[str, str] = {}
    provisioning_state: str = ""


class NodeSize(Message):
    """How large a VM size is."""

    cores: int
    memory_gib: float


class ClusterFacts(Message):
    """An existing AKS cluster."""

    presence: Presence
    detail: str = ""
    """The service's own message where the lookup failed."""
    id: str = ""
    location: str = ""
    kubernetes_version: str = ""
    power_state: str = ""
    provisioning_state: str = ""
    identity_type: str = ""
    """``SystemAssigned``, ``UserAssigned``; empty for a service principal."""
    principal_id: str = ""
    metrics_enabled: bool = False
    node_resource_group: str = ""
    node_resource_group_restriction: str = "Unrestricted"
    azure_rbac: bool = False
    """Whether Azure RBAC says who may do what in it."""
    local_accounts_disabled: bool = False
    private_api_server: bool = False
    load_balancer_sku: str = ""
    """``standard``, or ``basic`` (retired, and without private links)."""
    backend_pool_type: str = ""
    """``nodeIPConfiguration``, ``nodeIP``, or empty for AKS' default, the former."""
    sku: str = ""
    """``Base`` or ``Automatic``."""
    issuer_url: str = ""
    """Of its OIDC issuer; empty: it is off."""
    workload_identity: bool = False
    """Whether pods can sign in as an identity of Azure."""
    provisions_nodes: bool = False
    """Whether node auto-provisioning makes its nodes."""
    untainted_pools: tuple[str, ...] = ()
    """Linux pools without NoSchedule taints: Pyroscope needs one."""
    pools: tuple[PoolFacts, ...] = ()


class SubnetFacts(Message):
    """The subnet of the private link's addresses, in a network of the cluster's owner."""

    presence: Presence
    id: str = ""
    missing: tuple[str, ...] = ()
    """Actions of Azure RBAC that no role of the cluster's identity is known to allow there."""
    certain: bool = False
    """Whether all of its roles and what they allow could be read."""


class LinkGroupFacts(Message):
    """The resource group that the stack file puts the Private Link Service into."""

    id: str = ""
    """ARM id; empty: not asked."""
    missing: tuple[str, ...] = ()
    """Actions of Azure RBAC that no role of the cluster's identity is known to allow there."""
    certain: bool = False
    """Whether all of its roles and what they allow could be read."""


class PrivateLinkFacts(Message):
    """A Private Link Service of the name that this stack's shall have."""

    presence: Presence
    frontends: tuple[str, ...] = ()
    """ARM ids of the load balancers' frontends that it leads to."""
    owner_service: str = ""
    """``namespace/name`` of the Kubernetes Service that it was made for."""


class ExtensionFacts(Message):
    """The agent's extension, as it is installed."""

    presence: Presence
    current_version: str = ""
    """Of the agent that runs; empty while it is being installed."""
    version: str = ""
    """What is asked for, or what Azure made of it."""
    release_train: str = ""
    auto_upgrade: bool = True
    settings: Mapping[str, str] = {}


class DevicePluginFacts(Message):
    """A DaemonSet that offers GPUs to pods."""

    name: str
    """With its namespace: ``kube-system/nvidia-device-plugin``."""
    node_selector: Mapping[str, str] = Field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    has_affinity: bool = False
    """Whether it also chooses its nodes in another way."""


class ReleaseRecord(Message):
    """A revision of Pyroscope's release, as Helm keeps it in a Secret."""

    name: str
    """Of the Secret."""
    uid: str
    status: str
    """Helm's: ``deployed``, ``superseded``, ``failed``, ``pending-upgrade``, ..."""
    private_link_name: str = ""
    """What its values call the Private Link Service; empty where they could not be read."""


class InsideFacts(Message):
    """What the API server of an existing cluster knows."""

    presence: Presence
    """``FOUND`` where it could be asked."""
    namespace: bool = False
    """Whether the agent's namespace is there."""
    release_records: tuple[ReleaseRecord, ...] = ()
    """Helm's of the release of Pyroscope's name in it; all, or the pending ones, as was asked."""
    private_link_name: str = ""
    """What the Service of that name calls its Private Link Service."""
    drifted: tuple[DriftedObject, ...] = ()
    """Objects of the deployed release that somebody has changed."""
    drift_problem: str = ""
    """Why the objects of the release could not be held against it; empty: they were."""
    unkept: str = ""
    """Another text each time that the namespace is not marked and protected any more as it was."""
    agent_by_hand: bool = False
    """Whether an agent is there that no Helm release made (``kubectl gadget deploy``)."""
    device_plugins: tuple[DevicePluginFacts, ...] = ()
    gpu_operator: bool = False
    """Whether NVIDIA's GPU Operator is installed."""
    marked: tuple[Leftover, ...] = ()
    """What carries the mark of this stack."""
    namespace_empty: bool = False
    """Whether nothing of the agent or of Pyroscope is in the namespace."""
    policies: tuple[str, ...] = ()
    """Azure Policy's constraints that deny what the agent's pods need, in its namespace too."""


class EndpointFacts(Message):
    """A managed private endpoint of an existing Grafana."""

    id: str
    name: str
    private_link_id: str
    request_message: str = ""
    """What its connection asks with: each stack's is its own."""
    provisioning_state: str = ""


class GrafanaFacts(Message):
    """An existing Managed Grafana workspace."""

    presence: Presence
    detail: str = ""
    id: str = ""
    location: str = ""
    endpoint: str = ""
    sku: str = ""
    major_version: str = ""
    public_network_access: str = "Enabled"
    principal_id: str = ""
    provisioning_state: str = ""
    caller_roles: tuple[str, ...] = ()
    """Role definition ids (GUIDs) the caller holds at the workspace or above it."""
    roles_known: bool = False
    """False where role assignments could not be read (then nothing is concluded)."""
    caller_may_admin: bool | None = None
    """Whether the caller may do what Grafana Admin may, by that role, by one of somebody's own, or
    by Grafana's own answer; None where it is not knowable."""


class OwnGrafanaFacts(Message):
    """A Grafana that is not Azure's."""

    presence: Presence
    """``FOUND`` where it answers to the token; ``UNAUTHENTICATED`` where there is none, or it is
    not accepted."""
    detail: str = ""
    """What happened where the lookup failed."""
    fix: str = ""
    version: str = ""
    """Empty where it does not say."""
    permissions_known: bool = False
    missing_permissions: tuple[str, ...] = ()
    missing_plugins: tuple[str, ...] = ()


class PyroscopeFacts(Message):
    """A Pyroscope that is there already, as far as it can be asked from here or through Grafana."""

    version: str = ""
    """What it says; empty where it could not be asked, or does not say."""
    source: Presence = Presence.NOT_ASKED
    """Of the data source, on Grafana."""
    source_type: str = ""


class WorkspaceFacts(Message):
    """An existing Azure Monitor workspace."""

    presence: Presence
    detail: str = ""
    id: str = ""
    location: str = ""
    query_endpoint: str = ""
    grafana_may_read: bool | None = None
    """Whether the Grafana identity holds Monitoring Data Reader; None where not knowable."""


class InTheWay(Message):
    """Something on Grafana that has a wanted name or uid and is not this stack's."""

    wanted: str
    """A source or :data:`DASHBOARD`."""
    by: str
    """``uid`` or ``name``."""
    title: str
    uid: str
    whose: str
    """In words."""
    provisioned: bool = False
    """Nobody can change it there."""
    same_stack: bool = False
    """Marked by a stack of this name for another cluster: maybe this one, before it moved."""


class RoleFacts(Message):
    """A role that is assigned on the Grafana workspace itself, not above it."""

    name: str
    """Of the assignment, a GUID."""
    role: str
    """GUID of the role definition."""
    principal_id: str
    description: str = ""


class RightFacts(Message):
    """What the caller's permissions say of a :class:`WantedRight`."""

    key: int
    scope: str
    known: bool = True
    """Whether the permissions could be read; otherwise nothing is concluded."""
    missing: tuple[str, ...] = ()
    """The actions, also on data, that nothing allows."""
    conditional: tuple[str, ...] = ()
    """Those that only a role assignment with a condition allows."""
    eligible: tuple[str, ...] = ()
    """Those that a role allows which waits to be activated by the caller; not in ``missing``."""


class LockFacts(Message):
    """A management lock, which holds for its scope and everything below it."""

    id: str
    scope: str
    """ARM id of what it is set on."""
    read_only: bool
    """Whether it also refuses changes, not only deletions."""


class OnGrafana(Message):
    """What a shared Grafana holds; nothing where it could not be read."""

    in_the_way: tuple[InTheWay, ...] = ()
    moving: tuple[str, ...] = ()
    """What of this stack's is there under another uid than the wanted one only; named as in
    ``in_the_way``."""


class InstalledExtension(Message):
    """The agent's cluster extension, by whatever name, on an existing cluster."""

    presence: Presence
    id: str = ""
    name: str = ""
    provisioning_state: str = ""
    message: str = ""
    """Why its last operation failed, in the service's words."""
    helm_release: str = ""
    """The extension's own Helm release, where the reason tells it: the namespace is not marked for
    it, or the API server did not let Helm remove it."""
    not_removed: str = ""
    """Another text each time that the reason is the latter: Helm keeps the release, and Azure the
    extension."""


class ActionGroupFacts(Message):
    """An existing action group."""

    presence: Presence
    detail: str = ""
    id: str = ""
    enabled: bool = True
    """A disabled one tells nobody."""


class StorageFacts(Message):
    """A storage account for profiles, and the container in it."""

    presence: Presence
    detail: str = ""
    mark: str = ""
    """Which stack made it, as its tag says; empty: none."""
    open: bool = True
    """Whether its firewall lets every network in."""
    container: Presence = Presence.NOT_ASKED
    name_refused: str = ""
    """Why an account that is not there cannot have its name, in Azure's words; empty: it can, or
    that could not be asked."""


class Survey(Message):
    """The answer of ``survey``: facts only; what they mean is :mod:`infra.preflight`'s."""

    caller_object_id: str = ""
    caller_kind: str = ""
    """``user``, ``servicePrincipal`` or empty, from the token's claims."""
    subscription_id: str = ""
    unregistered: tuple[str, ...] = ()
    cluster: ClusterFacts = ClusterFacts(presence=Presence.NOT_ASKED)
    extension: ExtensionFacts = ExtensionFacts(presence=Presence.NOT_ASKED)
    grafana: GrafanaFacts = GrafanaFacts(presence=Presence.NOT_ASKED)
    own_grafana: OwnGrafanaFacts = OwnGrafanaFacts(presence=Presence.NOT_ASKED)
    pyroscope: PyroscopeFacts = PyroscopeFacts()
    workspace: WorkspaceFacts = WorkspaceFacts(presence=Presence.NOT_ASKED)
    inside: InsideFacts = InsideFacts(presence=Presence.NOT_ASKED)
    endpoints: tuple[EndpointFacts, ...] = ()
    installed: InstalledExtension = InstalledExtension(presence=Presence.NOT_ASKED)
    storage: StorageFacts = StorageFacts(presence=Presence.NOT_ASKED)
    action_groups: tuple[ActionGroupFacts, ...] = ()
    """In the order of the request."""
    other_collection_rules: tuple[str, ...] = ()
    """Ids of the rules, besides this stack's, that bring the cluster's metrics to the workspace."""
    resource_group: Presence = Presence.NOT_ASKED
    resource_group_location: str = ""
    private_link: PrivateLinkFacts = PrivateLinkFacts(presence=Presence.NOT_ASKED)
    private_endpoint: Presence = Presence.NOT_ASKED
    link_subnet: SubnetFacts = SubnetFacts(presence=Presence.NOT_ASKED)
    link_group: LinkGroupFacts = LinkGroupFacts()
    access_endpoint: str = ""
    """ARM id of the data collection endpoint that the cluster reads its configuration from."""
    may_approve: bool | None = None
    """Whether the caller may write connections in the node resource group; None: not knowable."""
    rights: tuple[RightFacts, ...] = ()
    """In the order of the request."""
    quota_family: str = ""
    quota_limit: int | None = None
    quota_used: int | None = None
    cores_per_node: int | None = None
    node_sizes: Mapping[str, NodeSize] = {}
    """By VM size, in lower case; without those that Azure does not tell."""
    registry_login_file: str = ""
    """The file on this machine with a login for the chart's registry; empty: none."""
    assigned: tuple[RoleFacts, ...] = ()
    locks: tuple[LockFacts, ...] = ()
    """Those that could be read, wherever in the subscriptions of what was asked for."""
    on_grafana: OnGrafana = OnGrafana()
    assertion_seconds: int | None = None
    """For how long a federated token that cannot be renewed goes on; None: there is none."""
    problem: str = ""
    """One sentence where nothing could be asked at all (no credential, no network)."""
