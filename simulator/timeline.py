"""What happened in the simulated Azure, as steps a person would name, in simulated seconds.

Durations are the simulator's own: recorded ones where there are recordings, otherwise what such a
step commonly takes. Wall time plays no part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.values import JsonObject, as_number, as_text

WORDS: Final = {
    ("microsoft.containerservice/managedclusters", "create"): "AKS cluster",
    ("microsoft.containerservice/managedclusters/agentpools", "create"): "GPU node pool",
    ("microsoft.kubernetesconfiguration/extensions", "create"): "agent (cluster extension)",
    ("device-plugin", "register"): "nvidia.com/gpu on the nodes",
    ("helm", "start-pods"): "Pyroscope's pod",
    ("cloud-controller:load-balancer", "create"): "Pyroscope's load balancer",
    ("microsoft.network/privatelinkservices", "create"): "Private Link Service",
    ("microsoft.dashboard/grafana", "create"): "Grafana workspace",
    ("microsoft.dashboard/grafana/managedprivateendpoints", "create"): "managed private endpoint",
    ("microsoft.network/privatelinkservices/privateendpointconnections", "change"): "approval",
    ("microsoft.dashboard/grafana", "refresh"): "refresh of Grafana's endpoints",
}
"""What a person calls an operation, by its handler (without ``arm:``) and kind."""


@dataclass(frozen=True)
class Step:
    """One operation or controller step."""

    what: str
    target: str
    """Name of what it worked on."""
    started: float
    """Simulated seconds since the simulated Azure began."""
    seconds: float
    succeeded: bool = True

    @property
    def ended(self) -> float:
        """Simulated seconds since the simulated Azure began."""
        return self.started + self.seconds


def steps(entries: Iterable[JsonObject]) -> list[Step]:
    """The recorded entries (``GET /simulator/timeline``) as steps, by their start."""
    found: list[Step] = []
    for entry in entries:
        handler = as_text(entry.get("handler")).removeprefix("arm:")
        kind = as_text(entry.get("kind"))
        what = WORDS.get((handler.lower(), kind), f"{kind} {handler.rsplit('/', 1)[-1]}")
        found.append(
            Step(
                what,
                as_text(entry.get("target")).rsplit("/", 1)[-1],
                as_number(entry.get("started")),
                as_number(entry.get("seconds")),
                as_text(entry.get("status")) == "Succeeded",
            )
        )
    return sorted(found, key=lambda step: (step.started, step.ended))


def critical(found: Sequence[Step]) -> list[Step]:
    """The steps that the last one to end had to wait for, in order, and itself.

    Read backwards: before each step comes the one that ended last before it began.
    """
    path: list[Step] = []
    latest = max(found, key=lambda step: step.ended, default=None)
    while latest is not None:
        path.append(latest)
        begin = latest.started
        before = [step for step in found if step.ended <= begin and step is not latest]
        latest = max(before, key=lambda step: step.ended, default=None)
    return path[::-1]


def table(entries: Iterable[JsonObject]) -> list[str]:
    """A line a step, for a person."""
    return [
        f"{step.started:8.0f} s + {step.seconds:5.0f} s  {step.what} ({step.target})"
        + ("" if step.succeeded else "  failed")
        for step in steps(entries)
    ]
