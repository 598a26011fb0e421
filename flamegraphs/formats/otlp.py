"""What OTLP profiles are made of, whatever they are written in, and how they are added up.

The format is opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto. A
stack is a list of locations, a location lines, a line a function, each an index into a table. The
definition has changed often; each is read:

- until 1.7 a sample is a slice of its profile's list of locations, with a value for each of the
  profile's sample types. Tables are in each profile (1.4, 1.5), beside the resources (1.6), or in
  one dictionary (1.7), and their first entries are like any other;
- from 1.8 on a sample has a stack of the dictionary, and values of the profile's one sample type.
  The first entry of each table means none. In 1.10 the fields of a sample changed places.

Not here: the bytes (`otlp_protobuf`) and the JSON (`otlp_json`) they are found in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flamegraphs.budget import MAX_STACK, Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import sample_types
from flamegraphs.formats.collect import Collector
from flamegraphs.formats.sample_types import SampleType
from flamegraphs.names import UNKNOWN_NAME
from flamegraphs.profile import Profile, recorded

_T = TypeVar("_T")
_MAX_TYPES = 64


@dataclass(frozen=True)
class Location:
    """One place in a program."""

    mapping: int | None
    address: int
    functions: Sequence[int]
    """Innermost first."""


@dataclass(frozen=True)
class Tables:
    """What samples refer to."""

    string: Callable[[int], str]
    functions: Sequence[int]
    """The name of each function."""
    locations: Sequence[Location]
    mappings: Sequence[tuple[int, int, int]]
    """Start, offset in the file, and name of each."""


class Stacks:
    """The names of each stack, put together once."""

    def __init__(self, tables: Tables, locations: Sequence[Sequence[int]], budget: Budget) -> None:
        """``locations`` are those of each stack, leaf first."""
        self._tables = tables
        self._locations = locations
        self._budget = budget
        self._known: dict[int, list[str]] = {}
        self._at_location: dict[int, list[str]] = {}

    def names(self, index: int) -> list[str]:
        """Those of a stack, leaf first; raises `NotAProfileError` for what is not there."""
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._build(index)
        return known

    def _build(self, index: int) -> list[str]:
        names: list[str] = []
        # A file without stacks has one without frames: the first.
        for place in _at(self._locations or [[]], index, "stack"):
            found = self._at_location.get(place)
            if found is None:
                found = self._at_location[place] = self._names_of(place)
            self._budget.take("frames", memory=16 * len(found), steps=12 + 3 * len(found))
            names += found
            if len(names) > MAX_STACK:
                raise NotAProfileError("A stack has more frames than one of a program.")
        return names

    def _names_of(self, place: int) -> list[str]:
        tables = self._tables
        location = _at(tables.locations, place, "location")
        count = len(location.functions)
        self._budget.take("frames", memory=8 * count + 250, steps=30 * count + 50)
        functions = [_at(tables.functions, f, "function") for f in location.functions]
        return [tables.string(name) for name in functions] or [self._unnamed(location)]

    def _unnamed(self, location: Location) -> str:
        tables = self._tables
        if location.mapping is not None:
            start, offset, file = _at(tables.mappings, location.mapping, "mapping")
            library = tables.string(file).rsplit("/", 1)[-1]
            if library and location.address >= start:
                return f"{library}+{location.address - start + offset:#x}"
        return f"{location.address:#x}" if location.address else UNKNOWN_NAME


@dataclass(frozen=True)
class Slices(Sequence[Sequence[int]]):
    """Stacks as slices of one list, made when they are asked for: a file's may all overlap."""

    locations: Sequence[int]
    spans: Sequence[tuple[int, int]]
    """Start and length of each."""

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, index: int) -> Sequence[int]:  # pyright: ignore[reportIncompatibleMethodOverride] - no slices of slices
        start, length = self.spans[index]
        if start < 0 or not 0 <= length <= MAX_STACK or start + length > len(self.locations):
            raise NotAProfileError(
                f"A stack is said to be locations {start} to {start + length} of "
                f"{len(self.locations)}."
            )
        return self.locations[start : start + length]


@dataclass(frozen=True)
class Measured:
    """The values of one sample type of one profile of a file."""

    kind: SampleType
    is_default: bool
    start: int
    duration: int
    """Both in nanoseconds."""
    stacks: Stacks
    samples: Iterator[tuple[int, int]]
    """Stack and value of each."""


def added_up(profiles: Sequence[Measured], wanted: str | None, budget: Budget) -> Profile:
    """Add up the profiles of one sample type, see `sample_types.choose`."""
    types = list(dict.fromkeys(profile.kind for profile in profiles))
    if not types:
        raise NotAProfileError("It holds no profile.")
    default = next((types.index(p.kind) for p in profiles if p.is_default), None)
    index, notes = sample_types.choose(types, default, wanted)
    found = Collector(budget)
    facts: dict[str, str] = {}
    for profile in profiles:
        if profile.kind == types[index]:
            facts = facts or recorded(profile.start, profile.duration)
            for stack, value in profile.samples:
                found.add(profile.stacks.names(stack), value)
    further = ("/".join(kind) for kind in types if kind != types[index])
    return found.profile(*types[index], facts, notes, further)


def check_types(kinds: Sequence[SampleType]) -> None:
    """Raise `NotAProfileError` for sample types of one profile that cannot be told apart."""
    if len(kinds) > _MAX_TYPES:
        raise NotAProfileError(f"It has {len(kinds):,} sample types: not a measurement.")
    if len(set(kinds)) < len(kinds):
        twice = next(kind for kind in kinds if kinds.count(kind) > 1)
        raise NotAProfileError(f"It has two sample types {'/'.join(twice)}.")


def of_type(
    stacks: Sequence[int], values: Sequence[Sequence[int]], place: int, types: int
) -> Iterator[tuple[int, int]]:
    """Stack and value of samples that have a value for each sample type.

    Raises `NotAProfileError` where one has not.
    """
    for stack, mine in zip(stacks, values, strict=True):
        if len(mine) != types:
            raise NotAProfileError(f"A sample has {len(mine)} values for {types} sample types.")
        yield stack, mine[place]


def _at(table: Sequence[_T], index: int, what: str) -> _T:
    if not 0 <= index < len(table):
        raise NotAProfileError(f"It refers to {what} {index}, but has {len(table)}.")
    return table[index]
