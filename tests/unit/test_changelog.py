"""CHANGELOG.md and the version go together."""

import re
from pathlib import Path

from gpuobs import VERSION

ROOT = Path(__file__).parents[2]


def test_the_newest_section_is_that_of_the_version() -> None:
    release, _, development = VERSION.partition(".dev")
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    expected = rf"Unreleased \({release}\)" if development else rf"{release} - \d{{4}}-\d\d-\d\d"
    assert re.fullmatch(expected, headings[0]), headings[0]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", one) for one in headings[1:])
