"""What every step of the program is given: the settings, what exists, and all the names.

Names and ids that a step needs before the resource exists (the private link's, the owner mark's)
are computed here, once. Looking around is the only thing that happens before the first resource.
"""

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pulumi
import pulumi_azure_native as azure_native

from alerts import AlertOptions, Rule, azure_violations, rules
from components.grafana_target import OwnerArgs
from components.pyroscope_disk import DiskArgs
from contract.agent import NAMESPACE, PYROSCOPE_PORT, PYROSCOPE_SERVICE
from contract.azure import cluster_id, private_link_service_id
from contract.json import Document
from contract.messages.grafana import Source
from contract.messages.survey import (
    ReleaseRecord,
    Survey,
    SurveyRequest,
    WantedOnGrafana,
    WantedSource,
)
from contract.microservices import service_name
from infra.azure_cli import cloud_in_use
from infra.deployed import Deployed, Own, deployed
from infra.disk import planned_disk
from infra.drift import kept_namespace, said_of_drift
from infra.faults import ConfigurationError, Fault
from infra.identity import identity_faults
from infra.interrupted import records_in_the_way, said_of
from infra.local_chart import LocalChart, local_chart
from infra.lookups import Operations, survey
from infra.names import Names, StackName, names_for
from infra.preflight import (
    ClientConfig,
    Existing,
    evaluate,
    operation_in_progress,
    survey_request,
    wanted_on_grafana,
)
from infra.preflight.cloud import CONFIGURATION, check_cloud
from infra.preflight.request import own_resource_group
from infra.renamed import known_as, renamed
from infra.settings import Settings, load, sections_of, with_current_spellings
from infra.settings.project_file import PROJECT_FILE, lost_settings
from infra.storage_change import link_change, mode_change, storage_change

LONGEST_OPERATION_SECONDS = 3600
"""How long an ``up`` waits for another operation: an upgrade of a cluster takes up to an hour."""
WAIT_SECONDS = 60
"""After so long it says again what it waits for."""
NODE_RESOURCE_GROUP_CHARACTERS = 80
"""Azure's limit for the group that AKS makes for the nodes."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """One stack, read and checked."""

    name: str
    known_as: StackName
    """What names and marks are made from: the stack's own name, or one that it had before."""
    settings: Settings
    names: Names
    existing: Existing
    request: SurveyRequest
    """What was looked up, with the ARM ids of what exists."""
    on_grafana: WantedOnGrafana
    """What goes on Grafana, and what it is called there."""
    survey: Survey
    local_chart: LocalChart | None
    """A chart in the project, if the stack uses one."""
    helm_records: tuple[ReleaseRecord, ...]
    """Helm's, that are in the way of this stack's release."""
    was_recovered: bool
    """Whether an earlier update has removed such records."""
    was_repaired: bool
    """Whether an earlier update has put objects of the release back."""
    disk: DiskArgs | None
    """The disk of the profiles, as it was made and as it shall be."""
    azure: azure_native.Provider | None
    """For a subscription of the settings' choice; None: the default provider."""
    azure_elsewhere: Mapping[str, azure_native.Provider]
    """The same for other subscriptions, in lower case, that existing resources are in."""

    @property
    def tags(self) -> Mapping[str, str] | None:
        """For whatever this stack creates in Azure."""
        return self.settings.azure.tags or None

    @property
    def resource_group(self) -> str:
        """For what this stack creates and no setting places elsewhere."""
        return own_resource_group(self.settings)

    @property
    def makes_resource_group(self) -> bool:
        """Whether :attr:`resource_group` is made, and deleted, here."""
        group = self.settings.azure.resource_group
        return group is not None and group.create

    @property
    def cluster_name(self) -> str:
        """Name of the cluster."""
        return self.settings.cluster.named(self.names.cluster)

    @property
    def cluster_id(self) -> str:
        """ARM id of the cluster, also before it exists."""
        return self.request.cluster_id or cluster_id(
            self.existing.subscription_id, self.resource_group, self.cluster_name
        )

    @property
    def cluster_subscription(self) -> str:
        """Subscription of the cluster."""
        return self.settings.cluster.placed_in(self.existing.subscription_id)

    @property
    def grafana_subscription(self) -> str:
        """Subscription of the Grafana workspace."""
        return self.settings.grafana.placed_in(self.existing.subscription_id)

    @property
    def own_subscription(self) -> str:
        """Subscription of :attr:`resource_group`."""
        group = self.settings.azure.resource_group
        return self.existing.subscription_id if group is not None else self.cluster_subscription

    @property
    def cluster_location(self) -> str:
        """Region of the cluster."""
        cluster = self.existing.cluster
        return cluster.location if cluster else self.existing.location

    @property
    def node_resource_group(self) -> str:
        """Group of the nodes; given to a new cluster, so that the private link's id is known."""
        if self.existing.cluster is not None:
            return self.existing.cluster.node_resource_group
        create = self.settings.cluster.create
        if create is not None and create.node_resource_group is not None:
            return create.node_resource_group
        name = f"MC_{self.resource_group}_{self.cluster_name}_{self.existing.location}"
        return name[:NODE_RESOURCE_GROUP_CHARACTERS].rstrip(".")

    @property
    def private_link_name(self) -> str:
        """Name of the Private Link Service."""
        return self.settings.pyroscope.private_link.name or self.names.private_link

    @property
    def private_link_id(self) -> str:
        """ARM id of the Private Link Service, before the cloud controller has made it."""
        group = self.settings.pyroscope.private_link.resource_group or self.node_resource_group
        return private_link_service_id(self.cluster_subscription, group, self.private_link_name)

    @property
    def grafana_name(self) -> str:
        """Name of the Grafana workspace."""
        return self.settings.grafana.named(self.names.grafana)

    @property
    def private_endpoint_name(self) -> str:
        """Name of Grafana's managed private endpoint."""
        return self.settings.grafana.private_endpoint.name or self.names.private_endpoint

    @property
    def grafana_location(self) -> str:
        """Region of the Grafana workspace."""
        grafana = self.existing.grafana
        return grafana.location if grafana else self.existing.location

    @property
    def pyroscope_source(self) -> WantedSource | None:
        """The data source of the profiles; None where one that is there shows them."""
        return self.on_grafana.sources.get(Source.PYROSCOPE)

    @property
    def pyroscope_uid(self) -> str:
        """Uid of the data source of the profiles, whoever made it."""
        existing = self.settings.pyroscope.existing
        theirs = existing.data_source if existing is not None else None
        return theirs or self.on_grafana.sources[Source.PYROSCOPE].uid

    @property
    def prometheus_source(self) -> WantedSource | None:
        """The data source of the metrics, if there are any."""
        return self.on_grafana.sources.get(Source.PROMETHEUS)

    @property
    def cluster_label(self) -> str:
        """Value of the metrics' label ``cluster``."""
        return self.settings.alerts.cluster_label or self.cluster_name

    @property
    def has_metrics_add_on(self) -> bool:
        """Whether Azure Monitor's add-on collects metrics in the cluster."""
        cluster = self.existing.cluster
        return cluster.metrics_enabled if cluster else self.existing.azure_monitor_metrics

    @property
    def alert_rules(self) -> tuple[Rule, ...]:
        """The rules of the alerts that are on."""
        alerts = self.settings.alerts
        return rules(
            AlertOptions(
                stack=self.name,
                cluster=self.cluster_label,
                documentation_url=alerts.documentation_url,
                choices=alerts.choices,
                upload_minutes=self.settings.pyroscope.storage.upload_minutes,
            )
        )

    @property
    def owner(self) -> OwnerArgs:
        """Whose the objects on a shared Grafana are."""
        return _owner(self.cluster_id, self.known_as)

    @property
    def has_private_endpoint(self) -> bool:
        """Whether Grafana reaches Pyroscope through a managed private endpoint of this stack's."""
        return self.settings.grafana.is_managed and self.settings.makes_private_link

    @property
    def pyroscope_url(self) -> str:
        """Where the cluster's own pods ask Pyroscope."""
        service = service_name(PYROSCOPE_SERVICE, self.settings.pyroscope.mode)
        return f"http://{service}.{NAMESPACE}.svc:{PYROSCOPE_PORT}"

    def moves(self, what: str) -> bool:
        """Whether this stack's source or dashboard is on Grafana, under another uid only."""
        return what in self.survey.on_grafana.moving

    def options(
        self,
        *providers: pulumi.ProviderResource,
        subscription: str | None = None,
        depends_on: list[pulumi.Resource] | None = None,
        deleted_with: pulumi.Resource | None = None,
    ) -> pulumi.ResourceOptions:
        """Options of a component: its providers, this stack's Azure among them.

        ``subscription`` is where its resources are, if not in the stack's own.
        """
        chosen = self.azure_elsewhere.get((subscription or "").lower(), self.azure)
        azure = [chosen] if chosen is not None else []
        return pulumi.ResourceOptions(
            providers=[*azure, *providers], depends_on=depends_on, deleted_with=deleted_with
        )


def load_stack(operations: Operations) -> Stack:
    """Read and check the stack's settings and what they rely on.

    ``operations`` look up what exists.

    Raises:
        ConfigurationError: with everything that is wrong.
        pulumi.RunError: where nothing can be looked up.
    """
    provider = pulumi.Config("azure-native")
    configured = {key: provider.get(key) or "" for key in CONFIGURATION}
    check_cloud(os.environ, configured, cloud_in_use(os.environ))
    project, name = pulumi.get_project(), pulumi.get_stack()
    settings = _settings(project)
    # A fault, too, but of the whole program's: without one identity nothing else is worth asking.
    if unknown := [*identity_faults(pulumi.runtime.config.CONFIG.get(), os.environ, name)]:
        raise ConfigurationError(unknown)
    chart = local_chart(settings.pyroscope)
    subscription = settings.azure.subscription_id
    azure = azure_native.Provider("azure", subscription_id=subscription) if subscription else None
    client = _client_config(azure)
    known, own = known_as(project, name, settings.azure.named_after), deployed()
    if unknown := [*renamed(own, known, project, name)]:
        raise ConfigurationError(unknown)
    names = names_for(*known, client.subscription_id)
    request = survey_request(settings, names, client, deployed=own)
    owner = _owner(request.cluster_id or "", known).mark()
    on_grafana = wanted_on_grafana(settings, names, owner)
    further = {"on_grafana": on_grafana, "kept_namespace": kept_namespace(own)}
    request = request.model_copy(update=further)
    preview = pulumi.runtime.is_dry_run()
    found = _surveyed(operations, request, preview=preview)
    existing = evaluate(settings, found, request, own, preview=preview)
    in_the_way = records_in_the_way(found, request, own)
    drift = said_of_drift(found.inside, settings.pyroscope.storage)
    _warn(existing.warnings, said_of(in_the_way), drift, _replaced(settings, own))
    stack = Stack(
        name=name,
        known_as=known,
        settings=settings,
        names=names,
        existing=existing,
        request=request,
        on_grafana=on_grafana,
        survey=found,
        local_chart=chart,
        helm_records=in_the_way,
        was_recovered=Own.RELEASE_RECOVERY in own.known,
        was_repaired=Own.RELEASE_REPAIR in own.known,
        disk=planned_disk(settings.pyroscope, own, request.cluster_id or ""),
        azure=azure,
        azure_elsewhere=_providers_elsewhere(settings, existing.subscription_id),
    )
    if settings.alerts.on:
        _check_rules(stack.alert_rules)
    return stack


def _replaced(settings: Settings, own: Deployed) -> Iterator[str]:
    """Sentences on what a change takes away of a server that is deployed."""
    storage = settings.pyroscope.storage
    moved = storage_change(storage, own)
    relinked = link_change(wanted=settings.makes_private_link, storage=storage, deployed=own)
    yield from filter(None, (moved, relinked, mode_change(settings.pyroscope.mode, own)))


def _settings(project: str) -> Settings:
    written = sections_of(pulumi.runtime.config.CONFIG.get(), project)
    sections, former = with_current_spellings(written)
    _warn(former, lost_settings(_project_file(), sections))
    secret = [key for key in sections if pulumi.runtime.is_config_secret(f"{project}:{key}")]
    return load(sections, secret)


def _owner(cluster_id: str, known: StackName) -> OwnerArgs:
    return OwnerArgs(cluster_id=cluster_id, project=known.project, stack=known.stack)


def _warn(*said: Iterable[str]) -> None:
    for warning in itertools.chain.from_iterable(said):
        pulumi.log.warn(warning)


def _check_rules(wanted: Sequence[Rule]) -> None:
    """Azure's limits on a rule group, before it is asked for one."""
    faults = [
        Fault(
            path="gpuobs:alerts",
            rule=violation,
            why="Azure refuses the whole rule group.",
            fix="turn an alert off, or shorten `documentationUrl`",
        )
        for violation in azure_violations(wanted)
    ]
    if faults:
        raise ConfigurationError(faults)


def _project_file() -> str:
    """The text of the project file; the engine runs the program in its directory."""
    try:
        return Path(PROJECT_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _providers_elsewhere(settings: Settings, own: str) -> dict[str, azure_native.Provider]:
    """A provider for each other subscription in which this stack changes something."""
    used = (settings.cluster.placed_in(own), settings.grafana.placed_in(own))
    return {
        one: azure_native.Provider(f"azure-{one}", subscription_id=one)
        for one in sorted({subscription.lower() for subscription in used} - {own.lower()})
    }


def _surveyed(operations: Operations, request: SurveyRequest, *, preview: bool) -> Survey:
    """What is found; for an update, once no operation is in progress that would refuse it."""
    found = survey(operations, request)
    if preview:
        return found
    for waited in range(0, LONGEST_OPERATION_SECONDS, WAIT_SECONDS):
        occupied = operation_in_progress(found)
        if not occupied:
            break
        pulumi.log.info(
            f"waiting for {occupied} ... {waited} s of at most {LONGEST_OPERATION_SECONDS} s"
        )
        found = survey(operations, request.model_copy(update={"wait": float(WAIT_SECONDS)}))
    return found


def _client_config(azure: azure_native.Provider | None) -> ClientConfig:
    """Who the Azure provider is; its first call, so where it cannot sign in, it fails here."""
    # By its name: the module with the function takes longer to import than the call.
    function = "azure-native:authorization:getClientConfig"
    options = pulumi.InvokeOptions(provider=azure, version=version("pulumi-azure-native"))
    try:
        found = Document(pulumi.runtime.invoke(function, {}, options).value)
    # The SDK raises a plain Exception for an invoke that failed.
    except Exception as error:
        raise pulumi.RunError(
            "Pulumi's Azure provider cannot sign in, so nothing was changed.\n"
            f"  why: {error}\n"
            "  fix: az login, or set ARM_CLIENT_ID, ARM_TENANT_ID, ARM_SUBSCRIPTION_ID and "
            "ARM_CLIENT_SECRET (or ARM_USE_OIDC=true, or ARM_USE_MSI=true); with AZURE_* "
            "variables, ARM_USE_DEFAULT_AZURE_CREDENTIAL=true and ARM_SUBSCRIPTION_ID"
        ) from None
    return ClientConfig(
        found.text("subscriptionId"), found.text("objectId"), found.text("tenantId")
    )
