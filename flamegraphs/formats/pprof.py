"""Reads pprof files, plain or in gzip (of one or several members), fast and in bounded memory.

Samples stay bytes that numpy decodes some thousand at a time (`pprof_samples`); of the tables
(`pprof_tables`, `pprof_locations`), only what is used is built.

The format is that of github.com/google/pprof, proto/profile.proto.

Not here: labels (filters belong to the server that has the index), and ``drop_frames``: no bytes
are ever dropped.
"""

from dataclasses import replace

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import sample_types
from flamegraphs.formats.pprof_locations import read_locations
from flamegraphs.formats.pprof_samples import Reader, Samples
from flamegraphs.formats.pprof_tables import DEFAULT_TYPE, DURATION, SAMPLE, TIME, TYPE, Tables
from flamegraphs.names import NO_STACK
from flamegraphs.profile import Profile, recorded
from flamegraphs.unpack import unpack

_MAX_TYPES = 64
_MAX_SAMPLE = 2**20
"""Bytes of one sample."""


def read(data: bytes, sample_type: str | None = None) -> Profile:
    """Read a pprof file, packed or not; see `parse`."""
    return parse(unpack([data]), sample_type, Budget(len(data)))


def parse(data: bytearray | bytes, sample_type: str | None, budget: Budget) -> Profile:
    """Read an unpacked pprof file.

    ``sample_type`` is the value to take, see `sample_types.choose`.

    Raises `NotAProfileError` where the bytes are not a profile, are cut short or beyond the budget.
    """
    tables = Tables.of(data, budget)
    types = _sample_types(tables)
    default = sample_types.named(types, tables.string(tables.number(DEFAULT_TYPE)))
    chosen, notes = sample_types.choose(types, default, sample_type)
    functions, locations = read_locations(tables, budget)
    no_stack = functions.index(NO_STACK)
    table, kinds = functions.table()
    empty = table.index("") if "" in table else None
    facts = recorded(tables.number(TIME), tables.number(DURATION))
    starts, ends = tables.edges(SAMPLE)
    if len(starts) and (longest := int((ends - starts).max())) > _MAX_SAMPLE:
        raise NotAProfileError(f"A sample has {longest:,} bytes: not a stack.")

    def measure(index: int) -> Profile:
        reader = Reader(locations, len(types), index, no_stack, empty, budget)
        name, unit = types[index]
        stacks = Samples(data, starts, ends, reader)
        return Profile(table, kinds, stacks, name, "", facts).measured_in(unit)

    others = [measure(index) for index in range(len(types)) if index != chosen]
    return replace(measure(chosen), notes=notes, others=others)


def _sample_types(tables: Tables) -> list[tuple[str, str]]:
    """Name and unit of each value of a sample."""
    count = tables.count(TYPE)
    if not count:
        raise NotAProfileError("It does not state what its samples measure (no sample type).")
    if count > _MAX_TYPES:
        raise NotAProfileError(f"It has {count:,} sample types: not a measurement.")
    names, units = tables.columns(TYPE, "sample type", 1, 2)
    return [
        (tables.string(name), tables.string(unit))
        for name, unit in zip(names.tolist(), units.tolist(), strict=True)
    ]
