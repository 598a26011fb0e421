"""What a check is: an assumption about Azure as data, and a function that looks.

The data alone make the page docs/users/unverified.md; the function runs on a subscription
(``scripts/live``) and, in the tests, on the simulated Azure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.live.world import World


class Result(StrEnum):
    """What a check found."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNKNOWN = "could not be determined"


@dataclass(frozen=True)
class Verdict:
    """A result with what was seen."""

    result: Result
    evidence: str
    """One line, for the report."""


def holds(evidence: str) -> Verdict:
    """The assumption holds; ``evidence`` is what shows it."""
    return Verdict(Result.HOLDS, evidence)


def fails(evidence: str) -> Verdict:
    """The assumption does not hold; ``evidence`` is what was seen instead."""
    return Verdict(Result.FAILS, evidence)


def unknown(evidence: str) -> Verdict:
    """Nothing can be said; ``evidence`` is why."""
    return Verdict(Result.UNKNOWN, evidence)


def verdict(condition: bool, evidence: str) -> Verdict:
    """Holds where ``condition`` is true, else fails, on the same evidence."""
    return holds(evidence) if condition else fails(evidence)


class Section(StrEnum):
    """A chapter of the page."""

    BEFORE = "Before anything is made"
    CLUSTER = "Cluster, pool and metrics"
    AGENT = "The agent"
    STORAGE = "Blob Storage"
    LINK = "The private link"
    GRAFANA = "Grafana"
    ENGINE = "Pulumi and Helm"


class Phase(Enum):
    """When a check runs. In this order; what costs most comes last."""

    READ = "read-only, before anything is made"
    DEPLOYED = "reads what the stack made"
    CHANGED = "changes what the stack made"
    GPU = "needs a GPU node (`--gpu`)"
    REMOVED = "while the stack is removed"


Look = Callable[["World"], Verdict]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One assumption and how to look."""

    id: str
    section: Section
    phase: Phase
    assumption: str
    """What the program relies on: one sentence of Markdown."""
    otherwise: str
    """What the program does, and what to write, if Azure turns out otherwise."""
    by_hand: str
    """How to see it without ``scripts/live``."""
    look: Look


def check(
    id: str,  # noqa: A002 - the field's name
    section: Section,
    phase: Phase,
    *,
    assumption: str,
    otherwise: str,
    by_hand: str,
) -> Callable[[Look], Check]:
    """Make the function below a :class:`Check`."""

    def checked(look: Look) -> Check:
        return Check(
            id=id,
            section=section,
            phase=phase,
            assumption=assumption,
            otherwise=otherwise,
            by_hand=by_hand,
            look=look,
        )

    return checked
