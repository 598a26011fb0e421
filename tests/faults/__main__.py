"""``scripts/faults``: run the sweep, or a part of it."""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from simulator.home import CHECKOUT
from tests.faults import calls, matrix, page, record
from tests.faults.matrix import Result
from tests.faults.stage import own_stage
from tests.faults.sweep import VERBS, cases_of, sweep

FOLDER: Final = CHECKOUT / ".faults"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 where every case is good."""
    given = _parser().parse_args(arguments)
    folder: Path = given.output
    folder.mkdir(parents=True, exist_ok=True)
    if given.verb == "record":
        with own_stage(folder / "record") as stage:
            calls.write(record.record(stage))
        return 0
    if given.verb == "page":
        page.keep(list(matrix.read(folder / "results.jsonl").values()))
        return page.main([])
    verbs = list(VERBS) if given.verb == "all" else [given.verb]
    wanted = [(verb, case) for verb in verbs for case in cases_of(verb) if given.only in case]
    file = folder / "results.jsonl"
    if given.again:
        file.unlink(missing_ok=True)
    known = matrix.read(file)
    left = [(verb, case) for verb, case in wanted if f"{verb}: {case}" not in known]
    _say(f"{len(wanted)} cases, {len(wanted) - len(left)} of them done before")
    began = time.monotonic()
    for number, result in enumerate(sweep(folder, given.jobs, left), 1):
        matrix.add(file, result)
        _show(result, number, len(left), time.monotonic() - began)
    shown = [matrix.read(file)[f"{verb}: {case}"] for verb, case in wanted]
    _write(folder, matrix.read(file).values())
    bad = sum(not one.ok for one in shown)
    _say(f"{len(shown) - bad} of {len(shown)} cases are good; {folder / 'matrix.txt'}")
    return 1 if bad else 0


def _write(folder: Path, results: Iterable[Result]) -> None:
    kept = sorted(results, key=lambda one: one.key)
    lines = ",\n".join(matrix.line(one) for one in kept)
    (folder / "matrix.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (folder / "matrix.txt").write_text("\n".join(matrix.table(kept)) + "\n", encoding="utf-8")


def _show(result: Result, number: int, of: int, seconds: float) -> None:
    left = seconds / number * (of - number)
    _say(f"[{number}/{of}, {left:.0f} s left] " + "\n".join(matrix.table([result])))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - for the person at the terminal


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/faults",
        description="Strikes every call of the program with faults, and looks what becomes of it.",
    )
    parser.add_argument(
        "verb",
        choices=["record", *VERBS, "all", "page"],
        help="which part; docs/maintainers/faults.md",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="simulated Azures side by side (default: 1)"
    )
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument(
        "--output", type=Path, default=FOLDER, help="folder of the results (default: .faults)"
    )
    parser.add_argument(
        "--again", action="store_true", help="forget the results, in place of going on after them"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
