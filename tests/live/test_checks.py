"""Every check on the simulated Azure: it holds, and it fails where the assumption is false."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from simulator import seed
from simulator.arm.roles import OWNER
from simulator.demo import differences, stable
from tests.engine.simulation import Simulation
from tests.live.azure import ARM, Tokens
from tests.live.check import Check, Result, Verdict
from tests.live.checks import CHECKS
from tests.live.false_worlds import FALSE_WORLDS, TRUE_WORLDS, rule
from tests.live.run import Record, examine, run
from tests.live.stack import ThrowAwayStack
from tests.live.world import Options, World
from tests.warm import keys

pytestmark = pytest.mark.engine

IDS = [one.id for one in CHECKS]
OTHER = "33333333-3333-4333-8333-333333333333"


@dataclass
class Both:
    """What one run over all checks found: in the false worlds and in the true one."""

    record: Record
    false: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    said: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    """The paths at which Azure is not as it was before."""


@pytest.fixture(scope="module")
def both(sim: Simulation, inside: Path) -> Iterator[Both]:
    options = Options(
        subscription=seed.SUBSCRIPTION_ID,
        prefix="gpuobs-live-test",
        folder=inside / "run",
        gpu=True,
        grafana_major="13",
    )
    found = Both(Record())
    stack = ThrowAwayStack(
        options.folder, options.settings(), found.said.append, secrets_provider=keys.PROVIDER
    )
    world = World(options, stack)
    other_caller = _other_caller(sim, world)
    before = stable(sim.inspect())

    def in_both_worlds(check: Check, world: World) -> Verdict:
        if check.id == "one-identity":
            found.false[check.id] = _with_two_identities(sim, check, world, other_caller)
        else:
            found.false[check.id] = _in_a_false_world(sim, check, world)
        sim.faults(*TRUE_WORLDS.get(check.id, lambda _: [])(world))
        if check.id == "one-operation-at-a-time":
            sim.latency(0.002)
        try:
            return examine(check, world)
        finally:
            sim.faults()
            sim.latency(0)

    stack.prepare()
    found.record = run(world, examine=in_both_worlds)
    found.left = differences(before, stable(sim.inspect()))
    yield found
    world.close()


def _in_a_false_world(sim: Simulation, check: Check, world: World) -> Verdict:
    kept = world.once("up", world.stack.up) if check.id == "steps-keep-their-limits" else None
    _forget_looks(world)
    sim.faults(*FALSE_WORLDS[check.id](world))
    try:
        return examine(check, world)
    finally:
        sim.faults()
        _forget_looks(world)
        if kept is not None:
            world.keep("up", kept)


def _forget_looks(world: World) -> None:
    """What one world showed is not for the other."""
    for what in ("signal", "pool again", "state", "destroy without release"):
        world.forget(what)


def _other_caller(sim: Simulation, world: World) -> str:
    """A token of another identity with every right on the subscription."""
    principal = {"id": OTHER, "kind": "ServicePrincipal", "name": "somebody else"}
    sim.control("POST", "settings", {"principals": [principal]})
    scope = f"/subscriptions/{seed.SUBSCRIPTION_ID}/providers/Microsoft.Authorization"
    definition = f"{scope}/roleDefinitions/{OWNER}"
    properties = {"roleDefinitionId": definition, "principalId": OTHER}
    world.arm.put(f"{scope}/roleAssignments/{OTHER}", {"properties": properties})
    sim.control("POST", "settings", {"caller": OTHER})
    try:
        return Tokens().get(ARM)
    finally:
        sim.control("POST", "settings", {"caller": seed.CALLER_ID})


def _with_two_identities(sim: Simulation, check: Check, world: World, token: str) -> Verdict:
    """The provider asks for a token first; the program's own steps then get another's."""
    sim.faults(rule("identity", "GET", "", {"patch": {"access_token": token}}, first=2))
    try:
        return examine(check, world)
    finally:
        sim.faults()
        world.forget("preview")


@pytest.mark.parametrize("check", IDS)
def test_a_check_holds_on_the_simulated_azure(both: Both, check: str) -> None:
    assert both.record.verdicts[check].result is Result.HOLDS, both.record.verdicts[check]


@pytest.mark.parametrize("check", IDS)
def test_a_check_fails_where_its_assumption_is_false(both: Both, check: str) -> None:
    assert both.false[check].result is Result.FAILS, both.false[check]


def test_a_run_comes_to_its_end_and_leaves_nothing(both: Both) -> None:
    assert both.record.problems == []
    assert both.record.left == ""
    assert both.left == []
