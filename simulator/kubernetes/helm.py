"""Helm releases as the Helm library leaves them: installed, upgraded, removed, and waited for.

Helm runs on the client's side, and its records are all that it knows of a release. A process that
ends in the middle leaves the newest one ``pending-...`` for ever: here, an operation that a fault
ends as ``Canceled``.
"""

import json
from dataclasses import dataclass
from typing import Final

from simulator.kubernetes import chart as charts
from simulator.kubernetes import helm_records as records
from simulator.kubernetes import state, workloads
from simulator.values import (
    JsonObject,
    as_integer,
    as_number,
    as_object,
    as_objects,
    as_text,
    clone_object,
    dig,
    texts,
)
from simulator.world import ClusterState, Operation, World

HANDLER: Final = "helm"
PODS_SECONDS: Final = 45
"""From creating the pods until they are ready: scheduling, pulling, starting."""
DEFAULT_TIMEOUT: Final = 300
PENDING: Final = ("pending-install", "pending-upgrade")
ENDED: Final = "the process that ran Helm has ended"
"""What a release says that nobody takes any further."""
CHANGEABLE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "persistentVolumeClaimRetentionPolicy",
        "revisionHistoryLimit",
    }
)
"""What of a StatefulSet's spec may be changed."""


@dataclass
class HelmError(Exception):
    """Helm refuses; the message is its own."""

    code: int
    reason: str
    message: str


class Helm:
    """The releases of every cluster."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.register(HANDLER, self._finish)

    def install(self, cluster_id: str, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Begin an installation; the release, pending.

        Raises:
            HelmError: the name is in use, or namespace or chart do not exist.
        """
        objects = self._world.clusters[cluster_id]
        if f"{namespace}/{name}" in objects.releases:
            raise HelmError(409, "AlreadyExists", "cannot re-use a name that is still in use")
        if state.find(objects, "Namespace", "", namespace) is None:
            if body.get("createNamespace") is not True:
                raise HelmError(
                    404, "NotFound", f'create: failed to create: namespaces "{namespace}" not found'
                )
            state.add(objects, state.namespace_manifest(namespace))
        if state.is_terminating(objects, namespace):
            raise HelmError(
                403,
                "Forbidden",
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated",
            )
        chart = _found(body)
        release: JsonObject = {"namespace": namespace, "name": name, "revision": 1}
        objects.releases[f"{namespace}/{name}"] = release
        return self._deploy(cluster_id, release, chart, body, "pending-install")

    def upgrade(self, cluster_id: str, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Begin an upgrade; the release, pending.

        Raises:
            HelmError: no such release or chart, or a change that Kubernetes forbids.
        """
        objects = self._world.clusters[cluster_id]
        release = objects.releases.get(f"{namespace}/{name}")
        if release is None:
            raise HelmError(404, "NotFound", f'"{name}" has no deployed releases')
        if release.get("status") in (*PENDING, "uninstalling"):
            raise HelmError(
                409,
                "Conflict",
                "another operation (install/upgrade/rollback) is in progress",
            )
        chart = _found(body)
        release["revision"] = as_integer(release.get("revision")) + 1
        return self._deploy(cluster_id, release, chart, body, "pending-upgrade")

    def uninstall(
        self, cluster_id: str, namespace: str, name: str, timeout: float, *, wait: bool = True
    ) -> JsonObject:
        """Begin a removal; the release, uninstalling, or without ``wait`` forgotten at once.

        Raises:
            HelmError: no such release.
        """
        objects = self._world.clusters[cluster_id]
        release = objects.releases.get(f"{namespace}/{name}")
        if release is None:
            raise HelmError(404, "NotFound", "uninstall: Release not loaded: release: not found")
        self._stop(cluster_id, release)
        release["status"] = "uninstalling"
        release["message"] = ""
        for key in texts(release.get("resources")):
            if key in objects.objects:
                state.remove(objects, objects.objects[key])
        if wait:
            self._world.start(HANDLER, "uninstall-timeout", _target(cluster_id, release), timeout)
        else:
            self._forget(objects, release)
        return release

    def control(self, cluster_id: str, objects: ClusterState) -> None:
        """Take every release as far as its objects allow."""
        for key, release in list(objects.releases.items()):
            status = release.get("status")
            record = as_text(release.get("record"))
            if record and status != "uninstalling" and record not in objects.objects:
                # Helm knows a release by its records alone: this is now the revision before.
                self._stop(cluster_id, release)
                before = records.newest(objects, release)
                if before is None:
                    objects.releases.pop(key)
                else:
                    release.update(before)
                self._world.touch()
            elif status in PENDING and release.get("podsStarted") is True:
                waiting = self._waiting(cluster_id, objects, release)
                if not waiting:
                    self._settle(cluster_id, release, "deployed", "")
                elif release.get("message") != waiting:
                    release["message"] = waiting
                    self._world.touch()
            elif status == "uninstalling":
                left = [item for item in texts(release.get("resources")) if item in objects.objects]
                if not left:
                    self._stop(cluster_id, release)
                    self._forget(objects, release)
                elif release.get("message") != f"waiting for deletion of {', '.join(left)}":
                    release["message"] = f"waiting for deletion of {', '.join(left)}"
                    self._world.touch()

    # --- within ----------------------------------------------------------------------------------

    def _deploy(
        self,
        cluster_id: str,
        release: JsonObject,
        chart: charts.Chart,
        body: JsonObject,
        status: str,
    ) -> JsonObject:
        objects = self._world.clusters[cluster_id]
        values = clone_object(as_object(body.get("values")))
        release.update(
            chart=chart.name,
            version=chart.version,
            appVersion=chart.app_version,
            source={key: as_text(body.get(key)) for key in ("chart", "repository")},
            values=values,
            status=status,
            message="",
            podsStarted=False,
        )
        records.begin(objects, release)
        before = texts(release.get("resources"))
        namespace, name = as_text(release.get("namespace")), as_text(release.get("name"))
        try:
            manifests = charts.render(chart, name, namespace, values)
            for manifest in manifests:
                _check_change(objects, manifest, name)
        except charts.ChartError as error:
            release.setdefault("resources", [])
            return self._settle(cluster_id, release, "failed", str(error))
        except HelmError as error:
            self._settle(cluster_id, release, "failed", error.message)
            if status == "pending-upgrade":
                raise
            release["resources"] = []
            return release
        keys = [state.key(manifest) for manifest in manifests]
        rendered = [clone_object(manifest) for manifest in manifests]
        for manifest in manifests:
            state.add(objects, manifest)
        for key in set(before) - set(keys):
            if key in objects.objects:
                state.remove(objects, objects.objects[key])
        release["resources"] = keys
        # Any JSON is YAML. Of what the API server computed since, nothing is in it.
        release["manifest"] = "\n---\n".join(json.dumps(manifest) for manifest in rendered)
        target = _target(cluster_id, release)
        started = self._world.start(HANDLER, "start-pods", target, PODS_SECONDS)
        if not started.forced:
            timeout = as_number(body.get("timeout")) or DEFAULT_TIMEOUT
            self._world.start(HANDLER, "timeout", target, timeout)
        return release

    def _waiting(self, cluster_id: str, objects: ClusterState, release: JsonObject) -> str:
        for key in texts(release.get("resources")):
            manifest = objects.objects.get(key)
            if manifest is None:
                return f"{key} is missing"
            kind = manifest.get("kind")
            if kind in ("StatefulSet", "Deployment"):
                reason = workloads.obstacle(self._world, cluster_id, objects, manifest)
                if reason:
                    return reason
            balanced = kind == "Service" and dig(manifest, "spec", "type") == "LoadBalancer"
            if balanced and not as_objects(dig(manifest, "status", "loadBalancer", "ingress")):
                return f"Service {key} does not have load balancer ingress IP address"
        return ""

    def _settle(
        self, cluster_id: str, release: JsonObject, status: str, message: str
    ) -> JsonObject:
        self._stop(cluster_id, release)
        release["status"] = status
        release["message"] = message
        records.settle(self._world.clusters[cluster_id], release)
        self._world.touch()
        return release

    def _forget(self, objects: ClusterState, release: JsonObject) -> None:
        records.remove(objects, release)
        objects.releases.pop(f"{release.get('namespace')}/{release.get('name')}")
        self._world.touch()

    def _stop(self, cluster_id: str, release: JsonObject) -> None:
        target = _target(cluster_id, release)
        for operation in self._world.operations.values():
            if operation.running and operation.target == target:
                self._world.cancel(operation)

    def _finish(self, operation: Operation) -> None:
        cluster_id, _, key = operation.target.partition("|")
        objects = self._world.clusters.get(cluster_id)
        release = objects.releases.get(key) if objects else None
        if objects is None or release is None:
            return
        if operation.details.get("outcome") == "Canceled":
            self._stop(cluster_id, release)
            release["message"] = ENDED
            self._world.touch()
        elif operation.error:
            self._settle(cluster_id, release, "failed", as_text(operation.error.get("message")))
        elif operation.kind == "start-pods":
            release["podsStarted"] = True
        else:
            waited = as_text(release.get("message")) or "pods are not ready"
            self._settle(cluster_id, release, "failed", f"context deadline exceeded: {waited}")


def _target(cluster_id: str, release: JsonObject) -> str:
    return f"{cluster_id}|{release.get('namespace')}/{release.get('name')}".lower()


def _found(body: JsonObject) -> charts.Chart:
    try:
        return charts.find(
            as_text(body.get("chart")),
            as_text(body.get("repository")),
            as_text(body.get("version")),
            as_object(body.get("localChart")),
        )
    except charts.ChartError as error:
        raise HelmError(404, "NotFound", str(error)) from error


def _check_change(objects: ClusterState, manifest: JsonObject, release: str) -> None:
    old = objects.objects.get(state.key(manifest))
    if old is None:
        return
    kind, name = as_text(manifest.get("kind")), state.name_of(manifest)
    owner = as_text(dig(old, "metadata", "annotations", "meta.helm.sh/release-name"))
    if owner != release:
        raise HelmError(
            409,
            "Conflict",
            f'Unable to continue with install: {kind} "{name}" exists and cannot be imported into '
            "the current release: invalid ownership metadata",
        )
    if kind != "StatefulSet":
        return
    before, after = as_object(old.get("spec")), as_object(manifest.get("spec"))
    for key in set(before) | set(after):
        if key not in CHANGEABLE and before.get(key) != after.get(key):
            raise HelmError(
                422,
                "Invalid",
                f'cannot patch "{name}" with kind StatefulSet: StatefulSet.apps "{name}" is '
                "invalid: spec: Forbidden: updates to statefulset spec for fields other than "
                "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            )
