"""Observing: an object keeps its revision while it is as requested, and no longer."""

from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.drift import ObserveRequest
from contract.messages.grafana import DashboardRequest, DataSourceRequest, Owner
from operations.errors import ExitCode
from operations.session import fresh_revision, is_revision_of
from simulator.values import JsonObject, as_object, as_text, texts
from tests.operations.conftest import CLUSTER_ID, GRAFANA_ID, Azure, Operations, assert_says

DEV = Owner(cluster=CLUSTER_ID.lower(), project="gpuobs", stack="dev")
PROD = Owner(cluster=CLUSTER_ID.lower().replace("dev", "prod"), project="gpuobs", stack="prod")
SOURCE_PATH = "/api/datasources/uid/pyroscope-dev"
DASHBOARD_PATH = "/api/dashboards/uid/gpuobs-dev"


def source(azure: Azure, **changes: Any) -> DataSourceRequest:
    request = DataSourceRequest(
        endpoint=azure.endpoint,
        workspace_id=GRAFANA_ID,
        owner=DEV,
        name="pyroscope-dev",
        uid="pyroscope-dev",
        type="grafana-pyroscope-datasource",
        url="http://10.1.2.3:4040",
        json_data={"keepCookies": ["pyroscope_git_session"]},
    )
    return request.model_copy(update=changes)


def dashboard(azure: Azure, **changes: Any) -> DashboardRequest:
    request = DashboardRequest(
        endpoint=azure.endpoint,
        workspace_id=GRAFANA_ID,
        owner=DEV,
        uid="gpuobs-dev",
        dashboard={"title": "GPU memory", "panels": [{"id": 1, "type": "text"}]},
        folder_uid="folder-dev",
        folder_title="GPU dev",
    )
    return request.model_copy(update=changes)


def asked(azure: Azure, **changes: Any) -> ObserveRequest:
    request = ObserveRequest(
        data_sources={"pyroscope": source(azure)}, dashboards={"dashboard": dashboard(azure)}
    )
    return request.model_copy(update=changes)


def revisions(operations: Operations, request: ObserveRequest) -> dict[str, str]:
    answer = operations.succeed(Verb.OBSERVE, request).answer
    assert answer["problems"] == [], answer
    return {name: as_text(revision) for name, revision in as_object(answer["revisions"]).items()}


def settle(azure: Azure, operations: Operations) -> dict[str, str]:
    """Observe and apply, as an update does; the revisions."""
    found = revisions(operations, asked(azure))
    operations.succeed(Verb.APPLY_DATA_SOURCE, source(azure), observed=found["pyroscope"])
    operations.succeed(Verb.APPLY_DASHBOARD, dashboard(azure), observed=found["dashboard"])
    return found


def test_what_does_not_exist_yet_has_a_fresh_revision_each_time_and_is_no_problem(
    azure: Azure, operations: Operations
) -> None:
    first, second = (revisions(operations, asked(azure)) for _ in range(2))
    assert first.keys() == {"pyroscope", "dashboard"}
    assert not set(first.values()) & set(second.values())


def test_on_a_grafana_created_in_this_update_nothing_is_looked_for_and_nothing_is_a_problem(
    azure: Azure, operations: Operations
) -> None:
    request = asked(azure, on_new_grafana=True)
    before = azure.calls()
    found = revisions(operations, request)
    assert azure.calls() == before
    assert is_revision_of(found["pyroscope"], source(azure))
    assert is_revision_of(found["dashboard"], dashboard(azure))


def test_a_revision_tells_its_request(azure: Azure, operations: Operations) -> None:
    found = revisions(operations, asked(azure))
    assert is_revision_of(found["pyroscope"], source(azure))
    assert not is_revision_of(found["pyroscope"], source(azure, name="other"))
    assert is_revision_of(found["dashboard"], dashboard(azure))


def test_what_was_applied_keeps_its_revisions(azure: Azure, operations: Operations) -> None:
    settled = settle(azure, operations)
    for _ in range(2):
        assert revisions(operations, asked(azure)) == settled


def test_observing_changes_nothing(azure: Azure, operations: Operations) -> None:
    settle(azure, operations)
    before = {key: value for key, value in azure.inspect().items() if key != "calls"}
    revisions(operations, asked(azure))
    assert {key: value for key, value in azure.inspect().items() if key != "calls"} == before


@pytest.mark.handles("source-deleted-by-hand")
def test_a_source_deleted_by_hand_has_another_revision_and_the_dashboard_keeps_its_own(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    azure.in_grafana("DELETE", SOURCE_PATH)
    found = revisions(operations, asked(azure))
    assert found["pyroscope"] != settled["pyroscope"]
    assert found["dashboard"] == settled["dashboard"]
    operations.succeed(Verb.APPLY_DATA_SOURCE, source(azure), observed=found["pyroscope"])
    assert revisions(operations, asked(azure)) == found


@pytest.mark.parametrize(
    "edit",
    [
        {"url": "http://10.9.9.9:4040"},
        {"name": "renamed"},
        {"access": "direct"},
        {"jsonData": {"keepCookies": ["pyroscope_git_session"]}},
    ],
    ids=lambda edit: "-".join(edit),
)
def test_a_source_edited_by_hand_has_another_revision_until_it_is_put_back(
    azure: Azure, operations: Operations, edit: JsonObject
) -> None:
    settled = settle(azure, operations)
    live = as_object(azure.in_grafana("GET", SOURCE_PATH))
    azure.in_grafana("PUT", SOURCE_PATH, {**live, **edit})
    edited = as_object(azure.in_grafana("GET", SOURCE_PATH))
    assert all(edited[key] == value for key, value in edit.items()), "the edit did not take"
    ours = "jsonData" not in edit
    found = revisions(operations, asked(azure))
    assert found["pyroscope"] != settled["pyroscope"]
    if ours:
        operations.succeed(Verb.APPLY_DATA_SOURCE, source(azure), observed=found["pyroscope"])
        assert revisions(operations, asked(azure)) == found


def test_a_key_that_grafana_adds_by_itself_is_no_drift(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    live = as_object(azure.in_grafana("GET", SOURCE_PATH))
    data = {**as_object(live["jsonData"]), "pdcInjected": False}
    azure.in_grafana("PUT", SOURCE_PATH, {**live, "jsonData": data, "basicAuth": False})
    assert revisions(operations, asked(azure)) == settled


def test_a_dashboard_deleted_by_hand_has_another_revision(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    azure.in_grafana("DELETE", DASHBOARD_PATH)
    assert revisions(operations, asked(azure))["dashboard"] != settled["dashboard"]


@pytest.mark.parametrize("message", ["", "my edit", "gpuobs", "restored from gpuobs"])
def test_a_dashboard_edited_by_hand_has_another_revision_until_it_is_put_back(
    azure: Azure, operations: Operations, message: str
) -> None:
    settled = settle(azure, operations)
    live = as_object(as_object(azure.in_grafana("GET", DASHBOARD_PATH))["dashboard"])
    azure.in_grafana(
        "POST",
        "/api/dashboards/db",
        {
            "dashboard": {**live, "title": "Edited"},
            "folderUid": "folder-dev",
            "overwrite": True,
            "message": message,
        },
    )
    found = revisions(operations, asked(azure))
    assert found["dashboard"] != settled["dashboard"]
    operations.succeed(Verb.APPLY_DASHBOARD, dashboard(azure), observed=found["dashboard"])
    assert revisions(operations, asked(azure)) == found


def test_no_folder_that_grafana_calls_general_is_no_folder(
    azure: Azure, operations: Operations
) -> None:
    request = ObserveRequest(
        dashboards={"dashboard": dashboard(azure, folder_uid=None, folder_title=None)}
    )
    settled = revisions(operations, request)["dashboard"]
    wanted = request.dashboards["dashboard"]
    operations.succeed(Verb.APPLY_DASHBOARD, wanted, observed=settled)
    patch = {"meta": {"folderUid": "general"}}
    azure.fault("GET", f".*{DASHBOARD_PATH}", {"patch": patch}, count=None)
    assert revisions(operations, request)["dashboard"] == settled


def test_a_dashboard_moved_to_another_folder_has_another_revision(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    live = as_object(as_object(azure.in_grafana("GET", DASHBOARD_PATH))["dashboard"])
    message = f"gpuobs {settled['dashboard']}"
    body = {"dashboard": live, "folderUid": "", "overwrite": True, "message": message}
    azure.in_grafana("POST", "/api/dashboards/db", body)
    assert revisions(operations, asked(azure))["dashboard"] != settled["dashboard"]


def test_a_changed_request_is_never_in_sync_with_what_an_older_one_made(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    changed = asked(
        azure,
        data_sources={"pyroscope": source(azure, json_data={})},
        dashboards={"dashboard": dashboard(azure, dashboard={"title": "New"})},
    )
    found = revisions(operations, changed)
    assert not set(found.values()) & set(settled.values())


def test_numbers_that_the_engine_made_floats_are_the_same_request(azure: Azure) -> None:
    whole = dashboard(azure, dashboard={"title": "x", "panels": [{"id": 1}]})
    floats = dashboard(azure, dashboard={"panels": [{"id": 1.0}], "title": "x"})
    assert is_revision_of(fresh_revision(whole), floats)


def test_two_stacks_on_one_grafana_neither_see_nor_touch_each_others_objects(
    azure: Azure, operations: Operations
) -> None:
    dev = settle(azure, operations)
    prod_source = source(azure, owner=PROD, uid="pyroscope-prod", name="pyroscope-prod")
    prod_dashboard = dashboard(
        azure, owner=PROD, uid="gpuobs-prod", folder_uid="folder-prod", folder_title="GPU prod"
    )
    operations.succeed(Verb.APPLY_DATA_SOURCE, prod_source)
    operations.succeed(Verb.APPLY_DASHBOARD, prod_dashboard)
    assert revisions(operations, asked(azure)) == dev
    operations.succeed(Verb.DELETE_DATA_SOURCE, prod_source)
    operations.succeed(Verb.DELETE_DASHBOARD, prod_dashboard)
    assert revisions(operations, asked(azure)) == dev
    assert azure.source("pyroscope-dev")
    assert not azure.source("pyroscope-prod")


def test_an_object_that_passed_into_other_hands_has_another_revision(
    azure: Azure, operations: Operations
) -> None:
    settled = settle(azure, operations)
    operations.succeed(Verb.APPLY_DATA_SOURCE, source(azure, owner=PROD, adopt=True))
    operations.succeed(Verb.APPLY_DASHBOARD, dashboard(azure, owner=PROD, adopt=True))
    assert not set(revisions(operations, asked(azure)).values()) & set(settled.values())


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ({"status": 403}, ["403", "pyroscope"]),
        ({"status": 500, "body": {"message": "database is locked"}}, ["database is locked"]),
        ({"drop": "before"}, ["did not respond"]),
    ],
    ids=["forbidden", "failing", "dropped"],
)
def test_what_cannot_be_read_is_a_sentence_and_a_fresh_revision_and_leaves_the_rest_alone(
    azure: Azure, operations: Operations, then: JsonObject, words: list[str]
) -> None:
    settled = settle(azure, operations)
    azure.fault("GET", ".*/datasources/uid/.*", then, service="grafana", count=None)
    answer = operations.succeed(Verb.OBSERVE, asked(azure)).answer
    found = as_object(answer["revisions"])
    assert found["pyroscope"] != settled["pyroscope"]
    assert found["dashboard"] == settled["dashboard"]
    (problem,) = texts(answer["problems"])
    assert_says(problem, words)
    assert "\n" not in problem


def test_one_bad_answer_is_no_problem(azure: Azure, operations: Operations) -> None:
    settled = settle(azure, operations)
    azure.fault("GET", ".*", {"status": 503}, service="grafana", count=2)
    assert revisions(operations, asked(azure)) == settled


def test_a_grafana_that_is_gone_is_no_failure(azure: Azure, operations: Operations) -> None:
    request = asked(azure)
    azure.arm("DELETE", GRAFANA_ID, "2025-08-01")
    result = operations.succeed(Verb.OBSERVE, request)
    assert as_object(result.answer["revisions"]).keys() == {"pyroscope", "dashboard"}


def test_without_a_credential_every_object_has_a_sentence_and_the_preview_goes_on(
    azure: Azure, operations: Operations
) -> None:
    request = asked(azure)
    azure.settings(caller="")
    answer = operations.succeed(Verb.OBSERVE, request).answer
    assert as_object(answer["revisions"]).keys() == {"pyroscope", "dashboard"}
    assert_says(" ".join(texts(answer["problems"])), ["no credential"])


def test_nothing_to_observe_needs_no_call(azure: Azure, operations: Operations) -> None:
    before = azure.calls()
    assert operations.succeed(Verb.OBSERVE, ObserveRequest()).answer == {
        "revisions": {},
        "problems": [],
    }
    assert azure.calls() <= before + 1


def test_a_request_that_is_none_is_a_bad_request(operations: Operations) -> None:
    assert operations(Verb.OBSERVE, '{"x": 1}').exit_code == ExitCode.BAD_REQUEST


@pytest.mark.parametrize(
    "then",
    [
        {"status": 500, "body": {"statusCode": 500, "message": "try again"}},
        {"status": 429, "body": {"statusCode": 429, "message": "slow down"}},
        {"drop": "before"},
    ],
    ids=["failing", "throttled", "dropped"],
)
def test_an_identity_that_stumbles_once_does_not_fail_an_operation(
    azure: Azure, operations: Operations, then: JsonObject
) -> None:
    request = source(azure)
    azure.fault("GET", ".*", then, service="identity")
    operations.succeed(Verb.APPLY_DATA_SOURCE, request)
