"""Equal stacks of a profile as one, for the formats that list stacks."""

from collections.abc import Iterator

from flamegraphs.fingerprints import distinct
from flamegraphs.profile import Batch, IntArray, Profile, held


def merged(profile: Profile) -> Iterator[tuple[Batch, IntArray]]:
    """Yield the distinct stacks, some at a time, and the value of each; in order of appearance."""
    kept = held(profile)
    places, values = distinct(kept)
    done = 0
    for batch in kept.stacks.batches(places):
        upto = done + len(batch.values)
        yield batch, values[done:upto]
        done = upto
