"""Deleting the stack's own endpoint, as soon as Grafana lets it."""

import pytest

from contract.messages.base import Verb
from operations.errors import ExitCode
from simulator.values import JsonObject, as_objects
from tests.operations.conftest import GRAFANA_ID, Azure, Operations, assert_says
from tests.operations.test_approval import ENDPOINT, request_for

DELETE = Verb.DELETE_PRIVATE_ENDPOINT
BUSY: JsonObject = {
    "status": 409,
    "body": {"error": {"code": "ConflictInProcessing", "message": "Operation conflict occurred"}},
}


@pytest.fixture
def link_id(azure: Azure) -> str:
    """A Private Link Service with our endpoint's pending connection."""
    link_id = azure.expose()
    azure.connect(link_id)
    return link_id


def endpoints(azure: Azure) -> list[JsonObject]:
    listed = azure.arm("GET", f"{GRAFANA_ID}/managedPrivateEndpoints", "2024-10-01")
    return as_objects(listed["value"])


def test_it_is_gone_afterwards_and_its_connection_with_it_and_again_is_no_failure(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    for _ in range(2):
        answer = operations.succeed(DELETE, request_for(link_id)).answer
        assert answer == {"name": "p-dev"}
    assert endpoints(azure) == []
    assert azure.connections(link_id) == []


def test_another_operation_on_grafana_is_waited_for(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    azure.fault("DELETE", ENDPOINT, BUSY, count=3)
    result = operations.succeed(DELETE, request_for(link_id))
    assert_says(result.stderr, ["waiting for the managed private endpoint p-dev to be gone"])
    assert endpoints(azure) == []


def test_one_that_does_not_end_is_named_at_the_deadline(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    azure.fault("DELETE", ENDPOINT, BUSY, count=None)
    result = operations(DELETE, request_for(link_id), "--deadline", "60")
    assert result.exit_code == ExitCode.BUSY
    assert_says(result.stderr, ["ConflictInProcessing"])
    assert len(endpoints(azure)) == 1


@pytest.mark.parametrize("text", ["<html>sign in</html>", ""])
def test_a_success_that_azure_did_not_answer_is_none(
    azure: Azure, operations: Operations, link_id: str, text: str
) -> None:
    azure.fault("DELETE", ENDPOINT, {"status": 200, "text": text}, count=2)
    operations.succeed(DELETE, request_for(link_id))
    assert endpoints(azure) == []


def test_one_with_anothers_message_is_left_to_whoever_knows_it(
    azure: Azure, operations: Operations, link_id: str
) -> None:
    request = request_for(link_id, request_message="gpuobs gpuobs prod 1")
    result = operations.succeed(DELETE, request)
    assert "is left to the provider" in result.stderr
    assert len(endpoints(azure)) == 1


def test_with_a_grafana_that_is_gone_it_is_gone(azure: Azure, operations: Operations) -> None:
    request = request_for(azure.expose(), grafana_id=f"{GRAFANA_ID}-gone")
    assert operations.succeed(DELETE, request).answer == {"name": "p-dev"}
