"""Logins for a chart registry are found where Docker and Helm keep them, and never read."""

import json
from pathlib import Path

import pytest

from operations.registry import login_file


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content))
    return file


@pytest.mark.handles("stale-registry-login")
@pytest.mark.parametrize("section", ["auths", "credHelpers"])
@pytest.mark.parametrize("entry", ["ghcr.io", "https://ghcr.io", "https://ghcr.io/v2/"])
def test_a_login_in_dockers_configuration_is_found(
    tmp_path: Path, section: str, entry: str
) -> None:
    file = write(tmp_path / ".docker/config.json", {section: {entry: {}}})

    assert login_file("ghcr.io", {"HOME": str(tmp_path)}) == str(file)


def test_a_login_in_helms_own_configuration_is_found(tmp_path: Path) -> None:
    file = write(tmp_path / "helm/config.json", {"auths": {"ghcr.io": {}}})
    environment = {"HOME": str(tmp_path), "HELM_REGISTRY_CONFIG": str(file)}

    assert login_file("ghcr.io", environment) == str(file)


@pytest.mark.parametrize("content", [{"auths": {"not-ghcr.io": {}}}, {"auths": []}, [], "ghcr.io"])
def test_a_login_for_another_registry_is_none(tmp_path: Path, content: object) -> None:
    write(tmp_path / "docker/config.json", content)

    assert login_file("ghcr.io", {"HOME": "/", "DOCKER_CONFIG": str(tmp_path / "docker")}) == ""


def test_a_machine_without_configuration_has_no_login(tmp_path: Path) -> None:
    assert login_file("ghcr.io", {"HOME": str(tmp_path)}) == ""
