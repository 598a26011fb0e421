"""CHANGELOG.md and the version in pyproject.toml go together."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_newest_section_is_that_of_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    release, _, development = project["version"].partition(".dev")
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    expected = rf"Unreleased \({release}\)" if development else rf"{release} - \d{{4}}-\d\d-\d\d"
    assert re.fullmatch(expected, headings[0]), headings[0]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", one) for one in headings[1:])
