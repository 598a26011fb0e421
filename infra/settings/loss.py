"""How much of the profiles a Pyroscope that is killed takes along, by its source. All in minutes.

Samples are in memory (the head) until their block is written; there is no write-ahead log. A head
holds one span of ``max_block_duration`` (``pkg/phlaredb/phlaredb.go``, ``headForIngest``). It is
written once its span is over and nothing came for 5 minutes (``head.go``, ``StaleGracePeriod``),
which is looked at every 5 to 15 minutes (``staleHeadTicker``), and brought to the bucket by a round
that runs every 5 (``pkg/phlaredb/shipper``). A graceful stop writes every head and ships once more.
"""

IDLE = 5
LONGEST_CHECK = 15
SHIPPING = 5
DEFAULT_BLOCK = 60
SHORTEST_BLOCK = 5
"""Shorter ones save little, as the rest of the way stays, and cost the compactor more."""
BLOCKS = (5, 6, 10, 12, 15, 20, 30, 60)
"""What divides an hour, as the compactor's ranges need it."""


def lost_with_the_pod(block: int) -> int:
    """The most that is lost when the pod is killed and its disk stays."""
    return block + IDLE + LONGEST_CHECK


def lost_with_the_disk(block: int) -> int:
    """The most that has not reached the bucket yet, and is lost when the disk goes as well."""
    return lost_with_the_pod(block) + SHIPPING


LEAST = lost_with_the_disk(SHORTEST_BLOCK)
MOST = lost_with_the_disk(DEFAULT_BLOCK)


def block_for(window: int) -> int:
    """The longest block that loses no more than ``window``, at least :data:`LEAST`."""
    return max(block for block in BLOCKS if lost_with_the_disk(block) <= window)
