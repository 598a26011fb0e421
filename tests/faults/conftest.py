"""The stage that the tests of the sweep share: one a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.stage import Stage, opened


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, warm_python: Path) -> Iterator[Stage]:
    with opened(tmp_path_factory.mktemp("stage"), warm_python) as found:
        yield found
