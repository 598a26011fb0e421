"""What every step of the program is given: the settings, what exists, and all the names.

Names and ids that a step needs before the resource exists (the private link's, the owner mark's)
are computed here, once. How a stack is read and checked is :mod:`infra.loading`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_azure_native as azure_native

from alerts import AlertOptions, Rule, rules
from components.grafana_target import OwnerArgs
from components.pyroscope_disk import DiskArgs
from contract.agent import NAMESPACE, PYROSCOPE_PORT, PYROSCOPE_SERVICE
from contract.azure import cluster_id, private_link_service_id
from contract.messages.grafana import Source
from contract.messages.survey import Survey, SurveyRequest, WantedOnGrafana, WantedSource
from contract.microservices import service_name
from infra.interrupted import LeftBehind
from infra.local_chart import LocalChart
from infra.names import Names, StackName
from infra.preflight import Existing
from infra.preflight.request import own_resource_group
from infra.settings import Settings

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
    left: LeftBehind
    """What earlier runs, or people, have left half-done."""
    extension_release: str
    """The extension's Helm release, where it is known; empty: it is named like the extension."""
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
        return owner_of(self.cluster_id, self.known_as)

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


def owner_of(cluster_id: str, known: StackName) -> OwnerArgs:
    """Whose the objects of a stack are, on a Grafana that it shares with others."""
    return OwnerArgs(cluster_id=cluster_id, project=known.project, stack=known.stack)
