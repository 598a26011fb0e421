"""Keeps a simulated cluster's objects and those of its real API server the same, both ways.

The simulated Azure's controllers (cloud controller, workloads, namespaces, extensions) work on
``ClusterState.objects``. Here those are what the API server's watches report; what the controllers
then changed is written back: status, finalizers, objects of their own, deletions. So one and the
same controller logic serves both kinds of cluster.

Also done here, because only a real API server needs it: the finalizers of Kubernetes' own
controllers are taken off, and a namespace's deletion gets its last step. Objects that are owned by
a deleted one are not collected: pods go by their own controller, and nothing else here is owned.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Final

import aiohttp

from simulator.apiserver import helm_releases, kinds
from simulator.apiserver.client import (
    RECONNECT_SECONDS,
    Change,
    Kind,
    KubernetesClient,
    KubernetesError,
    Listed,
)
from simulator.apiserver.differences import difference
from simulator.kubernetes import state
from simulator.values import (
    JsonObject,
    as_object,
    as_text,
    clone_object,
    dig,
    merge_patch,
    texts,
)
from simulator.world import ClusterState, World

BOOKKEEPING: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Metadata that only the API server writes."""
HOUSEKEEPING: Final = frozenset({"foregroundDeletion", "orphan", "kubernetes.io/pvc-protection"})
"""Finalizers that Kubernetes' own controllers take off: the garbage collector, and the one that
keeps claims as long as pods use them."""


class Mirror:
    """One cluster's objects, in the simulated Azure and in its API server."""

    def __init__(
        self,
        world: World,
        cluster_id: str,
        client: KubernetesClient,
        changed: Callable[[], None],
    ) -> None:
        """See the class; ``changed`` is called when the world must be saved."""
        self._world = world
        self._cluster_id = cluster_id
        self._client = client
        self._changed = changed
        self._reports: list[Listed | Change] = []
        self._unlisted = set(kinds.MIRRORED)
        self._wake = asyncio.Event()
        self._in_step = asyncio.Event()
        self._seen: dict[str, JsonObject] = {}
        """What the API server last said of each object, by the key of ``ClusterState.objects``."""
        self._removed: set[str] = set()
        """Uids of objects that are as good as gone, though a watch may still report them."""
        self._reported: set[tuple[str, str, str]] = set()
        """Events that were written."""

    async def run(self) -> None:
        """Mirror until cancelled; the client must be open."""
        await self._define()
        async with asyncio.TaskGroup() as tasks:
            for kind in kinds.MIRRORED:
                tasks.create_task(self._watch(kind))
            tasks.create_task(self._reconcile())

    def wake(self) -> None:
        """Something in the world changed."""
        self._wake.set()

    async def in_step(self) -> None:
        """Wait until both sides have been the same for the first time."""
        await self._in_step.wait()

    @property
    def _state(self) -> ClusterState | None:
        return self._world.clusters.get(self._cluster_id)

    # --- one round -------------------------------------------------------------------------------

    async def _define(self) -> None:
        path = kinds.DEFINITION.path()
        try:
            await self._client.create(path, kinds.POD_MONITOR_DEFINITION)
        except KubernetesError as error:
            if error.status != 409:
                raise

    async def _watch(self, kind: Kind) -> None:
        async for report in self._client.watch(kind):
            self._reports.append(report)
            self._wake.set()

    async def _reconcile(self) -> None:
        while True:
            await self._until_something_happens()
            cluster = self._state
            if cluster is None:
                return
            if self._take_reports(cluster):
                self._world.touch()
            if self._unlisted:
                continue
            if self._world.advance():
                self._changed()
            try:
                await self._write(cluster)
            except (aiohttp.ClientError, TimeoutError, KubernetesError):
                # It is restarting; its watches tell what became of the rest.
                await asyncio.sleep(RECONNECT_SECONDS)
                self._wake.set()
            else:
                self._in_step.set()

    async def _until_something_happens(self) -> None:
        """A report, a change of the world, or the end of an operation of the world."""
        clock = self._world.clock
        due = [item.due for item in self._world.operations.values() if item.running]
        seconds = max(0.0, min(due) - clock.now()) * clock.factor if due else None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        self._wake.clear()

    # --- from the API server ---------------------------------------------------------------------

    def _take_reports(self, cluster: ClusterState) -> bool:
        """Bring the simulated objects up to date; whether anything is new."""
        reports, self._reports = self._reports, []
        news = [self._take(cluster, report) for report in reports]
        if any(news):
            cluster.releases = helm_releases.releases(cluster.objects.values())
        return any(news)

    def _take(self, cluster: ClusterState, report: Listed | Change) -> bool:
        if isinstance(report, Change):
            if report.deleted:
                return self._gone(cluster, report.manifest)
            return self._observe(cluster, report.manifest)
        self._unlisted.discard(report.kind)
        listed = {state.key(manifest) for manifest in report.manifests}
        news = [self._observe(cluster, manifest) for manifest in report.manifests]
        for key, manifest in list(self._seen.items()):
            if manifest.get("kind") == report.kind.name and key not in listed:
                news.append(self._gone(cluster, manifest))
        return any(news)

    def _observe(self, cluster: ClusterState, manifest: JsonObject) -> bool:
        key = state.key(manifest)
        before = self._seen.get(key)
        if _is_the_servers_own(manifest) or _uid(manifest) in self._removed:
            return False
        if before is not None and _version(manifest) <= _version(before):
            return False
        self._adopt(cluster, key, manifest, before)
        return True

    def _adopt(
        self, cluster: ClusterState, key: str, manifest: JsonObject, base: JsonObject | None
    ) -> None:
        """Take over what the API server has, and on top of it what was changed here since ``base``.

        Without ``base`` the API server's word is all that counts.
        """
        local = cluster.objects.get(key)
        self._seen[key] = manifest
        if base is not None and (local is None or _is_made_anew(local, base)):
            return
        if local is None or base is None:
            cluster.objects[key] = _shown(manifest)
            return
        merged = as_object(merge_patch(_shown(manifest), difference(_own(base), _own(local))))
        if state.metadata(local).get("deletionTimestamp"):
            state.metadata(merged).setdefault(
                "deletionTimestamp", state.metadata(local)["deletionTimestamp"]
            )
        cluster.objects[key] = merged

    def _gone(self, cluster: ClusterState, manifest: JsonObject) -> bool:
        key = state.key(manifest)
        self._removed.discard(_uid(manifest))
        if _uid(self._seen.get(key, {})) != _uid(manifest):
            return False
        self._seen.pop(key)
        cluster.objects.pop(key, None)
        return True

    # --- to the API server -----------------------------------------------------------------------

    async def _write(self, cluster: ClusterState) -> None:
        for kind in kinds.MIRRORED:
            for key in [key for key in cluster.objects if _is_of(kind, key)]:
                try:
                    await self._put(cluster, kind, key)
                except KubernetesError as error:
                    self._refused(cluster, key, error)
        # The other way round: a namespace goes after all that was in it.
        for kind in reversed(kinds.MIRRORED):
            for key in [key for key in self._seen if _is_of(kind, key)]:
                try:
                    await self._release(kind, key)
                    if key not in cluster.objects:
                        await self._remove(cluster, kind, key)
                except KubernetesError as error:
                    self._refused(cluster, key, error)
        await self._write_events(cluster)

    async def _put(self, cluster: ClusterState, kind: Kind, key: str) -> None:
        """Make the object, or change it to what it has become here."""
        before = self._seen.get(key)
        if before is not None and _is_made_anew(cluster.objects[key], before):
            await self._remove(cluster, kind, key)
            before = None
        if before is None:
            made = _own(cluster.objects[key])
            made.pop("status", None)
            before = await self._client.create(kind.path(_namespace(made)), made)
            self._adopt(cluster, key, before, made)
            self._look_again()
        path = _path(kind, before)
        local = cluster.objects.get(key)
        if local is None:
            return
        if not _is_going(before) and _is_going(local):
            await self._client.delete(path)
        patch = difference(_own(before), _own(local))
        status = patch.pop("status", None)
        for part, at in ((patch, path), ({"status": status} if status else {}, f"{path}/status")):
            if part:
                base = as_object(merge_patch(before, part))
                after = await self._client.patch(at, part)
                self._adopt(cluster, key, after, base)
                if _generation(after) != _generation(before):
                    self._look_again()
                before = after

    def _look_again(self) -> None:
        """Let the controllers see the new generation, which they confirm in the status."""
        self._world.touch()
        self._wake.set()

    async def _release(self, kind: Kind, key: str) -> None:
        """Let go of an object that is being deleted, as Kubernetes' own controllers would."""
        manifest = self._seen[key]
        finalizers = texts(state.metadata(manifest).get("finalizers"))
        left = [item for item in finalizers if item not in HOUSEKEEPING]
        if not _is_going(manifest) or left == finalizers:
            return
        # With the version: somebody may be adding a finalizer just now.
        version = state.metadata(manifest).get("resourceVersion")
        metadata: JsonObject = {"finalizers": left or None, "resourceVersion": version}
        self._seen[key] = await self._client.patch(_path(kind, manifest), {"metadata": metadata})

    async def _remove(self, cluster: ClusterState, kind: Kind, key: str) -> None:
        """Delete what the controllers have done with, finalizers and all."""
        manifest = self._seen[key]
        if kind is kinds.NAMESPACE and not await self._finish_namespace(manifest):
            cluster.objects[key] = _shown(manifest)
            return
        path = _path(kind, manifest)
        if kind is not kinds.NAMESPACE:
            await self._client.delete(path)
            if texts(state.metadata(manifest).get("finalizers")):
                await self._client.patch(path, {"metadata": {"finalizers": None}})
        self._removed.add(_uid(manifest))
        self._seen.pop(key, None)

    async def _finish_namespace(self, manifest: JsonObject) -> bool:
        """The last step of a namespace's deletion, its controller's; whether it is gone."""
        name = state.name_of(manifest)
        if any(_namespace(other) == name for other in self._seen.values()):
            return False
        path = _path(kinds.NAMESPACE, manifest)
        if not _is_going(manifest):
            await self._client.delete(path)
        await self._client.delete(kinds.EVENT.path(name))
        current = await self._client.get(path)
        if current is None:
            return True
        current["spec"] = {"finalizers": list[object]()}
        await self._client.replace(f"{path}/finalize", current)
        return not texts(state.metadata(current).get("finalizers"))

    def _refused(self, cluster: ClusterState, key: str, error: KubernetesError) -> None:
        """Go back to what the API server has; the controllers may try again.

        Raises:
            KubernetesError: it refuses everything at present.
        """
        if error.status >= 500:
            raise error
        if error.status in (404, 409):
            # It has changed or gone in between, which its watch tells.
            return
        _say(f"{key}: {error}")
        if key in self._seen:
            cluster.objects[key] = _shown(self._seen[key])
        else:
            cluster.objects.pop(key, None)

    async def _write_events(self, cluster: ClusterState) -> None:
        for event in cluster.events:
            about, reason = as_text(event.get("about")), as_text(event.get("reason"))
            report = (about, reason, as_text(event.get("message")))
            manifest = self._seen.get(about)
            if report in self._reported or manifest is None:
                continue
            self._reported.add(report)
            namespace = as_text(event.get("namespace"))
            try:
                await self._client.create(kinds.EVENT.path(namespace), _event(event, manifest))
            except KubernetesError as error:
                _say(f"event {reason} of {about}: {error}")


def _own(manifest: JsonObject) -> JsonObject:
    """What people and controllers write of an object, in a form that can be compared."""
    own = clone_object(manifest)
    metadata = as_object(own.get("metadata"))
    for name in BOOKKEEPING & metadata.keys():
        del metadata[name]
    finalizers = [item for item in texts(metadata.get("finalizers")) if item not in HOUSEKEEPING]
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    # In a status, what is zero or empty is left out by the API server.
    own["status"] = {name: value for name, value in as_object(own.get("status")).items() if value}
    return own


def _shown(manifest: JsonObject) -> JsonObject:
    """The object as the controllers see it: finalizers that are none of theirs left out."""
    shown = clone_object(manifest)
    metadata = state.metadata(shown)
    if HOUSEKEEPING & set(texts(metadata.get("finalizers"))):
        finalizers = texts(metadata.get("finalizers"))
        metadata["finalizers"] = [item for item in finalizers if item not in HOUSEKEEPING]
    return shown


def _event(event: JsonObject, about: JsonObject) -> JsonObject:
    time = event.get("time")
    return {
        "apiVersion": kinds.EVENT.api_version,
        "kind": kinds.EVENT.name,
        "metadata": {
            "generateName": f"{state.name_of(about)}.",
            "namespace": event.get("namespace"),
        },
        "involvedObject": {
            "apiVersion": about.get("apiVersion"),
            "kind": about.get("kind"),
            "namespace": _namespace(about),
            "name": state.name_of(about),
            "uid": _uid(about),
        },
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "source": {"component": "service-controller"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _is_the_servers_own(manifest: JsonObject) -> bool:
    """The Service by which pods find the API server; no cluster is without it."""
    key = ("Service", "default", "kubernetes")
    return (manifest.get("kind"), _namespace(manifest), state.name_of(manifest)) == key


def _is_made_anew(local: JsonObject, before: JsonObject) -> bool:
    """Whether the controllers put another pod in the place of one: its spec never changes."""
    uids = _uid(local), _uid(before)
    return local.get("kind") == kinds.POD.name and all(uids) and uids[0] != uids[1]


def _is_of(kind: Kind, key: str) -> bool:
    return key.startswith(f"{kind.api_version}/{kind.name}/")


def _is_going(manifest: JsonObject) -> bool:
    return bool(dig(manifest, "metadata", "deletionTimestamp"))


def _namespace(manifest: JsonObject) -> str:
    return as_text(dig(manifest, "metadata", "namespace"))


def _uid(manifest: JsonObject) -> str:
    return as_text(dig(manifest, "metadata", "uid"))


def _generation(manifest: JsonObject) -> object:
    return dig(manifest, "metadata", "generation")


def _version(manifest: JsonObject) -> int:
    return int(as_text(dig(manifest, "metadata", "resourceVersion"), "0"))


def _path(kind: Kind, manifest: JsonObject) -> str:
    return kind.path(_namespace(manifest), state.name_of(manifest))


def _say(text: str) -> None:
    """A line for the simulator's log."""
    print(f"mirror: {text}", file=sys.stderr, flush=True)  # noqa: T201
