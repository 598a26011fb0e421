"""What grew and what shrank between two profiles, function by function.

Figures are those of `hotspots`, subtracted; nothing is scaled to make windows of different length
alike, because allocations do not grow evenly with time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flamegraphs.errors import UsageError
from flamegraphs.hotspots import Hotspots, Row
from flamegraphs.units import percent, size


@dataclass(frozen=True)
class Change:
    """One function before and after; a value of 0 where it was not seen."""

    name: str
    attributed: tuple[int, int]
    raw: tuple[int, int]
    total: tuple[int, int]

    @property
    def growth(self) -> int:
        """Of attributed self."""
        return self.attributed[1] - self.attributed[0]

    @property
    def total_growth(self) -> int:
        """Of total."""
        return self.total[1] - self.total[0]


@dataclass(frozen=True)
class Diff:
    """The answer for two profiles of one unit."""

    before: Hotspots
    after: Hotspots
    changes: Sequence[Change]
    """Largest change of attributed self first, in either direction; unchanged ones are left out."""

    @property
    def growth(self) -> int:
        """Of the whole."""
        return self.after.total - self.before.total


@dataclass(frozen=True)
class Limit:
    """How much the whole may grow: a part of what it was, or an amount."""

    text: str
    fraction: float | None
    amount: int

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """Read ``10%``, or a size like ``512MiB``; raises ValueError for anything else."""
        stripped = text.strip()
        if stripped.endswith("%"):
            number = float(stripped[:-1])
            if not 0 <= number < float("inf"):
                raise ValueError(f"{text!r} is not a limit; write it like 10% or 512MiB.")
            return cls(stripped, number / 100, 0)
        return cls(stripped, None, size(stripped))

    def of(self, before: int) -> float:
        """The growth allowed over ``before``."""
        return self.amount if self.fraction is None else self.fraction * before


def diff(before: Hotspots, after: Hotspots, *, across: bool = False) -> Diff:
    """Compare two profiles; ``across`` does so even where they measure different things.

    Raises `UsageError` where they do, or where one is a difference already.
    """
    for side in (before, after):
        if side.is_difference:
            raise UsageError(
                f"{_source(side)}: it has values below zero, so it is a difference already; "
                "compare two measurements."
            )
    if not across and not comparable(before, after):
        raise UsageError(
            f"{_source(before)} measures {measured(before)}, {_source(after)} {measured(after)}: "
            "the difference would mean nothing. Choose a type that both have with --sample-type, "
            "state what a file does not with --unit, or compare nevertheless with --across-types."
        )
    olds, news = _by_name(before.rows), _by_name(after.rows)
    changes: list[Change] = []
    for key in olds.keys() | news.keys():
        old, new = olds.get(key, _NOTHING), news.get(key, _NOTHING)
        change = Change(
            key[0],
            (old.attributed, new.attributed),
            (old.raw, new.raw),
            (old.total, new.total),
        )
        if change.growth or change.total_growth or old.raw != new.raw:
            changes.append(change)
    changes.sort(key=lambda c: (-abs(c.growth), -abs(c.total_growth), c.name))
    return Diff(before, after, changes)


def comparable(before: Hotspots, after: Hotspots) -> bool:
    """Whether two profiles measure the same: type and unit, as pprof compares them.

    A format may not name its sample type; then units decide. A unit that one side states and the
    other does not is no ground to compare.
    """
    first, second = before.profile, after.profile
    types = {profile.sample_type.removesuffix("s") for profile in (first, second)} - {""}
    return len(types) < 2 and first.unit == second.unit


def measured(found: Hotspots) -> str:
    """What a profile measures, in words: ``alloc_space in bytes``."""
    kind = found.profile.sample_type or "something that it does not name"
    return f"{kind} in {found.profile.unit or 'a unit that it does not state'}"


def _source(found: Hotspots) -> str:
    return found.profile.facts.get("source", "a profile")


_NOTHING = Row("", None, 0, 0, 0)


def _by_name(rows: Sequence[Row]) -> Mapping[tuple[str, bool], Row]:
    # A function may be called like a bucket.
    return {(row.name, row.kind is None): row for row in rows}


def exceeds(found: Diff, limit: Limit) -> bool:
    """Whether the whole has grown by more than the limit."""
    return found.growth > limit.of(found.before.total)


def growth_text(found: Diff) -> str:
    """The growth of the whole as a part of what it was: ``+12.5 %``."""
    if not found.before.total:
        return "from nothing"
    fraction = found.growth / found.before.total
    return ("+" if fraction >= 0 else "") + percent(fraction)
