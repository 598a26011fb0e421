"""The whole configuration, and the rules that hold between its sections."""

from collections.abc import Iterable

from pydantic.alias_generators import to_camel

from contract.choices import SYSTEM_POOL, OnDestroy
from contract.compatibility import conflicts
from infra.settings.alerts import AlertsSettings
from infra.settings.azure import MAXIMUM_TAG_NAME_OF_STORAGE, MAXIMUM_TAGS, AzureSettings
from infra.settings.cluster import ClusterSettings
from infra.settings.gpu_pool import GpuPoolSettings
from infra.settings.grafana import GrafanaSettings
from infra.settings.inspektor_gadget import InspektorGadgetSettings
from infra.settings.prometheus import PrometheusSettings
from infra.settings.pyroscope import UNLESS_ALLOWED, PyroscopeSettings
from infra.settings.registry import RegistrySettings
from infra.settings.section import RuleViolation, Section


class Settings(Section):
    """Every setting of a stack."""

    azure: AzureSettings = AzureSettings()
    """Where the stack's own resources go."""
    cluster: ClusterSettings
    """The AKS cluster to measure."""
    gpu_pool: GpuPoolSettings = GpuPoolSettings()
    """The nodes with GPUs."""
    inspektor_gadget: InspektorGadgetSettings = InspektorGadgetSettings()
    """The agent that records GPU memory allocations."""
    pyroscope: PyroscopeSettings = PyroscopeSettings()
    """The server that keeps the profiles, and the private link to it."""
    grafana: GrafanaSettings
    """The Grafana workspace and what is put into it."""
    prometheus: PrometheusSettings = PrometheusSettings()
    """Where the agent's metrics are read from."""
    registry: RegistrySettings = RegistrySettings()
    """Where images and the chart come from."""
    alerts: AlertsSettings = AlertsSettings()
    """Whom Azure Monitor notifies, and of what."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The rules between sections; paths start with the section."""
        yield from self._compatibility()
        yield from self._resource_group()
        yield from self._new_cluster()
        yield from self._own_visibility()
        yield from self._alerts()
        yield from self._kept_account()
        yield from self._account_tags()
        yield from self._private_link()
        yield from self._azure_sign_in()

    @property
    def makes_private_link(self) -> bool:
        """Whether Pyroscope is behind a Private Link Service."""
        if self.pyroscope.existing is not None:
            return False
        asked = self.pyroscope.private_link.create
        return self.grafana.is_managed if asked is None else asked

    @property
    def makes_alerts(self) -> bool:
        """Whether there are alerts, on metrics of an Azure Monitor workspace."""
        return self.alerts.on and self.prometheus.azure_monitor_workspace is not None

    def _private_link(self) -> Iterable[RuleViolation]:
        link = self.pyroscope.private_link
        if self.grafana.is_managed:
            if link.create is False:
                yield RuleViolation(
                    fields=("pyroscope.privateLink.create", "grafana.selfHosted"),
                    at="pyroscope.privateLink.create",
                    value="false",
                    rule="`false` only with `grafana: { selfHosted: ... }`",
                    why="an Azure Managed Grafana reaches Pyroscope through it alone.",
                    fix="leave it out",
                )
            return
        without = sorted(link.model_fields_set - {"create"})
        if not self.makes_private_link and without:
            at = f"pyroscope.privateLink.{to_camel(without[0])}"
            yield RuleViolation(
                fields=(at, "pyroscope.privateLink.create", "grafana.selfHosted"),
                at=at,
                rule="only where there is a private link",
                why="it would have no effect: with `grafana.selfHosted` none is made.",
                fix="leave it out, or write gpuobs:pyroscope: { privateLink: { create: true } } "
                "for one that you connect to yourself",
            )

    def _azure_sign_in(self) -> Iterable[RuleViolation]:
        own = self.grafana.self_hosted
        if own is None:
            return
        in_azure = self.prometheus.azure_monitor_workspace is not None
        if in_azure and own.azure_sign_in is None:
            yield RuleViolation(
                fields=("grafana.selfHosted.azureSignIn", "prometheus.azureMonitorWorkspace"),
                at="grafana.selfHosted.azureSignIn",
                rule="needed with `prometheus: { azureMonitorWorkspace: ... }`",
                why="the workspace answers nobody who is not signed in, and a Grafana of your own "
                "has an identity in Azure only if you gave it one.",
                fix="write azureSignIn: workloadIdentity or managedIdentity, as Grafana's own "
                "configuration ([azure] of grafana.ini) has it; or give the metrics' Prometheus as "
                "gpuobs:prometheus: { url: URL }",
            )
        if not in_azure and own.azure_sign_in is not None:
            yield RuleViolation(
                fields=("grafana.selfHosted.azureSignIn", "prometheus.azureMonitorWorkspace"),
                at="grafana.selfHosted.azureSignIn",
                value=own.azure_sign_in.value,
                rule="only with `prometheus: { azureMonitorWorkspace: ... }`",
                why="it would have no effect: nothing else is read from Azure.",
                fix="leave it out",
            )

    def _compatibility(self) -> Iterable[RuleViolation]:
        if self.pyroscope.allow_incompatible_server or self.pyroscope.existing is not None:
            return  # the version of a server that is there is asked for, by a preview
        chart = self.pyroscope.chart
        places = {
            "server": ("pyroscope.imageTag", self.pyroscope.image_tag),
            "chart": ("pyroscope.chart.version", chart.version),
            "agent": ("inspektorGadget.version", self.inspektor_gadget.version),
        }
        for conflict in conflicts(
            server=self.pyroscope.image_tag,
            # A chart in the project has a version of its own, which this setting does not change.
            chart=None if chart.path is not None else chart.version,
            agent=self.inspektor_gadget.version,
        ):
            at, value = places[conflict.part]
            yield RuleViolation(
                fields=(at, "pyroscope.allowIncompatibleServer"),
                at=at,
                value=value,
                rule=conflict.rule,
                why=conflict.why,
                fix=f"{conflict.fix} {UNLESS_ALLOWED}",
            )

    def _resource_group(self) -> Iterable[RuleViolation]:
        group = self.azure.resource_group
        if self.cluster.create is not None and group is None:
            yield RuleViolation(
                fields=("azure.resourceGroup", "cluster.create"),
                at="azure.resourceGroup",
                rule="needed with `cluster: { create: ... }`",
                why="there is no cluster yet whose resource group could be used.",
                fix="write gpuobs:azure: { resourceGroup: { name: NAME, create: true } }",
            )
        if (
            group is not None
            and group.create
            and self.azure.location is None
            and self.cluster.create is not None
        ):
            yield RuleViolation(
                fields=("azure.location", "azure.resourceGroup", "cluster.create"),
                at="azure.location",
                rule="needed where both the resource group and the cluster are made",
                why="there is nothing yet whose region could be used.",
                fix="write gpuobs:azure: { location: westeurope }, or another region with GPUs",
            )

    def _new_cluster(self) -> Iterable[RuleViolation]:
        if self.cluster.create is None or not self.gpu_pool.enabled:
            return
        if self.gpu_pool.name == SYSTEM_POOL:
            yield RuleViolation(
                fields=("gpuPool.name", "cluster.create"),
                at="gpuPool.name",
                value=self.gpu_pool.name,
                rule=f"`{SYSTEM_POOL}` is the new cluster's own first pool",
                why="one pool would overwrite the other.",
                fix="choose another name, e.g. gpu",
            )
        if self.gpu_pool.subnet_id is not None:
            yield RuleViolation(
                fields=("gpuPool.subnetId", "cluster.create"),
                at="gpuPool.subnetId",
                value=self.gpu_pool.subnet_id,
                rule="only with an existing cluster",
                why="a new cluster brings a network of its own, and AKS refuses a pool in another.",
                fix="leave it out",
            )

    def _own_visibility(self) -> Iterable[RuleViolation]:
        own = (self.azure.subscription_id or "").lower()
        if own and {entry.lower() for entry in self.pyroscope.private_link.visibility} == {own}:
            yield RuleViolation(
                fields=("pyroscope.privateLink.visibility", "azure.subscriptionId"),
                at="pyroscope.privateLink.visibility",
                rule="not your own subscription alone",
                why="Grafana's endpoint lives in a subscription of Microsoft's and could not find "
                "the private link.",
                fix='leave it out for ["*"]: connections still wait for an approval',
            )

    def _alerts(self) -> Iterable[RuleViolation]:
        if self.alerts.on and self.prometheus.azure_monitor_workspace is None:
            yield RuleViolation(
                fields=("alerts", "prometheus.azureMonitorWorkspace"),
                at="alerts",
                rule="only with `prometheus: { azureMonitorWorkspace: ... }`",
                why="Azure Monitor evaluates the rules on the metrics of its workspace.",
                fix="name the workspace; for a Prometheus of your own leave the section out and "
                "give it the file that `python -m gpuobs alerts --format prometheus` prints",
            )

    def _account_tags(self) -> Iterable[RuleViolation]:
        if not self.pyroscope.storage.makes_account:
            return
        tags = self.azure.tags
        if len(tags) == MAXIMUM_TAGS:
            yield RuleViolation(
                fields=("azure.tags", "pyroscope.storage.blob"),
                at="azure.tags",
                rule=f"at most {MAXIMUM_TAGS - 1} tags, not {len(tags)}, with a storage account",
                why="the account carries one more, by which the stack knows it again, and Azure "
                f"refuses every resource with more than {MAXIMUM_TAGS}.",
                fix="leave one out",
            )
        for name in tags:
            if len(name) > MAXIMUM_TAG_NAME_OF_STORAGE:
                yield RuleViolation(
                    fields=("azure.tags", "pyroscope.storage.blob"),
                    at="azure.tags",
                    value=name,
                    rule="a tag's name has at most "
                    f"{MAXIMUM_TAG_NAME_OF_STORAGE} characters with a storage account",
                    why="Azure refuses the account with it, and only the account.",
                    fix="shorten the name",
                )

    def _kept_account(self) -> Iterable[RuleViolation]:
        storage, group = self.pyroscope.storage, self.azure.resource_group
        if not storage.makes_account or storage.on_destroy is not OnDestroy.KEEP:
            return
        own = storage.blob.resource_group if storage.blob is not None else None
        if group is not None and group.create and (own or group.name).lower() == group.name.lower():
            yield RuleViolation(
                fields=(
                    "pyroscope.storage.blob",
                    "pyroscope.storage.onDestroy",
                    "azure.resourceGroup",
                ),
                at="pyroscope.storage.onDestroy",
                value=storage.on_destroy.value,
                rule="a storage account that stays needs a resource group that stays",
                why=f"group {group.name} is the stack's own and is deleted with all that is in it, "
                "the profiles as well.",
                fix="write storage: { blob: { resourceGroup: GROUP } } with a group that exists, "
                "or onDestroy: delete",
            )
