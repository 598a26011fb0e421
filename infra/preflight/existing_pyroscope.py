"""Checks of a Pyroscope that is there already, and of the way from the stack's own to it."""

from collections.abc import Container, Iterator

from contract.compatibility import SERVERS, installed_conflict
from contract.grafana import PYROSCOPE
from contract.lines import line
from contract.messages.survey import Presence, Survey
from infra.deployed import EVERYTHING, Own
from infra.faults import Fault
from infra.preflight.finding import Finding
from infra.settings import UNLESS_ALLOWED, ExistingPyroscope, Settings

_AT = "gpuobs:pyroscope.existing"


def check_existing_pyroscope(
    settings: Settings, survey: Survey, deployed: Container[str]
) -> Iterator[Finding]:
    """Whether the agents and Grafana can use it, and whether its name is free in the cluster."""
    existing = settings.pyroscope.existing
    yield from _one_at_a_time(existing, deployed)
    if existing is None:
        return
    yield from _version(settings, existing, survey)
    yield from _source(existing, survey)


def _one_at_a_time(
    existing: ExistingPyroscope | None, deployed: Container[str]
) -> Iterator[Finding]:
    """One Service of that name: what is there has to go before the other is made.

    The engine deletes what is not in the program any more when all else is done, so a run of its
    own does it: with what depends on it, in order, and nothing else.
    """
    if deployed is EVERYTHING:
        return
    kinds = (Own.ELSEWHERE, Own.RELEASE)
    wanted, other = kinds if existing is not None else kinds[::-1]
    if other in deployed and wanted not in deployed:
        away = "pyroscope" if existing is not None else "pyroscope-elsewhere"
        target = ("--target", f"**::{away}", "--target-dependents")
        yield Fault(
            path=_AT,
            rule="comes and goes in two commands",
            why="the Service `pyroscope` of the other kind is there, and Kubernetes has one of a "
            "name.",
            fix=f"{line('pulumi', 'destroy', *target)}, which takes the other away with what leads "
            "to it and leaves the rest, then pulumi up. A server of the stack's own writes what it "
            "holds first where it has a place to: without `storage.disk` and `storage.blob` its "
            "profiles go with it",
        )


def _version(settings: Settings, existing: ExistingPyroscope, survey: Survey) -> Iterator[Finding]:
    version, agent = survey.pyroscope.version, survey.extension.current_version
    if not version:
        yield (
            f"{_AT}.url ({existing.url}) could not be asked for its version from here; profiles "
            f"arrive at Pyroscope {SERVERS} only, and a later one takes them and shows nothing."
        )
        return
    conflict = installed_conflict(server=version, agent=agent)
    if conflict is None:
        return
    if settings.pyroscope.allow_incompatible_server:
        yield f"{_AT}.url ({existing.url}) runs Pyroscope {version}: {conflict.why}"
        return
    yield Fault(
        path=f"{_AT}.url ({existing.url})",
        value=f'"{version}"',
        rule=conflict.rule,
        why=conflict.why,
        fix=f"use a server of these versions {UNLESS_ALLOWED}",
    )


def _source(existing: ExistingPyroscope, survey: Survey) -> Iterator[Finding]:
    found, uid = survey.pyroscope, existing.data_source
    if found.source is Presence.ABSENT:
        yield Fault(
            path=f"{_AT}.dataSource",
            value=f'"{uid}"',
            rule="must be the uid of a data source of that Grafana; there is none",
            why="the dashboard would show nothing.",
            fix="write its uid, which is the last part of its page's address, or leave it out",
        )
    elif found.source is Presence.FOUND and found.source_type != PYROSCOPE:
        yield Fault(
            path=f"{_AT}.dataSource",
            value=f'"{uid}"',
            rule=f"must be of type {PYROSCOPE}; it is {found.source_type}",
            why="flame graphs come from Pyroscope.",
            fix="write the uid of its Pyroscope source, or leave it out",
        )
