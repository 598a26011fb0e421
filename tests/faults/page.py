"""docs/maintainers/faults.md, from the recorded calls and the results of the last whole sweep.

python -m tests.faults.page [--check]
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.home import CHECKOUT
from tests.faults import calls, kinds, matrix
from tests.faults.expected import Outcome, expected
from tests.faults.matrix import Result
from tests.faults.mutations import MUTATIONS
from tests.faults.stage import PHASES
from tests.faults.sweep import cases_of
from tests.unit.user_files import DEEPEST, EXAMPLES, NESTED

PAGE: Final = CHECKOUT / "docs/maintainers/faults.md"
RESULTS: Final = Path(__file__).parent / "results.jsonl"
DRAWN: Final = (
    *("a chart's description", "a package", "a damaged package", "a dashboard", "names of files"),
    *("sections of a stack file", "project files"),
)
"""What tests/unit/test_user_files.py draws."""
VALUES: Final = 300
"""Of settings: three properties, with as many examples as Hypothesis draws by default."""
WHY: Final = 160
"""Characters of a reason that the page shows."""
VERBS: Final[Mapping[str, str]] = {
    "groups": "every call of a phase meets the same transient fault once, all at the same time; "
    "one `up` ends well, and what there is then is as without the faults. Calls that a provider "
    "does not repeat are struck in a round of their own, where each failed run names the cause",
    "holds": "the service has acted on a write, its answer is held back, and every process of the "
    "run is killed; then the commands of [Operating](../users/operating.md) are typed as they "
    "stand there, until the stack is whole; then `destroy` leaves nothing",
    "signals": "SIGINT, SIGTERM and SIGKILL, to the engine alone and to every process of the run, "
    "while a provider or an operation waits for an answer",
    "hostile": "every answer of every operation is changed into what no service answers; never the "
    "status of a defect of ours, never a traceback, never success without the work done",
    "rights": "a principal with exactly the rights of the README, and one without each: its error "
    "comes before the first resource",
    "two": "two runs at once, on one stack, and of two stacks on one Grafana",
}


def lines(results: Sequence[Result]) -> Iterator[str]:
    """The page."""
    table = calls.read()
    yield "# Faults"
    yield ""
    yield (
        "What becomes of a stack when a service fails, answers nonsense, or the run is killed. "
        "Every call that the program, its providers and its operations send is struck on the "
        "[simulated Azure](simulator.md), with the real engine. This page is generated "
        "(`python -m tests.faults.page`); every run of the tests strikes every call, with every "
        "kind of fault, in a fixed sample (`tests/faults/test_sweep.py`)."
    )
    yield ""
    yield "```sh"
    yield "scripts/faults all --jobs 2                  # hours; goes on where it was ended"
    yield "scripts/faults groups --only 'destroy / '    # a part of it"
    yield "scripts/faults record                        # the calls, after a change of them"
    yield "scripts/faults page                          # this page, from the results"
    yield "```"
    yield ""
    yield from _summary(results)
    yield from _failures(results)
    yield from _files()
    yield from _kinds()
    yield from _calls(table)


def _summary(results: Sequence[Result]) -> Iterator[str]:
    yield "## What it does, and what came of it"
    yield ""
    yield "| verb | what happens | cases | run last | good |"
    yield "|---|---|---|---|---|"
    for verb, says in VERBS.items():
        own = [one for one in results if one.verb == verb]
        good = sum(one.ok for one in own)
        yield f"| `{verb}` | {says} | {len(cases_of(verb))} | {len(own)} | {good} |"
    yield ""


def _failures(results: Sequence[Result]) -> Iterator[str]:
    bad = [one for one in results if not one.ok]
    left = {verb: len(cases_of(verb)) - sum(one.verb == verb for one in results) for verb in VERBS}
    yield "## What is not good"
    yield ""
    if results and any(left.values()):
        named = ", ".join(f"{count} of `{verb}`" for verb, count in left.items() if count)
        yield f"Not run last, so not known: {named}. The sample in the tests is good."
        yield ""
    if not results:
        yield "Not known: these results are of no run. The sample in the tests is good."
    elif not bad:
        yield "Nothing of what was run."
    else:
        yield "| case | what a person meets |"
        yield "|---|---|"
    for one in bad:
        why = "; ".join(one.why).replace("|", "\\|").replace("\n", " ")[:WHY]
        yield f"| `{one.verb}`: {one.case} | {_escaped(why)} |"
    yield ""
    yield from _believed()


def _believed() -> Iterator[str]:
    """What no run of ours can see, so that it is not struck."""
    deletions = [call for call in calls.read() if call.method == "DELETE"]
    names = {
        kind: sorted(
            {
                call.path.rsplit("/", 2)[1]
                for call in deletions
                if expected(call, kind) is Outcome.BELIEVED
            }
        )
        for kind in ("200 empty", "200 page")
    }
    yield (
        "Not struck, because nothing of ours could tell: Pulumi's azure-native takes the status of "
        "a success for done when it deletes (`Delete` in its `client_azcore.go`). Where something "
        "between it and Azure answers a deletion with an empty success "
        f"({', '.join(names['200 empty'])}) or with a page ({', '.join(names['200 page'])}), "
        "`destroy` ends well and the resource stays, in no state any more; one of those that stay "
        "may hold up what is deleted after it. What is left is found with `az resource list "
        "--resource-group GROUP --output table`."
    )
    yield ""
    yield (
        "Not fixed: a `destroy` right after a run was killed leaves in Azure what it was just "
        "asked to make, as no state names it; an `up` before it takes that over, or names it with "
        "the line that deletes it ([Operating](../users/operating.md))."
    )
    yield ""


def _files() -> Iterator[str]:
    yield "## Files that people write"
    yield ""
    drawn = len(DRAWN) * EXAMPLES
    yield (
        f"Every run of the tests draws {drawn} files and names of files ({EXAMPLES} each of: "
        f"{', '.join(DRAWN)}), nests {NESTED} documents up to {DEEPEST} deep, and draws "
        f"{VALUES} values of settings (`tests/unit/test_user_files.py`, "
        "`tests/unit/test_settings.py`). Each is taken, or refused by one message that names the "
        "setting; none ends in a traceback."
    )
    yield ""


def _escaped(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text).replace("<", "&lt;")


def _kinds() -> Iterator[str]:
    yield "## Kinds of faults"
    yield ""
    yield "| kind | the service ... |"
    yield "|---|---|"
    for kind in kinds.TRANSIENT.values():
        yield f"| {kind.name} | {kind.says} |"
    yield ""
    yield f"Changed answers (`hostile`): {', '.join(MUTATIONS)}."
    yield ""
    phases = ", ".join(PHASES)
    yield f"Phases: {phases}. All but `up`, `refresh` and `destroy` are changes of a setting."
    yield ""


def _calls(table: calls.Table) -> Iterator[str]:
    yield f"## The {len(table)} calls"
    yield ""
    yield (
        "`next run` names the kinds after which the run may end with an error that names the "
        "cause, and the next run ends well; all others are outlived by the run itself. A call that "
        "is not in this table fails the tests."
    )
    yield ""
    yield "| call | phases | next run |"
    yield "|---|---|---|"
    for call, phases in sorted(table.items()):
        again = [kind for kind in kinds.TRANSIENT if expected(call, kind) is Outcome.NEXT_RUN]
        shown = "all but 429, 503" if len(again) == len(kinds.TRANSIENT) - 2 else ", ".join(again)
        yield f"| `{call}` | {', '.join(sorted(phases))} | {shown} |"


def text() -> str:
    """What the page is to hold."""
    results = sorted(matrix.read(RESULTS).values(), key=lambda one: one.key)
    return "\n".join(lines(results)) + "\n"


def keep(results: Sequence[Result]) -> None:
    """Check the results in: without times and what a person saw, which differ from run to run."""
    rows = [
        {"verb": one.verb, "case": one.case, "ok": one.ok, "why": list(one.why)}
        for one in sorted(results, key=lambda one: one.key)
    ]
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or with ``--check`` say whether it is stale."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.page")
    parser.add_argument("--check", action="store_true", help="only say whether it is stale")
    if not parser.parse_args(arguments).check:
        PAGE.write_text(text(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text():
        print(f"{PAGE} is stale; run: python -m tests.faults.page")  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
