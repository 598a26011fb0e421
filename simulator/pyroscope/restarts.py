"""What a cluster's Pyroscope no longer has since its pod ended.

A pod that is stopped in order writes and ships everything; one that is killed leaves what it had
written before (:mod:`simulator.pyroscope.head`); one without disk and bucket leaves nothing. A pod
is killed by a deletion with a grace period of 0 (``kubectl delete pod --force --grace-period=0``).
The API server deletes a pod that no node runs in no other way, so on a real one, where all pods of
the simulated controllers are such, every end counts as in order.

Kept as JSON in ``world.settings["pyroscopePods"]``: the pod of each cluster, by the cluster's id.
"""

import math
from collections.abc import Iterator
from typing import Final

from simulator.kubernetes import pods, pyroscope_server, state
from simulator.pyroscope.head import Storage, written_until
from simulator.pyroscope.limits import seconds_of
from simulator.values import JsonObject, as_number, as_object, as_objects, as_text, dig
from simulator.world import World

_STORED_UNDER: Final = "pyroscopePods"


class Restarts:
    """Watches the pods of a world's Pyroscope servers."""

    def __init__(self, world: World) -> None:
        self._world = world

    def kept_until(self, cluster_id: str, now: float) -> float:
        """Up to when profiles are kept, in seconds of the Unix epoch; infinity: nothing is lost.

        The next pod of a server tells that the one before has ended. ``now``: in such seconds, too.
        """
        before = as_object(self._pods().get(cluster_id))
        found = self._pod(cluster_id)
        if found is None or found.get("uid") == before.get("uid"):
            return math.inf
        self._pods()[cluster_id] = {**found, "since": now}
        return self._left(before, now) if before else math.inf

    def _left(self, pod: JsonObject, now: float) -> float:
        storage = Storage(
            "", pod.get("disk") is True, pod.get("bucket") is True, as_number(pod.get("block"))
        )
        if pods.was_killed(self._world, as_text(pod.get("uid"))):
            return 60 * written_until(storage, as_number(pod.get("since")) / 60, now / 60)
        return math.inf if storage.disk or storage.bucket else -math.inf

    def _pod(self, cluster_id: str) -> JsonObject | None:
        """The first pod of the cluster's Pyroscope, and what it writes to."""
        objects = self._world.clusters[cluster_id]
        for pod, server in self._servers(cluster_id):
            if objects.server_url and dig(pod, "metadata", "generation") is None:
                continue  # a real API server has yet to store it, and gives it another uid
            config = pyroscope_server.config_of(objects, server)
            volumes = as_objects(dig(pod, "spec", "volumes"))
            block = as_text(dig(config, "pyroscopedb", "max_block_duration"), "1h")
            return {
                "uid": as_text(dig(pod, "metadata", "uid")),
                "disk": any("persistentVolumeClaim" in volume for volume in volumes),
                "bucket": dig(config, "storage", "backend") == "azure",
                "block": seconds_of(block) / 60,
            }
        return None

    def _servers(self, cluster_id: str) -> Iterator[tuple[JsonObject, JsonObject]]:
        objects = self._world.clusters[cluster_id]
        for server in filter(pyroscope_server.is_pyroscope, objects.of_kind("StatefulSet")):
            for pod in objects.of_kind("Pod", state.namespace_of(server)):
                if pods.owner_of(pod).get("uid") == dig(server, "metadata", "uid"):
                    yield pod, server

    def _pods(self) -> JsonObject:
        return as_object(self._world.settings.setdefault(_STORED_UNDER, dict[str, object]()))
