"""Fixtures of the engine tests: the real pulumi on a simulated Azure of the module's own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import home as homes
from simulator.session import Options
from tests.engine.portal import Portal, portal_of
from tests.engine.simulation import Simulation


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory, python: Path | None) -> Iterator[Simulation]:
    """A simulated Azure and its stacks, shared by the tests of a module, at latency 0."""
    folder = tmp_path_factory.mktemp("sim")
    stack_files = folder / "stacks"
    stack_files.mkdir()
    for file in sorted(homes.CHECKOUT.glob("Pulumi.*.yaml")):
        shutil.copy(file, stack_files)
    home = homes.Home(folder / "home")
    # The plugins are pinned, so that the same test means the same on every machine.
    options = Options(latency=0.0, installed_plugins=False, python=python, stack_files=stack_files)
    simulation = Simulation(home, options)
    try:
        yield simulation
    finally:
        homes.stop(home)


@pytest.fixture(scope="module")
def person(sim: Simulation) -> Iterator[Portal]:
    """Somebody who changes things by hand in that Azure, as in its portal and in Grafana."""
    with portal_of(sim) as portal:
        yield portal


@pytest.fixture(scope="module")
def program_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder for a program of the test's own (:meth:`Simulation.of_program`)."""
    return tmp_path_factory.mktemp("program")
