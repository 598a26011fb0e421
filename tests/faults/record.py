"""``record``: every phase without a fault and with one, and the calls that it sent.

Some calls are sent only where another has failed: to find out why.
"""

from collections.abc import Callable
from functools import partial

from tests.faults import calls, sample
from tests.faults.calls import Table
from tests.faults.stage import PHASES, Stage


def record(stage: Stage) -> Table:
    """The calls of all phases; 0 of those that a fault alone lets happen."""
    found: Table = {}
    for name in PHASES:
        usual = _sent(stage, name, partial(stage.good_end, PHASES[name]))
        for call, counts in usual.items():
            found.setdefault(call, {}).update(counts)
        for call in _sent(stage, name, partial(sample.strike, stage, name, found)):
            found.setdefault(call, {}).setdefault(name, 0)
    return found


def _sent(stage: Stage, phase: str, run: Callable[[], object]) -> Table:
    before = len(stage.requests())
    run()
    return calls.counted(one for one in stage.requests()[before:] if one.phase == phase)
