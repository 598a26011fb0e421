"""Fixtures: the real pulumi, the real kubernetes provider, and real API servers."""

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from simulator import home as homes
from simulator.session import Options
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import Cluster


def stack_files(folder: Path) -> Path:
    """Copies of the shipped stack files, to be changed by tests."""
    copies = folder / "stacks"
    copies.mkdir(parents=True)
    for file in sorted(homes.CHECKOUT.glob("Pulumi.*.yaml")):
        shutil.copy(file, copies)
    return copies


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, python: Path | None) -> Generator[Simulation]:
    """A simulated Azure whose clusters are real, shared by the tests of a module, at latency 0."""
    folder = tmp_path_factory.mktemp("real")
    home = homes.Home(folder / "home")
    options = Options(
        latency=0.0,
        installed_plugins=False,
        real_kubernetes=True,
        python=python,
        stack_files=stack_files(folder),
    )
    simulation = Simulation(home, options)
    try:
        yield simulation
    finally:
        homes.stop(home)


@pytest.fixture(scope="module")
def cluster(real: Simulation) -> Cluster:
    """The API server of ``aks-dev``."""
    return Cluster(real.home.path)


@pytest.fixture(scope="module")
def program_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder for a program of the test's own (:meth:`Simulation.of_program`)."""
    return tmp_path_factory.mktemp("program")
