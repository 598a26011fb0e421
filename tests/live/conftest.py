"""Fixtures: a simulated Azure of the module's own, for the checks and for ``scripts/live``."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import home as homes
from simulator.session import Options
from tests.engine.simulation import Simulation


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory, python: Path | None) -> Iterator[Simulation]:
    """A simulated Azure at latency 0, without stacks of its own."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "stacks").mkdir()
    options = Options(
        latency=0.0, installed_plugins=False, python=python, stack_files=folder / "stacks"
    )
    simulation = Simulation(homes.Home(folder / "home"), options)
    try:
        yield simulation
    finally:
        homes.stop(simulation.home)


@pytest.fixture(scope="module")
def inside(sim: Simulation) -> Iterator[Path]:
    """The tests of the module run in the environment of its session; a folder to work in.

    Whatever names a real Azure is taken away: a test cannot reach one.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(sim.environment) - {"PYTEST_CURRENT_TEST"}:
            patch.delenv(name)
        for name, value in sim.environment.items():
            patch.setenv(name, value)
        yield sim.home.path.parent
