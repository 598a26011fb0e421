"""kubectl and Helm take every line of theirs that is printed or shown.

Each is run in a cluster that has nothing of what the line names: kubectl looks at most of its words
only when it is about to ask the server, so its parser alone would take a kind that does not exist.
"""

import os
import re
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest
import yaml

from simulator.apiserver import provision
from tests.printed import Printed, of
from tests.simulator.azure import Kubernetes, azure_on
from tests.unit.test_printed_lines import is_told
from tools.provide import HELM, KUBECTL, provide_all

pytestmark = [pytest.mark.kubernetes, pytest.mark.clients]

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"

ANSWERS: Final = {
    "kubectl": r"(?:error: e|E)rror from server \(NotFound\): ",
    # The registry is looked for behind a proxy that is not there.
    "helm": r"Error: (?:uninstall: Release not loaded: \S+: release: not found"
    r"|could not find \S+: |.*proxyconnect tcp: .* connection refused)",
}
"""What each says where it has understood a line, and what the line names is not there."""


@dataclass(frozen=True)
class Terminal:
    """A shell with both programs, and a kubeconfig of the cluster."""

    programs: dict[str, Path]
    kubeconfig: Path

    def problem(self, line: Printed) -> str:
        """Why the program does not take the line; empty: it does."""
        program, *words = line.words
        nowhere = "http://127.0.0.1:1"
        done = subprocess.run(
            [self.programs[program], *words],
            cwd=EXAMPLES,
            env={
                **os.environ,
                "KUBECONFIG": str(self.kubeconfig),
                "HOME": str(self.kubeconfig.parent),
                "HTTPS_PROXY": nowhere,
                "HTTP_PROXY": nowhere,
                "NO_PROXY": "127.0.0.1,localhost",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode != 0:
            return "" if re.match(ANSWERS[program], done.stderr) else done.stderr.strip()
        # A group of commands answers for one that it does not have.
        group = re.search(r"^  (?:kubectl|helm) .*\[command\]$", done.stdout, re.MULTILINE)
        return "no such command" if group else ""


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Generator[Terminal]:
    folder = tmp_path_factory.mktemp("azure") / "azure"
    provision.provide_for(folder)
    kubectl, helm = provide_all([KUBECTL, HELM])
    with azure_on(folder) as azure:
        azure.http.timeout = httpx.Timeout(60.0)  # the API server takes seconds to start
        kubeconfig = tmp_path_factory.mktemp("home") / "config"
        kubeconfig.write_text(yaml.safe_dump(Kubernetes(azure).config))
        yield Terminal({"kubectl": kubectl, "helm": helm}, kubeconfig)


@pytest.mark.parametrize("program", ["kubectl", "helm"])
def test_they_take_every_line_that_is_printed(terminal: Terminal, program: str) -> None:
    lines = list(filter(is_told, of(program)))
    assert lines
    assert {str(line): why for line in lines if (why := terminal.problem(line))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "kubectl gets pods",
        "kubectl get",
        "kubectl get pods --selectr x",
        "kubectl describe gadget x",
        "kubectl delete namespace",
        "kubectl logs",
        "kubectl wait job/x",
        "helm list --bogus",
        "helm list x",
        "helm uninstall",
        "helm pull",
        "helm dependency make x",
    ],
)
def test_a_line_that_they_do_not_take_is_found(terminal: Terminal, text: str) -> None:
    assert terminal.problem(Printed("here", tuple(text.split()), text))
