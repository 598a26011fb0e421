"""A stack's whole life, run once for a module: what the tests about it look at.

Preview, ``up``, a second ``up``, refresh, a preview after it, the signal check, ``destroy``; and
Azure before and after.
"""

from dataclasses import dataclass

from simulator.demo import differences, stable
from simulator.values import JsonObject, as_object
from tests.engine.simulation import Outcome, Simulation


@dataclass(frozen=True)
class WholeLife:
    """What each step did and said."""

    preview: Outcome
    up: Outcome
    outputs: JsonObject
    inside: JsonObject
    """Azure while the stack is up."""
    signal: str
    """What ``check`` says."""
    hotspots: str
    """What ``hotspots --json`` says."""
    ledger: str
    """What ``ledger --json`` says."""
    explanation: str
    """What ``explain --json`` says of the vLLM server."""
    dashboard: str
    """What ``dashboard`` writes."""
    again: Outcome
    refresh: Outcome
    preview_after_refresh: Outcome
    destroy: Outcome
    left_in_state: list[JsonObject]
    left_in_azure: list[str]
    """The paths at which Azure is not as it was before."""

    @property
    def resources(self) -> dict[str, JsonObject]:
        """The ARM resources while the stack is up, by id."""
        return {key: as_object(value) for key, value in as_object(self.inside["resources"]).items()}


def live(sim: Simulation, stack: str) -> WholeLife:
    """Deploy ``stack``, look at it from all sides, and destroy it."""
    before = stable(sim.inspect())
    preview = sim.preview(stack)
    up = sim.up(stack)
    outputs = sim.outputs(stack)
    inside = sim.inspect()
    gpuobs = ("python", "-m", "gpuobs")
    signal = sim.run(*gpuobs, "check", "--stack", stack)
    hotspots = sim.run(*gpuobs, "hotspots", "--stack", stack, "--json")
    ledger = sim.run(*gpuobs, "ledger", "--stack", stack, "--json")
    explanation = sim.run(*gpuobs, "explain", "--stack", stack, "--pod", "vllm-0", "--json")
    dashboard = sim.run(*gpuobs, "dashboard", "--stack", stack)
    again = sim.up(stack)
    refresh = sim.refresh(stack)
    preview_after_refresh = sim.preview(stack)
    destroy = sim.destroy(stack)
    return WholeLife(
        preview=preview,
        up=up,
        outputs=outputs,
        inside=inside,
        signal=signal.stdout,
        hotspots=hotspots.stdout,
        ledger=ledger.stdout,
        explanation=explanation.stdout,
        dashboard=dashboard.stdout,
        again=again,
        refresh=refresh,
        preview_after_refresh=preview_after_refresh,
        destroy=destroy,
        left_in_state=sim.state(stack),
        left_in_azure=differences(before, stable(sim.inspect())),
    )
