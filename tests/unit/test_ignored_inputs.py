"""Every ``ignore_changes`` of the program, with what shows that the value it sends is no trap.

An ignored input is not left out of a request: the engine sends what is in its state, which a
refresh may have filled with what was live then. So each is listed here, with the test that
refreshes, lets the world go on, and changes something else.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POOLS = "tests/engine/test_node_pools.py"
AGENT = "tests/engine/test_agent_updates.py"
IGNORED = "tests/engine/test_ignored_after_refresh.py"

PROVED = {
    "components/gpu_node_pool.py: count": (
        POOLS,
        "test_another_change_says_how_many_nodes_there_are_by_now",
    ),
    "components/inspektor_gadget.py: statuses": (
        AGENT,
        "test_a_setting_that_azure_added_is_no_change_and_is_not_lost",
    ),
    "components/inspektor_gadget.py: update.ignored": (
        AGENT,
        "test_a_version_that_azure_installed_by_itself_is_no_change",
    ),
    "components/grafana_role_assignments.py: principalId": (
        IGNORED,
        "test_a_colleague_who_deploys_next_leaves_the_first_ones_role",
    ),
    "components/grafana_role_assignments.py: principalType": (
        IGNORED,
        "test_a_colleague_who_deploys_next_leaves_the_first_ones_role",
    ),
    "components/grafana_role_assignments.py: roleAssignmentName": (
        IGNORED,
        "test_a_colleague_who_deploys_next_leaves_the_first_ones_role",
    ),
    "components/grafana_role_assignments.py: description": (
        IGNORED,
        "test_a_colleague_who_deploys_next_leaves_the_first_ones_role",
    ),
    "components/operation.py: environment": (
        IGNORED,
        "test_without_drift_detection_a_change_is_applied_with_what_is_wanted",
    ),
}

NEVER_CHANGED = {
    "components/grafana_dashboard.py: triggers[2]": "a refresh does not read a command, and only "
    "another of the triggers runs it",
    "components/extension_recovery.py: stdin": "a refresh does not read a command, and it runs for "
    "another extension only",
    "components/release_recovery.py: stdin": "a refresh does not read a command, and it runs for "
    "other records only",
    "components/release_repair.py: stdin": "a refresh does not read a command, and it runs for "
    "other objects only",
    "components/agent_namespace.py: metadata.labels": "a namespace is never updated",
    "components/agent_namespace.py: metadata.annotations": "a namespace is never updated",
}
"""With the reason why no later request carries them."""


def _ignored() -> set[str]:
    """What is ignored: each text, and each list that says what, by the file it is in."""
    found: set[str] = set()
    for path in sorted((ROOT / "components").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.keyword) or node.arg != "ignore_changes":
                continue
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.add(f"components/{path.name}: {part.value}")
                elif isinstance(part, ast.Attribute) and part.attr == "ignored":
                    found.add(f"components/{path.name}: {ast.unparse(part)}")
    return found


def test_every_ignored_input_is_known() -> None:
    assert _ignored() == {*PROVED, *NEVER_CHANGED}


@pytest.mark.parametrize("ignored", PROVED)
def test_an_ignored_input_is_tried_after_a_refresh(ignored: str) -> None:
    file, test = PROVED[ignored]
    source = (ROOT / file).read_text()
    assert f"def {test}(" in source
    assert ".refresh(" in source
