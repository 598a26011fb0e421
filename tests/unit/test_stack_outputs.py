"""What a stack deployed is read from its outputs, and each way to fail has one clear message."""

import json
import os
from pathlib import Path

import pytest

from operations import stack_outputs
from operations.errors import ExitCode, OperationError

NO_LOGIN = "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions"
NO_SECRETS = (
    "error: constructing secrets manager of type passphrase: unable to find either "
    "`PULUMI_CONFIG_PASSPHRASE` or `PULUMI_CONFIG_PASSPHRASE_FILE`"
)


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, first on PATH, for a ``pulumi``."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "pulumi"


def answering(pulumi: Path, script: str) -> None:
    pulumi.write_text("#!/bin/sh\n" + script)
    pulumi.chmod(0o755)


def failure(stack: str = "dev") -> OperationError:
    with pytest.raises(OperationError) as raised:
        stack_outputs.read(stack)
    assert raised.value.fix
    return raised.value


def test_the_outputs_of_the_named_stack_are_read(pulumi: Path) -> None:
    outputs = {"grafanaEndpoint": "https://g", "dataSourceUids": {"pyroscope": "p"}}
    answering(pulumi, f'[ "$5" = --stack ] && [ "$6" = dev ] && echo \'{json.dumps(outputs)}\'')
    found = stack_outputs.read("dev")
    assert found.text("grafanaEndpoint") == "https://g"
    assert found.text("dataSourceUids", "pyroscope") == "p"
    assert found.child("dataSourceUids") == {"pyroscope": "p"}


def test_without_a_name_it_is_the_stack_that_is_selected(pulumi: Path) -> None:
    answering(pulumi, """case "$*" in *--stack*) exit 9;; esac; echo '{"a": "b"}'""")
    assert stack_outputs.read().text("a") == "b"


def test_a_stack_that_is_not_deployed_is_to_be_deployed(pulumi: Path) -> None:
    answering(pulumi, "echo '{}'")
    error = failure()
    assert error.kind is ExitCode.NOT_FOUND
    assert "not deployed" in error.happened
    assert "`pulumi up --stack dev`" in error.fix
    assert "`pulumi up`" in failure(stack="").fix


def test_an_output_that_an_earlier_version_did_not_write_is_named(pulumi: Path) -> None:
    answering(pulumi, """echo '{"dashboardUrl": "https://g/d/x"}'""")
    outputs = stack_outputs.read("dev")
    for look in (
        lambda: outputs.text("dataSourceUids", "pyroscope"),
        lambda: outputs.child("dataSourceUids"),
    ):
        with pytest.raises(
            OperationError, match="Stack dev has no output dataSourceUids"
        ) as raised:
            look()
        assert raised.value.kind is ExitCode.NOT_FOUND
        assert "earlier version" in raised.value.why
        assert "`pulumi up --stack dev`" in raised.value.fix


@pytest.mark.parametrize(
    ("said", "kind", "fix"),
    [
        ("error: no stack named 'dev' found", ExitCode.NOT_FOUND, "pulumi stack ls"),
        (
            "error: no stack selected; please use `pulumi stack select`",
            ExitCode.NOT_FOUND,
            "--stack",
        ),
        ("error: no Pulumi.yaml project file found", ExitCode.NOT_FOUND, "project's folder"),
        (NO_LOGIN, ExitCode.NOT_AUTHENTICATED, "pulumi login"),
        (NO_SECRETS, ExitCode.NOT_AUTHENTICATED, "set PULUMI_CONFIG_PASSPHRASE"),
        ("error: dial tcp 10.0.0.1:443: i/o timeout", ExitCode.UNREACHABLE, "pulumi whoami"),
        ("error: something of a later version", ExitCode.REJECTED, "by itself"),
    ],
)
def test_a_refusal_of_pulumi_is_passed_on_with_what_to_do(
    pulumi: Path, said: str, kind: ExitCode, fix: str
) -> None:
    (pulumi.parent / "said").write_text(said)
    answering(pulumi, f"cat '{pulumi.parent}/said' >&2; exit 255")
    error = failure()
    assert error.kind is kind
    assert said in error.why
    assert fix in error.fix
    assert isinstance(error, stack_outputs.PulumiError)


def test_an_answer_that_is_no_json_is_not_taken_for_outputs(pulumi: Path) -> None:
    answering(pulumi, "echo 'warning: a new version of Pulumi is available'")
    assert failure().kind is ExitCode.REJECTED


def test_a_machine_without_pulumi_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failure()
    assert error.kind is ExitCode.NOT_FOUND
    assert "https://www.pulumi.com/docs/install/" in error.fix
