"""From the facts of a survey to what the program needs to know, or to everything that is wrong."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TypeVar

from contract.azure import NOT_REGISTERED, is_at_rest, name_of
from contract.lines import line, register_provider
from contract.messages.leftovers import Leftover
from contract.messages.survey import (
    ClusterFacts,
    GrafanaFacts,
    Presence,
    Survey,
    SurveyRequest,
    WorkspaceFacts,
)
from infra.deployed import EVERYTHING, Own
from infra.faults import ConfigurationError, Fault
from infra.preflight.agent import check_agent, installed_agent
from infra.preflight.automatic import check_automatic
from infra.preflight.capacity import check_capacity
from infra.preflight.cluster import (
    check_autoscaled_pool,
    check_cluster,
    check_metrics,
    check_quota,
)
from infra.preflight.existing_pyroscope import check_existing_pyroscope
from infra.preflight.finding import Finding, Place
from infra.preflight.gpu_software import check_gpu_software
from infra.preflight.grafana import (
    check_caller,
    check_collection,
    check_grafana,
    check_workspace,
)
from infra.preflight.leftovers import (
    check_leftovers,
    own_endpoint,
    own_extension,
    own_leftovers,
    own_pool,
)
from infra.preflight.locks import check_locks
from infra.preflight.on_grafana import check_on_grafana
from infra.preflight.own_grafana import check_own_grafana
from infra.preflight.presence import check_complete, check_presence, check_tokens
from infra.preflight.private_link import (
    check_network,
    check_private_link,
    check_regions,
    check_visibility,
    makes_link_role,
)
from infra.preflight.rights import check_rights
from infra.preflight.storage import check_sign_in, check_storage, is_kept
from infra.settings import AzureMonitorMetrics, Collect, Settings

T = TypeVar("T", ClusterFacts, GrafanaFacts)

LONGEST_FIRST_UPDATE = 30 * 60
"""Seconds: a pool, the agent, the private link and its endpoint, and Azure on a slow day."""


@dataclass(frozen=True, kw_only=True)
class Existing:
    """What the program needs to know of things that exist, and what follows from it."""

    subscription_id: str
    location: str
    """Region of the resources this stack creates, e.g. ``westeurope``."""
    cluster: ClusterFacts | None
    """The existing cluster; None where this stack creates it; the same for the others."""
    grafana: GrafanaFacts | None
    workspace: WorkspaceFacts | None
    agent_version: str
    """Of the agent that runs and stays; empty where only the update shows it."""
    azure_monitor_metrics: bool
    """Whether the agent writes to Azure Monitor (``azureMonitor.enabled``); on a cluster that this
    stack makes, also whether the metrics add-on is on."""
    collects: bool
    """Whether this stack's own rule brings the cluster's metrics to the workspace."""
    leftovers: tuple[Leftover, ...]
    """What a killed run has left in the cluster, to be removed before its like is made."""
    storage_kept: bool
    """Whether the storage account of the profiles is there from an earlier deployment."""
    makes_link_role: bool
    """Whether the cluster's identity is let make the private link in a group of one's own."""
    own_endpoint: str
    """ARM id of the private endpoint that a killed run has made, to be imported; empty: none."""
    own_pool: str
    """The same of the GPU pool."""
    own_extension: str
    """The same of the agent's extension."""
    warnings: tuple[str, ...]
    """Sentences on what works less well than it could."""


def evaluate(
    settings: Settings,
    survey: Survey,
    request: SurveyRequest,
    deployed: Container[str] = EVERYTHING,
    *,
    preview: bool = False,
) -> Existing:
    """What follows from ``survey``, the answer to ``request``.

    ``deployed`` are the names of what is in this stack's state already. In a ``preview`` nothing is
    changed, so that an operation in progress is no fault.

    Raises:
        ConfigurationError: with everything that does not fit.
    """
    if survey.problem:
        raise ConfigurationError([_no_answer(survey.problem)])
    collects = _collects(settings, survey, deployed)
    findings = [
        *_findings(settings, survey, request, _Run(deployed, collects, preview)),
        *check_leftovers(settings, survey, request, deployed, collects=collects),
        *check_gpu_software(settings, survey, request, deployed),
    ]
    faults = [finding for finding in findings if isinstance(finding, Fault)]
    warnings = tuple(finding for finding in findings if isinstance(finding, str))
    if faults:
        raise ConfigurationError(faults, warnings)
    cluster = survey.cluster if settings.cluster.existing is not None else None
    return Existing(
        subscription_id=_subscription(survey, request),
        location=_location(settings, survey),
        cluster=cluster,
        grafana=survey.grafana if settings.grafana.existing is not None else None,
        workspace=survey.workspace if request.workspace_id is not None else None,
        agent_version=installed_agent(settings, survey.extension),
        azure_monitor_metrics=_azure_monitor_metrics(settings, cluster),
        collects=collects,
        leftovers=own_leftovers(settings, survey, deployed),
        storage_kept=is_kept(settings, survey, request, deployed),
        own_endpoint=own_endpoint(survey, request, deployed),
        own_pool=own_pool(settings, survey, request, deployed),
        own_extension=own_extension(settings, survey, deployed),
        makes_link_role=makes_link_role(settings, survey, deployed),
        warnings=warnings,
    )


@dataclass(frozen=True)
class _Run:
    """What is known of the stack and of this run."""

    deployed: Container[str]
    collects: bool
    preview: bool


def _findings(
    settings: Settings, survey: Survey, request: SurveyRequest, run: _Run
) -> Iterator[Finding]:
    yield from _identity(survey, request)
    yield from check_tokens(survey, request)
    yield from _assertion(survey)
    yield from _registrations(survey, request)
    yield from _resource_group(settings, survey, request)
    yield from check_locks(survey, request, run.deployed, _subscription(survey, request))
    yield from _cluster(settings, survey, request, run)
    yield from check_agent(settings, survey.extension)
    yield from _grafana(settings, survey, request, run)
    yield from _workspace(survey, request, collects=run.collects)
    yield from check_storage(settings, survey, request, run.deployed)
    yield from check_existing_pyroscope(settings, survey, run.deployed)
    if settings.makes_private_link:
        yield from check_visibility(settings, _subscription(survey, request))
    if request.private_endpoint_name is not None:
        yield from check_regions(survey, _location(settings, survey))
    yield from _action_groups(survey)
    yield from check_rights(survey, request, run.deployed, collects=run.collects)
    yield from check_quota(settings, survey)
    yield from _registry_login(survey, request)


def operation_in_progress(survey: Survey, request: SurveyRequest) -> str:
    """What an ``up`` waits for before it changes anything, for a person; empty: nothing."""
    places = [
        ("cluster", survey.cluster.id, survey.cluster.provisioning_state),
        ("Grafana workspace", survey.grafana.id, survey.grafana.provisioning_state),
    ]
    places += [
        ("node pool", request.gpu_pool_id, pool.provisioning_state)
        for pool in survey.cluster.pools
        if request.gpu_pool_id and pool.name == name_of(request.gpu_pool_id)
    ]
    if survey.installed.id == request.extension_id:
        places.append(("extension", survey.installed.id, survey.installed.provisioning_state))
    for kind, found, state in places:
        if _ends_by_itself(state):
            return f"{kind} {name_of(found)}, which is {state}"
    return ""


def _ends_by_itself(state: str) -> bool:
    """Whether it is an operation after which the thing is still there."""
    return not is_at_rest(state) and state != "Deleting"


def _as_at_rest(found: T, place: Place, *, preview: bool) -> tuple[T, str]:
    """In a preview: ``found`` without an operation that ends by itself, and a sentence of it."""
    state = found.provisioning_state
    if not preview or not _ends_by_itself(state):
        return found, ""
    return found.model_copy(update={"provisioning_state": ""}), (
        f"The {place.kind} {place.name} has an operation in progress ({state}); `pulumi up` waits "
        "until it has ended."
    )


def _cluster(
    settings: Settings, survey: Survey, request: SurveyRequest, run: _Run
) -> Iterator[Finding]:
    cluster, existing = survey.cluster, settings.cluster.existing is not None
    place = Place(f"gpuobs:cluster.{_how(existing)}", "cluster", request.cluster_id or "")
    # One that this stack makes may not be there yet; but where it is, its update says what is so.
    unseen = (Presence.FORBIDDEN, Presence.REFUSED, Presence.UNREACHABLE)
    if existing or cluster.presence in unseen:
        yield from check_presence(place, cluster.presence, cluster.detail, survey)
    if cluster.presence is Presence.FOUND:
        cluster, warning = _as_at_rest(cluster, place, preview=run.preview)
        if warning:
            yield warning
        yield from check_cluster(settings, place, cluster)
        if settings.makes_private_link:
            yield from check_network(settings, place, survey)
        yield from check_automatic(settings, place, cluster)
        yield from check_autoscaled_pool(settings, cluster)
        if existing:
            yield from check_complete(
                place, location=cluster.location, node_resource_group=cluster.node_resource_group
            )
            yield from check_metrics(settings, place, cluster, request.workspace_id)
            yield from check_sign_in(settings, place, cluster)
    if cluster.presence in (Presence.FOUND, Presence.ABSENT):
        yield from check_capacity(settings, place, survey)
    if settings.makes_private_link:
        yield from check_private_link(settings, place, survey, request, run.deployed)


def _grafana(
    settings: Settings, survey: Survey, request: SurveyRequest, run: _Run
) -> Iterator[Finding]:
    if request.own_grafana is not None:
        yield from check_own_grafana(settings, survey, request.own_grafana)
        return
    grafana, existing = survey.grafana, settings.grafana.existing is not None
    place = Place(f"gpuobs:grafana.{_how(existing)}", "Grafana workspace", request.grafana_id or "")
    if existing:
        yield from check_presence(place, grafana.presence, grafana.detail, survey)
    if grafana.presence is Presence.FOUND:
        grafana, warning = _as_at_rest(grafana, place, preview=run.preview)
        if warning:
            yield warning
        yield from check_grafana(settings, place, grafana)
        yield from check_on_grafana(settings, f"Grafana workspace {place.name}", survey)
        if existing:
            yield from check_complete(place, location=grafana.location, endpoint=grafana.endpoint)
            yield from check_caller(place, survey, request, run.deployed)


def _workspace(survey: Survey, request: SurveyRequest, *, collects: bool) -> Iterator[Finding]:
    if request.workspace_id is None:
        return
    workspace = survey.workspace
    place = Place(
        "gpuobs:prometheus.azureMonitorWorkspace.existing",
        "Azure Monitor workspace",
        request.workspace_id,
    )
    yield from check_presence(place, workspace.presence, workspace.detail, survey)
    if workspace.presence is Presence.FOUND:
        yield from check_complete(
            place, location=workspace.location, query_endpoint=workspace.query_endpoint
        )
        yield from check_workspace(place, survey)
        if collects:
            yield from check_collection(place, survey)


def _action_groups(survey: Survey) -> Iterator[Finding]:
    for number, group in enumerate(survey.action_groups):
        place = Place(f"gpuobs:alerts.actionGroups[{number}]", "action group", group.id)
        yield from check_presence(place, group.presence, group.detail, survey)
        if group.presence is Presence.FOUND and not group.enabled:
            enable = line(
                "az", "monitor", "action-group", "update", *place.options, "--set", "enabled=true"
            )
            yield f"Action group {place.name} is disabled, so the alerts notify nobody: {enable}"


# --- the subscription, the caller, the group ---------------------------------------------------


def _no_answer(problem: str) -> Fault:
    return Fault(
        path="Azure",
        rule="must answer to the credentials of this machine",
        why=f"nothing could be looked up: {problem}",
        fix="sign in (az login), or set ARM_CLIENT_ID, ARM_TENANT_ID, ARM_SUBSCRIPTION_ID and "
        "ARM_CLIENT_SECRET (or ARM_USE_OIDC=true, or ARM_USE_MSI=true), and run it again",
    )


def _identity(survey: Survey, request: SurveyRequest) -> Iterator[Finding]:
    provider, caller = request.provider_object_id.lower(), survey.caller_object_id.lower()
    if provider and caller and provider != caller:
        subscription = _subscription(survey, request)
        choose = line("az", "account", "set", "--subscription", subscription)
        yield (
            f"The Azure provider works as {request.provider_object_id}, the program's own steps as "
            f"{survey.caller_object_id}: both need the rights. They are the same where the "
            "ARM_* variables name the identity; with `az login`, where one account is signed in "
            f"for subscription {subscription}: {choose}"
        )


def _assertion(survey: Survey) -> Iterator[Finding]:
    seconds = survey.assertion_seconds
    if seconds is not None and seconds < LONGEST_FIRST_UPDATE:
        yield (
            f"The federated token in ARM_OIDC_TOKEN is good for another {max(0, seconds) // 60} "
            "minutes. Each step on Grafana signs in with it, and those of a new stack come after a "
            "quarter of an hour: they would fail. Leave ARM_OIDC_TOKEN out and let each "
            "step ask for one (in GitHub Actions `permissions: id-token: write` is enough), or "
            "keep one that the job renews in a file (ARM_OIDC_TOKEN_FILE_PATH)."
        )


def _registry_login(survey: Survey, request: SurveyRequest) -> Iterator[Finding]:
    if survey.registry_login_file and request.chart_registry:
        yield (
            f"{survey.registry_login_file} holds a login for {request.chart_registry}, which Helm "
            "sends also for a public chart. If the chart is denied (403), the login is stale: "
            f"docker logout {request.chart_registry}"
        )


def _registrations(survey: Survey, request: SurveyRequest) -> Iterator[Finding]:
    subscription = _subscription(survey, request)
    if survey.unregistered:
        lines = "; ".join(
            register_provider(namespace, subscription) for namespace in survey.unregistered
        )
        yield Fault(
            path=f"subscription {subscription}",
            rule=f"needs the resource providers {', '.join(survey.unregistered)} registered",
            why=f"Azure refuses their resources with {NOT_REGISTERED}.",
            fix=lines,
        )


def _resource_group(
    settings: Settings, survey: Survey, request: SurveyRequest
) -> Iterator[Finding]:
    name, subscription = request.resource_group, _subscription(survey, request)
    if name is None:
        return
    path = f"gpuobs:azure.resourceGroup (group {name})"
    if survey.resource_group is Presence.ABSENT:
        region = settings.azure.location or survey.cluster.location
        create = line(
            *("az", "group", "create", "--name", name),
            *("--location", region or "REGION", "--subscription", subscription),
        )
        which = "" if region else " (REGION is where its resources shall be, e.g. westeurope)"
        yield Fault(
            path=path,
            rule=f"must exist in subscription {subscription}; it does not",
            why="the stack's own resources are created in it.",
            fix=f"write `create: true` beside its name, or: {create}{which}",
        )
    elif survey.resource_group is Presence.FORBIDDEN:
        yield Fault(
            path=path,
            rule="you must be allowed to read it",
            why="without the right to read it nothing can be created in it.",
            fix=f"ask its owner for the role Contributor on group {name}",
        )
    elif survey.resource_group in (Presence.UNREACHABLE, Presence.REFUSED):
        yield Fault(
            path=path,
            rule="must be readable; Azure did not answer"
            if survey.resource_group is Presence.UNREACHABLE
            else "must be readable; Azure refuses to show it",
            why="whether it exists is not known.",
            fix="check the network and the proxy of this machine, and run it again",
        )
    elif not _location(settings, survey):
        yield Fault(
            path="gpuobs:azure.location",
            rule="needed: neither a cluster nor a resource group states a region",
            why="Azure must know where the stack's resources go.",
            fix="write gpuobs:azure: { location: westeurope }, or another region with GPUs",
        )


# --- decisions ---------------------------------------------------------------------------------


def _how(existing: bool) -> str:
    return "existing" if existing else "create"


def _subscription(survey: Survey, request: SurveyRequest) -> str:
    return survey.subscription_id or request.subscription_id or request.provider_subscription_id


def _location(settings: Settings, survey: Survey) -> str:
    if settings.azure.location is not None:
        return settings.azure.location
    if settings.cluster.existing is not None and survey.cluster.location:
        return survey.cluster.location
    return survey.resource_group_location


def _collects(settings: Settings, survey: Survey, deployed: Container[str]) -> bool:
    """Whether this stack makes the rule, or has made it: what it made stays."""
    workspace = settings.prometheus.azure_monitor_workspace
    if workspace is None or workspace.collect is Collect.NO:
        return False
    if workspace.collect is Collect.YES or Own.COLLECTION_RULE in deployed:
        return True
    return not survey.other_collection_rules


def _azure_monitor_metrics(settings: Settings, cluster: ClusterFacts | None) -> bool:
    asked = settings.inspektor_gadget.azure_monitor
    if asked is AzureMonitorMetrics.AUTO:
        if cluster is not None:
            return cluster.metrics_enabled
        return settings.prometheus.azure_monitor_workspace is not None
    return asked is AzureMonitorMetrics.ON
