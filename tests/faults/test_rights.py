"""Exactly the rights of the README, and each of them taken away: on the real engine, one by one."""

import pytest

from tests.faults import rights
from tests.faults.stage import Stage
from tests.faults.sweep import cases_of

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("case", cases_of("rights"))
def test_what_the_readme_lists_is_enough_and_one_less_is_named_in_time(
    stage: Stage, case: str
) -> None:
    result = rights.run(stage, case)
    assert result.ok, (result.why, result.saw)
