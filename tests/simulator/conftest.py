"""Fixtures of the simulator's own tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.azure import Azure, azure_on


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azure]:
    """One simulator for the session; a test gets it as new through ``azure``."""
    home: Path = tmp_path_factory.mktemp("simulator")
    with azure_on(home) as azure:
        yield azure


@pytest.fixture
def azure(shared_server: Azure) -> Azure:
    """A simulated Azure with nothing deployed, at zero latency."""
    shared_server.reset()
    return shared_server
