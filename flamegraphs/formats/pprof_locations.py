"""Which functions stand at each location of a pprof file, by its tables.

Ids are not positions, ``line[0]`` is the innermost of inlined functions, and functions are merged
by name.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import wire
from flamegraphs.formats.pprof_tables import FUNCTION, LOCATION, MAPPING, Tables
from flamegraphs.names import UNKNOWN_NAME
from flamegraphs.profile import FrameArray, Functions, IntArray, offsets_of, ranges


@dataclass(frozen=True)
class Locations:
    """Which functions stand at each location, innermost first."""

    ids: NDArray[np.uint64] | None
    """Ascending, a place each; None where a location's id is its place."""
    starts: IntArray
    """Where the functions of each place begin in `functions`."""
    counts: IntArray
    """How many they are; 0 where there is no such location."""
    functions: FrameArray

    def stacks(
        self, ids: NDArray[np.uint64], lengths: IntArray, budget: Budget
    ) -> tuple[FrameArray, IntArray]:
        """Return the functions at locations of samples, and how many each sample has.

        Raises `NotAProfileError` for a location that is not there.
        """
        places = self._find(ids)
        counts = self.counts.take(places)
        if not counts.all():
            raise NotAProfileError(
                f"A sample refers to location {int(ids[counts == 0][0])}, which the file does not "
                "have."
            )
        before = offsets_of(counts)
        # Counted before they are built: one location may stand for thousands of inlined functions.
        budget.take("frames", steps=2 * int(before[-1]))
        frames = self.functions.take(ranges(self.starts.take(places), counts))
        return frames, np.diff(before[offsets_of(lengths)])

    def _find(self, ids: NDArray[np.uint64]) -> IntArray:
        if self.ids is None:
            return np.minimum(ids, np.uint64(len(self.counts) - 1)).view(np.int64)
        found = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        # The last place is that of no location.
        return np.where(self.ids[found] == ids, found, len(self.counts) - 1)


def read_locations(tables: Tables, budget: Budget) -> tuple[Functions, Locations]:
    """Return the names of a file, and which of them stand at its locations.

    Raises `NotAProfileError` where a table refers to what is not there, or has an id twice.
    """
    functions = Functions()
    ids, places = _read_functions(tables, functions, budget)
    starts, ends = tables.edges(LOCATION)
    found = wire.fields(
        tables.payload,
        starts,
        ends,
        {1: "number", 2: "number", 3: "number", 4: "bytes"},
        budget,
        "location",
    )
    location_ids, mappings, addresses = (
        wire.scalar(tables.payload, found[n], len(starts), "location") for n in (1, 2, 3)
    )
    lines = found[4]
    line = wire.fields(tables.payload, lines.starts, lines.ends, {1: "number"}, budget, "line")
    wanted = wire.scalar(tables.payload, line[1], len(lines.rows), "line")
    flat = _functions_of(wanted, ids, places, location_ids, lines.rows)
    count = np.bincount(lines.rows, minlength=len(starts)).astype(np.int64)
    bare = np.flatnonzero(count == 0)
    if len(bare):
        unnamed = _unnamed(tables, functions, mappings[bare], addresses[bare], budget)
        flat = np.insert(flat, offsets_of(count)[bare], unnamed)
        count[bare] = 1
    return functions, _by_id(location_ids, count, flat)


def _read_functions(
    tables: Tables, functions: Functions, budget: Budget
) -> tuple[NDArray[np.uint64], FrameArray]:
    """The ids of the file's functions, ascending, and the place of each one's name."""
    ids, names, system_names = tables.columns(FUNCTION, "function", 1, 2, 3)
    order = _unique(ids, "function")
    names, every = np.unique(
        np.where(tables.are_empty(names), system_names, names)[order], return_inverse=True
    )
    budget.take("functions", memory=300 * len(names), steps=100 * len(names))
    places = np.array([functions.index(text) for text in tables.texts(names)], np.int32)
    return ids[order], places[every]


def _unique(ids: NDArray[np.uint64], what: str) -> IntArray:
    """Return the order of ascending ids; raises `NotAProfileError` where one stands twice."""
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(twice):
        raise NotAProfileError(f"It has two {what}s of id {int(ids[order[twice[0]]])}.")
    return order


def _functions_of(
    wanted: NDArray[np.uint64],
    ids: NDArray[np.uint64],
    functions: FrameArray,
    locations: NDArray[np.uint64],
    rows: IntArray,
) -> FrameArray:
    """The function of each line of a location."""
    if not len(wanted):
        return np.zeros(0, np.int32)
    place = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    missing = np.flatnonzero(ids[place] != wanted) if len(ids) else np.zeros(1, np.int64)
    if len(missing):
        raise NotAProfileError(
            f"Location {int(locations[rows[missing[0]]])} refers to function "
            f"{int(wanted[missing[0]])}, which the file does not have."
        )
    return functions[place]


def _unnamed(
    tables: Tables,
    functions: Functions,
    mappings: NDArray[np.uint64],
    addresses: NDArray[np.uint64],
    budget: Budget,
) -> list[int]:
    """Functions for locations without any, named by library and offset, or by address."""
    columns = tables.columns(MAPPING, "mapping", 1, 2, 4, 5)
    _unique(columns[0], "mapping")
    budget.take("locations", memory=300 * len(mappings), steps=150 * len(mappings))
    known = dict(
        zip(columns[0].tolist(), zip(*(c.tolist() for c in columns[1:]), strict=True), strict=True)
    )
    found: list[int] = []
    libraries: dict[int, str] = {}
    for mapping, address in zip(mappings.tolist(), addresses.tolist(), strict=True):
        start, offset, file = known.get(mapping, (0, 0, 0))
        if file not in libraries:
            libraries[file] = tables.string(file).rsplit("/", 1)[-1]
            budget.take("names", memory=4 * len(libraries[file]))
        library = libraries[file]
        if library and address >= start:
            name = f"{library}+{address - start + offset:#x}"
        else:
            name = f"{address:#x}" if address else UNKNOWN_NAME
        budget.take("names", memory=2 * len(name), steps=len(name) // 8)
        found.append(functions.exact(name))
    return found


def _by_id(ids: NDArray[np.uint64], count: IntArray, flat: FrameArray) -> Locations:
    order = _unique(ids, "location")
    first = offsets_of(count)[:-1][order]
    ids, count = ids[order], count[order]
    largest = int(ids[-1]) if len(ids) else 0
    close = largest <= 8 * len(ids) + 4096
    places = ids.view(np.int64) if close else np.arange(len(ids))
    # One more than the largest: whatever is beyond lands on a place that is never filled.
    size = (largest if close else len(ids)) + 2
    starts, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    starts[places], counts[places] = first, count
    return Locations(None if close else ids, starts, counts, flat)
