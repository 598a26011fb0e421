"""Pulumi's own parser takes every line of pulumi that is printed or shown."""

import os
import re
import subprocess
from itertools import takewhile
from pathlib import Path

import pytest

from tests.printed import Printed, of
from tools.provide import PULUMI, provide

pytestmark = pytest.mark.engine


def problem(pulumi: Path, line: Printed) -> str:
    """Why pulumi would not take the line; with ``--help`` it reads it and does nothing."""
    done = subprocess.run(
        [pulumi, *line.words[1:], "--help"],
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0:
        return done.stderr.strip() or done.stdout.strip()
    # A group of commands answers for one that it does not have.
    named = list(takewhile(lambda word: not word.startswith("-"), line.words[1:]))
    group = re.search(r"^  pulumi(.*) \[command\]$", done.stdout, re.MULTILINE)
    return "no such command" if group and len(named) > len(group[1].split()) else ""


def test_pulumi_takes_every_line_that_is_printed() -> None:
    pulumi = provide(PULUMI)
    lines = of("pulumi")
    assert lines
    assert {str(line): found for line in lines if (found := problem(pulumi, line))} == {}


@pytest.mark.parametrize("text", ["pulumi ups", "pulumi up --refrehs", "pulumi stack outputs x"])
def test_a_line_that_pulumi_does_not_take_is_found(text: str) -> None:
    assert problem(provide(PULUMI), Printed("here", tuple(text.split()), text))
