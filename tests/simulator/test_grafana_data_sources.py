"""Data sources over Grafana's HTTP API: what is created, refused, moved and deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.arm.roles import GRAFANA_EDITOR, GRAFANA_VIEWER
from simulator.values import JsonObject, as_integer, as_object, as_objects, as_text, dig
from tests.azure_client import azure_client
from tests.simulator.planted import (
    WORKSPACE_ID,
    Grafana,
    plant,
    serving,
)

PYROSCOPE: JsonObject = {
    "name": "local-pyroscope",
    "uid": "local-pyroscope",
    "type": "grafana-pyroscope-datasource",
    "access": "proxy",
    "url": "http://10.1.2.3:4040",
    "jsonData": {"keepCookies": ["pyroscope_git_session"]},
}
PROMETHEUS: JsonObject = {
    "name": "amw-test",
    "uid": "amw-test",
    "type": "prometheus",
    "access": "proxy",
    "url": "https://amw-test.westeurope.prometheus.monitor.azure.com",
    "jsonData": {"httpMethod": "POST", "azureCredentials": {"authType": "msi"}},
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grafana]:
    with serving(tmp_path_factory.mktemp("grafana"), plant(12)) as api:
        yield api


@pytest.fixture
def grafana(shared: Grafana) -> Iterator[Grafana]:
    yield shared
    for source in shared.raw("GET", "/datasources").json():
        shared.call("DELETE", f"/datasources/uid/{source['uid']}")


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grafana]:
    with serving(tmp_path_factory.mktemp("grafana13"), plant(13)) as api:
        yield api


def test_a_created_source_is_read_by_uid_and_by_name(grafana: Grafana) -> None:
    status, answer = grafana.call("POST", "/datasources", PYROSCOPE)
    assert status == 200
    assert answer["message"] == "Datasource added"
    assert answer["name"] == "local-pyroscope"
    status, source = grafana.call("GET", "/datasources/uid/local-pyroscope")
    assert status == 200
    assert {key: source[key] for key in PYROSCOPE} == PYROSCOPE
    assert source["version"] == 1
    assert source["readOnly"] is False
    assert grafana.call("GET", "/datasources/name/local-pyroscope") == (200, source)
    assert [item["uid"] for item in grafana.raw("GET", "/datasources").json()] == [
        "local-pyroscope"
    ]


def test_names_are_decoded_from_the_path(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", {**PYROSCOPE, "name": "a b/ü"})
    status, source = grafana.call("GET", "/datasources/name/a%20b%2F%C3%BC")
    assert (status, source.get("name")) == (200, "a b/ü")


@pytest.mark.parametrize("taken", ["name", "uid"])
def test_a_name_or_uid_that_is_taken_answers_409(grafana: Grafana, taken: str) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    other = {**PYROSCOPE, "name": "other", "uid": "other", taken: PYROSCOPE[taken]}
    status, answer = grafana.call("POST", "/datasources", other)
    assert status == 409
    assert answer["message"] == f"data source with the same {taken} already exists"


@pytest.mark.parametrize("uid", ["a" * 41, "with space", "dotted.uid", "slash/uid"])
def test_a_uid_that_grafana_would_not_take_answers_400(grafana: Grafana, uid: str) -> None:
    assert grafana.call("POST", "/datasources", {**PYROSCOPE, "uid": uid})[0] == 400


def test_a_uid_of_forty_characters_is_taken(grafana: Grafana) -> None:
    assert grafana.call("POST", "/datasources", {**PYROSCOPE, "uid": "a" * 40})[0] == 200


@pytest.mark.parametrize(
    "change",
    [{"type": ""}, {"access": ""}, {"type": "no-such-plugin"}, {"access": "tunnel"}, {"url": 4040}],
)
def test_a_body_that_does_not_fit_answers_400(grafana: Grafana, change: JsonObject) -> None:
    assert grafana.call("POST", "/datasources", {**PYROSCOPE, **change})[0] == 400


def test_a_body_that_is_no_json_answers_400_in_grafanas_form(grafana: Grafana) -> None:
    response = grafana.azure.http.post("/grafana/grafana-test/api/datasources", content=b"{")
    assert (response.status_code, response.json()) == (400, {"message": "bad request data"})


def test_a_url_without_a_host_is_taken_as_grafana_takes_it(grafana: Grafana) -> None:
    assert grafana.call("POST", "/datasources", {**PYROSCOPE, "url": "http://:4040"})[0] == 200


def test_an_update_replaces_the_source_and_raises_its_version(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    changed = {**PYROSCOPE, "url": "http://10.9.9.9:4040", "jsonData": None, "version": 1}
    status, answer = grafana.call("PUT", "/datasources/uid/local-pyroscope", changed)
    assert (status, answer["message"]) == (200, "Datasource updated")
    source = grafana.call("GET", "/datasources/uid/local-pyroscope")[1]
    assert source["url"] == "http://10.9.9.9:4040"
    assert source["jsonData"] == {}
    assert source["version"] == 2


def test_an_update_from_a_stale_version_answers_409(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    for _ in range(2):
        version = grafana.call("GET", "/datasources/uid/local-pyroscope")[1]["version"]
        body = {**PYROSCOPE, "version": version}
        grafana.call("PUT", "/datasources/uid/local-pyroscope", body)
    stale = {**PYROSCOPE, "version": 1}
    assert grafana.call("PUT", "/datasources/uid/local-pyroscope", stale)[0] == 409


def test_an_update_cannot_change_the_type(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    changed = {**PYROSCOPE, "type": "prometheus"}
    assert grafana.call("PUT", "/datasources/uid/local-pyroscope", changed)[0] == 400
    kept = grafana.call("GET", "/datasources/uid/local-pyroscope")[1]
    assert kept["type"] == "grafana-pyroscope-datasource"


def test_an_update_to_a_name_that_is_taken_answers_409(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    grafana.call("POST", "/datasources", PROMETHEUS)
    changed = {**PYROSCOPE, "name": "amw-test"}
    assert grafana.call("PUT", "/datasources/uid/local-pyroscope", changed)[0] == 409


def test_secrets_are_reported_by_name_only_and_survive_an_update(grafana: Grafana) -> None:
    body = {**PYROSCOPE, "secureJsonData": {"basicAuthPassword": "hunter2"}}
    grafana.call("POST", "/datasources", body)
    grafana.call("PUT", "/datasources/uid/local-pyroscope", PYROSCOPE)
    source = grafana.call("GET", "/datasources/uid/local-pyroscope")[1]
    assert source["secureJsonFields"] == {"basicAuthPassword": True}
    assert "hunter2" not in grafana.raw("GET", "/datasources/uid/local-pyroscope").text
    assert "hunter2" not in (grafana.azure.server.home / "world.json").read_text()


def test_a_deleted_source_is_gone(grafana: Grafana) -> None:
    grafana.call("POST", "/datasources", PYROSCOPE)
    status, answer = grafana.call("DELETE", "/datasources/uid/local-pyroscope")
    assert (status, answer["message"]) == (200, "Data source deleted")
    for method in ("GET", "DELETE", "PUT"):
        body = PYROSCOPE if method == "PUT" else None
        status, answer = grafana.call(method, "/datasources/uid/local-pyroscope", body)
        assert (status, answer["message"]) == (404, "Data source not found")


def test_numeric_routes_exist_until_major_12(grafana: Grafana) -> None:
    identifier = as_integer(grafana.call("POST", "/datasources", PYROSCOPE)[1]["id"])
    status, source = grafana.call("GET", f"/datasources/{identifier}")
    assert (status, source["uid"]) == (200, "local-pyroscope")
    assert grafana.call("DELETE", f"/datasources/{identifier}")[0] == 200


def test_major_13_has_no_route_with_a_numeric_id(newest: Grafana) -> None:
    identifier = as_integer(newest.call("POST", "/datasources", PYROSCOPE)[1]["id"])
    for method, path in (
        ("GET", f"/datasources/{identifier}"),
        ("PUT", f"/datasources/{identifier}"),
        ("DELETE", f"/datasources/{identifier}"),
        ("GET", f"/datasources/{identifier}/health"),
        ("GET", f"/datasources/proxy/{identifier}/ready"),
        ("GET", "/dashboards/id/1/versions"),
    ):
        assert newest.call(method, path)[0] == 404, path
    assert newest.call("GET", "/datasources/uid/local-pyroscope")[0] == 200


def test_major_13_keeps_what_is_made_later_and_its_core_prometheus_cannot_sign_in_to_azure(
    newest: Grafana,
) -> None:
    newest.call("POST", "/datasources", PROMETHEUS)
    source = newest.call("GET", "/datasources/uid/amw-test")[1]
    assert source["type"] == "prometheus"
    assert as_object(source["jsonData"])["azureCredentials"] == {"authType": "msi"}
    assert newest.call("GET", "/datasources/uid/amw-test/health")[0] != 200
    plain = {**PROMETHEUS, "name": "plain", "uid": "plain", "jsonData": {"httpMethod": "POST"}}
    newest.call("POST", "/datasources", plain)
    assert newest.call("GET", "/datasources/uid/plain")[1]["type"] == "prometheus"


def test_an_integrated_workspace_has_a_source_that_azure_made(tmp_path: Path) -> None:
    world = plant(12)
    grafana = world.of_type("Microsoft.Dashboard/grafana")[0]
    grafana.properties["grafanaIntegrations"] = {
        "azureMonitorWorkspaceIntegrations": [{"azureMonitorWorkspaceResourceId": WORKSPACE_ID}]
    }
    with serving(tmp_path, world) as api:
        sources = api.raw("GET", "/datasources").json()
        expected = ("Managed_Prometheus_amw-test", api.query_endpoint)
    assert [(item["name"], item["url"]) for item in sources] == [expected]


def test_without_a_token_or_with_one_for_another_audience_the_answer_is_401(
    grafana: Grafana,
) -> None:
    path = "/grafana/grafana-test/api/datasources"
    for header in ("", "Bearer nonsense", f"Bearer {grafana.azure.token()}"):
        response = grafana.azure.http.get(path, headers={"Authorization": header})
        assert response.status_code == 401


@pytest.mark.parametrize(
    "audience", ["ce34e7e5-485f-4d76-964f-b3d2b16d1e4f", "6f2d169c-08f3-4a4c-a982-bcaf2d038c45"]
)
def test_both_known_audiences_are_accepted(grafana: Grafana, audience: str) -> None:
    headers = {"Authorization": f"Bearer {grafana.azure.token(audience)}"}
    answer = grafana.azure.http.get("/grafana/grafana-test/api/datasources", headers=headers)
    assert answer.status_code == 200


def test_health_needs_no_token_and_tells_the_version(grafana: Grafana) -> None:
    path = "/grafana/grafana-test/api/health"
    response = grafana.azure.http.get(path, headers={"Authorization": ""})
    assert response.status_code == 200
    assert response.json()["version"].startswith("12.")


def test_the_organisation_and_the_build_are_reported_to_a_viewer(grafana: Grafana) -> None:
    assert grafana.call("GET", "/org") == (200, {"id": 1, "name": "Main Org."})
    settings = grafana.call("GET", "/frontend/settings")[1]
    assert as_text(dig(settings, "buildInfo", "version")).startswith("12.")


@pytest.mark.parametrize(
    ("role", "reads", "writes_dashboards", "writes_sources"),
    [
        (None, 403, 403, 403),
        (GRAFANA_VIEWER, 200, 403, 403),
        (GRAFANA_EDITOR, 200, 200, 403),
    ],
)
def test_each_route_needs_its_grafana_role(
    tmp_path: Path, role: str | None, reads: int, writes_dashboards: int, writes_sources: int
) -> None:
    dashboard = {"dashboard": {"title": "x", "uid": "x"}}
    with serving(tmp_path, plant(12, role=role)) as api:
        assert api.raw("GET", "/datasources").status_code == reads
        assert api.call("POST", "/dashboards/db", dashboard)[0] == writes_dashboards
        status, answer = api.call("POST", "/datasources", PYROSCOPE)
    assert status == writes_sources
    assert "permissions" in as_text(answer["message"])


def test_a_role_that_has_not_propagated_answers_403(tmp_path: Path) -> None:
    with serving(tmp_path, plant(12, effective=False)) as api:
        assert api.call("GET", "/datasources")[0] == 403


def test_a_workspace_closed_to_public_networks_answers_403_to_everything(tmp_path: Path) -> None:
    with serving(tmp_path, plant(12, public=False)) as api:
        assert api.raw("GET", "/health").status_code == 403
        assert api.raw("GET", "/datasources").status_code == 403


def test_unknown_routes_and_methods_answer_404(grafana: Grafana) -> None:
    assert grafana.call("GET", "/no/such/route")[0] == 404
    assert grafana.call("PATCH", "/datasources/uid/local-pyroscope")[0] == 404


def test_content_survives_a_restart_of_the_simulator(tmp_path: Path) -> None:
    with serving(tmp_path, plant(12)) as api:
        api.call("POST", "/datasources", PYROSCOPE)
        inspected = as_object(api.azure.inspect()["grafana"])
        kept = as_objects(dig(inspected, "grafana-test", "dataSources"))
        assert [item["uid"] for item in kept] == ["local-pyroscope"]
    with azure_client(tmp_path) as azure:
        assert as_object(azure.inspect()["grafana"]) == inspected
