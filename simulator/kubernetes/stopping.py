"""The end of a Pyroscope's pod that writes to a bucket: it writes what it holds, and then is gone.

A graceful stop flushes every head and ships once more (``pkg/ingester``, ``pkg/phlaredb/shipper``),
for which the kubelet gives the grace period; until then the pod is there, with a deletion time
(Kubernetes' documentation, "Pod Lifecycle"). What it does not get written because its identity or
its role is gone by then is lost. Azure may let a token that was given before go on for a while;
that nothing says for how long is why here it does not.

A finalizer stands for the kubelet, so that a real API server keeps the pod as well.
"""

import time
from datetime import datetime
from typing import Final

from simulator import storage
from simulator.kubernetes import pods, pyroscope_server, state
from simulator.pyroscope.head import Storage, written_until
from simulator.pyroscope.limits import seconds_of
from simulator.values import JsonObject, as_number, as_object, as_text, dig, texts
from simulator.world import ClusterState, Operation, World

HANDLER: Final = "stopping"
FINALIZER: Final = "simulator/writes"
SECONDS: Final = 20.0
"""How long it writes, unless the world's setting ``flushSeconds`` says otherwise."""
_WRITERS: Final = "writers"
"""World setting: who each pod is to Storage, and what it writes to, by its uid."""
UNWRITTEN: Final = "unwritten"
"""World setting: by container, since when (Unix epoch) a server held what it could not write."""


class Stopping:
    """Lets pods that keep profiles end in their time."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.register(HANDLER, self._finish)

    def control(self, cluster_id: str, objects: ClusterState) -> None:
        """Hold the pods that will write, and let those go that are killed or have written."""
        for server in filter(pyroscope_server.is_pyroscope, objects.of_kind("StatefulSet")):
            if pyroscope_server.component_of(server) in pyroscope_server.KEEPERS:
                self._hold(cluster_id, objects, server)
        for pod in objects.of_kind("Pod"):
            if FINALIZER not in texts(dig(pod, "metadata", "finalizers")):
                continue
            if dig(pod, "metadata", "deletionTimestamp"):
                self._stop(cluster_id, objects, pod)

    def _hold(self, cluster_id: str, objects: ClusterState, server: JsonObject) -> None:
        config = pyroscope_server.config_of(objects, server)
        if dig(config, "storage", "backend") != "azure":
            return
        azure = as_object(dig(config, "storage", "azure"))
        block = as_text(dig(config, "pyroscopedb", "max_block_duration"), "1h")
        who = pyroscope_server.pod_of(cluster_id, objects, server)
        writer: JsonObject = {
            "serviceAccount": who.service_account,
            "asksForToken": who.asks_for_token,
            "clientId": who.client_id,
            "account": azure.get("account_name"),
            "container": azure.get("container_name"),
            "block": seconds_of(block) / 60,
        }
        for pod in objects.of_kind("Pod", state.namespace_of(server)):
            if pods.owner_of(pod).get("uid") != dig(server, "metadata", "uid"):
                continue
            if dig(pod, "metadata", "deletionTimestamp"):
                continue
            if objects.server_url and dig(pod, "metadata", "generation") is None:
                continue  # a real API server has yet to store it
            since = datetime.fromisoformat(as_text(dig(pod, "metadata", "creationTimestamp")))
            self._writers()[_uid(pod)] = {**writer, "since": since.timestamp()}
            if state.set_finalizer(objects, pod, FINALIZER, True):
                self._world.touch()

    def _stop(self, cluster_id: str, objects: ClusterState, pod: JsonObject) -> None:
        target = f"{cluster_id}/pods/{_uid(pod)}"
        if pods.was_killed(self._world, _uid(pod)):
            self._let_go(objects, pod)
        elif self._world.running(target) is None:
            said = self._world.settings.get("flushSeconds")
            seconds = SECONDS if said is None else as_number(said)
            self._world.start(HANDLER, "write", target, seconds)

    def _finish(self, operation: Operation) -> None:
        cluster_id, _, uid = operation.target.partition("/pods/")
        objects = self._world.clusters.get(cluster_id)
        if objects is None:
            return
        for pod in objects.of_kind("Pod"):
            if _uid(pod) == uid:
                writer = as_object(self._writers().get(uid))
                if self._refused(cluster_id, writer):
                    self._lose(pod, writer)
                self._let_go(objects, pod)

    def _lose(self, pod: JsonObject, writer: JsonObject) -> None:
        pods.kill(self._world, pod)
        kind = Storage("", bucket=True, block=as_number(writer.get("block")))
        minutes = as_number(writer.get("since")) / 60, time.time() / 60
        unwritten = as_object(self._world.settings.setdefault(UNWRITTEN, dict[str, object]()))
        key = f"{as_text(writer.get('account'))}/{as_text(writer.get('container'))}"
        unwritten[key] = 60 * written_until(kind, *minutes)

    def _refused(self, cluster_id: str, writer: JsonObject) -> str:
        who = storage.Pod(
            cluster_id=cluster_id,
            service_account=as_text(writer.get("serviceAccount")),
            asks_for_token=writer.get("asksForToken") is True,
            client_id=as_text(writer.get("clientId")),
        )
        account, container = as_text(writer.get("account")), as_text(writer.get("container"))
        return storage.refused(self._world, who, account, container)

    def _let_go(self, objects: ClusterState, pod: JsonObject) -> None:
        self._writers().pop(_uid(pod), None)
        state.set_finalizer(objects, pod, FINALIZER, False)
        self._world.touch()

    def _writers(self) -> JsonObject:
        return as_object(self._world.settings.setdefault(_WRITERS, dict[str, object]()))


def _uid(pod: JsonObject) -> str:
    return as_text(dig(pod, "metadata", "uid"))
