"""Every command line that is printed or documented is complete: the real parser takes it."""

import argparse
import ast
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from contract.messages.base import Verb as Operation
from gpuobs import cli
from operations.__main__ import parser as operations_parser
from tests.rooms import PRODUCT

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

OURS = re.compile(r"python3? -m [a-z_.]+\b[^`\n|;#>&]*")
OPERATION = re.compile(r"sh operations/run\b[^`\n|;#>&]*")
SHORT = re.compile(rf"(?<![-.\w/] )\bgpuobs (?:{'|'.join(verb.name for verb in cli.VERBS)})\b")
A_PLACEHOLDER = re.compile(r"VERB|<verb|\.\.\.$")
OTHERS = {"pytest", "venv"}
"""Modules that are not ours."""


def commands_of_a_page(page: Path) -> Iterator[str]:
    """The commands in its code blocks, and those between backticks."""
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside and not line.startswith("usage:"):
            yield from commands_in(line)
        elif not inside:
            for code in re.findall(r"`([^`]*)`", line):
                yield from commands_in(code)


def commands_in(text: str) -> Iterator[str]:
    yield from OURS.findall(text)
    yield from OPERATION.findall(text)


def texts(room: str) -> Iterator[str]:
    """The strings of a room's modules; a value in an f-string reads ``x``."""
    for file in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "x"
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def refused(commands: Iterator[str]) -> list[str]:
    """The commands that cannot be run as they stand."""
    return [
        command
        for command in commands
        if not A_PLACEHOLDER.search(command.strip()) and not is_taken(command)
    ]


def is_taken(command: str) -> bool:
    words = shlex.split(command.strip().rstrip(".,:)"))
    if words[0] == "sh":
        return parses(operations_parser(), words[2:])
    module, arguments = words[2], words[3:]
    if module == "gpuobs":
        return not arguments or parses(cli.parser(), arguments)
    # The other entries have a parser each; what they are shown with is for this project's makers.
    return module in OTHERS or find_spec(module) is not None


def parses(parser: argparse.ArgumentParser, arguments: list[str]) -> bool:
    try:
        parser.parse_args(arguments)
    except SystemExit as left:
        return left.code == 0
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_is_one_that_the_parser_takes(page: Path) -> None:
    assert refused(commands_of_a_page(page)) == []


@pytest.mark.parametrize("room", PRODUCT)
def test_every_command_in_a_message_is_one_that_the_parser_takes(room: str) -> None:
    assert refused(found for text in texts(room) for found in OURS.findall(text)) == []


def test_the_example_of_every_operation_is_one_that_the_parser_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for operation in Operation:
        with pytest.raises(SystemExit):
            operations_parser().parse_args([operation, "--help"])
        _, _, example = capsys.readouterr().out.partition("Example:")
        assert refused(iter(OPERATION.findall(example))) == []
        assert f"sh operations/run {operation}" in example


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_shows_the_command_as_it_runs_without_an_installation(page: Path) -> None:
    assert SHORT.findall(page.read_text(encoding="utf-8")) == []


def test_the_profile_reader_and_the_dashboard_are_shown_as_verbs_of_the_one_command() -> None:
    pages = [page for page in PAGES if "maintainers" not in page.parts]
    shown = {command.split()[2] for page in pages for command in commands_of_a_page(page)}
    assert "gpuobs" in shown
    others = re.compile(r"python3? -m (?:flamegraphs|dashboards|operations) [a-z@-]")
    assert [page.name for page in pages if others.search(page.read_text())] == []


def test_a_command_that_is_not_complete_is_found() -> None:
    wrong = ["python -m gpuobs chekc", "python -m gpuobs diff a", "sh operations/run chek"]
    assert refused(iter(wrong)) == wrong
    right = ["python -m gpuobs diff a b  ", "sh operations/run check-signal --wait 300)"]
    assert refused(iter(right)) == []
    assert SHORT.search("run `gpuobs check --stack dev`")
    assert not SHORT.search("run `python -m gpuobs check --stack dev`")
