"""The simulator's Python language host, with the real engine and programs of the tests' own."""

import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import grpc
import pulumi
import pytest

from simulator.home import CHECKOUT
from simulator.plugins.environment import Environment
from simulator.plugins.stubs import language_pb2
from tests.engine.simulation import Simulation

pytestmark = [pytest.mark.engine, pytest.mark.as_shipped]


@pytest.fixture(scope="module")
def example(sim: Simulation, program_folder: Path) -> Simulation:
    """A stack ``one`` of a program that each test writes."""
    return sim.of_program(program_folder, "", stacks={"one": {"example:word": "configured"}})


def write(program_folder: Path, source: str) -> None:
    (program_folder / "__main__.py").write_text(source)


def test_the_program_gets_configuration_and_its_names(
    example: Simulation, program_folder: Path
) -> None:
    write(
        program_folder,
        "import pulumi\n"
        "pulumi.export('word', pulumi.Config().require('word'))\n"
        "pulumi.export('names', [pulumi.get_project(), pulumi.get_stack()])\n",
    )
    example.up("one")
    assert example.outputs("one") == {"word": "configured", "names": ["example", "one"]}


def test_the_user_sees_what_the_program_prints(example: Simulation, program_folder: Path) -> None:
    write(program_folder, "import sys\nprint('to the user')\nprint('aside', file=sys.stderr)\n")
    shown = example.up("one").output
    assert "to the user" in shown
    assert "aside" in shown


def test_modules_beside_the_program_are_importable(
    example: Simulation, program_folder: Path
) -> None:
    (program_folder / "beside.py").write_text("VALUE = 3\n")
    write(program_folder, "import beside, pulumi\npulumi.export('value', beside.VALUE)\n")
    example.up("one")
    assert example.outputs("one") == {"value": 3}


def test_the_program_runs_in_the_virtual_environment_of_its_project_file(
    sim: Simulation, tmp_path: Path
) -> None:
    site = Path(pulumi.__file__).parents[1]
    venv.create(tmp_path / "own", with_pip=False, symlinks=True)
    (own_site,) = (tmp_path / "own").glob("lib/python*/site-packages")
    (own_site / "ours.pth").write_text(f"{site}\n")
    program = sim.of_program(
        tmp_path,
        "import os, sys, pulumi\n"
        "pulumi.export('prefix', sys.prefix)\n"
        "pulumi.export('active', os.environ['VIRTUAL_ENV'])\n"
        "pulumi.export('first', os.environ['PATH'].split(os.pathsep)[0])\n",
        stacks={"venv": {}},
        runtime={"name": "python", "options": {"toolchain": "pip", "virtualenv": "own"}},
    )
    program.up("venv")
    own = str(tmp_path / "own")
    assert program.outputs("venv") == {"prefix": own, "active": own, "first": f"{own}/bin"}


def test_an_exception_fails_the_command_and_shows_the_programs_own_frames_only(
    example: Simulation, program_folder: Path
) -> None:
    write(program_folder, "def broken():\n    raise ValueError('on purpose')\nbroken()\n")
    outcome = example.up("one", check=False)
    assert not outcome.ok
    assert "ValueError: on purpose" in outcome.output
    assert "in broken" in outcome.output
    assert "runpy" not in outcome.output
    assert "simulator/plugins" not in outcome.output


def test_a_run_error_is_its_message_without_a_traceback(
    example: Simulation, program_folder: Path
) -> None:
    write(program_folder, "import pulumi\nraise pulumi.RunError('name the cluster')\n")
    outcome = example.up("one", check=False)
    assert not outcome.ok
    assert "name the cluster" in outcome.output
    assert "Traceback" not in outcome.output


def test_a_programs_exit_status_is_reported(example: Simulation, program_folder: Path) -> None:
    write(program_folder, "import sys\nsys.exit(5)\n")
    outcome = example.up("one", check=False)
    assert not outcome.ok
    assert "non-zero exit code: 5" in outcome.output


WAITING = """
import time, pulumi, pulumi_command
pulumi_command.local.Command("waits", create="echo begun; exec sleep 60")
"""


def test_an_interrupt_ends_quietly_and_leaves_the_stack_unlocked(
    example: Simulation, program_folder: Path
) -> None:
    write(program_folder, WAITING)
    process = example.start("pulumi", "up", "--yes", "--skip-preview", "--stack", "one")
    shown = _read_until(process, "begun")
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    shown += rest
    assert process.returncode != 0
    assert "KeyboardInterrupt" not in shown
    assert "Traceback" not in shown
    write(program_folder, "")
    assert example.up("one").ok


@pytest.mark.parametrize("killed", ["the engine", "the engine and its language host"])
def test_plugins_and_program_end_when_the_engine_is_killed(
    example: Simulation, program_folder: Path, killed: str
) -> None:
    write(program_folder, WAITING)
    process = example.start("pulumi", "up", "--yes", "--skip-preview", "--stack", "one")
    _read_until(process, "begun")
    ours = _processes_below(process.pid)
    plugins = [pid for pid, line in ours.items() if "simulator" in line and pid != process.pid]
    hosts = [pid for pid in plugins if "language" in ours[pid]]
    assert hosts, ours
    if killed != "the engine":
        for pid in hosts:
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(_alive(pid) for pid in plugins) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [ours[pid] for pid in plugins if _alive(pid)]
    assert example.pulumi("cancel", "--yes", "--stack", "one").ok
    write(program_folder, "")
    assert example.up("one").ok


def _read_until(process: "subprocess.Popen[str]", word: str) -> str:
    shown = ""
    assert process.stdout is not None
    for line in process.stdout:
        shown += line
        if word in line:
            return shown
    raise AssertionError(f"ended without {word!r}:\n{shown}")


def _processes_below(root: int) -> dict[int, str]:
    """The command lines of a process and its descendants."""
    listed = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    found = {root: ""}
    for _ in range(10):
        for row in rows:
            if len(row) == 3 and int(row[1]) in found:
                found[int(row[0])] = row[2]
            elif len(row) == 3 and int(row[0]) == root:
                found[root] = row[2]
    return found


def _alive(pid: int) -> bool:
    status = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return bool(status) and not status.startswith("Z")


# --- asked directly -----------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> Iterator[grpc.Channel]:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from simulator.plugins.language import main; main()",
            "127.0.0.1:1",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout:
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def run_plugin(
    host: grpc.Channel, request: language_pb2.RunPluginRequest
) -> list[language_pb2.RunPluginResponse]:
    call = host.unary_stream(
        "/pulumirpc.LanguageRuntime/RunPlugin",
        request_serializer=language_pb2.RunPluginRequest.SerializeToString,
        response_deserializer=language_pb2.RunPluginResponse.FromString,
    )
    return list(call(request))


def test_a_plugin_written_in_python_is_run_and_its_output_streamed(
    host: grpc.Channel, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text(
        "import os, sys\n"
        "print('port', sys.argv[1], os.environ['OWN'])\n"
        "print('aside', file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    request = language_pb2.RunPluginRequest(
        pwd=str(tmp_path),
        args=["given"],
        env=["OWN=of the plugin"],
        info=language_pb2.ProgramInfo(program_directory=str(tmp_path), entry_point="."),
    )
    answers = run_plugin(host, request)
    assert b"".join(answer.stdout for answer in answers) == b"port given of the plugin\n"
    assert b"".join(answer.stderr for answer in answers) == b"aside\n"
    assert answers[-1].exitcode == 3


def project(folder: Path, **options: str) -> language_pb2.ProgramInfo:
    """A project in ``folder`` with these runtime options."""
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder))
    info.options.update(options)
    return info


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"virtualenv": ".venv"}, "run `pulumi install`"),
        ({"toolchain": "uv"}, "knows pip only"),
        ({"typechecker": "mypy"}, "'typechecker'"),
    ],
)
def test_a_runtime_option_that_cannot_be_honoured_is_refused(
    host: grpc.Channel, tmp_path: Path, options: dict[str, str], said: str
) -> None:
    call = host.unary_unary(
        "/pulumirpc.LanguageRuntime/Run",
        request_serializer=language_pb2.RunRequest.SerializeToString,
        response_deserializer=language_pb2.RunResponse.FromString,
    )
    answer = call(language_pb2.RunRequest(info=project(tmp_path, **options)))
    assert said in answer.error


def test_pulumi_install_checks_the_packages_without_downloading_any(
    host: grpc.Channel, tmp_path: Path
) -> None:
    install = host.unary_stream(
        "/pulumirpc.LanguageRuntime/InstallDependencies",
        request_serializer=language_pb2.InstallDependenciesRequest.SerializeToString,
        response_deserializer=language_pb2.InstallDependenciesResponse.FromString,
    )
    request = language_pb2.InstallDependenciesRequest(
        info=project(tmp_path, toolchain="pip", virtualenv=sys.prefix)
    )
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("pulumi\n")
    list(install(request))
    requirements.write_text("pulumi\nno-such-package-anywhere\n")
    failing = install(request)
    assert b"no-such-package-anywhere" in next(failing).stderr
    with pytest.raises(grpc.RpcError, match="failed"):
        next(failing)


def test_pulumi_install_makes_the_virtual_environment_first(tmp_path: Path) -> None:
    environment = Environment.of(project(tmp_path, virtualenv=".venv"))
    first = next(environment.installation(tmp_path))
    assert first == [sys.executable, "-m", "venv", str(tmp_path / ".venv")]


def test_a_plugin_imports_the_modules_beside_it(host: grpc.Channel, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 'found'\n")
    (tmp_path / "__main__.py").write_text("import beside\nprint(beside.VALUE)\n")
    info = language_pb2.ProgramInfo(program_directory=str(tmp_path), entry_point="")
    request = language_pb2.RunPluginRequest(pwd=str(tmp_path), info=info)
    answers = run_plugin(host, request)
    assert re.search(rb"found", b"".join(answer.stdout for answer in answers))
