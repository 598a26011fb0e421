"""docs/maintainers/simulator.md says of faults, services and seeded things what is so."""

import json
import re
from pathlib import Path

from simulator import seed
from simulator.arm.compute import DEFAULT_LIMIT
from simulator.clock import Clock
from simulator.faults import KINDS, SERVICES, FaultPlan
from simulator.session import DEFAULT_LATENCY
from simulator.values import as_object
from simulator.world import World

PAGE = (Path(__file__).parents[2] / "docs/maintainers/simulator.md").read_text(encoding="utf-8")
PLANS = [
    FaultPlan.parse(json.loads(block)) for block in re.findall(r"```json\n(.*?)```", PAGE, re.S)
]


def section(heading: str) -> str:
    """What stands under a heading, up to the next of its level."""
    level = heading.split(" ")[0]
    text = PAGE.split(f"\n{heading}\n")[1]
    return re.split(rf"\n{level} ", text)[0]


def test_every_kind_of_fault_has_a_heading_and_an_example_of_it() -> None:
    headings = re.findall(r"^### `(\w+)`$", section("## Faults"), re.M)
    assert headings == list(KINDS)
    shown = [as_object(rule.source["then"]) for plan in PLANS for rule in plan.rules]
    assert [next(iter(then)) for then in shown] == list(KINDS)


def test_every_service_that_a_fault_can_name_is_in_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("## Services"), re.M)
    assert sorted(rows) == sorted(SERVICES)


def test_what_is_there_at_first_is_named() -> None:
    world = World(Clock(0))
    seed.plant(world)
    text = section("## What is there at first")
    for kind in (
        "Microsoft.Resources/resourceGroups",
        "Microsoft.ContainerService/managedClusters",
        "Microsoft.Dashboard/grafana",
        "Microsoft.Monitor/accounts",
    ):
        # Groups that a service makes for itself are nobody's to use.
        names = [one.name for one in world.of_type(kind) if not one.name.startswith(("MC_", "MA_"))]
        assert names
        assert [name for name in names if f"`{name}`" not in text] == []
    for value in (seed.SUBSCRIPTION_ID, seed.CALLER_ID, seed.LOCATION, f"{DEFAULT_LIMIT} cores"):
        assert value in text


def test_the_default_latency_is_named() -> None:
    assert f"{DEFAULT_LATENCY} (the default)" in section("## Time")
