"""Profiles small enough to add up by hand, the same answer computed the slow and obvious way, and
the same profile in different encodings of pprof.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from flamegraphs import files
from flamegraphs.hotspots import Hotspots, hotspots
from flamegraphs.names import Kind, kind_of, normalise
from flamegraphs.profile import Functions, Profile, hold
from tests.flamegraphs.generated import field, varint

Stacks = Sequence[tuple[Sequence[str], int]]
"""Stacks, leaf first, each with its value."""

NAMES = (
    "a",
    "b",
    "Engine > step",
    "Engine.step",
    "<module>",
    "<interpreter trampoline>",
    "0x7f151",
    "libcuda.so.1+0x1f3",
    "<unknown>",
)

stacks = st.lists(
    st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8), st.integers(0, 2**40)),
    min_size=1,
    max_size=30,
)


def profile_of(stacks: Stacks, unit: str = "bytes", sample_type: str = "malloc") -> Profile:
    functions = Functions()
    indices = [[functions.index(name) for name in stack] for stack, _ in stacks]
    table, kinds = functions.table()
    return Profile(table, kinds, hold(indices, [value for _, value in stacks]), sample_type, unit)


def hotspots_of(stacks: Stacks) -> Hotspots:
    return hotspots(profile_of(stacks))


@dataclass
class Sums:
    """What `hotspots` answers, as counters by name; zeros are left out."""

    raw: "Counter[str]"
    attributed: "Counter[str]"
    total: "Counter[str]"


def obvious_sums(stacks: Stacks) -> Sums:
    """Add up one stack after another, as the definitions say."""
    raw: Counter[str] = Counter()
    attributed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, value in stacks:
        names = [normalise(name) for name in stack]
        raw[names[0]] += value
        named = [name for name in names if kind_of(name) is Kind.NAMED]
        attributed[named[0] if named else "(unresolved)"] += value
        for name in set(names):
            total[name] += value
    return Sums(+raw, +attributed, +total)


def sums(found: Hotspots) -> Sums:
    return Sums(
        +Counter({row.name: row.raw for row in found.rows}),
        +Counter({row.name: row.attributed for row in found.rows}),
        +Counter({row.name: row.total for row in found.rows if row.kind is not None}),
    )


def stacks_of(profile: Profile) -> "Counter[tuple[str, ...]]":
    """Every stack of a profile, leaf first, with its value."""
    found: Counter[tuple[str, ...]] = Counter()
    for batch in profile.stacks.batches():
        for place, value in enumerate(batch.values.tolist()):
            part = batch.frames[batch.offsets[place] : batch.offsets[place + 1]]
            frames: list[int] = part.tolist()
            found[tuple(profile.functions[frame] for frame in frames)] += value
    return found


@dataclass(frozen=True)
class Encoding:
    """Freedoms that the pprof format leaves to whoever writes it."""

    packed: bool = True
    values_first: bool = False
    unknown_fields: bool = False
    first_id: int = 1
    id_step: int = 1
    tables_first: bool = False


encodings = st.builds(
    Encoding,
    packed=st.booleans(),
    values_first=st.booleans(),
    unknown_fields=st.booleans(),
    first_id=st.sampled_from([1, 7, 100_000, 2**63]),
    id_step=st.sampled_from([1, 3, 1_000_003]),
    tables_first=st.booleans(),
)


def pprof_bytes(stacks: Stacks, encoding: Encoding = Encoding()) -> bytes:
    """Encode stacks as pprof with two values a sample: how often (1) and how many bytes."""
    names = sorted({name for stack, _ in stacks for name in stack})
    identifier = {
        name: encoding.first_id + encoding.id_step * place for place, name in enumerate(names)
    }
    strings = ["", "objects", "count", "malloc", "bytes"]
    head = b"".join(field(1, field(1, a) + field(2, b)) for a, b in ((1, 2), (3, 4)))
    samples = b"".join(
        field(2, sample_bytes([identifier[name] for name in stack], [1, value], encoding))
        for stack, value in stacks
    )
    tables = b""
    for name in reversed(names):
        number = identifier[name]
        tables += field(4, field(1, number) + field(4, field(1, number) + field(2, 12)))
        tables += field(5, field(1, number) + field(2, len(strings)))
        strings.append(name)
    tables += b"".join(field(6, text.encode()) for text in strings)
    return head + (tables + samples if encoding.tables_first else samples + tables)


def sample_bytes(ids: Sequence[int], values: Sequence[int], encoding: Encoding) -> bytes:
    parts = [_numbers(1, ids, encoding), _numbers(2, values, encoding)]
    if encoding.values_first:
        parts.reverse()
    if encoding.unknown_fields:
        parts.insert(1, field(3, field(1, 5) + field(2, 6)))
        parts.append(
            field(90, 1) + varint(91 << 3 | 5) + b"four" + varint(92 << 3 | 1) + b"eight!!!"
        )
    return b"".join(parts)


def _numbers(number: int, values: Sequence[int], encoding: Encoding) -> bytes:
    if encoding.packed:
        return field(number, b"".join(map(varint, values)))
    return b"".join(field(number, value) for value in values)


def read_bytes(data: bytes, sample_type: str | None = None) -> Profile:
    """Read the bytes of a file, whatever of the known formats it is in."""
    return files.read([data], len(data), sample_type)
