"""Approving the one connection of the stack's endpoint, and refreshing Grafana until it knows."""

import re
from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.private_link import ApprovalRequest
from infra.names import names_for
from operations.errors import ExitCode
from simulator.values import JsonObject, as_object, as_text
from tests.operations.conftest import (
    GRAFANA_ID,
    GROUP_ID,
    MESSAGE,
    Azure,
    Operations,
    assert_says,
)

APPROVE = Verb.APPROVE_PRIVATE_ENDPOINT
REVISION = "0123456789ab-01234567"
CONNECTION = ".*/privateEndpointConnections/[^/]+"
ENDPOINT = ".*/managedPrivateEndpoints/[^/]+"
REFRESH = ".*/refreshManagedPrivateEndpoints"


def request_for(link_id: str, **changes: Any) -> ApprovalRequest:
    request = ApprovalRequest(
        grafana_id=GRAFANA_ID,
        endpoint_name="p-dev",
        private_link_id=link_id,
        request_message=MESSAGE,
    )
    return request.model_copy(update=changes)


@pytest.fixture
def link_id(azure: Azure) -> str:
    """A Private Link Service with our endpoint's pending connection."""
    link_id = azure.expose()
    azure.connect(link_id)
    assert azure.state(link_id)["status"] == "Pending"
    return link_id


def observe(operations: Operations, request: ApprovalRequest) -> tuple[str, JsonObject]:
    asked = {"approval": request.model_dump(by_alias=True)}
    answer = operations.succeed(Verb.OBSERVE, asked).answer
    return as_text(as_object(answer["revisions"])["approval"]), answer


@pytest.mark.handles("address-read-before-refresh")
@pytest.mark.handles("fixed-sleeps-empty-address")
def test_a_pending_connection_is_approved_and_grafana_refreshed_until_it_has_the_address(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    result = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    assert result.answer["state"] == "Approved"
    assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+", as_text(result.answer["privateIp"]))
    assert result.answer["connection"] == azure.connections(link_id)[0]["name"]
    assert azure.state(link_id)["status"] == "Approved"
    assert azure.state(link_id)["description"] == f"{MESSAGE} {REVISION}"


@pytest.mark.handles("rerun-finds-nothing-pending")
@pytest.mark.handles("approve-approved")
def test_approving_again_succeeds_without_a_write(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    first = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    azure.fault("PUT|POST", ".*", {"status": 500}, count=None)
    again = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    assert again.answer == first.answer


@pytest.mark.handles("approve-approved")
def test_a_service_that_refuses_to_approve_twice_does_not_fail_the_renewal_of_the_revision(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    first = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    again = operations.succeed(APPROVE, request_for(link_id), observed=REVISION[:-1] + "8")
    assert again.answer == first.answer


@pytest.mark.handles("approve-approved")
def test_an_approval_that_somebody_else_gave_first_is_a_success(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    azure.set_state(link_id, "Approved", "looks good to me")
    result = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    assert result.answer["state"] == "Approved"
    assert azure.state(link_id)["description"] == "looks good to me"


def test_a_refusal_of_the_approval_itself_is_reported(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    body = {"error": {"code": "SomethingIsWrong", "message": "because"}}
    azure.fault("PUT", CONNECTION, {"status": 400, "body": body}, count=None)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, ["SomethingIsWrong: because"])
    assert azure.state(link_id)["status"] == "Pending"


@pytest.mark.handles("no-pending-connection-still-success")
def test_no_connection_yet_is_waited_for_then_named_with_what_was_seen(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id)
    azure.arm("DELETE", as_text(azure.connections(link_id)[0]["id"]), "2026-03-01")
    azure.connect(link_id, "another-one", "not ours")
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(
        result.stderr,
        ["after 900 s", "grafana-grafana-dev-p-dev", "another-one", "not ours", link_id],
    )
    assert azure.state(link_id)["status"] == "Pending"


def test_an_endpoint_that_was_deleted_is_not_waited_for(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "another-one", "not ours")
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(result.stderr, ["p-dev does not exist", "pulumi up --refresh"])
    assert "waiting" not in result.stderr
    assert "waiting" not in result.stderr
    assert azure.state(link_id)["status"] == "Pending"


def test_our_endpoint_whose_connection_is_gone_is_made_again_and_approved(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    operations.succeed(APPROVE, request_for(link_id))
    before = azure.connections(link_id)[0]["name"]
    azure.arm("DELETE", as_text(azure.connections(link_id)[0]["id"]), "2026-03-01")
    result = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    assert_says(result.stderr, ["has lost its connection", "made the managed private endpoint"])
    assert result.answer["privateIp"]
    assert result.answer["connection"] != before
    assert azure.state(link_id) == {
        "status": "Approved",
        "description": f"{MESSAGE} {REVISION}",
        "actionsRequired": "None",
    }


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
@pytest.mark.parametrize(
    "then",
    [
        {"status": 409, "body": {"error": {"code": "ConflictInProcessing", "message": "busy"}}},
        {"status": 429},
        {"drop": "after"},
    ],
    ids=["occupied", "throttled", "dropped after"],
)
def test_one_bad_answer_does_not_fail_the_making_of_another_endpoint(
    azure: Azure, operations: Operations, link_id: str, method: str, then: JsonObject
) -> None:
    operations.succeed(APPROVE, request_for(link_id))
    azure.arm("DELETE", as_text(azure.connections(link_id)[0]["id"]), "2026-03-01")
    azure.fault(method, ENDPOINT, then, count=2)
    assert operations.succeed(APPROVE, request_for(link_id)).answer["privateIp"]


def test_an_endpoint_that_is_not_ours_is_not_made_again(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    operations.succeed(APPROVE, request_for(link_id))
    azure.arm("DELETE", as_text(azure.connections(link_id)[0]["id"]), "2026-03-01")
    other = request_for(link_id, request_message="gpuobs gpuobs other 99999999")
    before = azure.arm("GET", f"{GRAFANA_ID}/managedPrivateEndpoints/p-dev", "2025-08-01")
    result = operations(APPROVE, other)
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, ["lost its connection", "after 60 s", "az resource delete --ids"])
    assert azure.arm("GET", f"{GRAFANA_ID}/managedPrivateEndpoints/p-dev", "2025-08-01") == before


@pytest.mark.handles("connection-matched-by-prefix")
@pytest.mark.handles("two-grafanas-two-pending")
@pytest.mark.parametrize("other", ["p-dev2", "p-de", "x-p-dev"])
def test_an_endpoint_whose_name_only_resembles_ours_is_not_approved(
    azure: Azure, operations: Operations, link_id: str, other: str
) -> None:
    azure.connect(link_id, other, "another request")
    operations.succeed(APPROVE, request_for(link_id))
    states = {
        as_text(as_object(as_object(one["properties"])["privateEndpoint"])["id"]).rsplit("/")[-1]: (
            azure.state(link_id, number)["status"]
        )
        for number, one in enumerate(azure.connections(link_id))
    }
    assert states == {
        "grafana-grafana-dev-p-dev": "Approved",
        f"grafana-grafana-dev-{other}": "Pending",
    }


def other_grafana(azure: Azure, name: str) -> str:
    other = f"{GROUP_ID}/providers/Microsoft.Dashboard/grafana/{name}"
    body = {
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "identity": {"type": "SystemAssigned"},
        "properties": {},
    }
    azure.arm("PUT", other, "2025-08-01", body)
    azure.arm("GET", other, "2025-08-01")
    return other


@pytest.mark.handles("two-grafanas-two-pending")
def test_two_workspaces_whose_names_run_together_are_distinguished_by_the_request_message(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    # grafana-dev + p-dev and grafana-dev-p + dev make the same endpoint name.
    other = other_grafana(azure, "grafana-dev-p")
    azure.connect(link_id, "dev", "gpuobs gpuobs other 99999999", other)
    operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    descriptions = sorted(
        (
            as_text(azure.state(link_id, number)["status"]),
            azure.state(link_id, number)["description"],
        )
        for number in range(2)
    )
    assert descriptions == [
        ("Approved", f"{MESSAGE} {REVISION}"),
        ("Pending", "gpuobs gpuobs other 99999999"),
    ]


def test_anothers_request_under_the_same_endpoint_name_is_never_approved_in_our_place(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    other = other_grafana(azure, "grafana-dev-p")
    # Longer than ours by one word: a message must not match as a mere beginning of a word.
    azure.connect(link_id, "dev", f"{MESSAGE}4", other)
    result = operations(APPROVE, request_for(link_id), "--deadline", "30")
    assert result.exit_code == ExitCode.CONFLICT
    assert azure.state(link_id)["status"] == "Pending"


PLAIN_GRAFANA = GRAFANA_ID.replace("grafana-dev", "grafanadev")
"""Without a hyphen in its name: only one pair of names gives its endpoints' ids."""


def plain_link(azure: Azure, message: str) -> tuple[str, ApprovalRequest]:
    """A link with one pending connection of the plain workspace's endpoint ``pdev``."""
    link_id = azure.expose()
    other_grafana(azure, "grafanadev")
    azure.connect(link_id, "pdev", message, PLAIN_GRAFANA)
    return link_id, request_for(link_id, grafana_id=PLAIN_GRAFANA, endpoint_name="pdev")


@pytest.mark.parametrize("text", ["", "Please approve", "Awaiting approval."])
def test_a_text_that_is_not_ours_does_not_matter_where_only_our_names_give_the_id(
    azure: Azure, operations: Operations, text: str
) -> None:
    link_id, request = plain_link(azure, text)
    operations.succeed(APPROVE, request)
    assert azure.state(link_id)["status"] == "Approved"


@pytest.mark.parametrize("text", ["", "Please approve"])
def test_a_pending_connection_that_other_names_may_have_made_is_refused_with_the_line_for_it(
    azure: Azure, operations: Operations, text: str
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "p-dev", text)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.CONFLICT
    connection = azure.connections(link_id)[0]
    endpoint = as_object(as_object(connection["properties"])["privateEndpoint"])
    assert_says(
        result.stderr,
        [
            "after 60 s",
            as_text(endpoint["id"]),
            "such as grafana and dev-p-dev",
            "az network private-link-service connection update --connection-status Approved "
            f"--ids {connection['id']}",
        ],
    )
    assert azure.state(link_id)["status"] == "Pending"
    # What a person approves counts.
    azure.set_state(link_id, "Approved", "it is ours")
    assert operations.succeed(APPROVE, request_for(link_id)).answer["privateIp"]


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        ("gpuobs gpuobs other 99999999", ExitCode.NOT_FOUND),
        ("gpuobs gpuobs dev 0a1b2c3e", ExitCode.NOT_FOUND),
        ("hello from Contoso", ExitCode.CONFLICT),
    ],
)
def test_a_pending_connection_with_somebody_elses_text_is_never_approved(
    azure: Azure, operations: Operations, text: str, exit_code: ExitCode
) -> None:
    link_id, request = plain_link(azure, text)
    assert operations(APPROVE, request, "--deadline", "90").exit_code == exit_code
    assert azure.state(link_id)["status"] == "Pending"


@pytest.mark.parametrize("stack", ["dev", "s" * 100])
def test_an_approval_keeps_within_azures_length_and_is_found_again(
    azure: Azure, operations: Operations, stack: str
) -> None:
    message = names_for("p" * 100, stack).request_message
    link_id = azure.expose()
    azure.connect(link_id, "p-dev", message)
    request = request_for(link_id, request_message=message)
    revision, _ = observe(operations, request)
    operations.succeed(APPROVE, request, observed=revision)
    description = as_text(azure.state(link_id)["description"])
    assert len(description) <= 140
    assert description.endswith(f" {message[-8:]} {revision}")
    assert observe(operations, request)[0] == revision


@pytest.mark.handles("two-grafanas-two-pending")
def test_more_than_one_match_is_refused_and_listed(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    other = other_grafana(azure, "grafana-dev-p")
    azure.connect(link_id, "dev", MESSAGE, other)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.CONFLICT
    names = [as_text(one["name"]) for one in azure.connections(link_id)]
    assert_says(result.stderr, ["2 connections match", *names])
    assert {azure.state(link_id, number)["status"] for number in range(2)} == {"Pending"}


def test_the_case_of_names_does_not_matter(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    request = request_for(
        link_id, grafana_id=GRAFANA_ID.replace("grafana-dev", "Grafana-DEV"), endpoint_name="P-Dev"
    )
    operations.succeed(APPROVE, request)
    assert azure.state(link_id)["status"] == "Approved"


@pytest.mark.parametrize("state", ["Rejected", "Disconnected"])
def test_a_connection_that_a_person_refused_is_an_error_that_says_how_to_replace_it(
    azure: Azure, operations: Operations, link_id: str, state: str
) -> None:
    azure.set_state(link_id, state, "not on my cluster")
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(
        result.stderr,
        [
            f"is {state}",
            "not on my cluster",
            f"az resource delete --ids {GRAFANA_ID}/managedPrivateEndpoints/p-dev --api-version",
            "pulumi up --refresh",
        ],
    )
    assert "waiting" not in result.stderr


@pytest.mark.parametrize("state", ["Rejected", "Disconnected"])
def test_a_refusal_that_only_grafana_shows_is_an_error_too(
    azure: Azure, operations: Operations, link_id: str, state: str
) -> None:
    patch = {"properties": {"connectionState": {"status": state}}}
    azure.fault("GET", ENDPOINT, {"patch": patch}, count=None)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, [state, "pulumi up --refresh"])


FAILED = {"operation": {"status": "Failed", "error": {"code": "Internal", "message": "broke"}}}


def test_an_approval_that_azure_failed_to_carry_out_is_tried_again_by_the_next_run(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    azure.fault("PUT", CONNECTION, FAILED, count=None)
    first = operations(APPROVE, request_for(link_id))
    assert first.exit_code == ExitCode.REJECTED
    assert_says(first.stderr, ["is Failed; approving it again", "failed to approve"])
    azure.settings(faults=[])
    assert operations.succeed(APPROVE, request_for(link_id)).answer["state"] == "Approved"


def test_one_failed_approval_does_not_fail_the_run(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    azure.fault("PUT", CONNECTION, FAILED)
    assert operations.succeed(APPROVE, request_for(link_id)).answer["state"] == "Approved"


@pytest.mark.handles("node-group-locked")
def test_a_locked_node_resource_group_is_distinguished_from_a_missing_role_with_the_ways_out(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    body = {
        "error": {
            "code": "DenyAssignmentAuthorizationFailed",
            "message": "has permission, however, the deny assignment 'nrg-lockdown'",
        }
    }
    azure.fault("PUT", CONNECTION, {"status": 403, "body": body}, count=None)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.FORBIDDEN
    endpoint = as_object(as_object(azure.connections(link_id)[0]["properties"])["privateEndpoint"])
    subscription = as_text(endpoint["id"]).split("/")[2]
    assert_says(result.stderr, ["deny assignment", "resourceGroup", "autoApproval", subscription])
    assert "Network Contributor" not in result.stderr
    assert "waiting" not in result.stderr


def test_a_missing_right_to_approve_names_the_role_and_the_group(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    body = {"error": {"code": "AuthorizationFailed", "message": "no authorization"}}
    azure.fault("PUT", CONNECTION, {"status": 403, "body": body}, count=None)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.FORBIDDEN
    assert_says(result.stderr, ["'Network Contributor'", link_id.split("/providers/")[0]])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", CONNECTION),
        ("POST", REFRESH),
        ("GET", ENDPOINT),
        ("GET", ".*/privateLinkServices/.*"),
    ],
    ids=["approve", "refresh", "endpoint", "link"],
)
@pytest.mark.parametrize(
    "then",
    [
        {"status": 429, "headers": {"Retry-After": "3"}},
        {"status": 503},
        {"drop": "before"},
        {"drop": "after"},
        {"status": 200, "text": "{}"},
        {"status": 200, "text": '{"message": "ok"}'},
    ],
    ids=["throttled", "unavailable", "dropped before", "dropped after", "empty", "anothers"],
)
def test_one_bad_answer_does_not_fail_the_approval(
    azure: Azure, operations: Operations, link_id: str, method: str, path: str, then: JsonObject
) -> None:
    azure.fault(method, path, then, count=2)
    result = operations.succeed(APPROVE, request_for(link_id), observed=REVISION)
    assert result.answer["privateIp"]


@pytest.mark.parametrize(("method", "path"), [("PUT", CONNECTION), ("POST", REFRESH)])
@pytest.mark.parametrize("text", ["{}", "[]", '{"message": "ok"}'])
def test_a_write_that_azure_never_did_is_no_approval(
    azure: Azure, operations: Operations, link_id: str, method: str, path: str, text: str
) -> None:
    azure.fault(method, path, {"status": 200, "text": text}, count=None)
    result = operations(APPROVE, request_for(link_id), "--deadline", "60")
    assert result.exit_code not in (ExitCode.OK, ExitCode.UNEXPECTED)
    assert result.stdout == ""


def test_a_workspace_that_is_busy_is_waited_for(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    body = {"error": {"code": "ConflictInProcessing", "message": "Operation conflict occurred"}}
    azure.fault("POST", REFRESH, {"status": 409, "body": body}, count=5)
    result = operations.succeed(APPROVE, request_for(link_id))
    assert_says(result.stderr, ["ConflictInProcessing"])


def test_a_refresh_that_fails_is_reported_with_its_reason(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    failed = {"status": "Failed", "error": {"code": "Internal", "message": "refresh broke"}}
    azure.fault("POST", REFRESH, {"operation": failed}, count=None)
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, ["refresh broke"])


@pytest.mark.handles("address-read-before-refresh")
def test_an_address_that_never_comes_is_an_error_and_never_empty(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    patch = {"properties": {"privateLinkServicePrivateIP": ""}}
    azure.fault("GET", ENDPOINT, {"patch": patch}, count=None)
    result = operations(APPROVE, request_for(link_id), "--deadline", "120")
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(result.stderr, ["no private address yet"])
    assert result.stdout == ""


def test_an_endpoint_that_does_not_exist_is_named(azure: Azure, operations: Operations) -> None:
    link_id = azure.expose()
    azure.connect(link_id)
    azure.fault(
        "GET",
        ENDPOINT,
        {"status": 404, "body": {"error": {"code": "ResourceNotFound", "message": "gone"}}},
        count=None,
    )
    result = operations(APPROVE, request_for(link_id), "--deadline", "60")
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(result.stderr, ["p-dev", "ResourceNotFound"])


def test_with_real_latencies_every_step_is_waited_for(
    azure: Azure, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    azure.settings(latency=0.002)
    monkeypatch.setenv("GPUOBS_TIME_SCALE", "0.002")
    link_id = azure.expose()
    properties = {"privateLinkResourceId": link_id, "requestMessage": MESSAGE}
    operations.succeed(
        Verb.AWAIT_PRIVATE_LINK, {"id": link_id, "namespace": "gadget", "release": "pyroscope"}
    )
    azure.arm(
        "PUT",
        f"{GRAFANA_ID}/managedPrivateEndpoints/p-dev",
        "2025-08-01",
        {"location": "westeurope", "properties": properties},
    )
    result = operations.succeed(APPROVE, request_for(link_id))
    assert_says(result.stderr, ["no connection from grafana-grafana-dev-p-dev"])
    assert result.answer["privateIp"]


class TestObserving:
    """The approval's revision: stable while the approval is in place, then another one."""

    def test_an_approval_in_place_answers_the_revision_it_was_given(
        self, operations: Operations, link_id: str
    ) -> None:
        revision, _ = observe(operations, request_for(link_id))
        operations.succeed(APPROVE, request_for(link_id), observed=revision)
        assert [observe(operations, request_for(link_id))[0] for _ in range(2)] == [revision] * 2

    def test_a_pending_connection_answers_another_revision_each_time(
        self, operations: Operations, link_id: str
    ) -> None:
        first, answer = observe(operations, request_for(link_id))
        assert observe(operations, request_for(link_id))[0] != first
        assert answer["problems"] == []

    @pytest.mark.parametrize("state", ["Rejected", "Disconnected"])
    def test_an_approval_withdrawn_by_hand_answers_another_revision(
        self, azure: Azure, operations: Operations, link_id: str, state: str
    ) -> None:
        revision, _ = observe(operations, request_for(link_id))
        operations.succeed(APPROVE, request_for(link_id), observed=revision)
        azure.set_state(link_id, state, "withdrawn")
        assert observe(operations, request_for(link_id))[0] != revision

    def test_an_endpoint_deleted_by_hand_answers_another_revision(
        self, azure: Azure, operations: Operations, link_id: str
    ) -> None:
        revision, _ = observe(operations, request_for(link_id))
        operations.succeed(APPROVE, request_for(link_id), observed=revision)
        azure.arm("DELETE", f"{GRAFANA_ID}/managedPrivateEndpoints/p-dev", "2025-08-01")
        found, answer = observe(operations, request_for(link_id))
        assert found != revision
        assert answer["problems"] == []

    def test_an_approval_given_by_hand_settles_on_one_revision(
        self, azure: Azure, operations: Operations, link_id: str
    ) -> None:
        azure.set_state(link_id, "Approved", "ok")
        revision, _ = observe(operations, request_for(link_id))
        operations.succeed(APPROVE, request_for(link_id), observed=revision)
        settled, _ = observe(operations, request_for(link_id))
        operations.succeed(APPROVE, request_for(link_id), observed=settled)
        assert observe(operations, request_for(link_id))[0] == settled


@pytest.mark.handles("management-lock")
def test_a_lock_is_told_apart_from_a_missing_role(azure: Azure, operations: Operations) -> None:
    link_id = azure.expose()
    azure.connect(link_id)
    group = link_id.partition("/providers/")[0]
    lock = f"{group}/providers/Microsoft.Authorization/locks/keep"
    azure.arm("PUT", lock, "2020-05-01", {"properties": {"level": "ReadOnly"}})
    result = operations(APPROVE, request_for(link_id))
    assert result.exit_code == ExitCode.FORBIDDEN
    name = group.rpartition("/")[2]
    words = ["a management lock is in the way", "ScopeLocked", group]
    assert_says(result.stderr, [*words, f"az lock list --resource-group {name} --output table"])
