"""What Grafana still shows when Pyroscope's pod ended after some 40 minutes."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from simulator.pyroscope.head import Storage, written_until
from simulator.values import JsonObject, as_number, as_object, dig
from tests.simulator.planted import make_older
from tests.simulator.procedure import CLUSTER_NAME, Deployed, Procedure, deployed

DISK: Final[JsonObject] = {"persistence": {"enabled": True, "size": "10Gi"}}
SHORT: Final[JsonObject] = {
    **DISK,
    "structuredConfig": {"pyroscopedb": {"max_block_duration": "15m"}},
}
MINUTES: Final = 41.5
"""The notebook allocated half a minute before."""


@contextmanager
def long_running(home: Path, pyroscope: JsonObject) -> Generator[Deployed]:
    """A server that has been up for so long, and with it the workloads."""
    with deployed(home, pyroscope=pyroscope) as found:
        world = as_object(found.azure.control("GET", "world"))
        make_older(world, 60 * MINUTES)
        found.azure.control("POST", "world", world)
        yield found


def up_since(found: Deployed) -> float:
    """When Pyroscope's pod started, in seconds of the Unix epoch."""
    (pod,) = as_object(
        dig(found.azure.control("GET", "world"), "settings", "pyroscopePods")
    ).values()
    return as_number(as_object(pod)["since"])


def shown(found: Deployed, start: float, end: float) -> int:
    """The bytes that Pyroscope has between two instants, in seconds of the Unix epoch."""
    return found.azure.profiled_bytes(CLUSTER_NAME, int(start * 1000), int(end * 1000))


def test_without_a_disk_nothing_is_shown_after_any_end_of_the_pod(tmp_path: Path) -> None:
    with long_running(tmp_path, {}) as found:
        now = time.time()
        assert shown(found, now - 3600, now) > 0
        Procedure(found.azure).end_pod(kill=False)
        assert shown(found, now - 3600, now) == 0


def test_with_a_disk_everything_is_shown_after_a_regular_end(tmp_path: Path) -> None:
    with long_running(tmp_path, DISK) as found:
        now = time.time()
        before = shown(found, now - 3600, now)
        Procedure(found.azure).end_pod(kill=False)
        assert shown(found, now - 3600, now) == before > 0


@pytest.mark.parametrize(("values", "block"), [(DISK, 60.0), (SHORT, 15.0)], ids=["1h", "15m"])
def test_with_a_disk_what_is_shown_after_a_kill_ends_where_it_was_written(
    values: JsonObject, block: float, tmp_path: Path
) -> None:
    with long_running(tmp_path, values) as found:
        now = time.time()
        storage = Storage("", disk=True, block=block)
        written = 60 * written_until(storage, up_since(found) / 60, now / 60)
        kept, before = shown(found, now - 3600, written - 0.001), shown(found, now - 3600, now)
        Procedure(found.azure).end_pod(kill=True)
        assert shown(found, now - 3600, now) == pytest.approx(kept, rel=0.05)
        assert kept < before


@pytest.mark.parametrize(
    ("storage", "started", "killed", "until"),
    [
        (Storage("", disk=True), 10, 55, 10),  # its first hour is not over
        (Storage("", disk=True), 10, 69, 10),  # over, but not idle for five minutes at the look
        (Storage("", disk=True), 10, 70, 60),
        (Storage("", disk=True), 10, 139, 120),
        (Storage("", disk=True, block=15), 10, 50, 45),
        (Storage("", bucket=True), 10, 74, 60),
        (Storage("", bucket=True), 12, 71, 12),  # written by no look before the last round
        (Storage(""), 10, 500, float("-inf")),
    ],
)
def test_a_killed_server_had_written_what_ended_five_minutes_before_its_last_look(
    storage: Storage, started: float, killed: float, until: float
) -> None:
    assert written_until(storage, started, killed) == until


def test_a_server_that_came_back_records_what_the_workloads_do_from_then_on(
    tmp_path: Path,
) -> None:
    """Not their start once more: the workloads run on."""
    with long_running(tmp_path, {}) as found:
        before = shown(found, time.time() - 3600, time.time())
        Procedure(found.azure).end_pod(kill=True)
        world = as_object(found.azure.control("GET", "world"))
        make_older(world, 60)
        found.azure.control("POST", "world", world)
        assert 0 < shown(found, time.time() - 3600, time.time()) < before / 10
