"""What a Pyroscope has in memory, on its disk and in its bucket, minute by minute. A model.

Read at v1.15 to v1.19: heads of ``max_block_duration`` (``pkg/phlaredb/phlaredb.go``), written once
their span is over and they were idle for 5 minutes (``head.go``, ``StaleGracePeriod``), which is
looked at every 5 to 15 minutes (``staleHeadTicker``); shipped by a round every 5 minutes
(``pkg/phlaredb/shipper``). A graceful stop writes all heads and ships once more. Nothing was
measured on a running server.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

IDLE: Final = 5.0
CHECKS: Final = (5.0, 10.0, 15.0)
"""Minutes between two looks at the heads: 10, give or take half."""
CHECK: Final = 10.0
ROUND: Final = 5.0
STEP: Final = 1 / 6
"""Minutes between two phases of looks and rounds that are tried."""


@dataclass(frozen=True)
class Storage:
    """A way to keep profiles."""

    name: str
    disk: bool = False
    bucket: bool = False
    block: float = 60.0
    """Minutes."""


@dataclass(frozen=True)
class Loss:
    """The most that is lost, in whole minutes; None: everything that there was."""

    killed: int | None
    """The pod is killed and comes back."""
    disk_lost: int | None
    """It comes back on an empty disk."""
    stopped: int | None
    """It is stopped, with time enough to write."""


KINDS: Final = (
    Storage("in the pod"),
    Storage("on a disk", disk=True),
    Storage("on a disk and in Blob", disk=True, bucket=True),
    Storage("on a disk and in Blob, `lossWindow: 40m`", disk=True, bucket=True, block=15.0),
)


def loss(kind: Storage) -> Loss:
    """The most that is lost, whenever it happens."""
    if not kind.disk:
        return Loss(None, None, None)
    on_disk = math.ceil(max(written for written, _ in _oldest(kind.block)))
    in_bucket = math.ceil(max(shipped for _, shipped in _oldest(kind.block)))
    return Loss(on_disk, in_bucket if kind.bucket else None, 0)


def written_until(kind: Storage, started: float, killed: float) -> float:
    """Up to when a server that is killed had written its samples; -infinity: it had nowhere to.

    Instants are minutes of the Unix epoch. On its disk where it has one, else in its bucket. Blocks
    begin at multiples of their span; looks and rounds count from the server's start, looks at their
    mean of ten minutes. What there was before the start is not in its memory.
    """
    if not kind.disk and not kind.bucket:
        return -math.inf
    round_ = started + ROUND * math.floor((killed - started) / ROUND)
    last = killed if kind.disk else round_
    look = started + CHECK * math.floor((last - started) / CHECK)
    return max(started, kind.block * math.floor((look - IDLE) / kind.block))


def _oldest(block: float) -> Iterator[tuple[float, float]]:
    """How old a head's first sample is when it is written, and when it is shipped."""
    stale = block + IDLE
    for interval in CHECKS:
        for phase in range(int(interval / STEP)):
            # The last look was that long ago when the head could be written.
            written = stale + interval - phase * STEP - STEP
            for rest in range(int(ROUND / STEP)):
                yield written, written + rest * STEP + STEP
