"""Every line of az, kubectl and Helm that is printed or shown is complete and safe in a shell.

``azure_cli_commands.json`` says what az takes; it is written from the CLI itself, which parses the
same lines where it is installed (tests/simulator/test_azure_cli_lines.py).
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

OF_OTHERS: Final = {
    "kubectl apply": {"--filename", "-f"},
    "kubectl delete": {"--selector", "-l"},
    "kubectl describe": {"--selector", "-l"},
    "kubectl get": {"--selector", "-l", "--output", "-o"},
    "kubectl logs": {"--selector", "-l", "--tail", "--previous", "--all-containers"},
    "kubectl wait": {"--for", "--timeout"},
    "helm dependency build": set[str](),
    "helm list": set[str](),
    "helm pull": {"--version", "--untar", "--untardir"},
    "helm uninstall": set[str](),
}
"""By command, the options that are used. Source: the command references of kubectl and Helm."""


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


def problem_of_others(words: tuple[str, ...]) -> str:
    plain = [word for word in words if not word.startswith("-")]
    if words[1:2] == ("--namespace",):
        plain = [words[0], *plain[2:]]
    name = next(
        (found for count in (3, 2) if (found := " ".join(plain[:count])) in OF_OTHERS), None
    )
    if name is None:
        return "no such command"
    unknown = options_of(words) - OF_OTHERS[name] - {"--namespace", "-n"}
    return f"does not know {sorted(unknown)}" if unknown else ""


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


@pytest.mark.parametrize("program", ["kubectl", "helm"])
def test_every_line_of_kubectl_and_helm_is_one_that_they_take(program: str) -> None:
    lines = list(filter(is_told, of(program)))
    wrong = {str(one): problem for one in lines if (problem := problem_of_others(one.words))}
    assert lines
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
    assert problem_of_others(("kubectl", "gets", "pods")) == "no such command"
    assert problem_of_others(("helm", "list", "--bogus")) == "does not know ['--bogus']"
    assert unsafe("az ad group show --group <name>") == "<"
    assert unsafe("az vm list-skus --query [].name") == "["
    assert unsafe("az rest --url 'x?api-version=1'") is None


def test_pages_and_messages_are_read() -> None:
    where = {line.where.partition(":")[0] for program in PROGRAMS for line in of(program)}
    assert {"infra/preflight/cluster.py", "operations/private_link.py", "README.md"} <= where
    assert len(PAGES) > 5
