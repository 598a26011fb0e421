"""Profiles in Azure Blob Storage, which outlive the server that wrote them.

A graceful stop writes every head and ships it (``pkg/ingester``, ``pkg/phlaredb/shipper``), so that
a server that is removed leaves all it recorded in its container, and one that is given that
container later shows it. Kept as JSON in ``world.settings["buckets"]``: intervals of observation by
the container's ARM id, and which container the server of a cluster had.
"""

from collections.abc import Iterator
from typing import Final

from simulator import signals, storage
from simulator.arm.types.storage import ACCOUNTS
from simulator.kubernetes.pyroscope_server import Server
from simulator.kubernetes.stopping import UNWRITTEN
from simulator.values import (
    JsonObject,
    as_number,
    as_object,
    as_objects,
    as_text,
    clone_object,
    dig,
)
from simulator.world import World

_STORED_UNDER: Final = "buckets"


class Buckets:
    """The containers of a world with profiles in them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def attach(self, cluster_id: str) -> list[JsonObject]:
        """What the container of a cluster's server that is up holds; empty without a container."""
        container = self._container(cluster_id)
        self._servers()[cluster_id] = container
        return [clone_object(one) for one in as_objects(self._profiles().get(container))]

    def leave(self, cluster_id: str, intervals: list[JsonObject]) -> None:
        """The server of a cluster is gone; what it had written stays where its container does."""
        container = as_text(self._servers().pop(cluster_id, ""))
        if container and self._world.get(container) is not None:
            self._profiles()[container] = intervals
        for gone in [one for one in self._profiles() if self._world.get(one) is None]:
            self._profiles().pop(gone)

    def unwritten(self) -> Iterator[tuple[list[JsonObject], float]]:
        """What each container holds that a server could not write to any more, and up to when.

        Each is told once.
        """
        told = as_object(self._world.settings.pop(UNWRITTEN, None))
        for key, until in told.items():
            account, _, name = key.partition("/")
            ending = f"/storageaccounts/{account}/blobservices/default/containers/{name}".lower()
            for container, intervals in self._profiles().items():
                if container.endswith(ending):
                    yield as_objects(intervals), as_number(until)

    def _container(self, cluster_id: str) -> str:
        server = signals.ready_pyroscope(self._world, cluster_id)
        if not isinstance(server, Server):
            return ""
        bucket = as_object(server.config.get("storage"))
        if bucket.get("backend") != "azure":
            return ""
        name = dig(bucket, "azure", "account_name")
        accounts = self._world.of_type(ACCOUNTS)
        account = next((one for one in accounts if one.name == name), None)
        wanted = as_text(dig(bucket, "azure", "container_name"))
        return storage.container_id(account, wanted).lower() if account else ""

    def _servers(self) -> JsonObject:
        return self._part("servers")

    def _profiles(self) -> JsonObject:
        return self._part("profiles")

    def _part(self, name: str) -> JsonObject:
        kept = self._world.settings.setdefault(_STORED_UNDER, dict[str, object]())
        return as_object(as_object(kept).setdefault(name, dict[str, object]()))
