"""``scripts/simulate``: whose output is whose, what is pinned, shared, and kept clean."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator import home as homes
from simulator import keeper
from simulator.home import CHECKOUT, Home

FOREIGN = {
    "AZURE_CLIENT_ID": "leaked",
    "AZURE_CLIENT_SECRET": "leaked",
    "AZURE_TENANT_ID": "leaked",
    "ARM_CLIENT_SECRET": "leaked",
    "ARM_SUBSCRIPTION_ID": "leaked",
    "MSI_ENDPOINT": "http://169.254.169.254/leaked",
    "IDENTITY_SERVER_THUMBPRINT": "leaked",
    "PULUMI_ACCESS_TOKEN": "leaked",
    "PULUMI_BACKEND_URL": "https://leaked.example",
    "KUBECONFIG": "/leaked",
    "HTTPS_PROXY": "http://leaked.example:3128",
    "https_proxy": "http://leaked.example:3128",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose simulated Azure the module's tests share."""
    made = Home(tmp_path_factory.mktemp("home") / "sim")
    yield made
    homes.stop(made)


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Home]:
    """A home of the test's own."""
    made = Home(tmp_path / "sim")
    yield made
    homes.stop(made)


def simulate(
    home: Home,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path = CHECKOUT,
    stdin: str = "",
) -> "subprocess.CompletedProcess[str]":
    """``scripts/simulate`` on ``home``, at latency 0 and with the simulator's own plugins."""
    return subprocess.run(
        [CHECKOUT / "scripts" / "simulate", *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "SIM_LATENCY": "0",
            "SIM_INSTALLED_PLUGINS": "0",
            **(environment or {}),
            "SIM_HOME": str(home.path),
        },
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def server_pid(home: Home) -> int:
    return int(json.loads((home.azure / "server.json").read_text())["pid"])


# --- whose output is whose ----------------------------------------------------------------------


def test_output_input_and_exit_status_are_the_commands(home: Home) -> None:
    script = "cat; echo problem >&2; exit 7"
    done = simulate(home, "sh", "-c", script, stdin="given")
    assert (done.stdout, done.stderr, done.returncode) == ("given", "problem\n", 7)


def test_two_dashes_end_our_own_options(home: Home) -> None:
    assert simulate(home, "--", "echo", "--inspect").stdout == "--inspect\n"


def test_a_command_killed_by_a_signal_has_the_shells_status_for_it(home: Home) -> None:
    assert simulate(home, "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_our_own_messages_go_to_standard_error(home: Home) -> None:
    done = simulate(home, "no-such-command")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "simulate: no-such-command: command not found\n"


def test_the_command_runs_where_it_was_called(home: Home, tmp_path: Path) -> None:
    assert simulate(home, "pwd", "-P", cwd=tmp_path).stdout.strip() == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SIM_LATENCY", "-1", "SIM_LATENCY is '-1'; expected a factor of at least 0"),
        ("SIM_LATENCY", "fast", "SIM_LATENCY is 'fast'"),
        ("SIM_FAULTS", "/no/such/plan.json", "SIM_FAULTS: /no/such/plan.json cannot be read"),
        ("SIM_STACK_FILES", "/no/such/folder", "SIM_STACK_FILES: /no/such/folder is not a folder"),
    ],
)
def test_a_variable_that_makes_no_sense_is_one_clear_message(
    home: Home, variable: str, value: str, said: str
) -> None:
    done = simulate(home, "true", environment={variable: value})
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_malformed_fault_plan_is_refused_before_the_command_runs(
    home: Home, tmp_path: Path
) -> None:
    plan = tmp_path / "faults.json"
    plan.write_text('[{"service": "arm", "thn": {}}]')
    done = simulate(home, "echo", "ran", environment={"SIM_FAULTS": str(plan)})
    assert done.returncode == 1
    assert done.stdout == ""
    assert "thn" in done.stderr


def test_fault_rules_that_were_never_used_are_reported(home: Home, tmp_path: Path) -> None:
    plan = tmp_path / "faults.json"
    plan.write_text('[{"service": "grafana", "path": ".*/never", "then": {"status": 500}}]')
    done = simulate(home, "true", environment={"SIM_FAULTS": str(plan)})
    assert done.returncode == 0
    assert "fault rule never used" in done.stderr
    assert "never" in done.stderr


# --- what is pinned -----------------------------------------------------------------------------


def inside(home: Home, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    done = simulate(home, sys.executable, "-c", code, environment=environment)
    return json.loads(done.stdout)


def test_nothing_of_a_real_azure_or_another_pulumi_gets_inside(home: Home) -> None:
    found = inside(home, FOREIGN)
    assert not [name for name, value in found.items() if "leaked" in value]
    assert found["AZURE_TOKEN_CREDENTIALS"] == "ManagedIdentityCredential"  # noqa: S105
    assert found["IDENTITY_ENDPOINT"].startswith("http://127.0.0.1:")
    assert found["SIM_ARM_URL"].startswith("https://127.0.0.1:")
    assert found["PULUMI_BACKEND_URL"].startswith("file://")
    assert "PYTHONPATH" not in found


def test_the_options_of_the_kubernetes_provider_get_inside(home: Home) -> None:
    # Its own error message tells people to set this one.
    given = {"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
    assert inside(home, given)["PULUMI_K8S_DELETE_UNREACHABLE"] == "true"


def test_certificates_and_time_are_those_of_the_simulated_azure(home: Home) -> None:
    found = inside(home)
    assert found["REQUESTS_CA_BUNDLE"] == found["SSL_CERT_FILE"] == found["SIM_CA_FILE"]
    assert Path(found["SIM_CA_FILE"]).exists()
    assert found["SIM_LATENCY"] == found["GPUOBS_TIME_SCALE"] == "0"


# --- who shares what ----------------------------------------------------------------------------


def test_calls_at_the_same_time_share_one_simulator(own_home: Home) -> None:
    def where(_: int) -> "subprocess.CompletedProcess[str]":
        return simulate(own_home, "sh", "-c", "echo $SIM_ARM_URL")

    with ThreadPoolExecutor(max_workers=4) as pool:
        done = list(pool.map(where, range(4)))
    assert [answer.returncode for answer in done] == [0] * 4
    assert len({answer.stdout for answer in done}) == 1


def test_a_simulator_that_died_is_started_again_with_its_state(own_home: Home) -> None:
    simulate(own_home, "true")
    before = simulate(own_home, "--inspect").stdout
    pid = server_pid(own_home)
    os.kill(pid, signal.SIGKILL)
    after = simulate(own_home, "--inspect")
    assert server_pid(own_home) != pid
    assert json.loads(after.stdout)["resources"].keys() == json.loads(before)["resources"].keys()


def test_reset_stops_the_simulator_and_forgets_everything(own_home: Home) -> None:
    simulate(own_home, "true")
    pid = server_pid(own_home)
    assert simulate(own_home, "--reset").returncode == 0
    assert not own_home.path.exists()
    assert _ended(pid)


def _ended(pid: int) -> bool:
    """Whether the process ends within a few seconds."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_reset_of_what_never_ran_succeeds(own_home: Home) -> None:
    assert simulate(own_home, "--reset").returncode == 0


def test_an_unused_simulator_ends_by_itself_but_not_under_a_running_command(
    own_home: Home,
) -> None:
    own_home.path.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator.keeper", str(own_home.path), "0", "1"], cwd=CHECKOUT
    )
    while homes.running(own_home) is None:
        time.sleep(0.05)
    with own_home.in_use():
        time.sleep(2)
        assert process.poll() is None
        assert keeper.in_use(own_home.path)
    assert process.wait(timeout=30) == 0


def test_inspect_prints_sorted_json_of_the_documented_shape(home: Home) -> None:
    text = simulate(home, "--inspect").stdout
    found = json.loads(text)
    assert found.keys() == {"calls", "grafana", "kubernetes", "resources"}
    assert text == json.dumps(found, indent=2, sort_keys=True) + "\n"


def test_a_look_and_a_command_exclude_each_other(home: Home) -> None:
    done = simulate(home, "--inspect", "true")
    assert done.returncode == 2
    assert "take no command" in done.stderr


# --- pulumi inside ------------------------------------------------------------------------------


def fingerprint() -> dict[str, str]:
    """The checkout's own project and stack files, by content."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in CHECKOUT.glob("Pulumi*.yaml")
    }


@pytest.mark.engine
def test_stacks_are_initialised_and_the_checkout_stays_clean(home: Home, tmp_path: Path) -> None:
    before = fingerprint()
    listed = simulate(home, "pulumi", "stack", "ls", "--json", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    names = {Path(stack["name"]).name for stack in json.loads(listed.stdout)}
    assert names >= {"dev", "sandbox"}
    assert fingerprint() == before


@pytest.mark.engine
def test_a_stack_keeps_its_secrets_readable_over_sessions(home: Home) -> None:
    look = "cat $SIM_HOME/project/Pulumi.dev.yaml"
    script = f"pulumi config set --secret probe hidden --stack dev && {look}"
    written = simulate(home, "sh", "-c", script).stdout
    assert "hidden" not in written
    salt = re.search(r"encryptionsalt: \S+", written)
    assert salt is not None
    again = simulate(home, "sh", "-c", look).stdout
    assert salt.group(0) in again


@pytest.mark.engine
@pytest.mark.strace
def test_a_preview_prints_no_warning_and_calls_nothing_beyond_loopback(
    own_home: Home, tmp_path: Path
) -> None:
    """strace sees every process of it: pulumi, language host, plugins, program, operations."""
    simulate(own_home, "true")  # strace would also wait for the server, which stays
    trace = tmp_path / "trace"
    done = simulate(
        own_home,
        *("strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", str(trace)),
        *("pulumi", "preview", "--stack", "dev"),
        environment=FOREIGN,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout + done.stderr
    assert "warning" not in shown.lower()
    assert "from $PATH" not in shown
    addresses = r'(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"'
    called = set(re.findall(addresses, trace.read_text()))
    assert "127.0.0.1" in called
    assert called <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
