"""Every line that is printed or shown is safe in a shell, and one of az is complete.

``azure_cli_commands.json`` says what az takes; it is written from the CLI itself, which parses the
same lines where it is installed (tests/simulator/test_azure_cli_lines.py). The lines of the others
are read by the programs themselves: tests/kubernetes/test_printed_lines.py and
tests/engine/test_printed_lines.py.
"""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from tests.printed import PAGES, PROGRAMS, ROOT, Printed, all_lines, of, texts
from tests.rooms import PRODUCT

COMMANDS: Final[dict[str, dict[str, list[list[str]]]]] = json.loads(
    (Path(__file__).with_name("azure_cli_commands.json")).read_text(encoding="utf-8")
)

NAMES: Final = {
    "az aks nodepool scale",
    "az aks update --enable-azure-monitor-metrics",
    "az cloud set",
    "helm uninstall",
    "kubectl gadget undeploy",
}
"""What a text names without telling anybody to run it as it stands."""

_EVERYWHERE: Final = {"--query", "--output", "-o", "--subscription", "--verbose", "--debug"}


def options_of(words: tuple[str, ...]) -> set[str]:
    return {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}


def problem_of_az(words: tuple[str, ...]) -> str:
    """Why az would not take the line; empty: it takes it."""
    command = command_of(words)
    if command not in COMMANDS:
        return "no such command, or one of an extension"
    known = COMMANDS[command]
    given = options_of(words)
    taken = {option for options in known["options"] for option in options} | _EVERYWHERE
    if given - taken:
        return f"does not know {sorted(given - taken)}"
    for options in known["required"]:
        if not given & set(options):
            return f"needs {options[0]}"
    if "--ids" in taken and not given & {"--ids", "--name", "-n", "--resource-group", "-g"}:
        return "needs --ids"
    return ""


def command_of(words: tuple[str, ...]) -> str:
    """The words before the first option."""
    count = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return " ".join(words[1:count])


def unsafe(text: str) -> str | None:
    """What a shell would take for something of its own: a placeholder, a pattern, a redirection."""
    found = re.search(r"[<>*?\[\];&|`]", re.sub(r"'[^']*'|\"[^\"]*\"", "", text))
    return found and found[0]


def is_told(line: Printed) -> bool:
    return line.text not in NAMES


def test_every_line_of_az_is_one_that_az_takes() -> None:
    wrong = {
        str(line): problem
        for line in filter(is_told, of("az"))
        if (problem := problem_of_az(line.words))
    }
    assert wrong == {}


def test_no_line_has_a_word_that_a_shell_takes_for_something_else() -> None:
    assert [str(line) for line in all_lines() if unsafe(line.text)] == []


def test_no_line_names_a_host_of_one_cloud() -> None:
    assert [str(line) for line in of("az") if "://" in line.text] == []


def test_what_is_only_named_is_still_named() -> None:
    assert {line.text for line in all_lines()} >= NAMES


@pytest.mark.parametrize("room", PRODUCT)
def test_a_line_in_a_message_is_made_where_all_are(room: str) -> None:
    by_hand = re.compile(r"\b(?:az|kubectl|helm) [a-z][a-z-]*(?: [a-z][\w/-]*)* -{1,2}[a-z]")
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in sorted((ROOT / room).rglob("*.py"))
        for text in texts(file)
        if (match := by_hand.search(re.sub(r"`[^`]*`", "", text)))
    ]
    assert found == []


ROLES_OF_AKS: Final = {
    "Azure Kubernetes Service Cluster Admin Role",
    "Azure Kubernetes Service Cluster User Role",
    "Azure Kubernetes Service RBAC Cluster Admin",
}
"""As `az role definition list` names them: some end in the word Role, and others do not."""


def test_a_role_of_aks_is_called_by_its_name() -> None:
    said = [page.read_text(encoding="utf-8") for page in PAGES]
    for room in PRODUCT:
        said += [text for file in sorted((ROOT / room).rglob("*.py")) for text in texts(file)]
    role = re.compile(r"Azure Kubernetes Service (?:RBAC |Cluster )(?:[A-Z][a-z]+ ?)+")
    found = {match[0].strip() for text in said for match in role.finditer(text)}
    assert found == ROLES_OF_AKS


def test_a_line_that_is_not_complete_is_found() -> None:
    assert problem_of_az(("az", "aks", "nodepool", "list")) == "needs --cluster-name"
    assert problem_of_az(("az", "grafana", "update", "--name", "x")).startswith("no such command")
    assert problem_of_az(("az", "aks", "start", "--names", "x")) == "does not know ['--names']"
    assert problem_of_az(("az", "resource", "show")) == "needs --ids"
    assert unsafe("az ad group show --group <name>") == "<"
    assert unsafe("az vm list-skus --query [].name") == "["
    assert unsafe("az rest --url 'x?api-version=1'") is None


def test_pages_and_messages_are_read() -> None:
    where = {line.where.partition(":")[0] for program in PROGRAMS for line in of(program)}
    assert {"infra/preflight/cluster.py", "operations/private_link.py", "README.md"} <= where
    assert len(PAGES) > 5
