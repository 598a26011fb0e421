"""A Grafana that is not Azure's: signed in to with a service account's token, and no other."""

import pytest

from contract.grafana import TOKEN_VARIABLE, may_carry_a_token
from contract.messages.base import Verb
from contract.messages.grafana import DataSourceRequest, Owner
from operations import service_account
from operations.errors import ExitCode, OperationError
from simulator.values import as_object, as_objects, dig
from tests.operations.conftest import CLUSTER_ID, Azure, Operations

TOKEN = "glsa_TheOneThatIsGood_00000001"  # noqa: S105
OWNER = Owner(cluster=CLUSTER_ID.lower(), project="gpuobs", stack="dev")


@pytest.fixture
def url(azure: Azure) -> str:
    """A Grafana that runs in the cluster; its URL."""
    own = {"cluster": "aks-dev", "version": "12.4.1", "tokens": {TOKEN: "Admin", "v": "Viewer"}}
    azure.settings(ownGrafanas={"ops": own})
    return f"{azure.endpoint.rsplit('/', 1)[0]}/ops"


def request_for(url: str) -> DataSourceRequest:
    return DataSourceRequest(
        endpoint=url,
        workspace_id="",
        token_variable=TOKEN_VARIABLE,
        owner=OWNER,
        name="profiles",
        uid="profiles",
        type="grafana-pyroscope-datasource",
        url="http://pyroscope.gadget.svc:4040",
    )


def test_a_source_is_made_and_deleted_without_a_token_of_azures(
    azure: Azure, operations: Operations, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    monkeypatch.setenv("IDENTITY_ENDPOINT", "http://127.0.0.1:9/nobody")
    made = operations(Verb.APPLY_DATA_SOURCE, request_for(url))
    assert made.exit_code == ExitCode.OK, made.stderr
    held = as_objects(dig(azure.inspect(), "grafana", "ops", "dataSources"))
    assert [one["uid"] for one in held] == ["profiles"]
    gone = operations(Verb.DELETE_DATA_SOURCE, request_for(url))
    assert as_object(gone.answer)["deleted"] is True
    assert TOKEN not in made.stdout + made.stderr + gone.stdout + gone.stderr


@pytest.mark.parametrize(
    ("token", "kind", "says"),
    [
        ("", ExitCode.NOT_AUTHENTICATED, "is not set"),
        ("glsa_a\nb", ExitCode.NOT_AUTHENTICATED, "does not hold a token"),
        ("glsa_ä", ExitCode.NOT_AUTHENTICATED, "does not hold a token"),
        ("glsa_unknown", ExitCode.NOT_AUTHENTICATED, "or it has expired"),
        ("v", ExitCode.FORBIDDEN, "needs the role Admin"),
    ],
)
def test_a_token_that_will_not_do_ends_it_at_once_and_is_not_shown(
    operations: Operations,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    kind: ExitCode,
    says: str,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    result = operations(Verb.APPLY_DATA_SOURCE, request_for(url))
    assert result.exit_code == kind, result.stderr
    assert says in result.stderr
    assert len(token) < 2 or token not in result.stdout + result.stderr


def test_a_token_goes_to_https_or_to_this_machine_only() -> None:
    assert may_carry_a_token("https://grafana.example.org")
    assert may_carry_a_token("http://localhost:3000")
    assert not may_carry_a_token("http://grafana.example.org")
    assert not may_carry_a_token("http://localhost.example.org")


def test_a_redirect_is_no_answer_of_grafanas() -> None:
    error = service_account.refusal(
        302, "", action="look", role="", variable=TOKEN_VARIABLE, endpoint="https://g.example"
    )
    assert isinstance(error, OperationError)
    assert not error.transient
    assert error.kind is ExitCode.REJECTED
