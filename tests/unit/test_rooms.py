"""The rooms of the project depend on each other in one direction only."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms import PRODUCT

ROOT = Path(__file__).parents[2]
ROOMS = (*PRODUCT, "simulator")

MAY_IMPORT = {
    "infra": {"alerts", "components", "dashboards", "contract"},
    "components": {"contract"},
    "alerts": {"contract"},
    "dashboards": {"contract"},
    "operations": {"contract"},
    "flamegraphs": {
        "contract",
        "operations.credentials",
        "operations.errors",
        "operations.service_account",
        "operations.stack_outputs",
    },
    "memory": {
        "contract",
        "flamegraphs",
        "operations.errors",
        "operations.grafana",
        "operations.session",
        "operations.stack_outputs",
    },
    "gpuobs": {"alerts", "contract", "dashboards", "flamegraphs", "memory", "operations"},
    "contract": set[str](),
}
"""Per room, the other rooms (or modules of them) that it may import."""

WITHOUT_PULUMI = (
    "alerts",
    "contract",
    "operations",
    "flamegraphs",
    "dashboards",
    "gpuobs",
    "memory",
)
STATE_OF_THE_MACHINE = ("os", "pathlib", "socket", "subprocess", "urllib", "http", "time")
"""What a component or the contract has no business with: environment, files, network, waiting."""


def modules(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found, room
    return found


def imports(path: Path) -> Iterator[str]:
    """Every module that ``path`` imports, at the top or later; a room's also with the name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module
            yield node.module
            if node.module in ROOMS:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    for path in modules(room):
        for module in imports(path):
            if module.partition(".")[0] not in ROOMS or is_within(module, room):
                continue
            allowed = MAY_IMPORT[room]
            # The room itself, in `from operations import credentials`: checked by what it imports.
            named_below = any(one.startswith(f"{module}.") for one in allowed)
            assert named_below or any(is_within(module, one) for one in allowed), (
                f"{path.relative_to(ROOT)} imports {module}"
            )


def test_the_simulator_is_an_independent_witness_with_literals_of_its_own() -> None:
    for path in modules("simulator"):
        known = {module.partition(".")[0] for module in imports(path)} & {*ROOMS}
        assert known <= {"simulator"}, path


@pytest.mark.parametrize("room", WITHOUT_PULUMI)
def test_only_the_program_and_its_components_know_pulumi(room: str) -> None:
    for path in modules(room):
        for module in imports(path):
            assert not module.startswith("pulumi"), f"{path.relative_to(ROOT)} imports {module}"


@pytest.mark.parametrize("room", [*MAY_IMPORT, "."])
def test_the_product_does_not_know_the_simulator(room: str) -> None:
    paths = modules(room) if room != "." else [ROOT / "__main__.py"]
    for path in paths:
        assert not [module for module in imports(path) if is_within(module, "simulator")], path


def test_components_read_no_configuration_and_touch_nothing_of_the_machine() -> None:
    for path in modules("components"):
        found = set(imports(path))
        assert not found & set(STATE_OF_THE_MACHINE), path
        tree = ast.parse(path.read_text())
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not names & {"Config", "export", "get_stack", "get_project", "environ"}, path


def test_the_contract_is_pure() -> None:
    for path in modules("contract"):
        assert not set(imports(path)) & set(STATE_OF_THE_MACHINE), path


def test_components_stay_readable_for_the_package_analyzer() -> None:
    for path in modules("components"):
        assert "__future__" not in set(imports(path)), f"{path}: quoted annotations"
        assert "Literal" not in path.read_text(), f"{path}: enums instead"


def test_the_network_module_of_azure_native_is_never_loaded() -> None:
    # It costs a preview more to import than everything else together.
    script = (
        "import sys, infra.program; "
        "print([m for m in ('pulumi_azure_native.network.private_link_service', "
        "'pulumi_kubernetes.core.v1', "
        "'azure.identity', 'httpx', 'numpy') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_the_program_is_started_by_two_lines() -> None:
    lines = (ROOT / "__main__.py").read_text().split("\n")
    assert [line for line in lines if line] == ["from infra.start import start", "start()"]
