"""The log of requests: every call that a service was sent, as one line of JSON each.

``<home>/requests.jsonl`` begins anew with the server. No header but ``User-Agent`` is in it, and no
body, so it holds no token; unless ``POST settings {"answers": true}`` asks for the answers' bodies.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TextIO

from simulator.values import JsonObject, as_integer, as_number, as_object, as_text

FILE: Final = "requests.jsonl"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request and its answer."""

    at: float
    """When it came, in simulated seconds."""
    phase: str
    """What ``POST settings`` set last."""
    service: str
    method: str
    path: str
    """As sent, without the query."""
    query: str
    caller: str
    """Its ``User-Agent``."""
    status: int
    """Of the answer; 0 where the connection was cut."""
    fault: str
    """The kind of fault it met; empty for none."""
    answer: str = ""
    """The body of the answer, where that is asked for."""


class RequestLog:
    """Writes the log of one server."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE
        self._lines: TextIO = self._file.open("w", buffering=1, encoding="utf-8")

    def add(self, entry: Entry) -> None:
        """Write one entry, at once."""
        self._lines.write(json.dumps(asdict(entry)) + "\n")

    def clear(self) -> None:
        """Forget all of them."""
        self._lines.seek(0)
        self._lines.truncate()

    def close(self) -> None:
        """No more is written; the file stays."""
        self._lines.close()


def read(home: Path) -> list[Entry]:
    """The log of the server of ``home`` (its own folder); empty where none ever ran."""
    try:
        lines = (home / FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    # The last line may be on its way.
    return [_entry(as_object(json.loads(line))) for line in lines if line.endswith("\n")]


def _entry(document: JsonObject) -> Entry:
    texts = ("phase", "service", "method", "path", "query", "caller", "fault", "answer")
    return Entry(
        at=as_number(document.get("at")),
        status=as_integer(document.get("status")),
        **{name: as_text(document.get(name)) for name in texts},
    )


def table(entries: Iterable[Entry]) -> list[str]:
    """A line a request, for a person."""
    return [
        f"{one.at:8.0f} s  {one.status or '---'}  {one.caller.split(' ')[0] or '-':<28}  "
        f"{one.method:<6} {one.path}{'?' if one.query else ''}{one.query}"
        + (f"  [{one.fault}]" if one.fault else "")
        for one in entries
    ]
