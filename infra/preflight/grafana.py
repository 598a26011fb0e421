"""Checks of the Grafana workspace and of the Azure Monitor workspace that it reads."""

from collections.abc import Container, Iterator

from contract.azure import Role
from contract.choices import PrincipalType
from contract.lines import line, open_to_public_networks
from contract.messages.survey import GrafanaFacts, Survey, SurveyRequest
from infra.deployed import Own
from infra.preflight.caller import caller_of
from infra.preflight.finding import ELIGIBLE, Finding, Place, role_assignment
from infra.settings import Settings

OLDEST_MAJOR_VERSION = 11
"""The dashboard needs Grafana 11.6."""
OLDEST_CURRENT_MAJOR_VERSION = 12
"""Azure retired 11 on 2026-06-15."""


def check_grafana(settings: Settings, place: Place, grafana: GrafanaFacts) -> Iterator[Finding]:
    """What keeps a workspace that is there from being used; also one that this stack made."""
    state = grafana.provisioning_state
    if state not in ("Succeeded", "Failed", "Canceled", ""):
        yield place.fault(
            rule=f"must be ready; it is {state}",
            why="Azure allows one operation on a workspace at a time.",
            fix="wait for it, then run it again: "
            + line("az", "resource", "wait", "--updated", "--ids", place.id),
        )
    asked = settings.grafana.create
    live = _major(grafana)
    if asked is not None and live is not None and int(asked.major_version) < live:
        yield place.fault(
            rule=f"majorVersion is {asked.major_version}, and the workspace runs {live} already",
            why="Azure upgrades Grafana one way only and refuses to go back.",
            fix=f'write majorVersion: "{live}" in gpuobs:grafana.create',
        )
    if settings.grafana.existing is not None:
        yield from _check_existing(settings, place, grafana, live)


def _check_existing(
    settings: Settings, place: Place, grafana: GrafanaFacts, live: int | None
) -> Iterator[Finding]:
    existing = settings.grafana.existing
    # One that this stack made is fixed by the next update; one of others' is theirs to fix.
    if grafana.provisioning_state in ("Failed", "Canceled"):
        yield place.fault(
            rule=f"must be ready; its last change ended as {grafana.provisioning_state}",
            why="Azure creates no private endpoint in such a workspace.",
            fix="see its activity log in the Azure portal for the reason, and fix it",
        )
    if grafana.sku and grafana.sku.lower() != "standard":
        yield place.fault(
            rule=f"must be of tier Standard; it is {grafana.sku}",
            why="other tiers have no managed private endpoints, so Grafana could not reach "
            "Pyroscope.",
            fix=line("az", "resource", "update", "--ids", place.id, "--set", "sku.name=Standard"),
        )
    if (
        grafana.public_network_access.lower() == "disabled"
        and existing is not None
        and not existing.private_access
    ):
        yield place.fault(
            rule="must be reachable from where you run this; its public network access is Disabled",
            why="data sources and dashboard are put there over its URL, which answers only inside "
            "networks with a private endpoint to it.",
            fix="run this inside such a network and write gpuobs:grafana.existing.privateAccess: "
            f"true, or: {open_to_public_networks(place.id)}",
        )
    upgrade = line(
        *("az", "resource", "update", "--ids", place.id),
        *("--set", "properties.grafanaMajorVersion=12"),
        "--force-string",  # else the Azure CLI sends a number, and Grafana wants a text
    )
    if live is not None and live < OLDEST_MAJOR_VERSION:
        yield place.fault(
            rule=f"must run Grafana 12 or later; it runs {live}",
            why="the dashboard's flame graph needs Grafana 11.6.",
            fix=f"{upgrade} (a downgrade is not possible)",
        )
    elif live is not None and live < OLDEST_CURRENT_MAJOR_VERSION:
        yield (
            f"Grafana workspace {place.name} runs major version {live}, which Azure has retired; "
            f"to upgrade (a downgrade is not possible): {upgrade}"
        )


def check_caller(
    place: Place, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> Iterator[Finding]:
    """Whether the caller may put data sources into an existing workspace."""
    caller = caller_of(survey, request)
    if survey.grafana.caller_may_admin is False:
        yield place.fault(
            rule=f"you need the role {Role.GRAFANA_ADMIN.role_name} on it",
            why="Grafana lets nobody else add data sources; Owner and Contributor do not include "
            "it.",
            fix=role_assignment(
                assignee=caller.assignee,
                kind=caller.type,
                role=Role.GRAFANA_ADMIN,
                scope=place.id,
            )
            + caller.note
            + ELIGIBLE,
        )
    elif survey.grafana.caller_may_admin is None and Own.DASHBOARD not in deployed:
        yield (
            f"Whether you have the role {Role.GRAFANA_ADMIN.role_name} on Grafana workspace "
            f"{place.name} cannot be seen from here, or it has yet to be activated. Without it, "
            "data sources and dashboard are refused."
        )


def check_workspace(place: Place, survey: Survey) -> Iterator[Finding]:
    """Whether an existing Grafana may read an existing Azure Monitor workspace."""
    if survey.workspace.grafana_may_read is False and survey.grafana.principal_id:
        yield place.fault(
            rule=f"Grafana's identity needs the role {Role.MONITORING_DATA_READER.role_name} on it",
            why="every metrics panel would answer 401.",
            fix=role_assignment(
                assignee=survey.grafana.principal_id,
                kind=PrincipalType.SERVICE_PRINCIPAL,
                role=Role.MONITORING_DATA_READER,
                scope=place.id,
            ),
        )


def check_collection(place: Place, survey: Survey) -> Iterator[Finding]:
    """Whether the cluster's metrics reach the workspace by another rule than this stack's."""
    if survey.other_collection_rules:
        yield (
            f"The cluster's metrics go to Azure Monitor workspace {place.name} already, by "
            f"{' and '.join(survey.other_collection_rules)}. This stack's own rule ingests them "
            "(and bills them) a second time; without it: gpuobs:prometheus.azureMonitorWorkspace: "
            "{ collect: false }"
        )


def _major(grafana: GrafanaFacts) -> int | None:
    text = grafana.major_version.partition(".")[0]
    return int(text) if text.isdecimal() else None
