"""What is asked of the operations and what they answer: pure types, the only shared definition.

The components write a request as JSON (:meth:`Message.to_json`) to a command's standard input,
where the engine keeps it in state. So a request holds nothing that is secret, expires, or differs
between machines: no token, no path, no endpoint that only tests use. Keys are camelCase on the
wire.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """A request or an answer: camelCase JSON, closed, immutable."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, populate_by_name=True
    )

    def to_json(self) -> str:
        """One line of JSON, in declared order; the same for equal messages."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    def as_observed(self) -> "Message":
        """What an observed token is made for: all of it, unless a part is compared by itself."""
        return self


class Verb(StrEnum):
    """The verbs of ``python -m operations``; each reads one request and writes one JSON line."""

    SURVEY = "survey"
    HOLD_PRIVATE_LINK = "hold-private-link"
    AWAIT_PRIVATE_LINK_GONE = "await-private-link-gone"
    AWAIT_PRIVATE_LINK = "await-private-link"
    AWAIT_PRIVATE_LINK_UNUSED = "await-private-link-unused"
    APPROVE_PRIVATE_ENDPOINT = "approve-private-endpoint"
    APPLY_DATA_SOURCE = "apply-data-source"
    DELETE_DATA_SOURCE = "delete-data-source"
    APPLY_DASHBOARD = "apply-dashboard"
    DELETE_DASHBOARD = "delete-dashboard"
    OBSERVE = "observe"
    CHECK_SIGNAL = "check-signal"
    KUBE_TOKEN = "kube-token"  # noqa: S105 - a verb


OBSERVED_VARIABLE = "GPUOBS_OBSERVED"
"""Environment variable of a command that carries the observed token of its live object.

``observe`` answers the token stored in the live object while the object is as requested, otherwise
a fresh random one; the changed environment makes the engine update the command, and the command
stores the new token. Never part of a request: observing must not depend on the last answer.
"""

LAUNCHER = "sh operations/run"
"""How a command starts an operation: relative to the program's directory, the same everywhere."""


def command_line(verb: Verb) -> str:
    """The text of a command that runs ``verb``."""
    return f"{LAUNCHER} {verb.value}"


class Owner(Message):
    """Who an object on a shared Grafana belongs to; compared exactly, cluster without case."""

    cluster: str
    """ARM id of the cluster, lower case."""
    project: str
    stack: str


# --- the survey of what exists -----------------------------------------------------------------


class SurveyRequest(Message):
    """Which things to look up, by their ARM ids; None: not asked.

    Things that this stack makes are asked for too: absent before the first update, and perhaps
    stopped or upgraded by hand after it.
    """

    subscription_id: str | None = None
    """None: the subscription of ``provider_subscription_id``."""
    provider_subscription_id: str
    """Subscription, tenant and client or object id that the azure-native provider uses."""
    provider_object_id: str
    namespaces: tuple[str, ...]
    """Resource provider namespaces this stack needs, e.g. ``Microsoft.Dashboard``."""
    cluster_id: str | None = None
    grafana_id: str | None = None
    workspace_id: str | None = None
    collection_rule_id: str | None = None
    """This stack's own data collection rule from the cluster to the workspace: are there others?"""
    resource_group: str | None = None
    """An existing group for this stack's own resources."""
    gpu_vm_size: str | None = None
    """VM size of the GPU pool and the nodes it may have at most: the quota is compared."""
    gpu_node_count: int = 0
    location: str | None = None
    chart_registry: str | None = None
    """Host of the registry that the Pyroscope chart comes from, e.g. ``ghcr.io``."""


class Presence(StrEnum):
    """What a lookup found."""

    FOUND = "found"
    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    UNREACHABLE = "unreachable"
    NOT_ASKED = "not-asked"


class PoolFacts(Message):
    """A node pool of an existing cluster."""

    name: str
    count: int = 0
    """Nodes that it has now."""
    min_count: int | None = None
    """Of the autoscaler; None: it is off."""
    max_count: int | None = None


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
    oidc_issuer_url: str = ""
    workload_identity: bool = False
    local_accounts_disabled: bool = False
    entra_enabled: bool = False
    private_api_server: bool = False
    sku: str = ""
    """``Base`` or ``Automatic``."""
    untainted_pools: tuple[str, ...] = ()
    """Linux pools without NoSchedule taints: Pyroscope needs one."""
    pools: tuple[PoolFacts, ...] = ()


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


class WorkspaceFacts(Message):
    """An existing Azure Monitor workspace."""

    presence: Presence
    detail: str = ""
    id: str = ""
    location: str = ""
    query_endpoint: str = ""
    grafana_may_read: bool | None = None
    """Whether the Grafana identity holds Monitoring Data Reader; None where not knowable."""


class Survey(Message):
    """The answer of ``survey``: facts only; what they mean is :mod:`infra.preflight`'s."""

    caller_object_id: str = ""
    caller_kind: str = ""
    """``user``, ``servicePrincipal`` or empty, from the token's claims."""
    subscription_id: str = ""
    unregistered: tuple[str, ...] = ()
    cluster: ClusterFacts = ClusterFacts(presence=Presence.NOT_ASKED)
    grafana: GrafanaFacts = GrafanaFacts(presence=Presence.NOT_ASKED)
    workspace: WorkspaceFacts = WorkspaceFacts(presence=Presence.NOT_ASKED)
    other_collection_rules: tuple[str, ...] = ()
    """Ids of the rules, besides this stack's, that bring the cluster's metrics to the workspace."""
    resource_group: Presence = Presence.NOT_ASKED
    resource_group_location: str = ""
    may_approve: bool | None = None
    """Whether the caller may write connections in the node resource group; None: not knowable."""
    quota_family: str = ""
    quota_limit: int | None = None
    quota_used: int | None = None
    cores_per_node: int | None = None
    registry_login_file: str = ""
    """The file on this machine with a login for the chart's registry; empty: none."""
    problem: str = ""
    """One sentence where nothing could be asked at all (no credential, no network)."""


# --- the private link --------------------------------------------------------------------------


class PrivateLinkRequest(Message):
    """The Private Link Service that the AKS cloud controller makes from the Service.

    For the guard (``hold-private-link``, ``await-private-link-gone``) and the wait
    (``await-private-link``, ``await-private-link-unused``). All of it is identity: a change of any
    part replaces the command.
    """

    id: str
    """ARM id of the Private Link Service."""
    namespace: str
    release: str


class HeldPrivateLink(Message):
    """``hold-private-link`` answers the namespace, which ties the release to the guard."""

    namespace: str


class ReadyPrivateLink(Message):
    """``await-private-link`` answers the id, which ties the endpoint to the wait."""

    id: str
    alias: str


class UnusedPrivateLink(Message):
    """``await-private-link-unused`` answers the id of what nothing is connected to."""

    id: str


class Released(Message):
    """``await-private-link-gone`` answers the id that Resource Manager no longer knows."""

    id: str


class ApprovalRequest(Message):
    """Approve the one connection that the managed private endpoint made; then refresh Grafana."""

    grafana_id: str
    endpoint_name: str
    private_link_id: str
    request_message: str
    """The stack-unique message the endpoint was created with; becomes part of the description."""


class Approval(Message):
    """The endpoint's state and address after the refresh; the address is never empty."""

    state: str
    private_ip: str
    connection: str


# --- Grafana -----------------------------------------------------------------------------------


class DataSourceRequest(Message):
    """A Grafana data source that this stack owns."""

    endpoint: str
    """The Grafana workspace's URL."""
    workspace_id: str
    """ARM id of the Grafana workspace: deleting on a workspace that is gone succeeds."""
    owner: Owner
    name: str
    uid: str
    type: str
    """``grafana-pyroscope-datasource`` or ``prometheus``."""
    url: str
    json_data: Mapping[str, Any] = Field(default_factory=dict)
    adopt: bool = False

    def as_observed(self) -> "DataSourceRequest":
        """Without the url: at the time of observing, its address may not exist yet."""
        return self.model_copy(update={"url": ""})


class AppliedDataSource(Message):
    """The answer of ``apply-data-source``."""

    uid: str
    name: str


class DashboardRequest(Message):
    """A Grafana dashboard that this stack owns, and the folder it is in."""

    endpoint: str
    workspace_id: str
    owner: Owner
    uid: str
    dashboard: Mapping[str, Any]
    """The dashboard's JSON without wrapper; its ``uid`` is ``uid``."""
    folder_uid: str | None = None
    folder_title: str | None = None
    """None: the General folder. A folder that this stack made is deleted when empty."""
    adopt: bool = False


class AppliedDashboard(Message):
    """The answer of ``apply-dashboard``."""

    uid: str
    url: str


class Deletion(Message):
    """The answer of ``delete-data-source`` and ``delete-dashboard``."""

    uid: str
    deleted: bool
    """False where there was nothing to delete, or nothing of this stack's."""
    note: str = ""


# --- drift -------------------------------------------------------------------------------------

PRIVATE_IP_PLACEHOLDER = "{privateIp}"
"""Stands for the private endpoint's address in the url of a source to observe.

The address is the approval's answer, and the approval is observed in the same call; so ``observe``
puts in the address that the endpoint has now, before it compares the source or hashes its request.
Where the endpoint has none, the source is not in sync.
"""


class ObserveRequest(Message):
    """Objects to observe in one call, under names of the caller's choice."""

    approval: ApprovalRequest | None = None
    data_sources: Mapping[str, DataSourceRequest] = Field(default_factory=dict)
    dashboards: Mapping[str, DashboardRequest] = Field(default_factory=dict)


class Observation(Message):
    """The answer of ``observe``."""

    tokens: Mapping[str, str]
    """By name; the approval's under ``approval``."""
    problems: tuple[str, ...] = ()
    """Sentences on what could not be observed (its token is then a fresh one)."""


# --- the signal --------------------------------------------------------------------------------


class SignalRequest(Message):
    """Follow the data from the agent to Grafana, through Grafana's own data sources."""

    endpoint: str
    pyroscope_uid: str
    prometheus_uid: str | None = None
    cluster_id: str = ""
    window_minutes: int = 60


class Link(StrEnum):
    """The links of the chain, in the order in which they are checked."""

    GRAFANA = "grafana"
    PROMETHEUS_SOURCE = "prometheus-source"
    PROMETHEUS_ANSWER = "prometheus-answer"
    METRICS = "metrics"
    PYROSCOPE_SOURCE = "pyroscope-source"
    PYROSCOPE_ANSWER = "pyroscope-answer"
    PROFILE_TYPE = "profile-type"
    SAMPLES = "samples"


class LinkReport(Message):
    """What was seen at one link, and what mends it if it is broken."""

    link: Link
    ok: bool
    saw: str
    fix: str = ""


class Signal(Message):
    """The answer of ``check-signal``."""

    ok: bool
    links: tuple[LinkReport, ...]
    profile_type: str = ""
    bytes_in_window: int = 0
