"""Where tokens and kubeconfigs are not: in state, on command lines, in output; nor any way out."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from simulator.values import JsonObject
from tests.engine.portal import Portal
from tests.engine.simulation import Simulation
from tests.parts import PARTS
from tests.simulator.azure import Kubernetes

pytestmark = [pytest.mark.engine, pytest.mark.as_shipped]

ACCESS_TOKEN = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")
ADDRESS = re.compile(r'(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
PROXY = "http://192.0.2.1:3128"
"""An address that nobody has: whoever asked it would be seen in the trace."""


@dataclass(frozen=True)
class Watched:
    """A command of pulumi whose every process was watched."""

    status: int
    output: str
    trace: str
    """Its connections, and the command lines of its processes."""


@dataclass(frozen=True)
class Life:
    """A stack with a static kubeconfig token, and what it left where."""

    tokens: list[str]
    """Of the cluster's kubeconfigs."""
    up: Watched
    stored: str
    """The state, as exported and as the backend's files hold it."""
    inputs: list[JsonObject]
    """Of the commands, secrets shown."""
    destroy: Watched


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal, tmp_path_factory: pytest.TempPathFactory) -> Life:
    folder = tmp_path_factory.mktemp("trace")
    tokens = [Kubernetes(person, user=user).token for user in ("User", "Admin")]
    up = watched(sim, folder / "up", "up")
    stored = sim.pulumi("stack", "export", "--stack", "dev").output + files_below(
        sim.home.path / "state"
    )
    shown = sim.pulumi("stack", "export", "--show-secrets", "--stack", "dev").output
    resources = yaml.safe_load(shown)["deployment"]["resources"]
    inputs = [one["inputs"] for one in resources if one["type"] == "command:local:Command"]
    return Life(tokens, up, stored, inputs, destroy=watched(sim, folder / "destroy", "destroy"))


def watched(sim: Simulation, trace: Path, command: str) -> Watched:
    """Run a command of pulumi on a machine that is configured to use a proxy.

    Under strace where there is one; the tests that read its trace are marked with ``strace``.
    """
    proxies = [f"{name}={PROXY}" for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")]
    sim.pulumi("version")  # initialises the stacks
    strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "100000"]
    strace += ["-e", "trace=connect,sendto,execve", "-o", str(trace)]
    trace.touch()
    done = sim.run(
        *(strace if PARTS["strace"].is_there() else []),
        *("env", *proxies, "pulumi", command, "--yes", "--skip-preview", "--stack", "dev"),
    )
    return Watched(done.returncode, done.stdout + done.stderr, trace.read_text(errors="replace"))


def files_below(folder: Path) -> str:
    return "".join(
        file.read_text(errors="replace") for file in sorted(folder.rglob("*")) if file.is_file()
    )


def test_state_holds_no_token_and_no_kubeconfig_in_plain_text(life: Life) -> None:
    assert life.up.status == 0, life.up.output
    assert [token for token in life.tokens if token in life.stored] == []
    assert ACCESS_TOKEN.search(life.stored) is None
    assert "certificate-authority-data" not in life.stored
    # The search looks where there is something to find.
    assert "pyroscope-private-link-guard" in life.stored


def test_what_commands_are_given_holds_no_secret(life: Life) -> None:
    text = str(life.inputs)
    assert "approve-private-endpoint" in text
    assert [token for token in life.tokens if token in text] == []
    assert ACCESS_TOKEN.search(text) is None
    assert "certificate-authority-data" not in text


@pytest.mark.strace
def test_no_output_and_no_command_line_holds_a_token(life: Life) -> None:
    assert life.destroy.status == 0, life.destroy.output
    for one in (life.up, life.destroy):
        assert "operations/run" in one.trace
        for text in (one.output, one.trace):
            assert [token for token in life.tokens if token in text] == []
            assert ACCESS_TOKEN.search(text) is None


@pytest.mark.strace
def test_up_and_destroy_call_nothing_beyond_loopback_not_even_a_proxy(life: Life) -> None:
    called = set(ADDRESS.findall(life.up.trace + life.destroy.trace))
    assert "127.0.0.1" in called
    assert called <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
