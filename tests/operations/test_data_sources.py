"""Applying and deleting data sources on a Grafana that several stacks share."""

from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.grafana import DataSourceRequest, Owner
from operations.errors import ExitCode
from simulator.values import as_object
from tests.operations.conftest import (
    CLUSTER_ID,
    GRAFANA_ID,
    SUBSCRIPTION,
    Azure,
    Operations,
    assert_says,
)

OWNER = Owner(cluster=CLUSTER_ID.lower(), project="gpuobs", stack="dev")
OTHER = Owner(cluster=CLUSTER_ID.lower().replace("dev", "prod"), project="gpuobs", stack="prod")

APPLY, DELETE = Verb.APPLY_DATA_SOURCE, Verb.DELETE_DATA_SOURCE


def pyroscope(azure: Azure, **changes: Any) -> DataSourceRequest:
    request = DataSourceRequest(
        endpoint=azure.endpoint,
        workspace_id=GRAFANA_ID,
        owner=OWNER,
        name="local-pyroscope",
        uid="local-pyroscope",
        type="grafana-pyroscope-datasource",
        url="http://10.1.2.3:4040",
        json_data={"keepCookies": ["pyroscope_git_session"]},
    )
    return request.model_copy(update=changes)


def prometheus(azure: Azure, **changes: Any) -> DataSourceRequest:
    return pyroscope(
        azure,
        name="amw-dev",
        uid="prometheus-dev",
        type="prometheus",
        url="https://amw-dev.westeurope.prometheus.monitor.azure.com",
        json_data={"httpMethod": "POST", "azureCredentials": {"authType": "msi"}},
    ).model_copy(update=changes)


def by_hand(azure: Azure, **fields: object) -> None:
    """A source as a person makes it."""
    body = {"type": "prometheus", "access": "proxy", "url": "http://example.invalid", **fields}
    azure.in_grafana("POST", "/api/datasources", body)


def test_a_source_is_made_as_requested_and_marked_with_its_owner(
    azure: Azure, operations: Operations
) -> None:
    result = operations.succeed(APPLY, pyroscope(azure), observed="0123456789ab-01234567")
    assert result.answer == {"uid": "local-pyroscope", "name": "local-pyroscope"}
    live = azure.source("local-pyroscope")
    assert live["type"] == "grafana-pyroscope-datasource"
    assert live["access"] == "proxy"
    assert live["url"] == "http://10.1.2.3:4040"
    assert live["jsonData"] == {
        "keepCookies": ["pyroscope_git_session"],
        "gpuobs": {
            "owner": {"cluster": CLUSTER_ID.lower(), "project": "gpuobs", "stack": "dev"},
            "revision": "0123456789ab-01234567",
        },
    }


@pytest.mark.handles("prometheus-source-duplicated")
def test_applying_twice_leaves_one_source(azure: Azure, operations: Operations) -> None:
    before = len(azure.in_grafana("GET", "/api/datasources") or [])  # type: ignore[arg-type]
    for _ in range(2):
        operations.succeed(APPLY, prometheus(azure))
    after = len(azure.in_grafana("GET", "/api/datasources") or [])  # type: ignore[arg-type]
    assert after == before + 1


def test_applying_the_same_revision_again_writes_nothing(
    azure: Azure, operations: Operations
) -> None:
    observed = operations.succeed(
        Verb.OBSERVE, {"dataSources": {"one": pyroscope(azure).model_dump(by_alias=True)}}
    ).answer["revisions"]
    revision = str(as_object(observed)["one"])
    operations.succeed(APPLY, pyroscope(azure), observed=revision)
    version = azure.source("local-pyroscope").get("version")
    azure.fault("PUT|POST|DELETE", ".*", {"status": 500}, service="grafana", count=None)
    operations.succeed(APPLY, pyroscope(azure), observed=revision)
    azure.settings(faults=[])
    assert azure.source("local-pyroscope").get("version") == version


def test_a_changed_url_is_updated_in_place(azure: Azure, operations: Operations) -> None:
    operations.succeed(APPLY, pyroscope(azure))
    number = azure.source("local-pyroscope")["id"]
    operations.succeed(APPLY, pyroscope(azure, url="http://10.9.9.9:4040"))
    live = azure.source("local-pyroscope")
    assert (live["url"], live["id"]) == ("http://10.9.9.9:4040", number)


def test_a_changed_type_makes_the_source_anew(azure: Azure, operations: Operations) -> None:
    operations.succeed(APPLY, prometheus(azure))
    operations.succeed(APPLY, prometheus(azure, type="grafana-pyroscope-datasource"))
    assert azure.source("prometheus-dev")["type"] == "grafana-pyroscope-datasource"


def test_a_prometheus_source_that_grafana_migrated_keeps_its_new_type(
    azure: Azure, operations: Operations
) -> None:
    request = prometheus(azure)
    operations.succeed(APPLY, request)
    live = azure.source("prometheus-dev")
    migrated = {**live, "type": "grafana-azureprometheus-datasource"}
    azure.in_grafana("DELETE", "/api/datasources/uid/prometheus-dev")
    azure.in_grafana("POST", "/api/datasources", migrated)
    operations.succeed(APPLY, request.model_copy(update={"url": "https://new.example.invalid"}))
    live = azure.source("prometheus-dev")
    assert live["type"] == "grafana-azureprometheus-datasource"
    assert live["url"] == "https://new.example.invalid"


@pytest.mark.handles("source-name-taken")
def test_our_own_source_under_another_uid_gives_up_its_name_and_answers_until_it_is_deleted(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure, uid="old-uid"))
    operations.succeed(APPLY, pyroscope(azure))
    assert azure.source("local-pyroscope")["name"] == "local-pyroscope"
    former = azure.source("old-uid")
    assert (former["name"], former["url"]) == ("local-pyroscope (old-uid)", "http://10.1.2.3:4040")
    assert operations.succeed(DELETE, pyroscope(azure, uid="old-uid")).answer["deleted"] is True
    assert azure.source("local-pyroscope")


@pytest.mark.handles("source-name-taken")
def test_somebody_elses_source_that_is_taken_over_gets_the_wanted_uid_in_place(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure, uid="theirs", owner=OTHER))
    number = azure.source("theirs")["id"]
    operations.succeed(APPLY, pyroscope(azure, adopt=True))
    assert azure.source("local-pyroscope")["id"] == number
    assert not azure.source("theirs")


@pytest.mark.handles("source-name-taken")
@pytest.mark.parametrize(
    "taken",
    [
        {"name": "local-pyroscope", "uid": "theirs"},
        {"name": "something else", "uid": "local-pyroscope"},
    ],
    ids=["name", "uid"],
)
def test_a_source_made_by_hand_is_refused_by_name_and_uid_and_stays(
    azure: Azure, operations: Operations, taken: dict[str, str]
) -> None:
    by_hand(azure, **taken)
    before = azure.source(taken["uid"])
    result = operations(APPLY, pyroscope(azure))
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(result.stderr, [repr(taken["name"]), repr(taken["uid"]), "made by hand", "adopt"])
    assert azure.source(taken["uid"]) == before


@pytest.mark.handles("fixed-names-collide")
def test_another_stacks_source_is_refused_naming_that_stack(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure, owner=OTHER))
    before = azure.source("local-pyroscope")
    result = operations(APPLY, pyroscope(azure))
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(result.stderr, ["'prod'", "aks-prod", "'local-pyroscope'"])
    assert azure.source("local-pyroscope") == before


def test_the_clusters_case_does_not_make_another_owner(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure))
    owner = OWNER.model_copy(update={"cluster": CLUSTER_ID.upper()})
    operations.succeed(APPLY, pyroscope(azure, owner=owner, url="http://10.4.4.4:4040"))
    assert azure.source("local-pyroscope")["url"] == "http://10.4.4.4:4040"


@pytest.mark.parametrize(
    "taken",
    [
        {"name": "local-pyroscope", "uid": "theirs"},
        {"name": "something else", "uid": "local-pyroscope"},
    ],
    ids=["name", "uid"],
)
def test_somebody_elses_source_is_taken_over_where_settings_say_adopt(
    azure: Azure, operations: Operations, taken: dict[str, str]
) -> None:
    by_hand(azure, **taken)
    operations.succeed(APPLY, pyroscope(azure, adopt=True))
    live = azure.source("local-pyroscope")
    assert live["name"] == "local-pyroscope"
    assert live["type"] == "grafana-pyroscope-datasource"
    assert operations.succeed(DELETE, pyroscope(azure)).answer["deleted"] is True


def test_a_name_made_by_somebody_else_between_look_and_write_is_named(
    azure: Azure, operations: Operations
) -> None:
    by_hand(azure, name="local-pyroscope", uid="theirs")
    azure.fault("GET", ".*/name/local-pyroscope", {"status": 404, "body": {}}, service="grafana")
    result = operations(APPLY, pyroscope(azure))
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(result.stderr, ["'theirs'", "made by hand"])


@pytest.mark.handles("things-left-behind")
def test_deleting_removes_our_source_and_deleting_again_succeeds(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure))
    assert operations.succeed(DELETE, pyroscope(azure)).answer["deleted"] is True
    assert not azure.source("local-pyroscope")
    again = operations.succeed(DELETE, pyroscope(azure))
    assert again.answer == {
        "uid": "local-pyroscope",
        "deleted": False,
        "note": "it is gone already",
    }


def test_a_deletion_that_was_answered_with_success_and_not_done_is_repeated(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure))
    azure.fault("DELETE", ".*/datasources/.*", {"status": 200, "text": "{}"}, service="grafana")
    operations.succeed(DELETE, pyroscope(azure))
    assert not azure.source("local-pyroscope")


@pytest.mark.parametrize("owner", [OTHER, None], ids=["another stack", "nobody"])
def test_deleting_leaves_somebody_elses_source_alone_and_says_so(
    azure: Azure, operations: Operations, owner: Owner | None
) -> None:
    if owner is None:
        by_hand(azure, name="local-pyroscope", uid="local-pyroscope")
    else:
        operations.succeed(APPLY, pyroscope(azure, owner=owner))
    before = azure.source("local-pyroscope")
    result = operations.succeed(DELETE, pyroscope(azure))
    assert result.answer["deleted"] is False
    assert_says(result.stderr, ["is not deleted", "prod" if owner else "made by hand"])
    assert azure.source("local-pyroscope") == before


def test_deleting_a_source_never_removes_one_of_that_name_under_a_newer_uid(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, pyroscope(azure, uid="old"))
    operations.succeed(APPLY, pyroscope(azure, uid="new"))
    operations.succeed(DELETE, pyroscope(azure, uid="old"))
    assert azure.source("new")["name"] == "local-pyroscope"


def test_deleting_on_a_grafana_that_is_gone_succeeds(azure: Azure, operations: Operations) -> None:
    request = pyroscope(azure)
    azure.arm("DELETE", GRAFANA_ID, "2025-08-01")
    assert operations.succeed(DELETE, request).answer["deleted"] is False


def test_deleting_where_the_grafanas_name_no_longer_resolves_succeeds_once_arm_confirms(
    azure: Azure, operations: Operations
) -> None:
    request = pyroscope(azure, endpoint="https://127.0.0.1:1/grafana/grafana-dev")
    result = operations(DELETE, request)
    assert result.exit_code == ExitCode.UNREACHABLE
    azure.arm("DELETE", GRAFANA_ID, "2025-08-01")
    assert operations.succeed(DELETE, request).answer["deleted"] is False


def test_a_grafana_in_a_subscription_that_we_cannot_see_does_not_count_as_gone(
    azure: Azure, operations: Operations
) -> None:
    hidden = GRAFANA_ID.replace(SUBSCRIPTION, "99999999-9999-4999-8999-999999999999")
    request = pyroscope(azure, endpoint="https://127.0.0.1:1/x", workspace_id=hidden)
    assert operations(DELETE, request).exit_code == ExitCode.UNREACHABLE


@pytest.mark.parametrize("endpoint", ["", "https://127.0.0.1:1/x"], ids=["front", "no front"])
def test_applying_to_a_grafana_that_is_gone_says_so_at_once(
    azure: Azure, operations: Operations, endpoint: str
) -> None:
    request = pyroscope(azure, endpoint=endpoint or azure.endpoint)
    azure.arm("DELETE", GRAFANA_ID, "2025-08-01")
    result = operations(APPLY, request)
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(result.stderr, [GRAFANA_ID, "does not exist"])
    assert "waiting" not in result.stderr


@pytest.mark.handles("grafana-not-public")
@pytest.mark.parametrize("verb", [APPLY, DELETE])
def test_a_grafana_without_public_access_is_named_at_once_instead_of_waiting_for_a_role(
    azure: Azure, operations: Operations, verb: Verb
) -> None:
    request = pyroscope(azure)
    azure.arm(
        "PATCH", GRAFANA_ID, "2025-08-01", {"properties": {"publicNetworkAccess": "Disabled"}}
    )
    result = operations(verb, request)
    assert result.exit_code == ExitCode.FORBIDDEN
    assert_says(
        result.stderr,
        [
            "publicNetworkAccess is Disabled",
            f"--ids {GRAFANA_ID} --set properties.publicNetworkAccess=Enabled",
        ],
    )
    assert "waiting" not in result.stderr


@pytest.mark.parametrize("status", [401, 403])
def test_a_role_that_does_not_count_yet_is_waited_for(
    azure: Azure, operations: Operations, status: int
) -> None:
    request = pyroscope(azure)
    azure.fault(
        "GET",
        ".*/api/datasources.*",
        {"status": status, "body": {"message": "no role yet"}},
        service="grafana",
        count=4,
    )
    result = operations.succeed(APPLY, request)
    assert_says(result.stderr, ["waiting for the data source local-pyroscope", str(status)])


def test_a_role_that_never_comes_ends_at_the_deadline_naming_role_and_scope(
    azure: Azure, operations: Operations
) -> None:
    request = pyroscope(azure)
    azure.fault("GET", ".*/api/datasources.*", {"status": 403}, service="grafana", count=None)
    result = operations(APPLY, request)
    assert result.exit_code == ExitCode.FORBIDDEN
    assert_says(result.stderr, ["after 900 s", "'Grafana Admin'", GRAFANA_ID, "Owner"])


@pytest.mark.parametrize(
    "then",
    [
        {"status": 429, "headers": {"Retry-After": "3"}},
        {"status": 503},
        {"status": 500, "body": {"message": "Failed to add datasource"}},
        {"drop": "before"},
        {"drop": "after"},
    ],
    ids=["throttled", "unavailable", "failing", "dropped before", "dropped after"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_one_bad_answer_does_not_fail_the_source_nor_make_it_twice(
    azure: Azure, operations: Operations, method: str, then: dict[str, object]
) -> None:
    request = pyroscope(azure)
    azure.fault(method, ".*/api/datasources.*", then, service="grafana")
    operations.succeed(APPLY, request)
    assert azure.source("local-pyroscope")["url"] == request.url
    struck = azure.control("GET", "faults")
    assert "1" in str(struck)


def test_a_grafana_that_keeps_failing_ends_busy_with_its_own_words(
    azure: Azure, operations: Operations
) -> None:
    request = pyroscope(azure)
    azure.fault(
        "POST",
        ".*/api/datasources",
        {"status": 500, "body": {"message": "database is locked"}},
        service="grafana",
        count=None,
    )
    result = operations(APPLY, request, "--deadline", "60")
    assert result.exit_code == ExitCode.BUSY
    assert_says(result.stderr, ["after 60 s", "database is locked"])


@pytest.mark.parametrize(
    "text", ["<html>Sign in</html>", "", "{}", "null"], ids=["page", "empty", "nothing", "null"]
)
@pytest.mark.parametrize(
    ("verb", "method", "path"),
    [
        (APPLY, "GET", ".*/datasources/uid/.*"),
        (APPLY, "GET", ".*/datasources/name/.*"),
        (DELETE, "GET", ".*/datasources/uid/.*"),
    ],
)
def test_an_answer_that_is_not_grafanas_is_no_fact_and_no_success(
    azure: Azure, operations: Operations, verb: Verb, method: str, path: str, text: str
) -> None:
    request = pyroscope(azure)
    if verb is DELETE:
        operations.succeed(APPLY, request)
    then = {"status": 200, "text": text}
    azure.fault(method, path, then, service="grafana", count=None)
    result = operations(verb, request, "--deadline", "20")
    azure.settings(faults=[])
    assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    assert_says(result.stderr, ["is not Grafana"])
    operations.succeed(verb, request)
    assert bool(azure.source(request.uid)) is (verb is APPLY)


ANSWERS_OF_SOMETHING_ELSE = ["<html>Sign in</html>", "", "null", "{}", "[]", '{"message": "ok"}']


@pytest.mark.parametrize("text", ANSWERS_OF_SOMETHING_ELSE)
@pytest.mark.parametrize("times", [1, None], ids=["once", "always"])
def test_our_former_source_gives_up_its_name_only_where_grafana_did_it(
    azure: Azure, operations: Operations, text: str, times: int | None
) -> None:
    operations.succeed(APPLY, pyroscope(azure, uid="old-uid"))
    then = {"status": 200, "text": text}
    azure.fault("PUT", ".*/uid/old-uid", then, service="grafana", count=times)
    result = operations(APPLY, pyroscope(azure), "--deadline", "20")
    azure.settings(faults=[])
    assert result.exit_code == (ExitCode.OK if times else ExitCode.UNREACHABLE), result.stderr
    assert bool(azure.source("local-pyroscope")) is bool(times)


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("text", ANSWERS_OF_SOMETHING_ELSE)
def test_a_write_that_grafana_never_did_is_no_success(
    azure: Azure, operations: Operations, method: str, text: str
) -> None:
    if method == "PUT":
        operations.succeed(APPLY, pyroscope(azure, url="http://10.9.9.9:4040"))
    then = {"status": 200, "text": text}
    azure.fault(method, ".*/datasources.*", then, service="grafana", count=None)
    result = operations(APPLY, pyroscope(azure), "--deadline", "20")
    assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    assert_says(result.stderr, ["local-pyroscope", "check the network"])
    assert result.stdout == ""


@pytest.mark.parametrize(("verb", "method"), [(APPLY, "POST"), (APPLY, "PUT"), (DELETE, "DELETE")])
@pytest.mark.parametrize("text", ANSWERS_OF_SOMETHING_ELSE)
def test_a_write_that_something_else_answered_is_repeated(
    azure: Azure, operations: Operations, verb: Verb, method: str, text: str
) -> None:
    if method != "POST":
        operations.succeed(APPLY, pyroscope(azure, url="http://10.9.9.9:4040"))
    request = pyroscope(azure)
    azure.fault(method, ".*/datasources.*", {"status": 200, "text": text}, service="grafana")
    operations.succeed(verb, request)
    live = azure.source(request.uid)
    assert live.get("url") == (request.url if verb is APPLY else None)


def test_a_refused_request_is_not_repeated(azure: Azure, operations: Operations) -> None:
    request = pyroscope(azure, uid="x" * 41)
    result = operations(APPLY, request)
    assert result.exit_code == ExitCode.REJECTED
    assert "waiting" not in result.stderr


@pytest.mark.handles("numeric-ids-off")
def test_sources_are_applied_and_deleted_on_grafana_13_which_has_no_numeric_routes(
    azure: Azure, operations: Operations
) -> None:
    azure.arm("PATCH", GRAFANA_ID, "2025-08-01", {"properties": {"grafanaMajorVersion": "13"}})
    operations.succeed(APPLY, prometheus(azure))
    operations.succeed(APPLY, prometheus(azure, url="https://new.example.invalid"))
    assert operations.succeed(DELETE, prometheus(azure)).answer["deleted"] is True


def test_a_new_source_of_metrics_is_of_the_type_that_can_sign_in_to_azure_there(
    azure: Azure, operations: Operations
) -> None:
    operations.succeed(APPLY, prometheus(azure))
    assert azure.source("prometheus-dev")["type"] == "prometheus"
    azure.arm("PATCH", GRAFANA_ID, "2025-08-01", {"properties": {"grafanaMajorVersion": "13"}})
    # Grafana moves what it finds when it starts as a 13.
    assert azure.source("prometheus-dev")["type"] == "grafana-azureprometheus-datasource"
    azure.in_grafana("DELETE", "/api/datasources/uid/prometheus-dev")
    operations.succeed(APPLY, prometheus(azure))
    assert azure.source("prometheus-dev")["type"] == "grafana-azureprometheus-datasource"


def test_a_source_of_metrics_that_cannot_sign_in_to_azure_is_made_anew(
    azure: Azure, operations: Operations
) -> None:
    azure.arm("PATCH", GRAFANA_ID, "2025-08-01", {"properties": {"grafanaMajorVersion": "13"}})
    operations.succeed(APPLY, prometheus(azure))
    live = azure.source("prometheus-dev")
    azure.in_grafana("DELETE", "/api/datasources/uid/prometheus-dev")
    azure.in_grafana("POST", "/api/datasources", {**live, "type": "prometheus"})
    operations.succeed(APPLY, prometheus(azure))
    assert azure.source("prometheus-dev")["type"] == "grafana-azureprometheus-datasource"


def test_a_prometheus_without_azure_credentials_stays_one_on_grafana_13(
    azure: Azure, operations: Operations
) -> None:
    azure.arm("PATCH", GRAFANA_ID, "2025-08-01", {"properties": {"grafanaMajorVersion": "13"}})
    operations.succeed(APPLY, prometheus(azure, json_data={"httpMethod": "POST"}))
    assert azure.source("prometheus-dev")["type"] == "prometheus"


def test_a_token_is_never_sent_over_plain_http(azure: Azure, operations: Operations) -> None:
    request = pyroscope(azure, endpoint="http://127.0.0.1:9/grafana/grafana-dev")
    result = operations(APPLY, request)
    assert result.exit_code == ExitCode.BAD_REQUEST
    assert_says(result.stderr, ["https", "unencrypted"])


@pytest.mark.parametrize("text", ["<html>not here</html>", ""], ids=["page", "empty"])
def test_a_proxys_404_does_not_say_that_something_is_gone(
    azure: Azure, operations: Operations, text: str
) -> None:
    request = pyroscope(azure)
    operations.succeed(APPLY, request)
    azure.fault("GET", ".*/uid/.*", {"status": 404, "text": text}, service="grafana", count=None)
    for verb in (APPLY, DELETE):
        result = operations(verb, request, "--deadline", "20")
        assert result.exit_code == ExitCode.UNREACHABLE, result.stdout + result.stderr
    azure.settings(faults=[])
    assert operations.succeed(DELETE, request).answer["deleted"] is True
