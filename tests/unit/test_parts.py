"""What is not run where a part is missing, and that nothing is left out in silence."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.parts import EVERYTHING, PARTS
from tests.unit.stack_files import ROOT

SAMPLE = """
import pytest

@pytest.fixture
def started():
    raise AssertionError("a fixture of a test that is not run")

def test_plain(): pass

@pytest.mark.parametrize("number", range(3))
@pytest.mark.browser
def test_in_a_browser(number, started): pass

@pytest.mark.strace
def test_traced(started): pass

@pytest.mark.strace
@pytest.mark.browser
def test_both(started): pass
"""
NOT_RUN = (
    "5 tests were not run: 4 in a real browser, 1 of every address called. To run everything, "
    "install: Chromium (Debian, Ubuntu: apt-get install chromium); "
    "strace (Linux only; Debian, Ubuntu: apt-get install strace)."
)
PLUGINS = ("-p", "tests.parts", "-p", "xdist")


def run(
    folder: Path, sample: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """pytest on ``sample``, on a machine whose PATH is empty.

    Without the plugins that the sample does not use: they take four times as long to load.
    """
    (folder / "test_sample.py").write_text(sample)
    (folder / "pytest.ini").touch()
    kept = {name: value for name, value in os.environ.items() if name != EVERYTHING}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGINS, *arguments, "test_sample.py"],
        cwd=folder,
        env={
            **kept,
            "PATH": str(folder),
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_last_line_says_how_many_tests_of_what_were_not_run_and_what_to_install(
    tmp_path: Path, workers: str
) -> None:
    done = run(tmp_path, SAMPLE, "-n", workers)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 5 skipped" in done.stdout
    assert done.stdout.splitlines()[-1] == NOT_RUN


def test_where_everything_is_asked_for_a_missing_part_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, SAMPLE, environment={EVERYTHING: "1"})
    assert done.returncode == 1
    assert "1 passed, 5 errors" in done.stdout
    assert "Install Chromium" in done.stdout
    assert "not run" not in done.stdout


def test_no_line_is_added_where_everything_ran(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_plain(): pass")
    assert done.returncode == 0
    assert "not run" not in done.stdout


@pytest.mark.parametrize(
    "skip",
    [
        "import pytest\n@pytest.mark.skip\ndef test_hidden(): pass",
        "import pytest\ndef test_hidden(): pytest.skip('no reason')",
    ],
)
def test_any_other_skip_is_a_failure(tmp_path: Path, skip: str) -> None:
    done = run(tmp_path, skip)
    assert done.returncode == 1, done.stdout
    assert "only tests/parts.py may" in done.stdout


def test_the_quick_tests_leave_out_every_part() -> None:
    script = (ROOT / "scripts" / "test").read_text()
    assert f'"not (engine or {" or ".join(PARTS)})"' in script
