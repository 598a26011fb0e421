"""Reads speedscope's file format, both kinds of profile in it: sampled and evented.

The format is that of speedscope's src/lib/file-format-spec.ts. A file may hold several profiles
(threads, say); those that measure in the unit of the active one are added up.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import Collector, choose
from flamegraphs.profile import Profile
from flamegraphs.units import canonical


def read(document: Mapping[str, object], sample_type: str | None, budget: Budget) -> Profile:
    """Read a document; raises `NotAProfileError` where it is not what the format says."""
    shared = _object(document.get("shared"), "shared")
    names = [str(_object(frame, "a frame").get("name", "")) for frame in _list(shared, "frames")]
    profiles = [_object(item, "a profile") for item in _list(document, "profiles")]
    if not profiles:
        raise NotAProfileError("Its list of profiles is empty.")
    choose(sample_type, [""], "")
    active = document.get("activeProfileIndex")
    place = active if isinstance(active, int) and 0 <= active < len(profiles) else 0
    unit = _unit(profiles[place])
    mine = [profile for profile in profiles if _unit(profile) == unit]
    found = Collector(budget)
    kept, factor = canonical(unit)
    scale = factor if kept == "nanoseconds" else 1
    rounded = 0
    for profile in mine:
        for stack, weight in _stacks(profile, len(names), budget):
            exact = weight * scale
            value = round(exact)
            rounded += value != exact and scale == 1
            found.add([names[frame] for frame in stack], value)
    notes: list[str] = []
    if len(mine) > 1:
        notes.append(f"The {len(mine)} profiles of the file (threads, say) are added up.")
    if left := len(profiles) - len(mine):
        notes.append(f"{left} of its profiles measure something other than {unit}; left out.")
    if rounded:
        notes.append(f"{rounded:,} weights are not whole numbers and were rounded.")
    stored = "nanoseconds" if scale != 1 or kept == "nanoseconds" else unit
    return found.profile("", "" if unit == "none" else stored, notes=notes)


def _unit(profile: Mapping[str, object]) -> str:
    unit = profile.get("unit", "none")
    return unit if isinstance(unit, str) else "none"


def _stacks(
    profile: Mapping[str, object], frames: int, budget: Budget
) -> Iterator[tuple[list[int], int | float]]:
    kind = profile.get("type")
    if kind == "sampled":
        samples, weights = _list(profile, "samples"), _list(profile, "weights")
        if len(samples) != len(weights):
            raise NotAProfileError(f"It has {len(samples)} samples, but {len(weights)} weights.")
        for sample, weight in zip(samples, weights, strict=True):
            if not isinstance(sample, list):
                raise NotAProfileError("A sample is not a list of frames.")
            stack = [_frame(item, frames) for item in reversed(cast("list[object]", sample))]
            yield stack, _number(weight, "a weight")
    elif kind == "evented":
        yield from _evented(profile, frames, budget)
    else:
        raise NotAProfileError(f"It has a profile of type {str(kind)[:40]!r}, which is not known.")


def _evented(
    profile: Mapping[str, object], frames: int, budget: Budget
) -> Iterator[tuple[list[int], int | float]]:
    """The time between two events belongs to the stack that is open between them."""
    stack: list[int] = []
    last: int | float = _number(profile.get("startValue", 0), "its start")
    for item in _list(profile, "events"):
        event = _object(item, "an event")
        now = _number(event.get("at"), "the time of an event")
        frame = _frame(event.get("frame"), frames)
        if now < last:
            raise NotAProfileError("Its events are not in the order of time.")
        if stack and now > last:
            budget.take("frames", steps=4 * len(stack))
            yield stack[::-1], now - last
        last = now
        if event.get("type") == "O":
            stack.append(frame)
        elif event.get("type") == "C" and stack and stack[-1] == frame:
            stack.pop()
        else:
            raise NotAProfileError("An event of it closes a frame that is not the last opened.")
    if stack:
        raise NotAProfileError("Its events leave a frame open.")


def _frame(value: object, frames: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < frames:
        raise NotAProfileError(f"It refers to frame {str(value)[:40]}, but has {frames}.")
    return value


def _number(value: object, what: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**63:
        raise NotAProfileError(f"It has {str(value)[:40]} for {what}.")
    return value


def _list(owner: Mapping[str, object], key: str) -> Sequence[object]:
    value = owner.get(key)
    if not isinstance(value, list):
        raise NotAProfileError(f"Its member {key!r} is missing, or no list.")
    return cast("list[object]", value)


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise NotAProfileError(f"It has something other than an object for {what}.")
    return cast("dict[str, object]", value)
