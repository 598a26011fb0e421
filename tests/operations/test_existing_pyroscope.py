"""A Pyroscope that is there already: asked for its version from here, and through Grafana."""

import httpx
import pytest

from contract.grafana import TOKEN_VARIABLE
from contract.messages.survey import Presence, WantedPyroscope
from operations.existing_pyroscope import look
from operations.grafana import Grafana
from operations.session import Session
from tests.operations.conftest import Azure

TOKEN = "glsa_TheOneThatIsGood_00000001"  # noqa: S105
URL = "http://pyroscope.example.org:4040"
BUILD = {"status": "success", "data": {"version": "v1.16.0"}}


def answering(monkeypatch: pytest.MonkeyPatch, response: httpx.Response | Exception) -> None:
    """What asking the server from here gives."""

    def get(url: str, timeout: float) -> httpx.Response:
        assert url == f"{URL}/api/v1/status/buildinfo"
        assert timeout < 10
        if isinstance(response, Exception):
            raise response
        return response

    monkeypatch.setattr("operations.existing_pyroscope.httpx.get", get)


def test_a_server_that_answers_from_here_says_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, httpx.Response(200, json=BUILD))
    assert look(WantedPyroscope(url=URL), None).version == "1.16.0"


@pytest.mark.parametrize(
    "response",
    [
        httpx.ConnectError("no route to host"),
        httpx.Response(403, json=BUILD),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=["data"]),
    ],
)
def test_one_that_does_not_is_not_known(
    monkeypatch: pytest.MonkeyPatch, response: httpx.Response | Exception
) -> None:
    answering(monkeypatch, response)
    assert look(WantedPyroscope(url=URL), None).version == ""


def test_a_source_that_is_not_there_is_told_from_one_that_cannot_be_looked_up(
    azure: Azure, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, httpx.ConnectError("no route to host"))
    own = {"cluster": "aks-dev", "version": "12.4.1", "tokens": {TOKEN: "Admin"}}
    azure.settings(ownGrafanas={"ops": own})
    url = f"{azure.endpoint.rsplit('/', 1)[0]}/ops"
    wanted = WantedPyroscope(url=URL, data_source="nobody")
    with Session() as session:
        grafana = Grafana(session, url, token_variable=TOKEN_VARIABLE)
        monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
        assert look(wanted, grafana).source is Presence.ABSENT
        monkeypatch.setenv(TOKEN_VARIABLE, "glsa_of_another")
        assert look(wanted, grafana).source is Presence.NOT_ASKED
