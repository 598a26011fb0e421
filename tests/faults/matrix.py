"""The results of the sweep: kept one by one, so that it can go on where it was ended, and shown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from simulator.values import as_number, as_object, as_text, texts

SAYS: Final = 200
"""Characters of a run's error that are kept."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of one case."""

    verb: str
    case: str
    ok: bool
    why: tuple[str, ...] = ()
    """What was not as expected."""
    saw: tuple[str, ...] = ()
    """What a person saw: a line a run."""
    seconds: float = field(default=0.0, compare=False)

    @property
    def key(self) -> str:
        """What it is known by."""
        return f"{self.verb}: {self.case}"


def judged(verb: str, case: str, why: Sequence[str], saw: Iterable[str] = ()) -> Result:
    """A result that is good where nothing was wrong."""
    return Result(
        verb=verb,
        case=case,
        ok=not why,
        why=tuple(one[:SAYS] for one in why),
        saw=tuple(one[:SAYS] for one in saw),
    )


def read(file: Path) -> dict[str, Result]:
    """The results in ``file`` by their key, the last of each; none where there is no file."""
    if not file.exists():
        return {}
    found: dict[str, Result] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        document = as_object(json.loads(line))
        result = Result(
            verb=as_text(document.get("verb")),
            case=as_text(document.get("case")),
            ok=document.get("ok") is True,
            why=tuple(texts(document.get("why"))),
            saw=tuple(texts(document.get("saw"))),
            seconds=as_number(document.get("seconds")),
        )
        found[result.key] = result
    return found


def add(file: Path, result: Result) -> None:
    """Keep one more."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(line(result) + "\n")


def line(result: Result) -> str:
    """A result as the file has it."""
    return json.dumps(asdict(result), sort_keys=True)


def table(results: Iterable[Result]) -> list[str]:
    """A line a case, for a person; what was wrong below it."""
    shown: list[str] = []
    for one in sorted(results, key=lambda result: (result.verb, result.case)):
        shown.append(f"{'ok  ' if one.ok else 'FAIL'}  {one.verb:<8} {one.case}")
        shown += [f"        {why}" for why in one.why]
    return shown
