"""Applying and deleting dashboards and their folder on a Grafana that several stacks share."""

from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.grafana import DashboardRequest, Owner
from operations.errors import ExitCode
from operations.ownership import owner_tag
from simulator.values import JsonObject, as_object, as_objects, as_text, texts
from tests.operations.conftest import CLUSTER_ID, GRAFANA_ID, Azure, Operations, assert_says

OWNER = Owner(cluster=CLUSTER_ID.lower(), project="gpuobs", stack="dev")
OTHER = Owner(cluster=CLUSTER_ID.lower().replace("dev", "prod"), project="gpuobs", stack="prod")
UID = "AdvancedGPUObservability"
APPLY, DELETE = Verb.APPLY_DASHBOARD, Verb.DELETE_DASHBOARD


def request_for(azure: Azure, **changes: Any) -> DashboardRequest:
    request = DashboardRequest(
        endpoint=azure.endpoint,
        workspace_id=GRAFANA_ID,
        owner=OWNER,
        uid=UID,
        dashboard={"title": "GPU memory", "tags": ["gpu"], "panels": [], "schemaVersion": 41},
    )
    return request.model_copy(update=changes)


def in_folder(azure: Azure, **changes: Any) -> DashboardRequest:
    changes = {"folder_uid": "folder-dev", "folder_title": "GPU dev", **changes}
    return request_for(azure, **changes)


def live(azure: Azure, uid: str = UID) -> JsonObject:
    """The dashboard with its ``meta``; empty where there is none."""
    return as_object(azure.in_grafana("GET", f"/api/dashboards/uid/{uid}", ok=False))


def content(azure: Azure) -> JsonObject:
    return as_object(live(azure).get("dashboard"))


def versions(azure: Azure) -> list[JsonObject]:
    answer = as_object(azure.in_grafana("GET", f"/api/dashboards/uid/{UID}/versions"))
    return as_objects(answer["versions"])


def folders(azure: Azure) -> list[str]:
    return [as_text(one["uid"]) for one in as_objects(azure.in_grafana("GET", "/api/folders"))]


def save_by_hand(azure: Azure, **fields: object) -> None:
    body: JsonObject = {"dashboard": {"title": "Mine", "uid": UID, **fields}, "overwrite": True}
    azure.in_grafana("POST", "/api/dashboards/db", body)


def test_a_dashboard_is_saved_with_owner_tags_and_its_revision_in_the_version(
    azure: Azure, operations: Operations
) -> None:
    result = operations.succeed(APPLY, request_for(azure), observed="0123456789ab-01234567")
    assert result.answer == {"uid": UID, "url": f"{azure.endpoint}/d/{UID}"}
    assert content(azure)["title"] == "GPU memory"
    assert texts(content(azure)["tags"]) == ["gpu", "gpuobs", owner_tag(OWNER)]
    assert versions(azure)[0]["message"] == "gpuobs 0123456789ab-01234567"


def test_applying_the_same_revision_again_makes_no_new_version(
    azure: Azure, operations: Operations
) -> None:
    request = in_folder(azure)
    asked = {"dashboards": {"one": request.model_dump(by_alias=True)}}
    revisions = as_object(operations.succeed(Verb.OBSERVE, asked).answer["revisions"])
    for _ in range(2):
        operations.succeed(APPLY, request, observed=as_text(revisions["one"]))
    assert len(versions(azure)) == 1


def test_a_dashboard_edited_by_hand_is_put_back(azure: Azure, operations: Operations) -> None:
    operations.succeed(APPLY, request_for(azure))
    edited = {**content(azure), "title": "Edited"}
    azure.in_grafana("POST", "/api/dashboards/db", {"dashboard": edited, "overwrite": True})
    operations.succeed(APPLY, request_for(azure))
    assert content(azure)["title"] == "GPU memory"


@pytest.mark.parametrize("marked", [False, True], ids=["made by hand", "another stack's"])
def test_somebody_elses_dashboard_is_refused_by_uid_and_stays(
    azure: Azure, operations: Operations, marked: bool
) -> None:
    save_by_hand(azure, tags=["gpuobs", owner_tag(OTHER)] if marked else [])
    before = live(azure)
    result = operations(APPLY, request_for(azure))
    assert result.exit_code == ExitCode.CONFLICT
    whose = owner_tag(OTHER) if marked else "made by hand"
    assert_says(result.stderr, [repr(UID), "'Mine'", whose, "adopt"])
    assert live(azure) == before


def test_somebody_elses_dashboard_is_taken_over_where_settings_say_adopt(
    azure: Azure, operations: Operations
) -> None:
    save_by_hand(azure, tags=["gpuobs", owner_tag(OTHER)])
    operations.succeed(APPLY, request_for(azure, adopt=True))
    assert texts(content(azure)["tags"]) == ["gpu", "gpuobs", owner_tag(OWNER)]


def test_a_mark_inside_the_users_own_file_gives_nobody_else_the_dashboard(
    azure: Azure, operations: Operations
) -> None:
    copied = {"title": "Copied", "tags": [owner_tag(OTHER), "gpuobs-folder:x", "kept"]}
    operations.succeed(APPLY, request_for(azure, dashboard=copied))
    assert texts(content(azure)["tags"]) == ["kept", "gpuobs", owner_tag(OWNER)]


def test_the_stacks_folder_is_made_and_deleted_with_the_dashboard(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, in_folder(azure))
    assert as_object(live(azure)["meta"])["folderUid"] == "folder-dev"
    operations.succeed(APPLY, in_folder(azure))
    assert operations.succeed(DELETE, in_folder(azure)).answer["deleted"] is True
    assert not live(azure).get("dashboard")
    assert folders(azure) == []


def test_a_folder_that_existed_before_stays(azure: Azure, operations: Operations) -> None:
    azure.in_grafana("POST", "/api/folders", {"uid": "folder-dev", "title": "Team"})
    operations.succeed(APPLY, in_folder(azure))
    operations.succeed(DELETE, in_folder(azure))
    assert folders(azure) == ["folder-dev"]


def test_a_folder_that_holds_something_else_stays_and_is_named(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, in_folder(azure))
    other: JsonObject = {"title": "Theirs", "uid": "theirs"}
    azure.in_grafana("POST", "/api/dashboards/db", {"dashboard": other, "folderUid": "folder-dev"})
    result = operations.succeed(DELETE, in_folder(azure))
    assert_says(result.stderr, ["folder-dev", "stays", "1 dashboard"])
    assert live(azure, "theirs")["dashboard"]


def test_a_folder_made_for_a_dashboard_that_grafana_refuses_is_taken_away_again(
    azure: Azure, operations: Operations
) -> None:
    result = operations(APPLY, in_folder(azure, dashboard={"title": ""}))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, ["title cannot be empty"])
    assert folders(azure) == []


def test_a_folder_of_the_wanted_title_is_used_and_never_renamed_or_deleted(
    azure: Azure, operations: Operations
) -> None:
    azure.in_grafana("POST", "/api/folders", {"uid": "theirs", "title": "GPU dev"})
    operations.succeed(APPLY, in_folder(azure))
    assert as_object(live(azure)["meta"])["folderUid"] == "theirs"
    operations.succeed(APPLY, in_folder(azure, folder_title="GPU"))
    assert as_object(live(azure)["meta"])["folderTitle"] == "GPU"
    assert sorted(folders(azure)) == ["folder-dev", "theirs"]
    operations.succeed(DELETE, in_folder(azure, folder_title="GPU"))
    assert folders(azure) == ["theirs"]


def test_a_folder_that_was_there_under_the_wanted_uid_keeps_its_owners_title(
    azure: Azure, operations: Operations
) -> None:
    azure.in_grafana("POST", "/api/folders", {"uid": "folder-dev", "title": "Team"})
    request = in_folder(azure)
    asked = {"dashboards": {"one": request.model_dump(by_alias=True)}}
    for _ in range(2):
        revisions = as_object(operations.succeed(Verb.OBSERVE, asked).answer["revisions"])
        operations.succeed(APPLY, request, observed=as_text(revisions["one"]))
    assert as_object(live(azure)["meta"])["folderTitle"] == "Team"
    assert len(versions(azure)) == 1


def test_a_folder_of_another_stacks_goes_with_none_that_takes_its_dashboard_over(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, in_folder(azure, owner=OTHER))
    operations.succeed(APPLY, request_for(azure, adopt=True))
    assert folders(azure) == ["folder-dev"]


def test_a_folder_that_does_not_exist_and_has_no_title_is_named(
    azure: Azure, operations: Operations
) -> None:
    result = operations(APPLY, request_for(azure, folder_uid="nowhere"))
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(result.stderr, ["'nowhere'"])


def test_a_dashboard_moved_by_hand_is_moved_back(azure: Azure, operations: Operations) -> None:
    operations.succeed(APPLY, in_folder(azure))
    moved = {"dashboard": content(azure), "folderUid": "", "overwrite": True}
    azure.in_grafana("POST", "/api/dashboards/db", moved)
    operations.succeed(APPLY, in_folder(azure))
    assert as_object(live(azure)["meta"])["folderUid"] == "folder-dev"


@pytest.mark.handles("things-left-behind")
def test_deleting_a_dashboard_again_succeeds(azure: Azure, operations: Operations) -> None:
    operations.succeed(APPLY, request_for(azure))
    assert operations.succeed(DELETE, request_for(azure)).answer["deleted"] is True
    assert operations.succeed(DELETE, request_for(azure)).answer["deleted"] is False


@pytest.mark.handles("fixed-names-collide")
def test_deleting_leaves_another_stacks_dashboard_and_its_folder_alone(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, in_folder(azure, owner=OTHER))
    before = live(azure)
    result = operations.succeed(DELETE, in_folder(azure))
    assert result.answer["deleted"] is False
    assert_says(result.stderr, ["is not deleted", owner_tag(OTHER)])
    assert live(azure) == before
    assert folders(azure) == ["folder-dev"]


def test_deleting_a_dashboard_on_a_grafana_that_is_gone_succeeds(
    azure: Azure, operations: Operations
) -> None:
    request = in_folder(azure)
    azure.arm("DELETE", GRAFANA_ID, "2025-08-01")
    assert operations.succeed(DELETE, request).answer["deleted"] is False


@pytest.mark.parametrize("status", [401, 403])
def test_an_editor_role_that_does_not_count_yet_is_waited_for(
    azure: Azure, operations: Operations, status: int
) -> None:
    request = request_for(azure)
    azure.fault("POST", ".*/dashboards/db", {"status": status}, service="grafana", count=3)
    result = operations.succeed(APPLY, request)
    assert_says(result.stderr, ["waiting for the dashboard", str(status)])


def test_an_editor_role_that_never_comes_is_named(azure: Azure, operations: Operations) -> None:
    request = request_for(azure)
    azure.fault("GET", ".*/dashboards/.*", {"status": 403}, service="grafana", count=None)
    result = operations(APPLY, request, "--deadline", "30")
    assert result.exit_code == ExitCode.FORBIDDEN
    assert_says(result.stderr, ["after 30 s", "'Grafana Editor', or 'Grafana Admin'", GRAFANA_ID])


@pytest.mark.parametrize(
    "then",
    [
        {"status": 429, "headers": {"Retry-After": "2"}},
        {"status": 502},
        {"drop": "before"},
        {"drop": "after"},
    ],
    ids=["throttled", "bad gateway", "dropped before", "dropped after"],
)
@pytest.mark.parametrize("path", [".*/dashboards/db", ".*/folders"])
def test_one_bad_answer_does_not_fail_the_dashboard(
    azure: Azure, operations: Operations, path: str, then: dict[str, object]
) -> None:
    request = in_folder(azure)
    azure.fault("POST", path, then, service="grafana")
    operations.succeed(APPLY, request)
    assert content(azure)["title"] == "GPU memory"
    assert as_object(live(azure)["meta"])["folderUid"] == "folder-dev"


def test_a_title_or_version_clash_is_explained(azure: Azure, operations: Operations) -> None:
    request = request_for(azure)
    body = {"message": "A dashboard with the same name in the folder already exists"}
    azure.fault(
        "POST", ".*/dashboards/db", {"status": 412, "body": body}, service="grafana", count=None
    )
    result = operations(APPLY, request)
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(result.stderr, [body["message"], "grafana.folder"])


@pytest.mark.parametrize(
    "text", ["<html>Sign in</html>", "", '"a text"', "null"], ids=["page", "empty", "text", "null"]
)
@pytest.mark.parametrize(
    ("verb", "method", "path"),
    [
        (APPLY, "GET", ".*/dashboards/uid/[^/]*"),
        (APPLY, "GET", ".*/folders/.*"),
        (APPLY, "POST", ".*/dashboards/db"),
        (DELETE, "GET", ".*/dashboards/uid/.*"),
        (DELETE, "GET", ".*/folders/.*"),
        (DELETE, "GET", ".*/search"),
        (DELETE, "DELETE", ".*/dashboards/uid/.*"),
        (DELETE, "DELETE", ".*/folders/.*"),
    ],
)
def test_an_answer_that_is_not_grafanas_is_no_fact_and_no_success(
    azure: Azure, operations: Operations, verb: Verb, method: str, path: str, text: str
) -> None:
    request = in_folder(azure)
    operations.succeed(APPLY, request)
    then = {"status": 200, "text": text}
    azure.fault(method, path, then, service="grafana", count=None)
    result = operations(verb, request, "--deadline", "20")
    azure.settings(faults=[])
    assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    assert_says(result.stderr, ["is not Grafana"])
    operations.succeed(verb, request)
    assert bool(live(azure).get("dashboard")) is (verb is APPLY)
    assert folders(azure) == (["folder-dev"] if verb is APPLY else [])


@pytest.mark.parametrize("path", [".*/dashboards/uid/.*", ".*/folders/.*"])
@pytest.mark.parametrize(
    "then",
    [{"status": 503}, {"drop": "before"}, {"drop": "after"}, {"status": 200, "text": "{}"}],
    ids=["busy", "not received", "not answered", "a success that is none"],
)
def test_one_bad_answer_leaves_nothing_behind_when_deleting(
    azure: Azure, operations: Operations, path: str, then: dict[str, object]
) -> None:
    operations.succeed(APPLY, in_folder(azure))
    azure.fault("DELETE", path, then, service="grafana")
    operations.succeed(DELETE, in_folder(azure))
    assert not live(azure).get("dashboard")
    assert folders(azure) == []


ANSWERS_OF_SOMETHING_ELSE = ["<html>Sign in</html>", "", "null", "{}", "[]", '{"message": "ok"}']
WRITES = [
    ("POST", ".*/dashboards/db", False),
    ("POST", ".*/dashboards/db", True),
    ("POST", ".*/folders", False),
    ("PUT", ".*/folders/.*", True),
]
"""Method, path, and whether the dashboard and its folder are there before, titled otherwise."""


def write_in_between(
    azure: Azure, operations: Operations, write: tuple[str, str, bool], text: str
) -> DashboardRequest:
    """A change of which ``write`` is answered by something in between, from now on."""
    method, path, is_there = write
    if is_there:
        operations.succeed(APPLY, in_folder(azure, folder_title="Before"))
    then = {"status": 200, "text": text}
    azure.fault(method, path, then, service="grafana", count=None)
    return in_folder(azure, dashboard={"title": "Changed", "panels": [], "schemaVersion": 41})


@pytest.mark.parametrize("write", WRITES, ids=["new", "changed", "new folder", "folder's title"])
@pytest.mark.parametrize("text", ANSWERS_OF_SOMETHING_ELSE)
def test_a_write_that_grafana_never_did_is_no_success_and_the_next_run_does_it(
    azure: Azure, operations: Operations, write: tuple[str, str, bool], text: str
) -> None:
    request = write_in_between(azure, operations, write, text)
    result = operations(APPLY, request, "--deadline", "20")
    assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    assert_says(result.stderr, ["check the network"])
    assert result.stdout == ""
    azure.settings(faults=[])
    operations.succeed(APPLY, request)
    assert content(azure)["title"] == "Changed"
    assert as_object(live(azure)["meta"])["folderTitle"] == "GPU dev"
    assert folders(azure) == ["folder-dev"]


@pytest.mark.parametrize("write", WRITES, ids=["new", "changed", "new folder", "folder's title"])
def test_one_write_that_something_else_answered_is_repeated_and_leaves_nothing_behind(
    azure: Azure, operations: Operations, write: tuple[str, str, bool]
) -> None:
    method, path, is_there = write
    if is_there:
        operations.succeed(APPLY, in_folder(azure, folder_title="Before"))
    azure.fault(method, path, {"status": 200, "text": "{}"}, service="grafana")
    operations.succeed(APPLY, in_folder(azure))
    assert as_object(live(azure)["meta"])["folderTitle"] == "GPU dev"
    operations.succeed(DELETE, in_folder(azure))
    assert folders(azure) == []


@pytest.mark.parametrize("text", ["<html>not here</html>", ""], ids=["page", "empty"])
def test_a_proxys_404_does_not_say_that_something_is_gone(
    azure: Azure, operations: Operations, text: str
) -> None:
    request = request_for(azure)
    operations.succeed(APPLY, request)
    azure.fault("GET", ".*/uid/.*", {"status": 404, "text": text}, service="grafana", count=None)
    for verb in (APPLY, DELETE):
        result = operations(verb, request, "--deadline", "20")
        assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    azure.settings(faults=[])
    assert operations.succeed(DELETE, request).answer["deleted"] is True
