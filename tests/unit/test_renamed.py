"""What the state tells of a stack that was renamed while it was up."""

import json

import pytest

from contract.json import Document
from infra.deployed import EVERYTHING, Deployed, Own
from infra.names import StackName, names_for
from infra.renamed import known_as, renamed


def state(project: str, stack: str, *, sources: bool = True) -> Deployed:
    mark = names_for(project, stack).request_message
    owner = {"cluster": "/c", "project": project, "stack": stack}
    found = {
        Own.CLUSTER_LEFTOVERS: Document({"stdin": json.dumps({"clusterId": "/c", "mark": mark})})
    }
    if sources:
        found[Own.PRIVATE_ENDPOINT] = Document({"requestMessage": mark})
        found[Own.PROFILES_SOURCE] = Document({"stdin": json.dumps({"owner": owner})})
    return Deployed({str(name): one for name, one in found.items()})


@pytest.mark.parametrize("sources", [True, False])
def test_a_stack_that_was_called_otherwise_is_told_the_setting_that_keeps_its_names(
    sources: bool,
) -> None:
    known = known_as("gpuobs", "production", None)
    own = state("gpuobs", "dev", sources=sources)
    (fault,) = renamed(own, known, "gpuobs", "production")
    assert fault.fix.endswith(
        "pulumi config set --path gpuobs:azure.namedAfter dev --stack production"
    )


def test_of_another_project_the_setting_says_both() -> None:
    (fault,) = renamed(state("old", "Dev_1"), StackName("gpuobs", "dev"), "gpuobs", "dev")
    assert "gpuobs:azure.namedAfter old/Dev_1 --stack dev" in fault.fix
    assert known_as("gpuobs", "dev", "old/Dev_1") == ("old", "Dev_1")


def test_with_the_setting_and_for_a_stack_that_never_was_renamed_there_is_no_fault() -> None:
    own = state("gpuobs", "dev")
    assert [*renamed(own, known_as("gpuobs", "new", "dev"), "gpuobs", "new")] == []
    assert [*renamed(own, known_as("gpuobs", "dev", None), "gpuobs", "dev")] == []


@pytest.mark.parametrize(
    "own", [EVERYTHING, Deployed({}), Deployed({Own.PRIVATE_ENDPOINT: Document({})})]
)
def test_where_the_state_does_not_tell_nothing_is_concluded(own: Deployed) -> None:
    assert [*renamed(own, StackName("gpuobs", "dev"), "gpuobs", "dev")] == []


def test_a_mark_that_no_name_makes_is_an_older_programs_and_no_fault() -> None:
    own = Deployed({Own.PRIVATE_ENDPOINT: Document({"requestMessage": "gpuobs gpuobs dev ffff"})})
    assert [*renamed(own, StackName("gpuobs", "new"), "gpuobs", "new")] == []
