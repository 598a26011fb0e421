"""The dashboard in the simulated Grafana: accepted as it is, and its profile queries answered
through Grafana's data source, the private link and Pyroscope, for each agent's profile type id."""

from collections.abc import Iterator

import pytest

from dashboards import DashboardOptions, build
from simulator.pyroscope.profile import KV_CACHE_BYTES
from simulator.values import JsonObject, as_list, as_number, as_object, as_objects, dig
from tests.dashboards.grafana import (
    ALL,
    objects,
    options_after_regex,
    panels,
    pyroscope,
    variables,
)
from tests.simulator.procedure import Deployed, deployed

AGENTS = {
    "0.53.0": "process_cpu:malloc:bytes::",
    "0.54.1": "process_cpu:malloc:bytes:process_cuda:bytes",
}
DASHBOARD = build(
    DashboardOptions(uid="gpu", title="GPU", pyroscope_uid="profiles", prometheus_uid=None)
)


@pytest.fixture(scope="module", params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def azure(agent: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    with deployed(tmp_path_factory.mktemp("dashboard"), agent=agent, metrics=False) as found:
        source = {
            "name": "profiles",
            "uid": "profiles",
            "type": "grafana-pyroscope-datasource",
            "access": "proxy",
            "url": f"http://{found.private_ip}:4040",
        }
        assert found.grafana.call("POST", "/datasources", source)[0] == 200
        yield found


def _answer(azure: Deployed, target: JsonObject, kind: str) -> tuple[int, JsonObject]:
    chosen = {"profile_type": kind, "namespace": ALL, "pod": ALL}
    query = target | {
        "datasource": {"uid": "profiles"},
        "profileTypeId": pyroscope(str(target["profileTypeId"]), chosen),
        "labelSelector": pyroscope(str(target["labelSelector"]), chosen),
    }
    body = {"queries": [query], "from": "now-1h", "to": "now"}
    status, answer = azure.grafana.call("POST", "/ds/query", body)
    return status, as_object(dig(answer, "results", str(target["refId"])))


def test_grafana_takes_the_dashboard_as_it_is_built(azure: Deployed) -> None:
    status, _ = azure.grafana.call("POST", "/dashboards/db", {"dashboard": DASHBOARD})

    assert status == 200
    stored = azure.grafana.call("GET", "/dashboards/uid/gpu")[1]
    assert dig(stored, "dashboard", "panels") == DASHBOARD["panels"]


@pytest.mark.handles("dashboard-from-a-moving-branch")
def test_the_profile_type_that_this_agent_writes_is_the_one_that_is_offered(
    azure: Deployed, agent: str
) -> None:
    path = "/datasources/proxy/uid/profiles/querier.v1.QuerierService/ProfileTypes"
    _, answer = azure.grafana.call("POST", path, {"start": 0, "end": 0})
    known = [str(kind["ID"]) for kind in as_objects(dig(answer, "profileTypes"))]

    regex = str(variables(DASHBOARD)["profile_type"]["regex"])
    assert options_after_regex(regex, known) == [AGENTS[agent]]


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(target, id=f"{panel['title']} {target['refId']}")
        for panel in panels(DASHBOARD)
        for target in objects(panel.get("targets"))
        if "profileTypeId" in target
    ],
)
def test_every_profile_query_of_a_panel_is_answered_through_the_private_link(
    azure: Deployed, agent: str, target: JsonObject
) -> None:
    status, result = _answer(azure, target, AGENTS[agent])

    assert status == 200
    largest = max(
        as_number(value)
        for frame in as_objects(result["frames"])
        for column in as_list(dig(frame, "data", "values"))
        for value in as_list(column)
    )
    assert largest >= KV_CACHE_BYTES
