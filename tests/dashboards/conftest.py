"""What the scenarios share."""

from pathlib import Path

import pytest

from tests.dashboards.scenarios import Check, check_in


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Evaluates a panel's query on series and compares everything that it answers."""
    return check_in(tmp_path)
