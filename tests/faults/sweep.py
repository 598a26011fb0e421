"""Runs cases of the sweep, in so many processes side by side."""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import Empty
from typing import Final

from tests.faults import calls, groups, holds, hostile, matrix, rights, signals, two
from tests.faults.matrix import Result
from tests.faults.stage import Stage, own_stage

END_SECONDS: Final = 60.0


class Worker:
    """One process of the sweep, with a simulated Azure of its own."""

    def __init__(self, folder: Path) -> None:
        self._open = ExitStack()
        self.stage: Stage = self._open.enter_context(own_stage(folder))
        self.table = calls.read()

    @cached_property
    def operations(self) -> hostile.Operations:
        """The operations of the stage's stack."""
        return hostile.Operations(self.stage)

    def close(self) -> None:
        """End what was started."""
        self._open.close()


VERBS: Final[dict[str, Callable[[Worker, str], Result]]] = {
    "groups": lambda worker, case: groups.run(worker.stage, case, worker.table),
    "holds": lambda worker, case: holds.run(worker.stage, case, worker.table),
    "signals": lambda worker, case: signals.run(worker.stage, case, worker.table),
    "hostile": lambda worker, case: hostile.run(worker.operations, case),
    "rights": lambda worker, case: rights.run(worker.stage, case),
    "two": lambda worker, case: two.run(worker.stage, case, worker.table),
}
"""Who runs a case of which verb."""


def cases_of(verb: str) -> list[str]:
    """All cases of a verb."""
    table = calls.read()
    found: dict[str, Iterator[str]] = {
        "groups": groups.cases(table),
        "holds": holds.cases(table),
        "signals": signals.cases(table),
        "hostile": hostile.cases(),
        "rights": rights.cases(),
        "two": two.cases(),
    }
    return list(found[verb])


def timed(worker: Worker, verb: str, case: str) -> Result:
    """Run a case; a failure of ours is a result, too, so that the sweep goes on."""
    began = time.monotonic()
    try:
        result = VERBS[verb](worker, case)
    except Exception as error:
        result = matrix.judged(verb, case, [f"could not be run: {error!r}"])
    return replace(result, seconds=round(time.monotonic() - began, 1))


def _work(
    number: int,
    folder: Path,
    wanted: "multiprocessing.Queue[tuple[str, str] | None]",
    found: "multiprocessing.Queue[Result]",
) -> None:
    worker = Worker(folder / f"worker-{number}")
    parent = multiprocessing.parent_process()
    try:
        while parent and parent.is_alive() and (next_one := wanted.get()) is not None:
            found.put(timed(worker, *next_one))
    finally:
        worker.close()


def sweep(folder: Path, jobs: int, wanted: Sequence[tuple[str, str]]) -> Iterator[Result]:
    """The results of the cases as they come, from so many processes."""
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[str, str] | None] = context.Queue()
    results: multiprocessing.Queue[Result] = context.Queue()
    for case in [*wanted, *[None] * jobs]:
        queue.put(case)
    workers = [
        context.Process(target=_work, args=(number, folder, queue, results))
        for number in range(jobs)
    ]
    for worker in workers:
        worker.start()
    try:
        for _ in wanted:
            yield _next(results, workers)
    finally:
        for worker in workers:
            worker.join(timeout=END_SECONDS)
            worker.terminate()


def _next(results: "multiprocessing.Queue[Result]", workers: Sequence[SpawnProcess]) -> Result:
    while True:
        try:
            return results.get(timeout=1.0)
        except Empty:
            if not any(worker.is_alive() for worker in workers):
                raise SystemExit("the processes of the sweep have ended; see above why") from None
