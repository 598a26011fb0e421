"""What only a process of its own shows: the launcher, standard streams, exit codes, secrets."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from contract.messages.base import LAUNCHER, Verb, command_line
from contract.messages.private_link import PrivateLinkRequest
from operations.errors import ExitCode
from tests.operations.conftest import Azure, assert_says

ROOT = Path(__file__).resolve().parent.parent.parent
REQUEST = PrivateLinkRequest(id="irrelevant", namespace="gadget", release="pyroscope").to_json()


def launch(
    *arguments: str,
    root: Path = ROOT,
    request: str = REQUEST,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(root / "operations" / "run"), *arguments],
        input=request,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd or root,
        env=dict(os.environ if environment is None else environment),
        timeout=60,
    )


def copy_of_the_project(tmp_path: Path) -> Path:
    """A clone without a virtual environment, in a folder whose name needs quoting."""
    root = tmp_path / "a clone's folder"
    for room in ("contract", "operations"):
        shutil.copytree(ROOT / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def path_with(tmp_path: Path, *tools: str) -> str:
    """A PATH with these system tools only."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return str(folder)


def test_the_text_of_a_command_runs_from_the_program_directory() -> None:
    run = subprocess.run(
        ["/bin/sh", "-c", command_line(Verb.HOLD_PRIVATE_LINK)],
        cwd=ROOT,
        input=REQUEST,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == '{"namespace":"gadget"}\n'
    assert run.stderr == ""


def test_the_text_of_a_command_is_the_same_on_every_machine() -> None:
    assert LAUNCHER == "sh operations/run"
    for verb in Verb:
        assert command_line(verb) == f"sh operations/run {verb.value}"


def test_the_launcher_works_from_any_directory_and_with_a_relative_request_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "request.json").write_text(REQUEST)
    run = launch("hold-private-link", "--request", "request.json", request="", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, '{"namespace":"gadget"}\n')


@pytest.mark.parametrize("folder", [".venv", "venv"])
def test_the_launcher_finds_the_projects_virtual_environment(tmp_path: Path, folder: str) -> None:
    root = copy_of_the_project(tmp_path)
    (root / folder).symlink_to(sys.prefix)
    environment = {"PATH": path_with(tmp_path, "sh", "dirname")}
    run = launch("hold-private-link", root=root, environment=environment)
    assert (run.returncode, run.stdout) == (0, '{"namespace":"gadget"}\n'), run.stderr


def test_an_activated_environment_of_another_project_is_passed_over(tmp_path: Path) -> None:
    root = copy_of_the_project(tmp_path)
    (root / ".venv").symlink_to(sys.prefix)
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    (other / "bin" / "python").chmod(0o755)
    environment = {"PATH": path_with(tmp_path, "sh", "dirname"), "VIRTUAL_ENV": str(other)}
    run = launch("hold-private-link", root=root, environment=environment)
    assert run.returncode == 0, run.stderr


def test_the_environment_of_pulumi_yaml_goes_before_an_activated_one(tmp_path: Path) -> None:
    root = copy_of_the_project(tmp_path)
    options = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["runtime"]["options"]
    assert options == {"toolchain": "pip", "virtualenv": ".venv"}
    for folder in (root / options["virtualenv"], tmp_path / "active"):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").write_text(f"#!/bin/sh\n[ $1 = -c ] || echo '{folder.name}'\n")
        (folder / "bin" / "python").chmod(0o755)
    environment = {
        "PATH": path_with(tmp_path, "sh", "dirname"),
        "VIRTUAL_ENV": str(tmp_path / "active"),
    }
    assert launch("hold-private-link", root=root, environment=environment).stdout == ".venv\n"


@pytest.mark.parametrize("python3", ["absent", "too old or without the packages"])
def test_without_a_fitting_python_the_launcher_says_what_to_install(
    tmp_path: Path, python3: str
) -> None:
    root = copy_of_the_project(tmp_path)
    path = path_with(tmp_path, "sh", "dirname", "cat")
    if python3 != "absent":
        fake = Path(path) / "python3"
        fake.write_text("#!/bin/sh\necho 'Python 2.7 says hello' >&2\nexit 1\n")
        fake.chmod(0o755)
    run = launch("hold-private-link", root=root, environment={"PATH": path})
    assert run.returncode == 1
    assert run.stdout == ""
    assert_says(run.stderr, ["no Python", "3.11", "requirements.txt", "venv"])
    assert "2.7" not in run.stderr


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_explains_itself_with_an_example(verb: Verb) -> None:
    run = launch(verb.value, "--help", request="")
    assert run.returncode == 0
    assert_says(run.stdout, ["Example:", f"operations/run {verb.value}"])


def test_the_help_lists_every_verb_and_every_exit_code() -> None:
    run = launch("--help", request="")
    assert_says(run.stdout, [verb.value for verb in Verb])
    assert_says(run.stdout, [code.name.lower().replace("_", " ") for code in ExitCode])


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("", ["the document"]),
        ("not json", ["the document"]),
        ("[]", ["the document"]),
        ('{"id": "x"}', ["namespace: Field required", "release: Field required"]),
        ('{"id": "x", "namespace": "n", "release": "r", "extra": 1}', ["extra"]),
    ],
)
def test_a_bad_request_lists_all_that_is_wrong_in_one_message(
    request_text: str, words: list[str]
) -> None:
    run = launch("hold-private-link", request=request_text)
    assert run.returncode == ExitCode.BAD_REQUEST
    assert_says(run.stderr, ["hold-private-link", "PrivateLinkRequest", *words])
    assert "Traceback" not in run.stderr


def test_a_request_file_that_is_missing_is_named() -> None:
    run = launch("hold-private-link", "--request", "nowhere.json")
    assert run.returncode == ExitCode.BAD_REQUEST
    assert_says(run.stderr, ["nowhere.json"])


@pytest.mark.parametrize("scale", ["fast", "-1", "nan", "inf"])
def test_a_time_scale_that_is_no_number_is_a_bad_request(scale: str) -> None:
    run = launch("hold-private-link", environment={**os.environ, "GPUOBS_TIME_SCALE": scale})
    assert run.returncode == ExitCode.BAD_REQUEST
    assert_says(run.stderr, ["GPUOBS_TIME_SCALE"])


def test_a_defect_of_ours_is_one_line_and_shows_its_traceback_on_request(azure: Azure) -> None:
    environment = {**os.environ, **azure.server.environment}
    # An ARM URL that no SDK can parse is something nobody expected.
    broken = {**environment, "GPUOBS_ARM_URL": "https://[bad"}
    request = PrivateLinkRequest(id=azure.private_link_id(), namespace="g", release="p").to_json()
    run = launch("await-private-link", "--deadline", "1", request=request, environment=broken)
    assert run.returncode != 0
    assert "Traceback" not in run.stderr
    if run.returncode == ExitCode.UNEXPECTED:
        assert_says(run.stderr, ["unexpected", "GPUOBS_DEBUG=1"])
        run = launch(
            "await-private-link", request=request, environment={**broken, "GPUOBS_DEBUG": "1"}
        )
        assert "Traceback" in run.stderr


@pytest.mark.handles("local-accounts-disabled")
def test_a_kube_token_is_an_exec_credential_for_the_aks_application(azure: Azure) -> None:
    environment = {**os.environ, **azure.server.environment}
    run = launch("kube-token", request="", environment=environment)
    assert run.returncode == 0, run.stderr
    credential = json.loads(run.stdout)
    assert credential["apiVersion"] == "client.authentication.k8s.io/v1"
    assert credential["kind"] == "ExecCredential"
    status = credential["status"]
    assert status["token"] == azure.token("6dae42f8-4368-4678-94ff-3960e28e3630") or (
        status["token"].count(".") == 2
    )
    assert status["expirationTimestamp"].endswith("Z")
    assert status["token"] not in run.stderr


def test_a_kube_token_speaks_the_version_that_the_client_asks_for(azure: Azure) -> None:
    asked = json.dumps({"apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {}})
    environment = {**os.environ, **azure.server.environment, "KUBERNETES_EXEC_INFO": asked}
    run = launch("kube-token", request="", environment=environment)
    assert json.loads(run.stdout)["apiVersion"] == "client.authentication.k8s.io/v1beta1"


def test_a_kube_token_without_an_identity_says_how_to_sign_in(azure: Azure) -> None:
    azure.settings(caller="")
    environment = {**os.environ, **azure.server.environment}
    run = launch("kube-token", request="", environment=environment)
    assert run.returncode == ExitCode.NOT_AUTHENTICATED
    assert run.stdout == ""
    assert_says(run.stderr, ["az login"])


def test_no_token_appears_in_errors_even_when_debugging(azure: Azure) -> None:
    environment = {**os.environ, **azure.server.environment, "GPUOBS_DEBUG": "1"}
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.fault("GET", ".*/privateLinkServices/.*", {"status": 403, "body": body}, count=None)
    request = PrivateLinkRequest(id=azure.private_link_id(), namespace="g", release="p").to_json()
    run = launch("await-private-link", request=request, environment=environment)
    assert run.returncode == ExitCode.FORBIDDEN
    head = azure.token().split(".")[0]
    assert head not in run.stdout + run.stderr


def test_progress_appears_while_waiting_not_at_the_end(azure: Azure) -> None:
    environment = {**os.environ, **azure.server.environment, "GPUOBS_TIME_SCALE": "1"}
    request = PrivateLinkRequest(id=azure.private_link_id(), namespace="g", release="p").to_json()
    with subprocess.Popen(
        ["/bin/sh", "operations/run", "await-private-link"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(request)
        process.stdin.close()
        line = process.stderr.readline()
        assert process.poll() is None, "the wait had ended before it said anything"
        process.terminate()
    assert_says(line, ["waiting for the Private Link Service pyroscope-dev"])
