"""The process that answers a program's questions beside it, until the program ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pytest

from contract.messages.base import Verb
from contract.messages.serving import Question, Reply
from contract.messages.survey import Presence, Survey, SurveyRequest
from tests.operations.conftest import (
    CLUSTER_ID,
    GRAFANA_ID,
    MESSAGE,
    SUBSCRIPTION,
    Azure,
    assert_says,
)

ROOT = Path(__file__).resolve().parent.parent.parent
SURVEY = SurveyRequest(
    provider_subscription_id=SUBSCRIPTION,
    provider_object_id="",
    namespaces=(),
    cluster_id=CLUSTER_ID,
)


class Served:
    """One such process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._questions = cast("IO[bytes]", process.stdin)
        self._answers = cast("IO[bytes]", process.stdout)

    def send(self, verb: Verb, request: Mapping[str, object]) -> None:
        line = Question(verb=verb, request=request).to_json()
        self._questions.write(f"{line}\n".encode())
        self._questions.flush()

    def ask(self, verb: Verb, request: Mapping[str, object]) -> Reply:
        self.send(verb, request)
        return Reply.model_validate_json(self._answers.readline())

    def survey(self, **changes: object) -> Survey:
        request = SURVEY.model_copy(update=changes).model_dump(mode="json", by_alias=True)
        return Survey.model_validate(self.ask(Verb.SURVEY, request).answer)

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its standard input; its status and what else it wrote."""
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@contextmanager
def served(azure: Azure, **variables: str) -> Generator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "operations.serving"],
        cwd=ROOT,
        env={**os.environ, **azure.server.environment, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Served(process)
        finally:
            process.kill()


def test_it_answers_one_question_after_the_other_and_ends_with_its_input(azure: Azure) -> None:
    link_id = azure.expose()
    azure.connect(link_id)
    approval = {
        "grafanaId": GRAFANA_ID,
        "endpointName": "p-dev",
        "privateLinkId": link_id,
        "requestMessage": MESSAGE,
    }
    with served(azure) as process:
        assert process.survey().cluster.presence is Presence.FOUND
        answer = process.ask(Verb.OBSERVE, {"approval": approval}).answer
        assert answer is not None
        assert set(answer["revisions"]) == {"approval"}
        assert answer["problems"] == []
        assert process.survey(grafana_id=GRAFANA_ID).grafana.presence is Presence.FOUND
        assert process.end() == (0, b"", b"")


def test_it_ends_with_its_input_also_in_the_middle_of_a_lookup(azure: Azure) -> None:
    azure.fault("GET", ".*/managedClusters/.*", {"delay": 3600}, count=None)
    azure.settings(latency=1)
    with served(azure) as process:
        process.send(Verb.SURVEY, SURVEY.model_dump(mode="json", by_alias=True))
        deadline = time.monotonic() + 20
        before = azure.calls()
        while azure.calls() == before and time.monotonic() < deadline:
            time.sleep(0.05)
        begin = time.monotonic()
        assert process.end() == (0, b"", b"")
        assert time.monotonic() - begin < 5


def test_an_interrupt_is_left_to_the_program(azure: Azure) -> None:
    with served(azure) as process:
        process.survey()
        process.process.send_signal(signal.SIGINT)
        assert process.survey().cluster.presence is Presence.FOUND
        assert process.end() == (0, b"", b"")


def test_without_a_credential_it_says_so_when_it_is_asked(azure: Azure) -> None:
    azure.settings(caller="")
    with served(azure) as process:
        assert_says(process.survey().problem, ["no credential", "az login"])
        assert process.end()[:2] == (0, b"")


@pytest.mark.parametrize(
    ("verb", "request_", "words"),
    [
        (Verb.APPLY_DASHBOARD, {}, ["apply-dashboard"]),
        (Verb.SURVEY, {"colour": "red"}, ["survey", "colour"]),
    ],
)
def test_what_it_cannot_answer_is_an_error_in_words_and_not_its_end(
    azure: Azure, verb: Verb, request_: Mapping[str, object], words: list[str]
) -> None:
    with served(azure) as process:
        reply = process.ask(verb, request_)
        assert reply.answer is None
        assert_says(reply.error, ["error: ", *words])
        assert process.survey().cluster.presence is Presence.FOUND


LOCALES = [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "gbk"}, {"PYTHONIOENCODING": "cp1252"}]
NO_UTF8 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("locale", LOCALES)
def test_letters_beyond_ascii_pass_whatever_the_locale(
    azure: Azure, locale: dict[str, str]
) -> None:
    with served(azure, **locale, **NO_UTF8) as process:
        reply = process.ask(Verb.SURVEY, {"größe": "日本"})
        assert "größe" in reply.error


@pytest.mark.parametrize("locale", LOCALES)
def test_a_verb_by_itself_reads_and_writes_utf8_whatever_the_locale(locale: dict[str, str]) -> None:
    request = {"id": "x", "namespace": "grün", "release": "r"}
    run = subprocess.run(
        [sys.executable, "-m", "operations", "hold-private-link"],
        cwd=ROOT,
        env={**os.environ, **locale, **NO_UTF8},
        input=json.dumps(request, ensure_ascii=False).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(run.stdout) == {"namespace": "grün"}
