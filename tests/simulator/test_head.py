"""What a killed Pyroscope loses: the model's table, the page's, and the settings' own numbers."""

from pathlib import Path

import pytest

from infra.settings import loss as said
from simulator.pyroscope.head import KINDS, Storage, loss
from tests.bench.loss_window import table

PAGE = Path(__file__).parents[2] / "docs/users/operating.md"


def test_the_page_shows_the_models_table() -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("block", said.BLOCKS)
def test_the_settings_promise_what_the_model_finds(block: int) -> None:
    found = loss(Storage("", disk=True, bucket=True, block=float(block)))
    assert found.killed == said.lost_with_the_pod(block)
    assert found.disk_lost == said.lost_with_the_disk(block)


def test_a_regular_stop_loses_nothing_that_has_a_disk() -> None:
    assert [loss(kind).stopped for kind in KINDS] == [None, 0, 0, 0]
