"""The messages about a stack's outputs rely on Pulumi's own words: here the real ones."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuobs import cli
from gpuobs.statuses import Status
from tools.provide import PULUMI, provide

pytestmark = pytest.mark.engine

FOREIGN = ("PULUMI_", "AZURE_", "ARM_")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, entered, with a backend that nobody has used; Pulumi is on PATH."""
    pulumi = provide(PULUMI)  # before HOME changes: it is in the user's cache
    for name in os.environ:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    (tmp_path / "backend").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[2] / "Pulumi.yaml", folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}/backend")
    monkeypatch.setenv("PULUMI_SKIP_UPDATE_CHECK", "true")
    monkeypatch.setenv("PATH", f"{pulumi.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """The exit status and the message of ``check``."""

    def check(*arguments: str) -> tuple[int, str]:
        status = cli.main(["check", *arguments])
        return status, capsys.readouterr().err

    return check


def test_without_a_login_it_says_how_to_log_in(
    project: Path, said: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL")
    status, message = said("--stack", "dev")
    assert status == Status.NOT_AUTHENTICATED
    assert "`pulumi login`" in message


def test_a_stack_that_does_not_exist_or_is_not_deployed_sees_what_is_missing(
    project: Path, said: Callable[..., tuple[int, str]]
) -> None:
    status, message = said("--stack", "dev")
    assert status == Status.NOT_FOUND
    assert "`pulumi stack init NAME` makes one" in message

    status, message = said()
    assert status == Status.NOT_FOUND
    assert "name the stack with --stack" in message

    made = ["pulumi", "stack", "init", "dev", "--non-interactive"]
    subprocess.run(made, check=True, env={**os.environ, "PULUMI_CONFIG_PASSPHRASE": ""})
    status, message = said("--stack", "dev")
    assert status == Status.NOT_FOUND
    assert "`pulumi up --stack dev`" in message


@pytest.mark.parametrize("arguments", [[], ["--stack", "dev"]])
def test_outside_a_project_it_says_where_to_run(
    project: Path, said: Callable[..., tuple[int, str]], arguments: list[str]
) -> None:
    (project / "Pulumi.yaml").unlink()
    status, message = said(*arguments)
    assert status == Status.NOT_FOUND
    assert "in the project's folder" in message
