"""What this stack puts on Grafana, and whether somebody else's objects are in its place there."""

from collections.abc import Iterator

from contract.grafana import PROMETHEUS, PYROSCOPE
from contract.messages.grafana import Owner, Source
from contract.messages.survey import DASHBOARD, InTheWay, Survey, WantedOnGrafana, WantedSource
from infra.faults import Fault
from infra.names import Names
from infra.preflight.finding import Finding
from infra.settings import NamedSource, Settings


def wanted_on_grafana(settings: Settings, names: Names, owner: Owner) -> WantedOnGrafana:
    """What this stack puts on Grafana, and what it is called there."""
    named = settings.grafana.data_sources
    sources: dict[str, WantedSource] = {
        Source.PYROSCOPE: _wanted(named.pyroscope, names.pyroscope_source, PYROSCOPE),
        Source.PROMETHEUS: _wanted(named.prometheus, names.prometheus_source, PROMETHEUS),
    }
    if not settings.prometheus.has_metrics:
        del sources[Source.PROMETHEUS]
    existing = settings.pyroscope.existing
    if existing is not None and existing.data_source is not None:
        del sources[Source.PYROSCOPE]
    return WantedOnGrafana(
        owner=owner,
        sources=sources,
        dashboard_uid=settings.grafana.dashboard.uid or names.dashboard,
    )


def check_on_grafana(settings: Settings, where: str, survey: Survey) -> Iterator[Finding]:
    """Whether what the stack puts there would meet something that is not its own.

    ``where`` is what a message calls that Grafana.
    """
    for found in survey.on_grafana.in_the_way:
        if found.same_stack:
            yield (
                f"On {where}, {_label(found)} is of another cluster: its "
                f"owner is {found.whose}. If that was this stack's cluster before, it is "
                "replaced now; if it is another stack's, `up` will refuse to touch it."
            )
        elif found.provisioned or not settings.grafana.adopt:
            yield _fault(where, found)


def _fault(where: str, found: InTheWay) -> Fault:
    setting = (
        f"gpuobs:grafana.dashboard.{found.by}"
        if found.wanted == DASHBOARD
        else f"gpuobs:grafana.dataSources.{found.wanted}.{found.by}"
    )
    if found.provisioned:
        rule = f"{_label(found)} is provisioned there and cannot be changed"
        fix = f"write another {found.by}"
    else:
        rule = f"{_label(found)} is somebody else's there: its owner is {found.whose}"
        fix = f"write another {found.by}, or gpuobs:grafana.adopt: true to take it over"
    return Fault(
        path=f"{setting} (on {where})",
        rule=rule,
        why="this stack changes nothing on a shared Grafana that is not its own.",
        fix=fix,
    )


def _label(found: InTheWay) -> str:
    kind = "dashboard" if found.wanted == DASHBOARD else "data source"
    return f"the {kind} {found.title!r} (uid {found.uid!r})"


def _wanted(named: NamedSource, default: str, kind: str) -> WantedSource:
    return WantedSource(name=named.name or default, uid=named.uid or default, type=kind)
