"""Grafana's API, and what it keeps."""

import re
import time

from simulator.values import as_object, as_text, dig
from tests.live.azure import GRAFANA_AUDIENCE, CheckError
from tests.live.check import Phase, Section, Verdict, check, unknown, verdict
from tests.live.world import World

_REVISION = re.compile(r"[0-9a-f]{12}-[0-9a-f]{8}$")


def _uid(world: World, source: str) -> str:
    return as_text(world.outputs("dataSourceUids").get(source))


def _version(world: World) -> str:
    answer = world.grafana().call("GET", "/api/health")
    if not answer.ok:
        raise CheckError(f"Grafana's health: {answer.error}")
    return as_text(answer.body.get("version"))


@check(
    "grafana-takes-entra-tokens",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption=f"Its API takes Entra tokens for `{GRAFANA_AUDIENCE}`",
    otherwise="401 until the deadline: set "
    "`GPUOBS_GRAFANA_AUDIENCE=6f2d169c-08f3-4a4c-a982-bcaf2d038c45`",
    by_hand="`python -m gpuobs check`, first line",
)
def takes_tokens(world: World) -> Verdict:
    """Reads a data source with a token of that audience."""
    path = f"/api/datasources/uid/{_uid(world, 'pyroscope')}"
    answer = world.grafana().call("GET", path, audience=GRAFANA_AUDIENCE)
    return verdict(answer.ok, f"Grafana answers {answer.status if answer.ok else answer.error}")


@check(
    "versions-keep-their-message",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption="A dashboard's versions keep the message that it was saved with, in majors 12 and "
    "13",
    otherwise="every preview shows the dashboard as changed: write `grafana.driftDetection: false`",
    by_hand="a second `pulumi preview` right after `up`",
)
def keeps_message(world: World) -> Verdict:
    """The newest version's message ends in the program's revision."""
    uid = as_text(world.command_input("dashboard-dashboard").get("uid"))
    answer = world.grafana().call("GET", f"/api/dashboards/uid/{uid}/versions")
    if not answer.ok:
        raise CheckError(f"the dashboard's versions: {answer.error}")
    versions = answer.items("versions") or answer.items()
    message = as_text(versions[0].get("message")) if versions else ""
    seen = f"Grafana {_version(world)}: {message!r}"
    return verdict(_REVISION.search(message) is not None, seen)


@check(
    "json-data-keeps-unknown-keys",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption="A data source keeps keys of `jsonData` that its plugin does not know (our owner "
    "mark)",
    otherwise="the source counts as somebody else's at the next change, and is refused by name",
    by_hand="a second `pulumi preview` right after `up`",
)
def keeps_keys(world: World) -> Verdict:
    """The mark is on both sources."""
    uids = [as_text(uid) for uid in world.outputs("dataSourceUids").values()]
    without: list[str] = []
    for uid in uids:
        source = world.grafana().call("GET", f"/api/datasources/uid/{uid}").body
        if not as_object(dig(source, "jsonData", "gpuobs")):
            without.append(uid)
    return verdict(not without, f"{len(uids)} sources, {len(without)} without the mark {without}")


@check(
    "metrics-plugin-from-13-on",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption="From major 13 on, `/api/health` reports the version and the plugin "
    "`grafana-azureprometheus-datasource` is installed: metrics sources are made with it there "
    "(core Prometheus lost its Azure sign-in), and with `prometheus` before; both count as ours",
    otherwise="metrics panels answer 401; `python -m gpuobs check` shows Grafana's own message",
    by_hand="`python -m gpuobs check` on a workspace of major 13",
)
def metrics_plugin(world: World) -> Verdict:
    """The metrics source is of that type, and its plugin reaches the workspace."""
    version = _version(world)
    if not version.split(".")[0].isdigit() or int(version.split(".")[0]) < 13:
        return unknown(f"Grafana is {version}: run with --grafana-major 13")
    path = f"/api/datasources/uid/{_uid(world, 'prometheus')}"
    kind = as_text(world.grafana().call("GET", path).body.get("type"))
    health = world.grafana().call("GET", f"{path}/health")
    said = health.body.get("message") if health.ok else health.error
    return verdict(
        kind == "grafana-azureprometheus-datasource" and health.ok,
        f"Grafana {version}, type {kind}: {said}",
    )


@check(
    "proxy-passes-posts",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption="Grafana's proxy passes `POST /querier.v1.QuerierService/...` to a Pyroscope source",
    otherwise="`python -m gpuobs check` stops at `pyroscope-answer`, though panels may work",
    by_hand="`python -m gpuobs check`",
)
def proxy_passes_posts(world: World) -> Verdict:
    """Asks Pyroscope for its profile types through Grafana."""
    path = f"/api/datasources/proxy/uid/{_uid(world, 'pyroscope')}"
    method = f"{path}/querier.v1.QuerierService/ProfileTypes"
    now = int(time.time() * 1000)
    answer = world.grafana().call("POST", method, {"start": now - 3_600_000, "end": now})
    return verdict(answer.ok, f"Pyroscope answers {answer.status}" if answer.ok else answer.error)


CHECKS = (takes_tokens, keeps_message, keeps_keys, metrics_plugin, proxy_passes_posts)
