"""A change of settings on a deployed stack, and what must come of it; and how that is proved."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.engine.simulation import Outcome, Simulation

STACK = "dev"


@dataclass(frozen=True)
class Change:
    """One change in the stack file."""

    settings: Mapping[str, object]
    """Section and path to the new value; None takes the setting out."""
    touches: Mapping[str, str]
    """What happens to which resource: ``create``, ``update``, ``replace`` or ``delete``. All
    others, components apart, stay as they are."""


def touched(outcome: Outcome) -> dict[str, str]:
    """What happened to which resource; components, which only group them, left out."""
    components = {step.name for step in outcome.changes if step.type.startswith("gpuobs:")}
    return {name: op for name, op in outcome.ops().items() if name not in components}


def apply(sim: Simulation, settings: Mapping[str, object]) -> Outcome:
    """Change the stack's file; what ``up`` then does, which must be what ``preview`` said."""
    sim.stack_file(STACK, settings)
    foreseen = sim.preview(STACK)
    outcome = sim.up(STACK)
    assert touched(foreseen) == touched(outcome), "the preview said something else"
    return outcome


def check(sim: Simulation, change: Change) -> None:
    """Make the change and see what it touches.

    A plain update is not previewed as well: for half the time, what the others show is enough.
    """
    if set(change.touches.values()) == {"update"}:
        sim.stack_file(STACK, change.settings)
        assert touched(sim.up(STACK)) == change.touches
    else:
        assert touched(apply(sim, change.settings)) == change.touches


def order(outcome: Outcome) -> list[str]:
    """The deletions and creations, in order, as ``- name`` and ``+ name``."""
    signs = {"delete": "-", "delete-replaced": "-", "create": "+", "create-replacement": "+"}
    return [
        f"{signs[step.op]} {step.name}"
        for step in outcome.changes
        if step.op in signs and not step.type.startswith("gpuobs:")
    ]
