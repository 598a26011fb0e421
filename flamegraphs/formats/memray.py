"""Reads what memray exports: ``memray transform csv`` and ``memray transform gprof2dot``.

Both list, for the moment of most memory in use, what each stack held. A csv line has the number of
allocations and their bytes; a stack is written leaf first, ``function;file;line|...``. Files and
lines are left out: a function is one row, as from every other profiler.
"""

import csv
from collections.abc import Iterator, Mapping
from typing import cast

from contract.json import as_object
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import Collector, choose, whole
from flamegraphs.profile import Profile

_TYPES = {"size": "bytes", "num_allocations": "count"}
_LONGEST = 2**23


def read_csv(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read a csv export; ``size`` is taken unless ``num_allocations`` is asked for."""
    wanted = choose(sample_type, list(_TYPES), "size")
    budget.take("text", steps=len(data) // 2)
    csv.field_size_limit(_LONGEST)
    found = Collector(budget)
    try:
        for row in csv.DictReader(_lines(data)):
            stack, value = row.get("stack_trace"), row.get(wanted)
            if stack is None or value is None:
                raise NotAProfileError("A line of it has too few columns.")
            budget.take("frames", steps=10 * stack.count("|") + 200)
            names = [frame.split(";", 1)[0] for frame in stack.split("|")]
            found.add(names, whole(value, wanted))
    except csv.Error as error:
        raise NotAProfileError(f"Its csv is damaged: {error}.") from error
    except UnicodeDecodeError as error:
        raise NotAProfileError("It is not UTF-8 text.") from error
    return found.profile(wanted, _TYPES[wanted], notes=_NOTES, further=_TYPES)


def _lines(data: bytes | bytearray) -> Iterator[str]:
    """Lines with their ends; decoded at once, all of them would take five times the file."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin, begin + _LONGEST) + 1 or len(data)
        if end - begin > _LONGEST:
            raise NotAProfileError(f"A line has more than {_LONGEST >> 20} MiB: not a stack.")
        yield data[begin:end].decode()
        begin = end


def read_gprof2dot(
    document: Mapping[str, object], sample_type: str | None, budget: Budget
) -> Profile:
    """Read a gprof2dot export (its JSON format), of any producer that has one cost."""
    costs = [as_object(cost) for cost in _list(document, "costs")]
    names = [str(as_object(item).get("name", "")) for item in _list(document, "functions")]
    if not costs:
        raise NotAProfileError("It lists no costs.")
    described = [str(cost.get("description", "")) for cost in costs]
    place = described.index(choose(sample_type, described, described[0]))
    found = Collector(budget)
    for event in _list(document, "events"):
        chain, cost = _list(as_object(event), "callchain"), _list(as_object(event), "cost")
        if len(cost) != len(costs):
            raise NotAProfileError(f"An event has {len(cost)} costs where {len(costs)} are named.")
        found.add(list(_names(chain, names)), whole(cost[place], "a cost"))
    unit = str(costs[place].get("unit", ""))
    return found.profile(described[place], unit, notes=_NOTES, further=described)


_NOTES = ("These are the allocations that memray selected, not all of a window.",)


def _names(chain: list[object], names: list[str]) -> Iterator[str]:
    for item in chain:
        if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < len(names):
            raise NotAProfileError(f"It refers to function {str(item)[:40]}, but has {len(names)}.")
        yield names[item]


def _list(owner: Mapping[str, object], key: str) -> list[object]:
    value = owner.get(key)
    if not isinstance(value, list):
        raise NotAProfileError(f"Its member {key!r} is missing, or no list.")
    return cast("list[object]", value)
