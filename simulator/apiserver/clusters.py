"""The API servers of a simulated Azure: one for each cluster whose kubeconfig was asked for.

Each is started when somebody first asks for the cluster's credentials, keeps its data in a folder
of its own, is started again when it dies or when the simulator is, and goes with its cluster.
"""

import asyncio
import contextlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.apiserver.client import KubernetesClient
from simulator.apiserver.mirror import Mirror
from simulator.apiserver.process import ApiServer, ApiServerError, Certificate
from simulator.apiserver.provision import Programs
from simulator.http import Request
from simulator.world import World

CREDENTIALS: Final = re.compile(r"(?P<cluster>.*)/listCluster\w*Credential", re.IGNORECASE)


@dataclass(frozen=True)
class Running:
    """A cluster's API server and its mirror."""

    server: ApiServer
    mirror: Mirror
    task: asyncio.Task[None]


class ApiServers:
    """Starts, keeps and stops the API servers of the clusters of a world."""

    def __init__(
        self,
        world: World,
        folder: Path,
        *,
        programs: Programs,
        certificate: Certificate,
        token_review_url: Callable[[str], str],
        changed: Callable[[], None],
    ) -> None:
        """See the class.

        Args:
            world: whose clusters they stand for.
            folder: holds a folder for each cluster.
            programs: what runs.
            certificate: what each API server presents.
            token_review_url: who knows the bearer tokens of the cluster of this name.
            changed: called when the world must be saved.
        """
        self._world = world
        self._folder = folder
        self._programs = programs
        self._certificate = certificate
        self._token_review_url = token_review_url
        self._changed = changed
        self._running: dict[str, Running] = {}
        self._lock = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        world.control(self._look)

    async def start_known(self) -> None:
        """Start those that ran before the simulator ended."""
        for cluster_id in self._world.clusters:
            if self._folder_of(cluster_id).exists():
                await self._start(cluster_id)

    async def prepare(self, request: Request) -> None:
        """Start the API server of the cluster whose credentials ``request`` asks ARM for.

        Raises:
            ApiServerError: it does not start.
        """
        asked = CREDENTIALS.fullmatch(request.path)
        if request.method == "POST" and asked:
            cluster_id = asked["cluster"].lower()
            if cluster_id in self._world.clusters:
                await self._start(cluster_id)

    async def stop(self) -> None:
        """Stop all of them; what they stored stays."""
        for cluster_id in list(self._running):
            await self._stop(cluster_id)
        for task in list(self._ending):
            await task

    # --- within ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """A controller of the world: wakes the mirrors, and ends what has lost its cluster."""
        for cluster_id, running in self._running.items():
            cluster = self._world.clusters.get(cluster_id)
            if cluster is None:
                task = asyncio.get_running_loop().create_task(self._drop(cluster_id))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
            else:
                cluster.server_url = running.server.url
                running.mirror.wake()

    async def _start(self, cluster_id: str) -> None:
        async with self._lock:
            if cluster_id in self._running:
                return
            server = ApiServer(
                self._folder_of(cluster_id),
                programs=self._programs,
                certificate=self._certificate,
                token_review_url=self._token_review_url(_name(cluster_id)),
            )
            client = KubernetesClient(server.url, server.admin_token, server.tls)
            mirror = Mirror(self._world, cluster_id, client, self._changed)
            task = asyncio.create_task(_run(server, client, mirror))
            self._running[cluster_id] = Running(server, mirror, task)
            task.add_done_callback(lambda done: self._ended(cluster_id, done))
            ready = asyncio.create_task(mirror.in_step())
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                ready.cancel()
                await task

    def _ended(self, cluster_id: str, task: asyncio.Task[None]) -> None:
        """One that cannot go on is started anew when somebody next asks for it."""
        if not task.cancelled() and task.exception() is not None:
            self._running.pop(cluster_id, None)
            _say(f"{_name(cluster_id)}: {task.exception()}")

    async def _stop(self, cluster_id: str) -> None:
        running = self._running.pop(cluster_id, None)
        if running is not None:
            running.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running.task

    async def _drop(self, cluster_id: str) -> None:
        """The cluster is gone: so is what its API server stored."""
        await self._stop(cluster_id)
        shutil.rmtree(self._folder_of(cluster_id), ignore_errors=True)

    def _folder_of(self, cluster_id: str) -> Path:
        # Not only the name: two groups may each have a cluster of one name.
        group = cluster_id.split("/")[4]
        return self._folder / f"{group}.{_name(cluster_id)}"


async def _run(server: ApiServer, client: KubernetesClient, mirror: Mirror) -> None:
    """Run an API server and its mirror, and start the former again whenever it dies."""
    try:
        await server.start()
        async with client:
            mirroring = asyncio.create_task(mirror.run())
            try:
                while True:
                    died = asyncio.create_task(server.ended())
                    await asyncio.wait({died, mirroring}, return_when=asyncio.FIRST_COMPLETED)
                    if mirroring.done():
                        died.cancel()
                        return await mirroring
                    _say(f"{died.result()} ended; starting it again")
                    await _restart(server)
            finally:
                mirroring.cancel()
    finally:
        await server.stop()


async def _restart(server: ApiServer) -> None:
    """Start it again, and once more should it die while it starts.

    Raises:
        ApiServerError: it does not start.
    """
    await server.stop()
    try:
        await server.start()
    except ApiServerError as error:
        _say(f"{error}; starting it once more")
        await server.start()


def _name(cluster_id: str) -> str:
    return cluster_id.rsplit("/", 1)[-1]


def _say(text: str) -> None:
    """A line for the simulator's log."""
    print(f"API servers: {text}", file=sys.stderr, flush=True)  # noqa: T201
