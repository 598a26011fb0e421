"""The warm Python is a Python: the engine's tests must not notice that they run on it."""

import json
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from simulator.home import CHECKOUT

pytestmark = pytest.mark.engine


def run(
    python: Path, *arguments: str, cwd: Path = CHECKOUT, stdin: str = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_streams_status_arguments_directory_and_environment_are_the_callers(
    warm_python: Path, tmp_path: Path
) -> None:
    code = (
        "import json, os, sys; sys.stderr.write('aside'); "
        "print(json.dumps([sys.argv, os.getcwd(), dict(os.environ), sys.stdin.read()])); "
        "sys.exit(5)"
    )
    done = run(warm_python, "-c", code, "given", cwd=tmp_path, stdin="typed", NAME="value")
    assert (done.returncode, done.stderr) == (5, "aside")
    arguments, directory, environment, typed = json.loads(done.stdout)
    assert (arguments, directory, typed) == (["-c", "given"], str(tmp_path), "typed")
    assert environment["NAME"] == "value"
    assert "VIRTUAL_ENV" not in environment


def test_no_run_sees_what_another_did_to_its_modules(warm_python: Path) -> None:
    spoil = "import pulumi, infra.program; pulumi.spoilt = infra.program.spoilt = True"
    assert run(warm_python, "-c", spoil).returncode == 0
    look = (
        "import pulumi, infra; print(hasattr(pulumi, 'spoilt'), hasattr(infra.program, 'spoilt'))"
    )
    assert run(warm_python, "-c", look).stdout == "False False\n"


def test_a_program_elsewhere_imports_its_own_modules(warm_python: Path, tmp_path: Path) -> None:
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "__init__.py").write_text("HERE = True\n")
    (tmp_path / "__main__.py").write_text("import infra; print(infra.HERE)\n")
    assert run(warm_python, str(tmp_path / "__main__.py"), cwd=tmp_path).stdout == "True\n"


def test_an_exception_is_a_traceback_and_status_1(warm_python: Path) -> None:
    done = run(warm_python, "-c", "raise ValueError('on purpose')")
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: on purpose\n")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_process_that_was_forked(
    warm_python: Path, sent: signal.Signals
) -> None:
    code = (
        # Not print: a handler must not enter the stream that the signal may have interrupted.
        "import os, signal, sys, time\n"
        f"signal.signal({int(sent)}, lambda *_: (os.write(1, b'asked\\n'), sys.exit(7)))\n"
        "os.write(1, b'ready\\n'); time.sleep(60)"
    )
    with subprocess.Popen([warm_python, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(sent)
        assert process.stdout.readline() == "asked\n"
        assert process.wait(timeout=30) == 7


def test_a_run_ends_when_whoever_started_it_is_killed(warm_python: Path, tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = (
        "import signal, sys, time, pathlib\n"
        f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(pathlib.Path({str(note)!r}).touch()))\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([warm_python, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        deadline = time.monotonic() + 30
        while not note.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert note.exists()


def test_a_start_that_is_given_up_half_way_disturbs_no_other(warm_python: Path) -> None:
    address = warm_python.parents[1] / "socket"
    for sent in (b"", (1000).to_bytes(4, "big") + b"half"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(address))
            client.sendall(sent)
    assert run(warm_python, "-c", "print('still there')").stdout == "still there\n"


def test_operations_are_run_by_it_and_other_scripts_by_the_systems_shell(warm_python: Path) -> None:
    shell = warm_python.parent.with_name("sh") / "sh"
    help_text = run(shell, "operations/run", "--help").stdout
    assert "approve-private-endpoint" in help_text or "usage" in help_text.lower()
    assert run(shell, "-c", "echo $((1 + 1))").stdout == "2\n"
