"""A stack that `pulumi stack rename` has given another name while it was up.

Names and the owner's mark are made from the name of the stack, so all of it would be made again
under other names, and what is there would count as somebody else's. One setting keeps them.
"""

from collections.abc import Iterator

from contract.json import Document
from contract.lines import line
from infra.deployed import Deployed, Own
from infra.faults import Fault
from infra.names import StackName, names_for

SETTING = "gpuobs:azure.namedAfter"


def known_as(project: str, stack: str, named_after: str | None) -> StackName:
    """What the stack's names and mark are made from."""
    given_project, _, given = (named_after or stack).rpartition("/")
    return StackName(given_project or project, given)


def renamed(own: Deployed, known: StackName, project: str, stack: str) -> Iterator[Fault]:
    """The fault of a stack that was deployed under another name than it has now.

    Nothing where its state does not tell, or has no name that its mark is made from.
    """
    marks = set(_marks(own))
    former = next((one for one in _owners(own) if names_for(*one).request_message in marks), None)
    if former is None or former == known:
        return
    short = former.stack if former.project == project else f"{former.project}/{former.stack}"
    yield Fault(
        path=SETTING,
        rule=f"this stack was deployed as `{short}`, and is called `{stack}` now",
        why="what it has made carries that name: it would be made again under another one, and "
        "what is there would count as somebody else's.",
        fix="keep its names and its mark: "
        + line("pulumi", "config", "set", "--path", SETTING, short, "--stack", stack),
    )


def _marks(own: Deployed) -> Iterator[str]:
    yield own.outputs_of(Own.PRIVATE_ENDPOINT).text("requestMessage")
    yield _request(own, Own.CLUSTER_LEFTOVERS).text("mark")


def _owners(own: Deployed) -> Iterator[StackName]:
    """Whose the stack's objects are, in the requests that made them."""
    for one in (Own.PROFILES_SOURCE, Own.METRICS_SOURCE, Own.DASHBOARD):
        owner = _request(own, one).child("owner")
        yield StackName(owner.text("project"), owner.text("stack"))
    # Where none was made yet: the names in the mark itself, if they are not shortened there.
    for mark in _marks(own):
        _, _, names = mark.partition(" ")
        project, _, rest = names.partition(" ")
        yield StackName(project, rest.partition(" ")[0])


def _request(own: Deployed, command: Own) -> Document:
    return Document.parse(own.outputs_of(command).text("stdin"))
