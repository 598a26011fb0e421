"""Property tests are not limited by the clock: other work shares the machine they run on.

Tests in the browser share one, which takes as long to start as several of them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.flamegraphs.browser import Page, browser
from tests.flamegraphs.pages import STACKS, open_page, page_of

settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def page(chromium: Page, tmp_path: Path) -> Iterator[Page]:
    """The page of `STACKS`, with native code shown as it was recorded."""
    yield open_page(chromium, tmp_path, page_of(STACKS), "native=shown")
    assert chromium.errors == []
