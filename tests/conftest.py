"""What all tests share."""

import os

from hypothesis import settings

pytest_plugins = ["tests.parts"]

settings.register_profile(
    "project",
    # How long an example takes depends on what else the machine does.
    deadline=None,
    # The gate judges the change at hand, so it draws the same examples every time; a run by hand
    # draws new ones and may find what nobody thought of.
    derandomize="CI" in os.environ,
)
settings.load_profile("project")
