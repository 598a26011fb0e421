"""When a signal counts as recorded, on a world whose signals the test switches on and off."""

import time
from pathlib import Path

import pytest

from simulator.prometheus.exporters import Node
from simulator.pyroscope import recordings
from simulator.pyroscope.recordings import Recorder
from simulator.pyroscope.store import ProfileStore
from simulator.values import JsonObject
from simulator.world import ClusterState, Resource, World

CLUSTER = "/subscriptions/s/resourcegroups/g/providers/x/managedclusters/aks"
WORKSPACE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Monitor/accounts/amw"
ON_DISK: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {
        "name": "pyroscope",
        "namespace": "gadget",
        "labels": {"app.kubernetes.io/name": "pyroscope"},
    },
    "spec": {
        "template": {"spec": {"containers": [{"name": "pyroscope", "image": "x:1.15.0"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    },
}


class SwitchedWorld(World):
    """A world with one cluster and one workspace whose signals are switches."""

    def __init__(self) -> None:
        super().__init__()
        self.profiles = self.metrics = self.answers = True
        self.agent = "0.54.1"
        self.exporter = "dcgm-a"
        self.clusters[CLUSTER] = ClusterState()
        self.put(Resource(WORKSPACE, "Microsoft.Monitor/accounts", {}))

    def settle(self, **switches: object) -> None:
        """Set switches and let the controllers see it."""
        for name, value in switches.items():
            setattr(self, name, value)
        self.touch()
        self.advance()


class Switches:
    """:mod:`simulator.signals`, as far as recording asks it, on such a world."""

    @staticmethod
    def ready_pyroscope(world: SwitchedWorld, cluster_id: str) -> object:
        return "a server" if world.answers else None

    @staticmethod
    def profiles_missing(world: SwitchedWorld, cluster_id: str) -> str:
        return "" if world.profiles and world.answers else "switched off"

    @staticmethod
    def metrics_missing(world: SwitchedWorld, cluster_id: str, workspace_id: str) -> str:
        return "" if world.metrics else "switched off"

    @staticmethod
    def gpu_nodes(world: SwitchedWorld, cluster_id: str) -> tuple[Node, ...]:
        return (Node("gpu-0", 1, "gadget-a", world.exporter),)

    @staticmethod
    def agent_version(world: SwitchedWorld, cluster_id: str) -> str:
        return world.agent

    @staticmethod
    def server_version(world: SwitchedWorld, cluster_id: str) -> str:
        return "1.15.0"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> SwitchedWorld:
    monkeypatch.setattr(recordings, "signals", Switches)
    made = SwitchedWorld()
    Recorder(made).watch()
    made.settle(profiles=False, metrics=False)
    return made


def test_nothing_is_recorded_before_a_signal_flows(world: SwitchedWorld) -> None:
    assert Recorder(world).profiles(CLUSTER) == []
    assert list(Recorder(world).metrics(WORKSPACE)) == []


def test_a_recording_begins_now_and_goes_on_while_the_signal_flows(world: SwitchedWorld) -> None:
    before = time.time()
    world.settle(profiles=True)
    world.settle()
    (recording,) = Recorder(world).profiles(CLUSTER)
    assert before - 0.001 <= recording.start <= time.time()
    assert recording.end is None
    assert recording.origin == recording.start
    assert recording.service_name == "inspektor-gadget"


def test_a_signal_that_ceases_leaves_what_was_recorded(world: SwitchedWorld) -> None:
    world.settle(profiles=True)
    world.settle(profiles=False)
    (recording,) = Recorder(world).profiles(CLUSTER)
    assert recording.end is not None
    assert list(ProfileStore([recording]).read(0, 2**62))


def test_a_signal_that_comes_back_does_not_allocate_anew(world: SwitchedWorld) -> None:
    world.settle(profiles=True)
    once = len(list(ProfileStore(Recorder(world).profiles(CLUSTER)).read(0, 2**62)))
    time.sleep(0.002)  # the second interval begins later than the workloads started
    world.settle(profiles=False)
    time.sleep(0.002)
    world.settle(profiles=True)
    first, second = Recorder(world).profiles(CLUSTER)
    assert second.origin == first.origin < second.start
    assert len(list(ProfileStore([first, second]).read(0, 2**62))) == once


def test_another_agent_begins_another_recording_of_its_own_type(world: SwitchedWorld) -> None:
    world.settle(profiles=True, agent="0.53.0")
    world.settle(agent="0.54.1")
    old, new = Recorder(world).profiles(CLUSTER)
    assert old.profile_type == "process_cpu:malloc:bytes::"
    assert old.end == new.start
    assert new.profile_type == "process_cpu:malloc:bytes:process_cuda:bytes"


def test_a_server_that_keeps_profiles_in_memory_loses_them_when_it_goes(
    world: SwitchedWorld,
) -> None:
    world.settle(profiles=True)
    world.settle(answers=False)
    assert Recorder(world).profiles(CLUSTER) == []
    world.settle(answers=True)
    (recording,) = Recorder(world).profiles(CLUSTER)
    assert recording.origin == recording.start, "the workloads are started again to be seen"


def test_a_server_with_a_disk_comes_back_with_its_profiles(world: SwitchedWorld) -> None:
    world.clusters[CLUSTER].objects["pyroscope"] = ON_DISK
    world.settle(profiles=True)
    world.settle(answers=False)
    world.settle(answers=True)
    first, second = Recorder(world).profiles(CLUSTER)
    assert first.end is not None
    assert second.origin == first.origin


def test_metrics_stay_in_the_workspace_when_the_cluster_is_gone(world: SwitchedWorld) -> None:
    world.settle(metrics=True, profiles=True)
    del world.clusters[CLUSTER]
    world.settle()
    ((cluster_id, recording),) = Recorder(world).metrics(WORKSPACE)
    assert cluster_id == CLUSTER
    assert recording.end is not None
    assert Recorder(world).profiles(CLUSTER) == []


def test_an_exporter_that_goes_ends_a_recording_and_what_it_said_stays(
    world: SwitchedWorld,
) -> None:
    world.settle(metrics=True)
    world.settle(exporter="")
    (_, before), (_, after) = Recorder(world).metrics(WORKSPACE)
    assert before.end == after.start
    assert before.origin == after.origin
    assert [one.exporter for one in (*before.nodes, *after.nodes)] == ["dcgm-a", ""]


def test_metrics_go_with_their_workspace(world: SwitchedWorld) -> None:
    world.settle(metrics=True)
    workspace = world.resources[WORKSPACE.lower()]
    world.drop(WORKSPACE)
    world.settle()
    world.put(workspace)
    world.settle(metrics=False)
    assert list(Recorder(world).metrics(WORKSPACE)) == []


def test_recordings_are_kept_with_the_world(world: SwitchedWorld, tmp_path: Path) -> None:
    world.settle(profiles=True)
    world.save(tmp_path / "world.json")
    restored = World.load(tmp_path / "world.json", 0)
    assert Recorder(restored).profiles(CLUSTER) == Recorder(world).profiles(CLUSTER)
