"""Reading and checking a stack: looking around is all that happens before the first resource."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pulumi
import pulumi_azure_native as azure_native

from alerts import Rule, azure_violations
from contract.json import Document
from contract.messages.survey import Survey, SurveyRequest
from infra.azure_cli import cloud_in_use
from infra.deployed import Deployed, deployed
from infra.disk import planned_disk
from infra.drift import extension_release, kept_namespace, said_of_drift
from infra.faults import ConfigurationError, Fault
from infra.identity import identity_faults
from infra.interrupted import left_behind, said_of
from infra.local_chart import local_chart
from infra.lookups import Operations, survey
from infra.names import names_for
from infra.preflight import (
    ClientConfig,
    evaluate,
    operation_in_progress,
    survey_request,
    wanted_on_grafana,
)
from infra.preflight.cloud import CONFIGURATION, check_cloud
from infra.renamed import known_as, renamed
from infra.settings import Settings, load, sections_of, with_current_spellings
from infra.settings.project_file import PROJECT_FILE, lost_settings
from infra.stack import Stack, owner_of
from infra.storage_change import link_change, mode_change, storage_change

LONGEST_OPERATION_SECONDS = 3600
"""How long an ``up`` waits for another operation: an upgrade of a cluster takes up to an hour."""
WAIT_SECONDS = 60
"""After so long it says again what it waits for."""


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
    owner = owner_of(request.cluster_id or "", known).mark()
    on_grafana = wanted_on_grafana(settings, names, owner)
    further = {"on_grafana": on_grafana, "kept_namespace": kept_namespace(own)}
    request = request.model_copy(update=further)
    preview = pulumi.runtime.is_dry_run()
    found = _surveyed(operations, request, preview=preview)
    existing = evaluate(settings, found, request, own, preview=preview)
    left = left_behind(found, request, own)
    drift = said_of_drift(found.inside, settings.pyroscope.storage)
    _warn(existing.warnings, said_of(left), drift, _replaced(settings, own))
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
        left=left,
        extension_release=extension_release(found.installed, own),
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
        occupied = operation_in_progress(found, request)
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
