"""Answers that no service gives: told as what they are, within the time of whoever waits."""

import json
import time

import pytest

from contract.messages.base import Verb
from contract.messages.private_link import ApprovalRequest
from contract.messages.survey import SurveyRequest
from simulator.values import JsonObject, as_object, as_text
from tests.operations.conftest import (
    CLUSTER_ID,
    GRAFANA_ID,
    MESSAGE,
    SUBSCRIPTION,
    Azure,
    Operations,
    assert_says,
)

SURVEY = SurveyRequest(
    provider_subscription_id=SUBSCRIPTION,
    provider_object_id="",
    namespaces=(),
    cluster_id=CLUSTER_ID,
    look_inside=True,
)
LIFE = {"expires_on": "99999999999", "resource": "x"}
FOR_EVER = "Fri, 31 Dec 2099 23:59:59 GMT"
DEEP = "[" * 100_000


def page(text: str, status: int = 200, **headers: str) -> JsonObject:
    """An answer as it is sent."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "text": text, "headers": named}


TROUBLE = {
    "a page": page("<html>sign in</html>"),
    "nothing": page(""),
    "a list": page("[]"),
    "null": page("null"),
    "no surrogate pair": page(json.dumps({"access_token": "a\ud800", **LIFE})),
    "a line break": page(json.dumps({"access_token": "a\nb", **LIFE})),
    "an end that is no number": page('{"access_token": "a", "expires_on": NaN, "resource": "x"}'),
    "an endless life": page('{"access_token": "a", "expires_on": 1e999, "resource": "x"}'),
    "a date": page(json.dumps({"access_token": "a", "expires_on": FOR_EVER, "resource": "x"})),
    "too deep": page(DEEP),
    "badly compressed": page("{}", Content_Encoding="gzip"),
    "no token": page(json.dumps(LIFE)),
    "a token of another type": page(json.dumps({"access_token": {}, **LIFE})),
    "failing in JSON": page('{"statusCode": 503, "message": "later"}', 503),
    "another's failure in JSON": page('{"error": {"code": "later"}}', 500),
    "half a token": page('{"access_token": "eyJhbGciOiJub25lIn0'),
    "a redirect": page("", 302, Location="https://example.com/"),
    "failing until a date": page("", 503, Retry_After=FOR_EVER),
    "throttled for an hour": page("", 429, Retry_After="3600"),
}


def identity(then: JsonObject) -> JsonObject:
    """A rule for every call of the identity endpoint."""
    return {"service": "identity", "count": None, "then": then}


@pytest.mark.parametrize("answer", TROUBLE)
def test_trouble_of_the_identity_endpoint_is_waited_for_and_told_as_what_it_is(
    azure: Azure, operations: Operations, answer: str
) -> None:
    azure.settings(faults=[identity(TROUBLE[answer])])
    started = time.monotonic()
    problem = as_text(operations.succeed(Verb.SURVEY, SURVEY).answer["problem"])
    assert_says(problem, ["a token after 20 s", "identity endpoint of this machine"])
    assert "az login" not in problem
    assert "eyJ" not in problem
    # Whatever the answer asks for.
    assert time.monotonic() - started < 60


def test_an_identity_endpoint_that_recovers_is_asked_again(
    azure: Azure, operations: Operations
) -> None:
    azure.settings(faults=[{**identity(TROUBLE["nothing"]), "count": 2}])
    answer = operations.succeed(Verb.SURVEY, SURVEY).answer
    assert answer["problem"] == ""
    assert as_object(answer["cluster"])["presence"] == "found"


def test_a_kube_token_waits_for_the_identity_endpoint_too(
    azure: Azure, operations: Operations
) -> None:
    azure.settings(faults=[{**identity(TROUBLE["a page"]), "count": 2}])
    assert operations(Verb.KUBE_TOKEN, "").exit_code == 0
    azure.settings(faults=[identity(TROUBLE["a redirect"])])
    assert operations(Verb.KUBE_TOKEN, "", "--tenant-id", SUBSCRIPTION).exit_code == 7


def test_a_machine_without_an_identity_reads_about_its_identity(
    azure: Azure, operations: Operations
) -> None:
    refusal = {"statusCode": 400, "message": "no managed identity"}
    azure.settings(faults=[identity({"status": 400, "body": refusal})])
    problem = as_text(operations.succeed(Verb.SURVEY, SURVEY).answer["problem"])
    assert_says(problem, ["no managed identity", "ARM_USE_MSI=true"])


NOT_UNDERSTOOD = {
    "too deep": page(DEEP),
    "no number": page('{"name": "aks-dev", "properties": {"x": NaN}}'),
    "no surrogate pair": page(json.dumps({"name": "aks-dev", "properties": {"x": "\ud800"}})),
    "badly compressed": page("{}", Content_Encoding="gzip"),
    "a redirect": page("", 302, Location="https://example.com/"),
    "not modified": page("", 304),
    "a redirect of the method too": page("", 307, Location="https://example.com/"),
}


@pytest.mark.parametrize("answer", NOT_UNDERSTOOD)
def test_what_resource_manager_does_not_send_is_asked_for_again_and_then_said(
    azure: Azure, operations: Operations, answer: str
) -> None:
    azure.settings(faults=[{"service": "arm", "count": None, "then": NOT_UNDERSTOOD[answer]}])
    cluster = as_object(operations.succeed(Verb.SURVEY, SURVEY).answer["cluster"])
    assert cluster["presence"] == "unreachable"
    azure.settings(faults=[{"service": "arm", "count": 2, "then": NOT_UNDERSTOOD[answer]}])
    cluster = as_object(operations.succeed(Verb.SURVEY, SURVEY).answer["cluster"])
    assert cluster["presence"] == "found"


def test_a_redirect_of_the_approval_is_repeated(azure: Azure, operations: Operations) -> None:
    link = azure.expose()
    azure.connect(link)
    request = ApprovalRequest(
        grafana_id=GRAFANA_ID, endpoint_name="p-dev", private_link_id=link, request_message=MESSAGE
    )
    azure.fault("PUT", ".*/privateEndpointConnections/.*", NOT_UNDERSTOOD["a redirect"])
    assert operations(Verb.APPROVE_PRIVATE_ENDPOINT, request).exit_code == 0


@pytest.mark.parametrize(
    "then", [page("<html>"), page("", Content_Encoding="gzip"), page(DEEP), page("null")]
)
def test_what_an_api_server_does_not_send_says_nothing_of_a_cluster(
    azure: Azure, operations: Operations, then: JsonObject
) -> None:
    azure.settings(faults=[{"service": "kubernetes", "count": None, "then": then}])
    inside = as_object(operations.succeed(Verb.SURVEY, SURVEY).answer["inside"])
    assert (inside["presence"], inside["namespace"]) == ("unreachable", False)


def test_long_words_of_a_service_are_cut_once_wherever_they_are_shown(
    azure: Azure, operations: Operations
) -> None:
    words = {"error": {"code": "ServerBusy", "message": "word " * 9_000}}
    link = azure.expose()
    request = ApprovalRequest(
        grafana_id=GRAFANA_ID, endpoint_name="p-dev", private_link_id=link, request_message=MESSAGE
    )
    azure.fault("GET", ".*", {"status": 503, "body": words}, count=None, service="arm")
    result = operations(Verb.APPROVE_PRIVATE_ENDPOINT, request, "--deadline", "60")
    assert_says(result.stderr, ["ServerBusy", "characters)"])
    assert max(len(line) for line in result.stderr.splitlines()) < 1_200


def test_a_service_that_asks_for_an_hour_is_named_and_asked_again_at_the_deadline(
    azure: Azure, operations: Operations
) -> None:
    link = azure.expose()
    request = ApprovalRequest(
        grafana_id=GRAFANA_ID, endpoint_name="p-dev", private_link_id=link, request_message=MESSAGE
    )
    throttled = page("", 429, Retry_After="3600")
    azure.fault("GET", ".*", throttled, count=None, service="arm")
    result = operations(Verb.APPROVE_PRIVATE_ENDPOINT, request, "--deadline", "100")
    assert_says(result.stderr, ["asks for 3600 s", "100 s are left", "after 100 s"])
