"""Users, service accounts, pages of a search and time ranges of Grafana's HTTP API."""

import time

import httpx
import pytest

from simulator.grafana.errors import GrafanaError
from simulator.grafana.time_range import milliseconds
from simulator.seed import CALLER_ID
from simulator.values import as_objects
from tests.simulator.azure import GRAFANA, Azure

MINUTE = 60_000


def test_a_search_ends_with_an_empty_page(azure: Azure) -> None:
    for number in range(5):
        body = {"dashboard": {"title": f"d{number}"}}
        assert azure.grafana("POST", "/api/dashboards/db", body).status_code == 200
    pages = [
        azure.grafana("GET", f"/api/search?limit=2&page={page}").json() for page in (1, 2, 3, 4)
    ]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    titles = [hit["title"] for page in pages for hit in page]
    assert titles == ["d0", "d1", "d2", "d3", "d4"]


def test_the_caller_is_a_user_with_a_role(azure: Azure) -> None:
    me = azure.grafana("GET", "/api/user").json()
    assert me["login"] == "platform-engineer"
    (entry,) = azure.grafana("GET", "/api/org/users").json()
    assert (entry["userId"], entry["role"]) == (me["id"], "Admin")
    assert azure.grafana("GET", "/api/user/orgs").json()[0]["role"] == "Admin"


def allow_service_accounts(azure: Azure) -> None:
    azure.call("PATCH", GRAFANA, {"properties": {"apiKey": "Enabled"}})
    azure.settled(GRAFANA)


def test_service_accounts_need_api_keys_on_the_workspace(azure: Azure) -> None:
    answer = azure.grafana("POST", "/api/serviceaccounts", {"name": "ci", "role": "Viewer"})
    assert answer.status_code == 403


def test_a_token_of_a_service_account_may_do_what_its_role_may(azure: Azure) -> None:
    allow_service_accounts(azure)
    account = azure.grafana("POST", "/api/serviceaccounts", {"name": "ci", "role": "Viewer"})
    assert account.status_code == 201
    number = account.json()["id"]
    path = f"/api/serviceaccounts/{number}"
    key = azure.grafana("POST", f"{path}/tokens", {"name": "first"}).json()["key"]
    listed = azure.grafana("GET", f"{path}/tokens").json()
    assert [item["name"] for item in listed] == ["first"]
    assert "key" not in listed[0]
    assert _as(azure, key, "GET", "/api/datasources").status_code == 200
    assert _as(azure, key, "POST", "/api/datasources").status_code == 403
    found = azure.grafana("GET", "/api/serviceaccounts/search?query=C").json()
    assert [item["name"] for item in as_objects(found["serviceAccounts"])] == ["ci"]
    azure.grafana("DELETE", path)
    assert _as(azure, key, "GET", "/api/datasources").status_code == 401


def _as(azure: Azure, key: str, method: str, path: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return azure.http.request(method, f"/grafana/grafana-dev{path}", headers=headers, json={})


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("now", 0),
        ("now-5m", 5 * MINUTE),
        ("now-1h+30m", 30 * MINUTE),
        ("90m", 90 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("now-2d", 2 * 1440 * MINUTE),
        ("now-1M", 30 * 1440 * MINUTE),
    ],
)
def test_a_time_before_now_is_understood_in_every_way_of_writing_it(text: str, ago: int) -> None:
    assert milliseconds(text) == pytest.approx(time.time() * 1000 - ago, abs=2000)


def test_a_moment_is_understood_as_number_text_or_date() -> None:
    moment = 1_700_000_000_000
    assert milliseconds(moment) == milliseconds(str(moment)) == moment
    assert milliseconds("2023-11-14T22:13:20Z") == moment
    assert milliseconds("2023-11-14T22:13:20.000Z") == moment


def test_a_rounded_range_goes_from_the_begin_to_the_end_of_its_unit() -> None:
    begin, end = milliseconds("now/d"), milliseconds("now/d", end=True)
    assert end - begin == 1440 * MINUTE - 1
    assert begin <= time.time() * 1000 <= end + 1


@pytest.mark.parametrize("text", ["", "yesterday", "now-", "now-5x", None, True])
def test_anything_else_is_refused(text: object) -> None:
    with pytest.raises(GrafanaError, match="invalid time range"):
        milliseconds(text)


def test_a_caller_without_a_role_is_no_user(azure: Azure) -> None:
    azure.settings(principals=[{"id": "nobody"}], caller="nobody")
    assert azure.grafana("GET", "/api/user").status_code == 403
    azure.settings(caller=CALLER_ID)
