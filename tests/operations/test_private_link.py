"""Waiting for the Private Link Service that the cloud controller makes, and for its end."""

import pytest

from contract.messages.base import Verb
from contract.messages.private_link import OwnEndpoint, PrivateLinkRequest
from operations.errors import ExitCode
from simulator.values import JsonObject, as_text
from tests.operations.conftest import MESSAGE, SUBSCRIPTION, Azure, Operations, assert_says

READY, GONE, HOLD, UNUSED = (
    Verb.AWAIT_PRIVATE_LINK,
    Verb.AWAIT_PRIVATE_LINK_GONE,
    Verb.HOLD_PRIVATE_LINK,
    Verb.AWAIT_PRIVATE_LINK_UNUSED,
)
LINK = ".*/privateLinkServices/[^/]+"
ABSENT: JsonObject = {"error": {"code": "ResourceNotFound", "message": "was not found"}}
FORBIDDEN: JsonObject = {
    "error": {"code": "AuthorizationFailed", "message": "The client has no authorization"}
}


def request_for(link_id: str) -> PrivateLinkRequest:
    return PrivateLinkRequest(id=link_id, namespace="gadget", release="pyroscope")


def test_holding_answers_the_namespace_without_a_call(azure: Azure, operations: Operations) -> None:
    link_id = azure.private_link_id()
    before = azure.calls()
    for _ in range(2):
        result = operations.succeed(HOLD, request_for(link_id))
        assert result.answer == {"namespace": "gadget"}
    assert azure.calls() <= before + 1


def test_a_provisioned_link_answers_its_id_and_alias(azure: Azure, operations: Operations) -> None:
    link_id = azure.expose()
    for _ in range(2):
        answer = operations.succeed(READY, request_for(link_id)).answer
        assert answer["id"] == link_id
        assert as_text(answer["alias"]).startswith("pyroscope-dev.")


@pytest.mark.handles("unbounded-wait-for-private-link")
def test_a_link_that_is_not_there_yet_is_waited_for_with_progress(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.fault("GET", LINK, {"status": 404, "body": ABSENT}, count=6)
    result = operations.succeed(READY, request_for(link_id))
    assert_says(
        result.stderr,
        ["waiting for the Private Link Service pyroscope-dev ... 0 s", "not found (404)"],
    )


@pytest.mark.handles("unbounded-wait-for-private-link")
@pytest.mark.handles("service-has-ip-link-absent")
def test_a_link_that_never_comes_ends_at_the_deadline_with_where_to_look(
    azure: Azure, operations: Operations
) -> None:
    result = operations(READY, request_for(azure.private_link_id()))
    assert result.exit_code == ExitCode.NOT_FOUND
    assert_says(
        result.stderr,
        [
            "after 900 s",
            "not found (404)",
            "az aks command invoke --name aks-dev --resource-group rg-dev --subscription "
            f"{SUBSCRIPTION} --command 'kubectl describe service --namespace gadget pyroscope'",
        ],
    )


def test_without_the_right_to_read_the_nodes_group_the_line_names_the_group_instead(
    azure: Azure, operations: Operations
) -> None:
    azure.fault("GET", ".*/resourceGroups/MC_[^/]+", {"status": 403}, count=None)
    result = operations(READY, request_for(azure.private_link_id()))
    group = "in the cluster whose nodes are in group MC_rg-dev_aks-dev_westeurope"
    assert_says(result.stderr, [f"kubectl describe service --namespace gadget pyroscope, {group}"])


@pytest.mark.handles("service-has-ip-link-absent")
def test_a_group_that_may_not_be_read_is_distinguished_from_a_link_that_is_absent(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.fault("GET", LINK, {"status": 403, "body": FORBIDDEN}, count=None)
    result = operations(READY, request_for(link_id))
    assert result.exit_code == ExitCode.FORBIDDEN
    group = link_id.split("/providers/")[0]
    assert_says(result.stderr, ["forbidden (403)", "'Reader'", group, "AuthorizationFailed"])
    # Roles propagate within minutes; a whole deadline of silence would say "not there yet".
    assert_says(result.stderr, ["after 120 s"])


def test_a_role_on_the_group_that_comes_late_is_waited_for(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.fault("GET", LINK, {"status": 403, "body": FORBIDDEN}, count=4)
    operations.succeed(READY, request_for(link_id))


@pytest.mark.parametrize("state", ["Updating", "Failed"])
def test_a_state_that_ends_by_itself_is_waited_for(
    azure: Azure, operations: Operations, state: str
) -> None:
    link_id = azure.expose()
    azure.fault("GET", LINK, {"patch": {"properties": {"provisioningState": state}}}, count=3)
    result = operations.succeed(READY, request_for(link_id))
    assert_says(result.stderr, [state])


def test_a_link_that_stays_failed_is_an_error_of_its_own(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    failed = {"patch": {"properties": {"provisioningState": "Failed"}}}
    azure.fault("GET", LINK, failed, count=None)
    result = operations(READY, request_for(link_id))
    assert result.exit_code == ExitCode.REJECTED
    assert_says(result.stderr, ["Failed", "kubectl describe service"])


@pytest.mark.parametrize(
    "then",
    [
        {"status": 429, "headers": {"Retry-After": "17"}},
        {"status": 500},
        {"status": 503},
        {"drop": "before"},
        {"drop": "after"},
    ],
    ids=["throttled", "failing", "unavailable", "dropped before", "dropped after"],
)
@pytest.mark.parametrize("verb", [READY, GONE])
def test_bad_answers_are_waited_through(
    azure: Azure, operations: Operations, verb: Verb, then: JsonObject
) -> None:
    link_id = azure.expose() if verb is READY else azure.private_link_id()
    azure.fault("GET", LINK, then, count=3)
    operations.succeed(verb, request_for(link_id))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (409, "ConflictError"),
        (409, "Conflict"),
        (409, "AnotherOperationInProgress"),
        (409, "ConflictInProcessing"),
        (409, "RetryableError"),
        (429, "RetryableErrorDueToAnotherOperation"),
        (409, "CanceledAndSupersededDueToAnotherOperation"),
        (409, "OperationPreempted"),
        (400, "ReferencedResourceNotProvisioned"),
    ],
)
def test_all_of_azures_words_for_busy_are_waited_through(
    azure: Azure, operations: Operations, status: int, code: str
) -> None:
    link_id = azure.expose()
    body = {"error": {"code": code, "message": "Updating"}}
    azure.fault("GET", LINK, {"status": status, "body": body}, count=3)
    assert_says(operations.succeed(READY, request_for(link_id)).stderr, [code])


def test_a_service_that_keeps_throttling_ends_busy_at_the_deadline(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    # Longer than the deadline: the advice must not outlast it.
    azure.fault("GET", LINK, {"status": 429, "headers": {"Retry-After": "5000"}}, count=None)
    result = operations(READY, request_for(link_id))
    assert result.exit_code == ExitCode.BUSY
    assert_says(result.stderr, ["after 900 s", "429"])


@pytest.mark.parametrize("verb", [READY, GONE])
def test_a_network_that_is_down_ends_unreachable_and_never_counts_as_gone(
    azure: Azure, operations: Operations, verb: Verb
) -> None:
    link_id = azure.private_link_id()
    azure.fault("GET", LINK, {"drop": "before"}, count=None)
    result = operations(verb, request_for(link_id))
    assert result.exit_code == ExitCode.UNREACHABLE
    assert_says(result.stderr, ["did not respond", "proxy"])


def test_a_link_that_is_absent_is_gone(azure: Azure, operations: Operations) -> None:
    link_id = azure.private_link_id()
    for _ in range(2):
        assert operations.succeed(GONE, request_for(link_id)).answer == {"id": link_id}


def test_a_link_whose_resource_group_is_gone_is_gone(azure: Azure, operations: Operations) -> None:
    link_id = azure.private_link_id().replace("/resourceGroups/", "/resourceGroups/gone-")
    operations.succeed(GONE, request_for(link_id))


def test_a_link_that_goes_while_we_wait_is_gone(azure: Azure, operations: Operations) -> None:
    link_id = azure.expose()
    azure.settings(
        faults=[
            {"method": "GET", "path": LINK, "from": 4, "count": None, "then": then}
            for then in [{"status": 404, "body": ABSENT}]
        ]
    )
    result = operations.succeed(GONE, request_for(link_id))
    assert_says(result.stderr, ["still exists"])


@pytest.mark.parametrize(
    "then",
    [
        {"status": 404, "body": {"error": {"code": "SubscriptionNotFound", "message": "no"}}},
        {"status": 404, "body": "<html>captive portal</html>"},
        {"status": 200, "body": "<html>captive portal</html>"},
        {"status": 302, "headers": {"Location": "https://127.0.0.1:9/"}},
        {"status": 403, "body": FORBIDDEN},
        {"status": 401, "body": {"error": {"code": "InvalidAuthenticationTokenTenant"}}},
        {"status": 502},
    ],
    ids=[
        "subscription",
        "a proxy's 404",
        "a proxy's 200",
        "a proxy's redirect",
        "forbidden",
        "wrong tenant",
        "bad gateway",
    ],
)
def test_nothing_but_arms_404_counts_as_gone(
    azure: Azure, operations: Operations, then: JsonObject
) -> None:
    link_id = azure.private_link_id()
    azure.fault("GET", LINK, then, count=None)
    result = operations(GONE, request_for(link_id))
    assert result.exit_code not in (ExitCode.OK, ExitCode.UNEXPECTED)


@pytest.mark.parametrize("text", ["<html>sign in</html>", "", "{}", "[]", '{"message": "ok"}'])
@pytest.mark.parametrize("verb", [READY, GONE, UNUSED])
def test_a_success_of_something_else_is_no_answer_of_azure(
    azure: Azure, operations: Operations, verb: Verb, text: str
) -> None:
    azure.fault("GET", LINK, {"status": 200, "text": text}, count=None)
    result = operations(verb, request_for(azure.private_link_id()), "--deadline", "5")
    assert result.exit_code == ExitCode.UNREACHABLE
    assert_says(result.stderr, ["not from Azure Resource Manager", "HTTPS_PROXY"])


def test_a_subscription_that_we_cannot_see_does_not_make_its_link_gone(
    azure: Azure, operations: Operations
) -> None:
    hidden = azure.private_link_id().replace(SUBSCRIPTION, "99999999-9999-4999-8999-999999999999")
    assert operations(GONE, request_for(hidden)).exit_code == ExitCode.NOT_FOUND


def test_a_link_that_stays_points_to_its_service_and_names_nobodys_connection_to_delete(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "other-endpoint", "somebody else's request")
    result = operations(GONE, request_for(link_id), "--deadline", "60")
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(
        result.stderr,
        [
            "after 60 s",
            "(state Succeeded)",
            "kubectl describe service --namespace gadget pyroscope",
            "--command 'helm uninstall pyroscope --namespace gadget'",
            f"az network private-link-service delete --ids {link_id}",
        ],
    )
    assert "other-endpoint" not in result.stderr
    assert "connection delete" not in result.stderr


def test_where_the_clusters_group_is_gone_it_is_said_how_the_rest_is_forgotten(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.private_link_id()
    gone = link_id.replace(link_id.split("/")[4], "MC_rg-dev_aks-gone_westeurope")
    result = operations.succeed(UNUSED, request_for(gone))
    assert_says(
        result.stderr,
        [
            "the cluster is gone",
            "PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy --refresh --stack STACK",
        ],
    )
    assert "note:" not in operations.succeed(UNUSED, request_for(link_id)).stderr


def test_a_link_of_another_cluster_in_a_shared_group_is_left_alone(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "other-endpoint", "somebody else's request")
    elsewhere = request_for(link_id).model_copy(update={"node_resource_group": "MC_other_cluster"})
    result = operations.succeed(GONE, elsewhere)
    assert_says(result.stderr, ["is another cluster's, and stays"])
    operations.succeed(UNUSED, elsewhere)
    own_group = link_id.split("/")[4]
    ours = request_for(link_id).model_copy(update={"node_resource_group": own_group})
    for verb in (GONE, UNUSED):
        assert operations(verb, ours, "--deadline", "30").exit_code == ExitCode.CONFLICT


@pytest.mark.parametrize("verb", [READY, GONE])
@pytest.mark.parametrize(
    "link_id",
    ["", "pyroscope-dev", "/subscriptions/x/resourceGroups/y/providers/Microsoft.Network/wrong/z"],
)
def test_an_id_of_something_else_is_a_bad_request(
    azure: Azure, operations: Operations, verb: Verb, link_id: str
) -> None:
    before = azure.calls()
    result = operations(verb, request_for(link_id))
    assert result.exit_code == ExitCode.BAD_REQUEST
    assert_says(result.stderr, [repr(link_id), "Microsoft.Network/privateLinkServices"])
    assert azure.calls() <= before + 1


def test_a_machine_without_an_identity_is_asked_to_sign_in(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.private_link_id()
    azure.settings(caller="")
    result = operations(READY, request_for(link_id))
    assert result.exit_code == ExitCode.NOT_AUTHENTICATED
    assert_says(result.stderr, ["no credential", "az login"])


def test_a_link_that_nothing_is_connected_to_or_that_is_not_there_is_unused(
    azure: Azure, operations: Operations
) -> None:
    for link_id in (azure.private_link_id(), azure.expose()):
        assert operations.succeed(UNUSED, request_for(link_id)).answer == {"id": link_id}


def test_a_link_that_others_use_is_waited_for_and_then_reported_with_who_they_are(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "other", "me too")
    for number, status in enumerate(("Pending", "Approved")):
        if number:
            azure.set_state(link_id, status, "me too")
        result = operations(UNUSED, request_for(link_id))
        assert result.exit_code == ExitCode.CONFLICT
        assert_says(
            result.stderr,
            [
                "after 300 s",
                f"/privateEndpoints/grafana-grafana-dev-other ({status}, 'me too')",
                "would cut them off",
                "protectConnections: false",
                "pulumi up --target '**::pyroscope-private-link-ready'",
            ],
        )


@pytest.mark.parametrize("status", ["Rejected", "Disconnected"])
def test_a_connection_that_nothing_goes_through_holds_nothing_up(
    azure: Azure, operations: Operations, status: str
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "other", "me too")
    azure.set_state(link_id, status, "no more")
    assert "waiting" not in operations.succeed(UNUSED, request_for(link_id)).stderr


OWN = OwnEndpoint(workspace="grafana-dev", name="p-dev", request_message=MESSAGE)


@pytest.mark.parametrize("status", ["Pending", "Approved"])
def test_our_own_connection_holds_nothing_up(
    azure: Azure, operations: Operations, status: str
) -> None:
    link_id = azure.expose()
    azure.connect(link_id)
    if status == "Approved":
        azure.set_state(link_id, status, f"{MESSAGE} 0123456789ab-01234567")
    ours = request_for(link_id).model_copy(update={"own_endpoint": OWN})
    assert "waiting" not in operations.succeed(UNUSED, ours).stderr
    azure.connect(link_id, "p-dev2", "gpuobs gpuobs other 99999999")
    result = operations(UNUSED, ours, "--deadline", "30")
    assert result.exit_code == ExitCode.CONFLICT
    assert_says(result.stderr, ["grafana-grafana-dev-p-dev2"])
    assert "grafana-grafana-dev-p-dev " not in result.stderr


def test_without_the_protection_others_are_named_and_not_waited_for(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.connect(link_id, "other", "me too")
    open_to_all = request_for(link_id).model_copy(update={"protect_connections": False})
    result = operations.succeed(UNUSED, open_to_all)
    assert_says(result.stderr, ["note:", "grafana-grafana-dev-other (Pending, 'me too')"])
    azure.fault("GET", LINK, {"status": 403, "body": FORBIDDEN}, count=None)
    operations.succeed(UNUSED, open_to_all)


def test_a_link_that_may_not_be_read_does_not_count_as_unused(
    azure: Azure, operations: Operations
) -> None:
    link_id = azure.expose()
    azure.fault("GET", LINK, {"status": 403, "body": FORBIDDEN}, count=None)
    assert operations(UNUSED, request_for(link_id)).exit_code == ExitCode.FORBIDDEN
