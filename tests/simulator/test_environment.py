"""``scripts/lib.sh``: which Python the scripts run on, and how they come by its packages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from simulator.home import CHECKOUT

STAMP = ".gpuobs-requirements"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone, as far as the scripts' beginning needs one."""
    root = tmp_path / "a clone"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(CHECKOUT / "scripts" / "lib.sh", root / "scripts")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (root / name).write_text(f"# the pins of {name}\n")
    (root / "scripts" / "where").write_text('. "$(dirname -- "$0")/lib.sh"\necho "$python"\n')
    return root


def python(folder: Path, note: Path, *, pip: int = 0) -> Path:
    """A Python in ``folder`` that notes its arguments; its pip answers ``pip``."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "python"
    script.write_text(
        "#!/bin/sh\n"
        f'case "$2" in pip|venv) echo "$@" >> "{note}";; esac\n'
        f'case "$2" in pip) exit {pip};; venv) exec {sys.executable} "$@" --without-pip;; esac\n'
    )
    script.chmod(0o755)
    return folder


def where(clone: Path, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "scripts/where"],
        cwd=clone,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_active_environment_that_has_everything_is_used_and_asked_once(
    clone: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    active = python(tmp_path / "active", note)
    for _ in range(2):
        done = where(clone, {"VIRTUAL_ENV": str(active)})
        assert done.stdout == f"{active}/bin/python\n", done.stderr
    (asked,) = note.read_text().splitlines()
    assert "--dry-run --no-index" in asked
    assert not (clone / ".venv").exists()


def test_the_projects_own_environment_goes_before_an_active_one(
    clone: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    active = python(tmp_path / "active", note)
    own = python(clone / ".venv", note)
    done = where(clone, {"VIRTUAL_ENV": str(active)})
    assert done.stdout == f"{own}/bin/python\n", done.stderr
    (installed,) = note.read_text().splitlines()
    assert "install --quiet --require-hashes" in installed
    assert "--dry-run" not in installed


def test_changed_pins_are_installed_and_a_complete_environment_is_left_alone(
    clone: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    python(clone / ".venv", note)
    where(clone, {})
    where(clone, {})
    assert len(note.read_text().splitlines()) == 1
    (clone / "requirements.txt").write_text("# other pins\n")
    where(clone, {})
    assert len(note.read_text().splitlines()) == 2


def test_a_failed_installation_is_reported_and_never_taken_for_a_whole_one(
    clone: Path, tmp_path: Path
) -> None:
    own = python(clone / ".venv", tmp_path / "note", pip=1)
    done = where(clone, {})
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{own} is incomplete" in done.stderr
    assert not (own / STAMP).exists()


def test_without_an_environment_one_is_made_where_pulumi_expects_it(
    clone: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    system = python(tmp_path / "system", note)
    (system / "bin" / "python").rename(system / "bin" / "python3.13")
    path = f"{system / 'bin'}{os.pathsep}/usr/bin:/bin"
    done = where(clone, {"PATH": path})
    # The environment made has no pip here, so the installation fails: it is the next step.
    assert "is incomplete" in done.stderr
    assert note.read_text() == f"-m venv --clear {clone / '.venv'}\n"
    assert (clone / ".venv" / "bin" / "python").exists()
