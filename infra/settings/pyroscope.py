"""Section ``pyroscope``: the server that keeps the profiles, and the private link to it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.alias_generators import to_camel

from contract.compatibility import DEFAULT_CHART, DEFAULT_SERVER
from contract.images import CHART
from contract.microservices import ServerMode
from infra.settings.chart_values import broken_values, with_texts
from infra.settings.existing_pyroscope import ExistingPyroscope
from infra.settings.microservices import ComponentsSettings
from infra.settings.scheduling import broken_scheduling, toleration_texts
from infra.settings.section import RuleViolation, Section, Text
from infra.settings.storage import StorageSettings, broken_storage
from infra.settings.types import (
    AddressCount,
    AutoApproval,
    Fqdn,
    ImageTag,
    Ipv4Address,
    LabelValue,
    PrivateLinkName,
    ResourceGroupName,
    SubnetName,
    Version,
    Visibility,
)

UNLESS_ALLOWED = (
    "(or, knowing that profiles may vanish without an error, set gpuobs:pyroscope: "
    "{ allowIncompatibleServer: true })"
)
"""What follows the fix of whatever breaks the compatibility contract."""

OciReference = Annotated[
    str,
    Text(
        pattern=r"oci://[^\s/:@]+(:[0-9]+)?(/[^\s/:@]+)+",
        rule="oci://HOST/PATH, without a tag",
        why="Helm does not find the chart.",
        fix=f"write e.g. {CHART}; its version goes into `version`",
    ),
]
RepositoryUrl = Annotated[
    str,
    Text(
        pattern=r"https?://[^\s@?#]+",
        rule="the http(s) URL of a Helm repository, without a user name",
        why="Helm does not find the chart; the URL is kept in plain text in the stack's state.",
        fix="write e.g. https://grafana.github.io/helm-charts",
    ),
]
ChartName = Annotated[
    str,
    Text(
        pattern=r"[a-z0-9][a-z0-9._-]*",
        rule="the chart's name in its repository",
        why="Helm does not find the chart.",
        fix="leave it out for pyroscope",
    ),
]
ChartPath = Annotated[
    str,
    Text(
        pattern=r"(?![/~]|[A-Za-z]:|[a-z]+://).*\S.*",
        rule="a folder, or a packaged chart, relative to the project's folder",
        why="an absolute path exists on one machine only.",
        fix="put the chart into the project and write e.g. charts/pyroscope",
    ),
]
Texts = BeforeValidator(with_texts)


class ChartSettings(Section):
    """Where the chart comes from; at most one of ``oci``, ``repository`` and ``path``."""

    oci: OciReference | None = None
    """The chart in a registry; default: the public one, or the one below `registry.prefix`."""
    repository: RepositoryUrl | None = None
    """A Helm repository that holds the chart."""
    name: ChartName = "pyroscope"
    """The chart's name in `repository`."""
    path: ChartPath | None = None
    """A chart in the project, a folder or a package; its own version counts."""
    version: Version = DEFAULT_CHART
    """The chart's version, in quotes."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """One source, and no setting that has no effect on it."""
        given = [field for field in ("oci", "repository", "path") if getattr(self, field)]
        if len(given) > 1:
            yield RuleViolation(
                fields=tuple(given),
                rule=f"one of `oci`, `repository` and `path`; {' and '.join(given)} are set",
                why="the chart comes from one place.",
                fix="leave the others out; with none the public chart is used",
            )
        if self.repository is None and "name" in self.model_fields_set:
            yield RuleViolation(
                fields=("name", "repository"),
                at="name",
                value=self.name,
                rule="only with `repository`",
                why="it would have no effect: `oci` and `path` name the chart themselves.",
                fix="leave it out",
            )


class PrivateLinkSettings(Section):
    """The Private Link Service that the AKS cloud controller makes."""

    create: bool | None = None
    """Whether there is one, and an internal load balancer for it; default: with an Azure Managed
    Grafana, which reaches Pyroscope in no other way, and not with `grafana.selfHosted`."""
    name: PrivateLinkName | None = None
    """Name of the Private Link Service; default: derived from the stack. A change replaces the
    link, the endpoint and the release, in the right order."""
    visibility: Sequence[Visibility] = ("*",)
    """Subscriptions that may ask for a connection. Grafana's endpoint lives in a subscription of
    Microsoft's, so your own alone is not enough; each connection still waits for an approval."""
    auto_approval: Sequence[AutoApproval] = ()
    """Subscriptions whose connections need no approval."""
    resource_group: ResourceGroupName | None = None
    """Group for the Private Link Service; default: the node resource group. The cluster's identity
    needs rights on it."""
    subnet: SubnetName | None = None
    """Name of the subnet for its addresses; default: the cluster's."""
    address_count: AddressCount | None = None
    """How many addresses it uses."""
    addresses: Sequence[Ipv4Address] = ()
    """Fixed addresses to use first."""
    fqdns: Sequence[Fqdn] = ()
    """Host names that the Private Link Service announces."""
    protect_connections: bool = True
    """Before the release is deleted, wait 5 minutes for other people's connections to the Private
    Link Service, and stop with their names: with the release the AKS cloud controller deletes the
    service, and cuts off whoever is connected. `false`: cut them off. Takes effect with
    `pulumi up`."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """What the AKS cloud controller and Azure accept together."""
        if not self.visibility:
            yield RuleViolation(
                fields=("visibility",),
                rule="at least one entry",
                why="an empty list leaves only those with rights on the link; Grafana's endpoint, "
                "in a subscription of Microsoft's, has none and could never connect.",
                fix='leave it out for ["*"]: connections still wait for an approval',
            )
        if "*" in self.visibility and len(self.visibility) > 1:
            yield RuleViolation(
                fields=("visibility",),
                rule="`*` alone, or subscriptions alone",
                why="`*` includes every subscription; which of the two is meant is unclear.",
                fix='write ["*"], or leave `*` out',
            )
        if self.auto_approval and "*" not in self.visibility:
            yield RuleViolation(
                fields=("autoApproval", "visibility"),
                at="autoApproval",
                rule='auto-approval works only with visibility ["*"]',
                why="the connection would wait for an approval anyway.",
                fix="leave `visibility` out, or leave `autoApproval` out",
            )
        if len(self.addresses) > (count := self.address_count or 1):
            yield RuleViolation(
                fields=("addresses", "addressCount"),
                at="addresses",
                rule=f"not more addresses ({len(self.addresses)}) than `addressCount` ({count})",
                why="the AKS cloud controller refuses the private link.",
                fix=f"write addressCount: {len(self.addresses)}, or fewer addresses",
            )
        if len(set(self.addresses)) < len(self.addresses):
            yield RuleViolation(
                fields=("addresses",),
                rule="each address once",
                why="Azure refuses the private link.",
                fix="leave the repeated one out",
            )


class PyroscopeSettings(Section):
    """The server that keeps the profiles."""

    existing: ExistingPyroscope | None = None
    """A server that is there already, in place of one of the stack's own."""
    chart: ChartSettings = ChartSettings()
    """Where the Helm chart comes from."""
    image_tag: ImageTag = DEFAULT_SERVER
    """Pyroscope's version, as the image's tag, in quotes."""
    allow_incompatible_server: bool = False
    """Deploy versions outside the compatibility contract of chart, server and agent. Risk: every
    push succeeds, and profiles vanish without an error."""
    resources: Mapping[str, Any] = Field(default_factory=dict)
    """The server's resource requests and limits, as in a pod."""
    node_selector: Mapping[str, LabelValue] = Field(default_factory=dict)
    """Labels of the nodes it may run on."""
    tolerations: Sequence[Annotated[Mapping[str, Any], BeforeValidator(toleration_texts)]] = ()
    """Taints it tolerates, as in a pod."""
    affinity: Annotated[Mapping[str, Any], Texts] = Field(default_factory=dict)
    """Its affinity, as in a pod."""
    storage: StorageSettings = StorageSettings()
    """Where profiles are kept."""
    mode: ServerMode = ServerMode.SINGLE
    """`single`: one server does everything. `distributed`: Pyroscope's own micro-services, for more
    than one server can hold; needs `storage.blob`. A change deletes the release and the private
    link and makes them again, and `pulumi preview` says for how long no profiles are taken in."""
    components: ComponentsSettings = ComponentsSettings()
    """Pyroscope's micro-services, with `mode: distributed`."""
    private_link: PrivateLinkSettings = PrivateLinkSettings()
    """How Grafana reaches the server."""
    values: Annotated[Mapping[str, Any], Texts] = Field(default_factory=dict)
    """Further chart values, merged deeply under those the product owns. In annotations and labels
    `true` is read as the text `"true"`."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Chart values, scheduling and storage; none of them for a server that is there."""
        without = sorted(self.model_fields_set - {"existing", "allow_incompatible_server"})
        if self.existing is not None and without:
            names = [to_camel(one) for one in without]
            yield RuleViolation(
                fields=(*names, "existing"),
                at=names[0],
                rule=f"not with `existing`; {' and '.join(f'`{one}`' for one in names)} set",
                why="it would have no effect: the stack runs no server of its own.",
                fix="leave it out",
            )
            return
        yield from broken_values(
            self.values,
            chart=self.chart.version if self.chart.path is None else None,
            image=self.image_tag,
        )
        yield from broken_scheduling(self.resources, self.tolerations, self.affinity)
        yield from broken_storage(self.storage, self.values)
        yield from self._mode()

    def _mode(self) -> Iterable[RuleViolation]:
        """What only one of the two ways to run can do."""
        if self.mode is ServerMode.SINGLE:
            if "components" in self.model_fields_set:
                yield RuleViolation(
                    fields=("components", "mode"),
                    at="components",
                    rule="only with `mode: distributed`",
                    why="one server has no components.",
                    fix="leave it out, or write mode: distributed",
                )
            return
        if self.storage.blob is None:
            yield RuleViolation(
                fields=("mode", "storage"),
                at="mode",
                value=self.mode.value,
                rule="only with `storage: { blob: ... }`",
                why="what ingesters write, others read and compact: a disk or a pod is not shared.",
                fix="write storage: { blob: {} }, or leave `mode` out",
            )
        if self.resources:
            yield RuleViolation(
                fields=("resources", "mode"),
                at="resources",
                rule="only with `mode: single`",
                why="each component would get the same, whatever it does.",
                fix="write components: { ingester: { resources: ... } }, and so on for others",
            )
