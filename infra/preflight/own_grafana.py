"""Checks of a Grafana that is not Azure's: does it answer to this token, and can it show all."""

from collections.abc import Iterator

from contract.grafana import OLDEST, PROMETHEUS, PYROSCOPE
from contract.lines import line
from contract.messages.survey import OwnGrafanaFacts, Presence, Survey, WantedOwnGrafana
from infra.faults import Fault
from infra.preflight.finding import Finding
from infra.preflight.on_grafana import check_on_grafana
from infra.settings import Settings

_NAMES = {PYROSCOPE: "Grafana Pyroscope", PROMETHEUS: "Prometheus"}


def check_own_grafana(
    settings: Settings, survey: Survey, wanted: WantedOwnGrafana
) -> Iterator[Finding]:
    """Everything that would stop the data sources and the dashboard."""
    found = survey.own_grafana
    if found.presence is not Presence.FOUND:
        yield _not_there(found, wanted)
        return
    path = f"gpuobs:grafana.selfHosted.url ({wanted.url})"
    yield from _version(found, path)
    if found.missing_permissions:
        yield Fault(
            path=f"{wanted.token_variable} (of Grafana {wanted.url})",
            rule="the token's service account must be allowed "
            f"{', '.join(found.missing_permissions)}",
            why="Grafana refuses data sources and dashboard, in the middle of `up`.",
            fix="give the service account the role Admin, or these permissions",
        )
    elif not found.permissions_known:
        yield (
            f"Grafana {wanted.url} does not say what the token in {wanted.token_variable} may do; "
            "without the role Admin, data sources are refused."
        )
    for plugin in found.missing_plugins:
        yield Fault(
            path=path,
            rule=f"the data source {_NAMES.get(plugin, plugin)} must be installed there",
            why=f"Grafana has no plugin {plugin}, and the dashboard's panels ask through it.",
            fix=f"on its machine: {line('grafana', 'cli', 'plugins', 'install', plugin)}, and "
            "restart it; or name it in GF_PLUGINS_PREINSTALL",
        )
    yield from check_on_grafana(settings, f"Grafana {wanted.url}", survey)


def _not_there(found: OwnGrafanaFacts, wanted: WantedOwnGrafana) -> Fault:
    if found.presence is Presence.UNAUTHENTICATED:
        return Fault(
            path=f"{wanted.token_variable} (of Grafana {wanted.url})",
            rule="must hold a token that this Grafana accepts",
            why=found.detail,
            fix=found.fix,
        )
    return Fault(
        path=f"gpuobs:grafana.selfHosted.url ({wanted.url})",
        rule="must be Grafana, and answer where you run this",
        why=found.detail,
        fix=found.fix or "check the URL, and that Grafana runs",
    )


def _version(found: OwnGrafanaFacts, path: str) -> Iterator[Finding]:
    numbers = found.version.split(".")[:2]
    if len(numbers) < 2 or not all(one.isdecimal() for one in numbers):
        oldest = ".".join(map(str, OLDEST))
        yield f"{path} does not say its version; the dashboard's flame graph needs {oldest}."
    elif (int(numbers[0]), int(numbers[1])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield Fault(
            path=path,
            rule=f"must run Grafana {oldest} or later; it runs {found.version}",
            why="an older one cannot show the dashboard's flame graph.",
            fix="upgrade it",
        )
