"""Reads PyTorch's memory snapshots: what ``torch.cuda.memory._dump_snapshot`` writes.

A snapshot is a pickle of dictionaries (torch/csrc/cuda/memory_snapshot.cpp and the type
definitions in torch/cuda/_memory_viz.py): ``segments`` of memory with their ``blocks``, and
``device_traces`` of what was allocated and freed. Two things can be read from it:

- ``active``: bytes of the blocks in use at the moment of the snapshot, by the stack that
  allocated each. This is live memory.
- ``alloc``: bytes of all allocations that the trace recorded.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from contract.json import as_object
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats import plain_pickle
from flamegraphs.formats.collect import Collector, choose, whole
from flamegraphs.profile import Profile

_ACTIVE, _ALLOC = "active", "alloc"
_IN_USE = ("active_allocated", "active_awaiting_free", "active_pending_free")
_NO_STACKS = (
    "It holds no stacks: record them with torch.cuda.memory._record_memory_history() before what "
    "is to be seen."
)


def read(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read a snapshot, executing nothing; raises `NotAProfileError` where it is none."""
    document = plain_pickle.load(data, budget)
    if isinstance(document, list):  # the oldest are the segments alone
        document = {"segments": cast("list[object]", document)}
    if not isinstance(document, dict) or "segments" not in document:
        raise NotAProfileError("It is a pickle, but no memory snapshot of PyTorch (no `segments`).")
    snapshot = cast("dict[str, object]", document)
    wanted = choose(sample_type, [_ACTIVE, _ALLOC], _ACTIVE)
    found = Collector(budget)
    names = _Names(budget)
    stackless = 0
    for frames, size in (_active if wanted == _ACTIVE else _allocated)(snapshot, budget):
        stack = names.of(frames)
        stackless += not stack
        found.add(stack or ["<no stack>"], size)
    notes = [
        "These are the blocks in use when the snapshot was taken (live memory); --sample-type "
        "alloc shows all allocations recorded."
        if wanted == _ACTIVE
        else "These are all allocations that the snapshot recorded, freed ones too."
    ]
    if stackless:
        notes.append(f"{stackless:,} blocks have no stack. " + _NO_STACKS)
    return found.profile(wanted, "bytes", notes=notes, further=(_ACTIVE, _ALLOC))


def _active(snapshot: Mapping[str, object], budget: Budget) -> Iterator[tuple[object, int]]:
    for segment in _objects(snapshot.get("segments"), "segments", budget):
        for block in _objects(segment.get("blocks"), "blocks", budget):
            if block.get("state") in _IN_USE:
                frames = block.get("frames")
                history = block.get("history")
                if frames is None and isinstance(history, list) and history:
                    frames = as_object(cast("list[object]", history)[0]).get("frames")
                yield frames, _size(block)


def _allocated(snapshot: Mapping[str, object], budget: Budget) -> Iterator[tuple[object, int]]:
    traces = snapshot.get("device_traces", [])
    for trace in cast("list[object]", traces) if isinstance(traces, list) else []:
        for event in _objects(trace, "a trace", budget):
            if event.get("action") == "alloc":
                yield event.get("frames"), _size(event)


class _Names:
    """The names of each list of frames; blocks of one stack share the list itself."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[int, list[str]] = {}

    def of(self, frames: object) -> list[str]:
        """Leaf first, as the snapshot has them."""
        if not isinstance(frames, list):
            return []
        items = cast("list[object]", frames)
        known = self._known.get(id(items))
        if known is None:
            self._budget.take("frames", memory=8 * len(items), steps=20 * len(items))
            known = self._known[id(items)] = [self._name(item) for item in items]
        return known

    def _name(self, frame: object) -> str:
        name = as_object(frame).get("name")
        if not isinstance(name, str):
            raise NotAProfileError("A frame of the snapshot has no name.")
        return name


def _size(owner: Mapping[str, object]) -> int:
    size = whole(owner.get("size"), "a size")
    if size < 0:
        raise NotAProfileError(f"A block of the snapshot has {size} bytes.")
    return size


def _objects(value: object, what: str, budget: Budget) -> Iterator[Mapping[str, object]]:
    if not isinstance(value, list):
        raise NotAProfileError(f"The snapshot has something other than a list for {what}.")
    items = cast("list[object]", value)
    budget.take("blocks", steps=50 * len(items))
    return map(as_object, items)
