"""A run of the checks: in phases, on a throw-away stack that is removed whatever happens."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx

from contract.lines import line
from tests.live.azure import CheckError
from tests.live.check import Check, Phase, Result, Verdict, unknown
from tests.live.checks import CHECKS
from tests.live.checks.engine import first_up
from tests.live.world import World

Examine = Callable[[Check, World], Verdict]

_GPU_POOL: Final = {"count": 1}


@dataclass
class Record:
    """What a run found and left behind."""

    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    problems: list[str] = field(default_factory=list[str])
    """What went wrong besides the checks."""
    interrupted: bool = False
    left: str = ""
    """What could not be removed, and how to do it by hand; empty: nothing is left."""

    @property
    def ok(self) -> bool:
        """Whether the run came to its end, nothing is left, and no assumption failed."""
        failed = any(one.result is Result.FAILS for one in self.verdicts.values())
        return not (failed or self.problems or self.interrupted or self.left)


def examine(check: Check, world: World) -> Verdict:
    """Look; a check that stumbles has nothing to say, and why."""
    try:
        return check.look(world)
    except (CheckError, httpx.HTTPError, LookupError, ValueError) as error:
        return unknown(f"{type(error).__name__}: {error}"[:400])


def run(
    world: World,
    *,
    checks: Sequence[Check] = CHECKS,
    examine: Examine = examine,
) -> Record:
    """Run the checks that the options allow, and remove everything again.

    Args:
        world: where; prepared, with nothing made yet.
        checks: which ones.
        examine: how a check is run; a test has each run in a false world as well.
    """
    record = Record()
    try:
        _phases(world, _Examiner(world, checks, examine, record))
    except KeyboardInterrupt:
        record.interrupted = True
    except (CheckError, httpx.HTTPError) as error:
        record.problems.append(str(error))
    finally:
        _remove(world, record)
    for one in checks:
        if one.id not in record.verdicts:
            record.verdicts[one.id] = unknown(_why_not_run(one, world, record))
    return record


@dataclass
class _Examiner:
    world: World
    checks: Sequence[Check]
    examine: Examine
    record: Record

    def run(self, phase: Phase) -> None:
        """Every check of a phase."""
        for one in self.of(phase):
            self.world.stack.say(f"checking {one.id}")
            verdict = self.examine(one, self.world)
            self.record.verdicts[one.id] = verdict
            self.world.stack.say(f"  {verdict.result}: {verdict.evidence}")

    def of(self, *phases: Phase) -> list[Check]:
        return [one for one in self.checks if one.phase in phases]


def _phases(world: World, checks: _Examiner) -> None:
    checks.run(Phase.READ)
    rest = [phase for phase in Phase if phase is not Phase.READ]
    if not checks.of(*rest):
        return
    first_up(world)
    checks.run(Phase.DEPLOYED)
    checks.run(Phase.CHANGED)
    if world.options.gpu and checks.of(Phase.GPU):
        try:
            _add_gpu(world)
            checks.run(Phase.GPU)
        except CheckError as error:
            checks.record.problems.append(str(error))
    checks.run(Phase.REMOVED)


def _add_gpu(world: World) -> None:
    """A GPU node, and something that allocates on it.

    Raises:
        CheckError: the node cannot be had.
    """
    world.stack.change("gpuPool", {**_GPU_POOL, "vmSize": world.options.gpu_size})
    outcome = world.stack.up()
    if not outcome.ok:
        raise CheckError(f"no GPU node: {outcome.output.strip()[-500:]}")
    world.forget("state")
    world.start_workload()


def _remove(world: World, record: Record) -> None:
    """Destroy the stack; whatever is left in the run's resource group goes with the group."""
    try:
        outcome = world.stack.destroy()
        if not outcome.ok and not record.interrupted:
            record.problems.append(f"pulumi destroy: {outcome.output.strip()[-500:]}")
        remove_group(world)
    except KeyboardInterrupt:
        record.interrupted = True
        record.left = left_behind(world)
    except (CheckError, httpx.HTTPError) as error:
        record.left = f"{left_behind(world)} ({error})"


def remove_group(world: World) -> None:
    """Delete the run's resource group, if it is there, with everything in it.

    Raises:
        CheckError: it cannot be deleted.
    """
    if world.arm.find(world.options.group_id) is not None:
        world.stack.say(f"deleting the resource group {world.options.resource_group}")
        world.arm.delete(world.options.group_id)


def left_behind(world: World) -> str:
    """What to type to remove what a run has left."""
    options = world.options
    delete = line(
        *("az", "group", "delete", "--name", options.resource_group),
        *("--subscription", options.subscription, "--yes"),
    )
    return f"the resource group {options.resource_group} may be left: {delete}"


def _why_not_run(check: Check, world: World, record: Record) -> str:
    if check.phase is Phase.GPU and not world.options.gpu:
        return "not run: needs a GPU node (--gpu)"
    if record.interrupted:
        return "not run: interrupted"
    return "not run: an earlier step failed"


def counted(verdicts: Iterable[Verdict]) -> str:
    """How many of each result, in words."""
    results = [one.result for one in verdicts]
    return ", ".join(f"{results.count(result)} {result.value}" for result in Result)
