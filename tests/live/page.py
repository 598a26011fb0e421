"""``python -m tests.live.page`` writes docs/users/unverified.md from the checks' data.

With ``--check`` nothing is written, and the exit status says whether the page is in step.
"""

import sys
from pathlib import Path
from typing import Final

from tests.live.check import Check, Phase, Section
from tests.live.checks import CHECKS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "users" / "unverified.md"

_INTRODUCTION: Final = """\
# What no test here can show

<!-- Generated from tests/live/checks by `python -m tests.live.page`. -->

The tests run this program on the real Pulumi engine and a simulated Azure. The simulator answers as
Azure's documentation, specifications, recordings and the providers' source say; where none of them
says anything, it follows an assumption. Those assumptions are here: what the program relies on,
what it does if Azure turns out otherwise, and how to look.

## Check them on your subscription

    scripts/live --subscription ID [--gpu]

It prints what it will create and roughly what that costs, and asks before anything is created. It
deploys a stack of its own (cluster, Grafana, Azure Monitor workspace, Blob Storage) into a resource
group of its own, runs the checks below, removes everything again, also after a failure or Ctrl-C,
and writes a report to send back. It needs what `pulumi up` needs
([README](../../README.md#what-you-need)), and the right to assign roles in the subscription. A GPU
node comes last, and only with `--gpu`; without it those checks are not run. `scripts/live --list`
lists the checks; `--only CHECK` runs one.

Neither `scripts/test` nor `scripts/check` ever calls Azure. They run the same checks against the
simulated one, each also where its assumption is false.

Lines of kubectl need a kubeconfig:
`az aks get-credentials --name CLUSTER --resource-group GROUP`.
"""

_WHEN: Final = {
    Phase.READ: "reads only",
    Phase.DEPLOYED: "on the stack",
    Phase.CHANGED: "changes the stack",
    Phase.GPU: "needs a GPU node",
    Phase.REMOVED: "while removing",
}


def page() -> str:
    """The text of the page."""
    lines = [_INTRODUCTION]
    for section in Section:
        lines += [
            f"## {section.value}",
            "",
            "| assumption | if it is otherwise | by hand | check |",
            "|---|---|---|---|",
        ]
        lines += [_row(one) for one in CHECKS if one.section is section]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(check: Check) -> str:
    cells = (
        check.assumption,
        check.otherwise,
        check.by_hand,
        f"`{check.id}`, {_WHEN[check.phase]}",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` compare it."""
    if "--check" not in arguments:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.stderr.write(
            "docs/users/unverified.md is out of step; run: python -m tests.live.page\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
