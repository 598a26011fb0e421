"""Dashboards, versions, folders and search over Grafana's HTTP API."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text
from tests.simulator.planted import Grafana, plant, serving


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grafana]:
    with serving(tmp_path_factory.mktemp("grafana"), plant(12)) as api:
        yield api


@pytest.fixture
def grafana(shared: Grafana) -> Iterator[Grafana]:
    yield shared
    for folder in shared.raw("GET", "/folders").json():
        shared.call("DELETE", f"/folders/{folder['uid']}")
    for hit in shared.raw("GET", "/search?type=dash-db").json():
        shared.call("DELETE", f"/dashboards/uid/{hit['uid']}")


@pytest.fixture
def eleven(tmp_path: Path) -> Iterator[Grafana]:
    with serving(tmp_path, plant(11)) as api:
        yield api


def _wrapped(title: str = "GPU memory", uid: str = "gpu", **wrapper: object) -> JsonObject:
    dashboard: JsonObject = {"id": None, "uid": uid, "title": title, "tags": ["gpuobs"]}
    return {"dashboard": dashboard, "overwrite": True, **wrapper}


def test_a_saved_dashboard_is_read_with_its_place(grafana: Grafana) -> None:
    grafana.call("POST", "/folders", {"uid": "gpu-folder", "title": "GPU"})
    status, answer = grafana.call("POST", "/dashboards/db", _wrapped(folderUid="gpu-folder"))
    assert status == 200
    assert answer["status"] == "success"
    assert answer["url"] == "/d/gpu/gpu-memory"
    assert answer["version"] == 1
    status, read = grafana.call("GET", "/dashboards/uid/gpu")
    meta, dashboard = as_object(read["meta"]), as_object(read["dashboard"])
    assert status == 200
    assert (meta["folderUid"], meta["folderTitle"]) == ("gpu-folder", "GPU")
    assert (meta["version"], meta["url"]) == (1, "/d/gpu/gpu-memory")
    assert (dashboard["title"], dashboard["version"]) == ("GPU memory", 1)
    assert dashboard["id"] == answer["id"]


def test_a_dashboard_without_the_wrapper_answers_400(grafana: Grafana) -> None:
    status, answer = grafana.call("POST", "/dashboards/db", {"title": "raw", "uid": "raw"})
    assert (status, answer["message"]) == (400, "bad request data")


@pytest.mark.parametrize(
    ("title", "uid"), [("", "gpu"), ("  ", "gpu"), ("x", "a" * 41), ("x", "a b"), ("x", "a/b")]
)
def test_a_title_or_uid_that_is_not_valid_answers_400(
    grafana: Grafana, title: str, uid: str
) -> None:
    assert grafana.call("POST", "/dashboards/db", _wrapped(title, uid))[0] == 400


def test_a_folder_that_does_not_exist_answers_400(grafana: Grafana) -> None:
    status, answer = grafana.call("POST", "/dashboards/db", _wrapped(folderUid="nowhere"))
    assert (status, answer["message"]) == (400, "folder not found")


def test_a_second_save_needs_the_version_or_overwrite(grafana: Grafana) -> None:
    grafana.call("POST", "/dashboards/db", _wrapped())
    status, answer = grafana.call("POST", "/dashboards/db", _wrapped(overwrite=False))
    assert (status, answer["status"]) == (412, "version-mismatch")
    body = _wrapped(overwrite=False)
    as_object(body["dashboard"])["version"] = 1
    assert grafana.call("POST", "/dashboards/db", body)[1]["version"] == 2
    assert grafana.call("POST", "/dashboards/db", _wrapped())[1]["version"] == 3


def test_versions_are_reported_newest_first_with_their_messages(grafana: Grafana) -> None:
    for message in ("gpuobs one", "", "gpuobs three"):
        grafana.call("POST", "/dashboards/db", _wrapped(message=message))
    status, answer = grafana.call("GET", "/dashboards/uid/gpu/versions")
    versions = as_objects(answer["versions"])
    assert status == 200
    assert [item["version"] for item in versions] == [3, 2, 1]
    assert [item["message"] for item in versions] == ["gpuobs three", "", "gpuobs one"]
    limited = as_objects(grafana.call("GET", "/dashboards/uid/gpu/versions?limit=1")[1]["versions"])
    assert [item["version"] for item in limited] == [3]
    old = grafana.call("GET", "/dashboards/uid/gpu/versions/1")[1]
    assert as_object(old["data"])["title"] == "GPU memory"


def test_major_11_tells_versions_as_a_bare_list(eleven: Grafana) -> None:
    eleven.call("POST", "/dashboards/db", _wrapped(message="first"))
    listed = eleven.raw("GET", "/dashboards/uid/gpu/versions").json()
    assert [item["message"] for item in listed] == ["first"]


def test_a_title_that_is_taken_matters_up_to_major_11_only(
    eleven: Grafana, grafana: Grafana
) -> None:
    for api in (eleven, grafana):
        api.call("POST", "/dashboards/db", _wrapped(uid="first"))
    second = _wrapped(uid="second", overwrite=False)
    status, answer = eleven.call("POST", "/dashboards/db", second)
    assert (status, answer["status"]) == (412, "name-exists")
    assert grafana.call("POST", "/dashboards/db", second)[0] == 200


def test_up_to_major_11_overwriting_takes_the_dashboard_of_the_same_title(eleven: Grafana) -> None:
    eleven.call("POST", "/dashboards/db", _wrapped(uid="first"))
    answer = eleven.call("POST", "/dashboards/db", _wrapped(uid="second"))[1]
    assert (answer["uid"], answer["version"]) == ("first", 2)
    assert eleven.call("GET", "/dashboards/uid/second")[0] == 404


def test_saving_into_another_folder_moves_the_dashboard(grafana: Grafana) -> None:
    grafana.call("POST", "/folders", {"uid": "gpu-folder", "title": "GPU"})
    grafana.call("POST", "/dashboards/db", _wrapped(folderUid="gpu-folder"))
    grafana.call("POST", "/dashboards/db", _wrapped())
    meta = as_object(grafana.call("GET", "/dashboards/uid/gpu")[1]["meta"])
    assert (meta["folderUid"], meta["folderTitle"]) == ("", "General")


def test_a_deleted_dashboard_and_its_versions_are_gone(grafana: Grafana) -> None:
    grafana.call("POST", "/dashboards/db", _wrapped())
    status, answer = grafana.call("DELETE", "/dashboards/uid/gpu")
    assert (status, answer["title"]) == (200, "GPU memory")
    for method, path in (
        ("GET", "/dashboards/uid/gpu"),
        ("DELETE", "/dashboards/uid/gpu"),
        ("GET", "/dashboards/uid/gpu/versions"),
    ):
        status, answer = grafana.call(method, path)
        assert (status, answer["message"]) == (404, "Dashboard not found")
    assert grafana.call("POST", "/dashboards/db", _wrapped())[1]["version"] == 1


def test_search_finds_by_text_type_tag_folder_and_uid(grafana: Grafana) -> None:
    grafana.call("POST", "/folders", {"uid": "gpu-folder", "title": "GPU things"})
    grafana.call("POST", "/dashboards/db", _wrapped("Alpha", "alpha", folderUid="gpu-folder"))
    other = _wrapped("Beta", "beta")
    as_object(other["dashboard"])["tags"] = []
    grafana.call("POST", "/dashboards/db", other)

    def found(query: str) -> list[str]:
        return [as_text(hit["uid"]) for hit in grafana.raw("GET", f"/search?{query}").json()]

    assert found("") == ["alpha", "beta", "gpu-folder"]
    assert found("query=alph") == ["alpha"]
    assert found("type=dash-folder") == ["gpu-folder"]
    assert found("type=dash-db&tag=gpuobs") == ["alpha"]
    assert found("folderUIDs=gpu-folder&type=dash-db") == ["alpha"]
    assert found("dashboardUIDs=beta") == ["beta"]
    assert found("limit=1") == ["alpha"]


def test_a_folder_is_created_once_renamed_with_its_version_and_deleted(grafana: Grafana) -> None:
    status, folder = grafana.call("POST", "/folders", {"uid": "f", "title": "One"})
    assert (status, folder["version"], folder["url"]) == (200, 1, "/dashboards/f/f/one")
    assert grafana.call("POST", "/folders", {"uid": "f", "title": "Two"})[0] == 409
    stale = {"title": "Two", "version": 7}
    status, answer = grafana.call("PUT", "/folders/f", stale)
    assert (status, answer["status"]) == (412, "version-mismatch")
    assert grafana.call("PUT", "/folders/f", {"title": "Two", "version": 1})[1]["version"] == 2
    assert grafana.call("PUT", "/folders/f", {"title": "Three", "overwrite": True})[0] == 200
    assert grafana.call("DELETE", "/folders/f") == (200, {"message": "Folder deleted"})
    status, answer = grafana.call("GET", "/folders/f")
    assert (status, answer["status"]) == (404, "not-found")


@pytest.mark.parametrize("body", [{"title": ""}, {"title": "x", "uid": "a b"}, {"title": 3}])
def test_a_folder_that_is_not_valid_answers_400(grafana: Grafana, body: JsonObject) -> None:
    assert grafana.call("POST", "/folders", body)[0] == 400


def test_deleting_a_folder_deletes_what_is_in_it(grafana: Grafana) -> None:
    grafana.call("POST", "/folders", {"uid": "outer", "title": "Outer"})
    grafana.call("POST", "/folders", {"uid": "inner", "title": "Inner", "parentUid": "outer"})
    grafana.call("POST", "/dashboards/db", _wrapped(folderUid="inner"))
    counted = grafana.call("GET", "/folders/outer/counts")[1]
    assert (counted["folder"], counted["dashboard"]) == (1, 1)
    grafana.call("DELETE", "/folders/outer")
    assert grafana.call("GET", "/folders/inner")[0] == 404
    assert grafana.call("GET", "/dashboards/uid/gpu")[0] == 404


def test_folder_titles_need_not_be_unique_since_major_12(eleven: Grafana, grafana: Grafana) -> None:
    for api, expected in ((eleven, 409), (grafana, 200)):
        api.call("POST", "/folders", {"uid": "a", "title": "Same"})
        assert api.call("POST", "/folders", {"uid": "b", "title": "Same"})[0] == expected
