"""Exactly the rights of the README, and each of them taken away: on the real engine, one by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import rights
from tests.faults.stage import Stage, opened
from tests.faults.sweep import cases_of

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, warm_python: Path) -> Iterator[Stage]:
    with opened(tmp_path_factory.mktemp("stage"), warm_python) as found:
        yield found


@pytest.mark.parametrize("case", cases_of("rights"))
def test_what_the_readme_lists_is_enough_and_one_less_is_named_in_time(
    stage: Stage, case: str
) -> None:
    result = rights.run(stage, case)
    assert result.ok, (result.why, result.saw)
