"""What the documentation says to type for an error, read from the page and carried out.

docs/users/operating.md shows an error in a code block without a language, and the commands are
those of the next block of a shell, or in the words below it; or in a row of a table. Nothing here
knows an error or a command by itself: what is not on the page is not done.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.home import CHECKOUT
from simulator.values import as_object, dig
from tests.engine.portal import portal_of
from tests.faults.stage import Run, Stage

PAGE: Final = CHECKOUT / "docs/users/operating.md"
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_ROW: Final = re.compile(r"^\| `([^`]+)`[^|]*\| (.*) \|$", re.M)
_INLINE: Final = re.compile(r"`((?:pulumi|az) [^`]+)`")
_PRINTED: Final = re.compile(r"fix:.*?(az (?:resource delete|aks command invoke) [^\n;]+)")
"""The line in a fault's message: the page says of faults that their lines are in the message."""
_ID: Final = re.compile(r"'(/subscriptions/[^']+)'")


@dataclass(frozen=True)
class Cure:
    """An error as it is shown, and what to type."""

    error: str
    commands: tuple[str, ...]

    def helps(self, output: str) -> bool:
        """Whether the error stands in what a run printed: what is quoted in it is an example."""
        quoted = re.sub(r"'[^']*'", "'%'", self.error).replace("1 lock", "% lock")
        pattern = re.escape(quoted).replace("'%'", "'[^']*'").replace("%", r"\d+")
        return re.search(pattern, output) is not None


def cures(page: Path = PAGE) -> list[Cure]:
    """All of the page, in its order."""
    text = page.read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    found: list[Cure] = []
    for number, block in enumerate(blocks):
        if block[1]:
            continue
        following = blocks[number + 1 :]
        end = next((one.start() for one in following if not one[1]), len(text))
        heading = text.find("\n## ", block.end())
        end = min(end, heading if heading >= 0 else end)
        shell = next((one[2] for one in following if one[1] == "sh" and one.start() < end), None)
        inline = tuple(_INLINE.findall(text[block.end() : end]))
        commands = tuple(_lines(shell)) if shell else inline
        found.append(Cure(" ".join(block[2].split()), commands))
    rows = (Cure(row[1], tuple(_INLINE.findall(row[2]))) for row in _ROW.finditer(text))
    return [*found, *(row for row in rows if row.commands)]


def _lines(shell: str) -> list[str]:
    return [line for line in shell.replace("\\\n", " ").splitlines() if line.strip()]


def cure(stage: Stage, run: Run) -> tuple[list[str], list[str]]:
    """Carry out what the page says for this run's error: what was typed, and what failed of it."""
    output = " ".join(run.output.split())
    typed: list[str] = []
    failed: list[str] = []
    lines = [command for one in cures() if one.helps(output) for command in one.commands]
    for command in (*lines, *dict.fromkeys(_PRINTED.findall(run.output))):
        for filled in _filled(command, run.output):
            said = _type(stage, filled)
            typed.append(filled)
            failed += [f"{filled}: {said}"] if said else []
    return typed, failed


def _filled(command: str, output: str) -> list[str]:
    """The command with the ids of the message in place of what stands for one."""
    if "'<" not in command:
        return [command]
    return [
        re.sub(r"'<[^>]*>'", shlex.quote(one), command)
        for one in dict.fromkeys(_ID.findall(output))
    ]


def _type(stage: Stage, command: str) -> str:
    """Run one line; what went wrong, empty if nothing did."""
    words = shlex.split(command)
    match words:
        case ["pulumi", "up" | "destroy", *options] if "--refresh" in options:
            done = stage.sim.pulumi(*words[1:], "--yes", "--skip-preview", "--non-interactive")
            return "" if done.ok else done.output[-200:]
        case ["pulumi", "up" | "destroy" | "refresh" as verb, *_]:
            # The run that follows is the one that counts.
            del verb
            return ""
        case ["pulumi", *rest]:
            done = stage.sim.pulumi(*rest)
            return "" if done.ok else done.output[-200:]
        case ["az", "resource", "delete", "--ids", one, *_]:
            with portal_of(stage.sim) as portal:
                portal.delete(one)
            return ""
        case ["az", "aks", "command", "invoke", *options]:
            given = dict(zip(options[::2], options[1::2], strict=True))
            return _invoke(stage, given)
        case _:
            return "the sweep does not know this command"


def _invoke(stage: Stage, given: dict[str, str]) -> str:
    with portal_of(stage.sim) as portal:
        cluster = portal.find(f"/managedClusters/{given['--name']}")
        answer = portal.call("POST", f"{cluster}/runCommand", {"command": given["--command"]})
        if answer.status_code == 202:
            stage.sim.control("POST", "advance", {"seconds": 60})
            answer = portal.http.get(answer.headers["Location"])
        code = dig(as_object(answer.json()), "properties", "exitCode")
        return "" if code == 0 else answer.text[:200]
