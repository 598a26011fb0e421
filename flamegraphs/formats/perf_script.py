"""Reads the text of ``perf script``: a line for each event, then its frames, leaf first.

An event's header is ``comm pid/tid [cpu] time: period event:``, some of which may be missing; a
frame is ``address symbol+0xoffset (file)``. The value is the period where there is one, else one
a sample. Events of several kinds are not added up.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.collect import Collector, choose
from flamegraphs.profile import Profile

_HEADER = re.compile(
    r"(?P<comm>\S.*?)\s+(?:-?\d+/)?-?\d+\s+(?:\[\d+\]\s+)?(?:\d+\.\d+:\s+)?(?:(?P<period>\d+)\s+)?"
    r"(?P<event>[A-Za-z_][\w\-:./=,]*?):[A-Za-z]*:?\s*(?:\S.*)?"
)
_ADDRESS = re.compile(r"[0-9a-f]{1,16}")
_OFFSET = re.compile(r"\+0x[0-9a-f]+\Z")
_LONGEST = 2**16
_LONGEST_HEADER = 1_000


@dataclass
class _Event:
    kind: str
    comm: str
    value: int
    frames: list[str]


def read(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read the text; ``sample_type`` names the event, and is needed where there are several.

    Raises `NotAProfileError` for a line that is neither an event nor a frame.
    """
    found: dict[str, Collector] = {}
    for event in _events(data, budget):
        if event.kind not in found:
            found[event.kind] = Collector(budget)
        found[event.kind].add([*event.frames, event.comm], event.value)
    if not found:
        raise NotAProfileError("It has no event with a stack.")
    if sample_type is None and len(found) > 1:
        raise NotAProfileError(
            f"It has events of several kinds ({', '.join(found)}); choose one with --sample-type."
        )
    kind = choose(sample_type, list(found), next(iter(found)))
    # The clocks of perf count nanoseconds.
    unit = "nanoseconds" if kind.split(":")[0] in ("cpu-clock", "task-clock") else "count"
    return found[kind].profile(kind, unit, further=found)


def _events(data: bytes | bytearray, budget: Budget) -> Iterator[_Event]:
    event: _Event | None = None
    for number, line in enumerate(_lines(data, budget), 1):
        if len(line) > _LONGEST:
            raise NotAProfileError(f"Line {number} has {len(line):,} characters: no frame.")
        if not line.strip() or line.startswith("#"):
            if event:
                yield event
            event = None
        elif line[0].isspace():
            name = _name(line.strip())
            if event is None or name is None:
                raise NotAProfileError(f"Line {number} is neither an event nor a frame of one.")
            event.frames.append(name)
        else:
            header = _HEADER.fullmatch(line.rstrip()[:_LONGEST_HEADER])
            if event or header is None:
                raise NotAProfileError(f"Line {number} is neither an event nor a frame of one.")
            event = _Event(header["event"], header["comm"], int((header["period"] or "1")[:19]), [])
    if event:
        yield event


def _lines(data: bytes | bytearray, budget: Budget) -> Iterator[str]:
    position = 0
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        budget.take("lines", steps=150 + 4 * (end - position))
        yield (
            data[position : min(end, position + _LONGEST + 1)]
            .decode("utf-8", "replace")
            .rstrip("\r\n")
        )
        position = end


def _name(frame: str) -> str | None:
    """Name a frame by its symbol, else its file, else its address; None for what is no frame."""
    address, _, rest = frame.partition(" ")
    if not _ADDRESS.fullmatch(address):
        return None
    symbol, opening, file = rest.strip().rpartition(" (")
    if not opening or not file.endswith(")"):
        symbol, file = rest.strip(), ""
    if symbol and symbol != "[unknown]":
        return _OFFSET.sub("", symbol)
    if file and file != "[unknown])":
        return f"[{file.removesuffix(')').rsplit('/', 1)[-1].strip('[]')}]"
    return f"0x{address}"
