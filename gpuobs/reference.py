"""``python -m gpuobs.reference`` writes ``docs/users/commands.md`` from the parser.

With ``--check`` nothing is written and the exit status says whether the page is in step.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuobs.cli import PROG, VERBS, parser
from gpuobs.statuses import Status

PAGE = Path(__file__).resolve().parent.parent / "docs" / "users" / "commands.md"
WIDTH = 100

_INTRODUCTION = f"""\
# Commands

<!-- Generated from the parser by `python -m gpuobs.reference`. -->

`{PROG} VERB` answers questions about a stack that is up, and reads profiles. Run it with the
project's Python (`. .venv/bin/activate`) in the project's folder, where `pulumi` finds the stack.
After `pip install --no-deps --editable .` the same command is also called `gpuobs`.

| verb | to |
|---|---|
"""

_STATUSES = """\
## Exit statuses

One table for all verbs; scripts may branch on it. Results are on standard output, messages and
progress on standard error. `--json` writes the result for machines.

| status | meaning | what to do |
|--:|---|---|
"""

_OTHER_ENTRIES = """\

`sh operations/run VERB` (which deployed stacks run), `python -m operations` and
`python -m flamegraphs` keep the statuses that they had: those of the operations are the same up to
10 ([Operating](operating.md#waiting-and-exit-statuses)), the profile reader's are in its `--help`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    verbs = "\n".join(f"| [`{verb.name}`](#{verb.name}) | {verb.summary} |" for verb in VERBS)
    yield _INTRODUCTION + verbs + "\n"
    statuses = "\n".join(
        f"| {status} | {status.meaning} | {status.advice} |".replace("|  |", "| |")
        for status in Status
    )
    yield _STATUSES + statuses + "\n" + _OTHER_ENTRIES
    yield from _help("The command", "--help")
    for verb in VERBS:
        yield from _help(verb.name, verb.name, "--help")


def _help(heading: str, *arguments: str) -> Iterator[str]:
    yield f"## {heading}\n"
    yield f"```console\n$ {PROG} {' '.join(arguments)}"
    yield help_text(*arguments).rstrip() + "\n```\n"


def help_text(*arguments: str) -> str:
    """What the command prints for ``arguments`` that end in ``--help``, on a wide terminal."""
    from contextlib import redirect_stdout
    from io import StringIO

    printed = StringIO()
    with redirect_stdout(printed):
        try:
            parser(PROG, WIDTH).parse_args(arguments)
        except SystemExit:
            return printed.getvalue()
    raise ValueError(f"{arguments} do not ask for help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it; the exit status is 1 where it is out of step."""
    options = argparse.ArgumentParser(prog="python -m gpuobs.reference", description=__doc__)
    options.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = options.parse_args(arguments).check
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    if not check:
        PAGE.write_text(page(), encoding="utf-8")
    state = "is out of step; run: python -m gpuobs.reference" if check else "written"
    sys.stderr.write(f"docs/users/commands.md {state}\n")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
