"""When the workloads were observed: the intervals in which a signal flowed.

A controller of the world notes the real time at which profiles begin and cease to flow from a
cluster to its Pyroscope, and metrics to an Azure Monitor workspace. Data exist for these intervals
only; of profiles, what a server had not written is gone when its pod ends. The dates of stored data
are real ones, like all dates in answers, so clients find them with their own clock.

Kept as JSON in ``world.settings["recordings"]``: a list of intervals under each signal's key.
"""

import math
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from simulator import signals
from simulator.kubernetes.pyroscope_server import is_pyroscope
from simulator.prometheus.exporters import Node
from simulator.pyroscope.buckets import Buckets
from simulator.pyroscope.restarts import Restarts
from simulator.values import (
    JsonObject,
    as_integer,
    as_list,
    as_number,
    as_object,
    as_objects,
    as_text,
    dig,
)
from simulator.world import World

_STORED_UNDER = "recordings"
_PROFILES = "profiles of "
_METRICS = " to "
_STARTED = "jobs"
_INSTANT = 0.001
"""Seconds; times are whole milliseconds."""


@dataclass(frozen=True)
class Recording:
    """One interval of observation, in seconds of the Unix epoch."""

    origin: float
    """When the workloads started, whose times count from here."""
    start: float
    end: float | None
    """None: it goes on."""
    profile_type: str = ""
    service_name: str = ""
    nodes: tuple[Node, ...] = ()
    """Of metrics: the nodes with GPUs."""

    def until(self, now: float) -> float:
        """When it ended, or ``now``."""
        return now if self.end is None else self.end


class Recorder:
    """Keeps the recordings of a world; :meth:`watch` makes it follow the world's changes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._buckets = Buckets(world)
        self._restarts = Restarts(world)

    def watch(self) -> None:
        """Note what flows after every change of the world."""
        self._world.control(self._note)

    def profiles(self, cluster_id: str) -> list[Recording]:
        """The recordings of a cluster's profiles, oldest first."""
        return self._read(_profiles_key(cluster_id))

    def metrics(self, workspace_id: str) -> Iterator[tuple[str, Recording]]:
        """The recordings of metrics in a workspace with their clusters, oldest of each first."""
        end = _metrics_key("", workspace_id)
        for key in self._stored():
            if key.endswith(end):
                cluster_id = key.removesuffix(end)
                yield from ((cluster_id, recording) for recording in self._read(key))

    def _note(self) -> None:
        world = self._world
        for intervals, until in self._buckets.unwritten():
            for one in intervals:
                end = max(as_number(one["start"]), min(as_number(one["end"]), until))
                one["end"] = end - _INSTANT
        flowing: dict[str, JsonObject] = {}
        answering: set[str] = set()
        for cluster_id in world.clusters:
            self._shorten(
                _profiles_key(cluster_id), self._restarts.kept_until(cluster_id, self._real_time())
            )
            if signals.ready_pyroscope(world, cluster_id) is not None:
                answering.add(_profiles_key(cluster_id))
                self._take_up(cluster_id)
                if not signals.profiles_missing(world, cluster_id):
                    flowing[_profiles_key(cluster_id)] = self._kind(cluster_id)
            for workspace in world.of_type("Microsoft.Monitor/accounts"):
                if not signals.metrics_missing(world, cluster_id, workspace.id):
                    nodes = [asdict(node) for node in signals.gpu_nodes(world, cluster_id)]
                    flowing[_metrics_key(cluster_id, workspace.id)] = {"nodes": nodes}
        stored = self._stored()
        for key in {*stored, *flowing}:
            if key in answering or self._is_kept(key):
                self._follow(key, flowing.get(key))
            else:
                self._lose(key)

    def _take_up(self, cluster_id: str) -> None:
        """What a server that is up finds in its container."""
        found = self._buckets.attach(cluster_id)
        if found:
            self._stored().setdefault(_profiles_key(cluster_id), found)

    def _lose(self, key: str) -> None:
        """What is gone with its server, but for what is in a container."""
        self._follow(key, None)
        intervals = as_objects(self._stored().pop(key, None))
        if key.startswith(_PROFILES):
            self._buckets.leave(key.removeprefix(_PROFILES), intervals)

    def _shorten(self, key: str, until: float) -> None:
        """End what was recorded just before ``until``.

        When the workloads started stays known: where all is lost, by an interval that ends before
        it begins.
        """
        intervals = as_objects(self._stored().get(key))
        if not intervals or until == math.inf:
            return
        self._follow(key, None)
        kept = [one for one in intervals if as_number(one["start"]) < until] or intervals[:1]
        last = kept[-1]
        last["end"] = max(as_number(last["start"]), min(as_number(last["end"]), until)) - _INSTANT
        self._stored()[key] = kept

    def _is_kept(self, key: str) -> bool:
        """Whether what was recorded still is somewhere though its server may be down."""
        if key.startswith(_PROFILES):
            return self._on_disk(key.removeprefix(_PROFILES))
        return self._world.get(key.partition(_METRICS)[2]) is not None

    def _on_disk(self, cluster_id: str) -> bool:
        """Whether a Pyroscope that is down comes back with its profiles."""
        cluster = self._world.clusters.get(cluster_id)
        return cluster is not None and any(
            is_pyroscope(workload) and as_list(dig(workload, "spec", "volumeClaimTemplates"))
            for workload in cluster.of_kind("StatefulSet")
        )

    def _kind(self, cluster_id: str) -> JsonObject:
        agent = _version(signals.agent_version(self._world, cluster_id))
        server = _version(signals.server_version(self._world, cluster_id))
        return {
            "profileType": profile_type(agent, server),
            "serviceName": "inspektor-gadget" if agent >= (0, 54) else "unknown_service",
            **self._started(cluster_id),
        }

    def _started(self, cluster_id: str) -> JsonObject:
        """Which Jobs there are: one that is new is a workload that starts."""
        jobs = self._world.clusters[cluster_id].of_kind("Job")
        uids = sorted(as_text(dig(job, "metadata", "uid")) for job in jobs)
        return {_STARTED: uids} if uids else {}

    def _follow(self, key: str, kind: JsonObject | None) -> None:
        """Continue the last interval if it is of ``kind``, else end it and begin one."""
        intervals = as_objects(self._stored().get(key))
        last = intervals[-1] if intervals and intervals[-1].get("end") is None else None
        if last is not None and kind is not None and kind.items() <= last.items():
            return
        if last is not None:
            last["end"] = self._real_time()
        if kind is not None:
            begin = self._real_time()
            # What is recorded already is not allocated again: the workloads run on, unless somebody
            # has started them again.
            runs_on = intervals and intervals[-1].get(_STARTED) == kind.get(_STARTED)
            origin = intervals[-1]["origin"] if runs_on else begin
            intervals.append({"origin": origin, "start": begin, "end": None, **kind})
        if intervals:
            self._stored()[key] = intervals

    def _real_time(self) -> float:
        """The real time of what the world is doing now, which may be due for a while already.

        In whole milliseconds, as clients ask for data: a query up to now includes this instant.
        """
        clock = self._world.clock
        ago = max(0.0, clock.now() - self._world.now) * clock.factor
        return math.floor((time.time() - ago) * 1000) / 1000

    def _stored(self) -> JsonObject:
        return as_object(self._world.settings.setdefault(_STORED_UNDER, dict[str, object]()))

    def _read(self, key: str) -> list[Recording]:
        return [
            Recording(
                as_number(item.get("origin")),
                as_number(item.get("start")),
                None if item.get("end") is None else as_number(item.get("end")),
                as_text(item.get("profileType")),
                as_text(item.get("serviceName")),
                tuple(
                    Node(
                        as_text(node.get("name")),
                        as_integer(node.get("gpus")),
                        as_text(node.get("agent")),
                        as_text(node.get("exporter")),
                    )
                    for node in as_objects(item.get("nodes"))
                ),
            )
            for item in as_objects(self._stored().get(key))
        ]


def profile_type(agent: tuple[int, ...], server: tuple[int, ...]) -> str:
    """The id of the type that an agent's GPU profiles have on a server, by their versions.

    Agents before 0.54 send no period type; servers since 1.16 use it as the name of the profile.
    """
    if agent < (0, 54):
        return "process_cpu:malloc:bytes::"
    name = "process_cuda" if server >= (1, 16) else "process_cpu"
    return f"{name}:malloc:bytes:process_cuda:bytes"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _profiles_key(cluster_id: str) -> str:
    return f"{_PROFILES}{cluster_id.lower()}"


def _metrics_key(cluster_id: str, workspace_id: str) -> str:
    return f"{cluster_id.lower()}{_METRICS}{workspace_id.lower()}"
