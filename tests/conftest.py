"""What all tests share."""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import warm

# A shell starts what runs in the background with SIGINT ignored, and so would be every process that
# a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.parts"]

settings.register_profile(
    "project",
    # How long an example takes depends on what else the machine does.
    deadline=None,
    # The gate checks the change at hand, so it draws the same examples every time; a run by hand
    # draws new ones and may find what nobody thought of.
    derandomize="CI" in os.environ,
)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest first, so that no worker is left alone with one at the end."""
    ranks: dict[Path, int] = {}
    for item in items:
        rank = sum(item.get_closest_marker(slow) is not None for slow in ("kubernetes", "engine"))
        ranks[item.path] = max(rank, ranks.get(item.path, 0))
    items.sort(key=lambda item: -ranks[item.path])


def pytest_collection_finish() -> None:
    """What is imported stays until the end: looking through it again and again for garbage takes
    a quarter of the unit tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def warm_python() -> Iterator[Path]:
    """See :mod:`tests.warm`."""
    # Not pytest's own folders: the path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder, warm.interpreter(Path(folder)) as python:
        yield python


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest) -> Path | None:
    """What starts plugins and programs; None, as for users, in modules marked ``as_shipped``."""
    if request.node.get_closest_marker("as_shipped") is not None:
        return None
    return request.getfixturevalue("warm_python")
