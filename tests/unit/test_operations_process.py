"""The process of the operations beside a program: its start, its failures, its end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.operations_process import OperationsProcess

ROOT = Path(__file__).parents[2]

PROGRAM = """\
import time
from infra.operations_process import OperationsProcess

print(OperationsProcess()._process.pid, flush=True)
time.sleep(60)
"""


def test_starting_it_takes_no_import_of_the_programs_own() -> None:
    script = (
        "import sys, infra.start; "
        "print([m for m in ('pulumi', 'pydantic', 'asyncio', 'azure') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """A Python that does what ``script`` says."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))


def test_why_it_gives_no_answer_is_what_it_complained_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, tmp_path, "echo 'no module azure' >&2; exit 1")
    process = OperationsProcess()
    with pytest.raises(OSError, match="no module azure"):
        process.ask("{}")
    process.close()


def test_it_sees_the_checkout_and_what_the_program_sees(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    stand_in(monkeypatch, tmp_path, 'read line; echo "$* $PYTHONPATH $line"')
    process = OperationsProcess()
    assert process.ask("{}") == f"-m operations.serving {ROOT}{os.pathsep}/elsewhere {{}}\n"
    process.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_the_program_whatever_ends_that(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        beside = int(program.stdout.readline())
        assert is_running(beside)
        program.send_signal(how)
        # Nobody holds the program's own streams any more.
        program.stdout.read()
        deadline = time.monotonic() + 20
        while is_running(beside) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(beside)


def is_running(process: int) -> bool:
    """Whether there is such a process, and it has not ended unnoticed."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()[:1] not in ("", "Z")
