"""The Azure CLI's own parser, asked without running anything.

``python -m tests.azure_cli`` writes what the commands take that are printed, for a machine without
the CLI (tests/unit/azure_cli_commands.json).
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.values import as_list, as_objects, as_text, texts
from tests.printed import Printed, an_id, of
from tools.provide import AZURE_CLI, provide

TABLE: Final = Path(__file__).with_name("unit") / "azure_cli_commands.json"

_OF_ALL: Final = {
    "--___SUBSCRIPTION",
    "--acquire-policy-token",
    "--change-reference",
    "--cmd",
    "--debug",
    "--help",
    "--only-show-errors",
    "--output",
    "--query",
    "--verbose",
}
"""What every command takes, or its makers only."""

_PROGRAM: Final = """
import contextlib, io, json, sys
from azure.cli.core import get_default_cli
from knack.events import EVENT_INVOKER_POST_PARSE_ARGS

class Parsed(Exception):
    pass

def stop(*_, **__):
    raise Parsed

cli = get_default_cli()
cli.register_event(EVENT_INVOKER_POST_PARSE_ARGS, stop)
answers = []
for words in json.load(sys.stdin):
    cli.invocation = cli.invocation_cls(
        cli_ctx=cli, commands_loader_cls=cli.commands_loader_cls,
        parser_cls=cli.parser_cls, help_cls=cli.help_cls)
    said, problem = io.StringIO(), ""
    with contextlib.redirect_stderr(said):
        try:
            cli.invocation.execute(words)
            problem = "it was run"
        except Parsed:
            pass
        except SystemExit:
            problem = said.getvalue().strip() or "refused"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    loader = cli.invocation.commands_loader
    parser = getattr(cli.invocation.parser, "subparser_map", {}).get(loader.command_name)
    actions = [one for one in parser._actions if one.option_strings] if parser else []
    answers.append({
        "problem": problem,
        "command": loader.command_name if parser else "",
        "options": [list(map(str, one.option_strings)) for one in actions],
        "required": [list(map(str, one.option_strings)) for one in actions if one.required],
    })
json.dump(answers, sys.stdout)
"""
"""Runs in the CLI's environment: its parser, stopped before a command would begin."""


@dataclass(frozen=True)
class Answer:
    """What the parser makes of one line."""

    problem: str
    command: str
    takes: dict[str, list[list[str]]]


def parsed(lines: Sequence[Printed]) -> list[Answer]:
    """What the parser makes of the lines, a word to fill in taken for what it stands for."""
    python = provide(AZURE_CLI).parent / "environment" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-Ic", _PROGRAM],
            input=json.dumps([_filled(line.words) for line in lines]),
            env={
                **os.environ,
                "AZURE_CONFIG_DIR": folder,
                "AZURE_CORE_COLLECT_TELEMETRY": "false",
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    answers = as_objects(json.loads(done.stdout))
    return [
        Answer(
            as_text(one["problem"]),
            as_text(one["command"]),
            {key: _options(one[key]) for key in ("options", "required")},
        )
        for one in answers
    ]


def _options(value: object) -> list[list[str]]:
    options = [sorted(texts(one), key=len, reverse=True) for one in as_list(value)]
    return sorted(one for one in options if not _OF_ALL & set(one))


def _filled(words: tuple[str, ...]) -> list[str]:
    filled = list(words[1:])
    for at, word in enumerate(filled[:-1]):
        if word == "--ids" and not filled[at + 1].startswith("/"):
            filled[at + 1] = an_id(words)
    return filled


def table() -> str:
    """What the commands take, as the file has it."""
    commands = {one.command: one.takes for one in parsed(of("az")) if one.command}
    return (
        json.dumps(dict(sorted(commands.items())), separators=(",", ":")).replace('},"', '},\n"')
        + "\n"
    )


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
