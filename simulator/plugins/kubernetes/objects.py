"""Kubernetes objects by server-side apply: namespaces, workloads, Services, claims."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulator.plugins.differences import compare
from simulator.plugins.kubernetes.client import ApiError, Client, WaitExpiredError
from simulator.plugins.properties import Object, has_unknowns
from simulator.plugins.provider import (
    Checked,
    Difference,
    PartialError,
    ProviderError,
    Urn,
)
from simulator.values import as_number, as_object, as_text, is_object

DELETE_TIMEOUT_SECONDS: Final = 600.0
READY_TIMEOUT_SECONDS: Final = 600.0
AUTONAMED: Final = "pulumi.com/autonamed"
RANDOM: Final = "bcdfghjklmnpqrstvwxz2456789"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PULUMI: Final = "pulumi"
SERVER_SIDE_APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of object: where the API has it, what it may hold, when it is ready."""

    pulumi_type: str
    api_version: str
    kind: str
    plural: str
    namespaced: bool
    patch: bool = False
    """Whether it only changes an object that is there (``...Patch``)."""
    create_only: frozenset[str] = frozenset()
    ready: Callable[[Object], bool] = lambda _live: True

    def path(self, namespace: str, name: str = "") -> str:
        """The API's path of the object, or of the list it is in."""
        root = f"/api/{self.api_version}" if "/" not in self.api_version else ""
        root = root or f"/apis/{self.api_version}"
        middle = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{root}{middle}/{self.plural}" + (f"/{name}" if name else "")


def _rolled_out(live: Object) -> bool:
    status = as_object(live.get("status"))
    generation = as_number(as_object(live.get("metadata")).get("generation"))
    wanted = as_number(status.get("desiredNumberScheduled"), -1)
    observed = as_number(status.get("observedGeneration"), generation)
    return observed >= generation and 0 <= wanted <= as_number(status.get("numberReady"))


def _available(live: Object) -> bool:
    status = as_object(live.get("status"))
    wanted = as_number(as_object(live.get("spec")).get("replicas"), 1)
    return as_number(status.get("readyReplicas")) >= wanted


NAMESPACE: Final = Kind(
    pulumi_type="kubernetes:core/v1:Namespace",
    api_version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
)
DAEMON_SET: Final = Kind(
    pulumi_type="kubernetes:apps/v1:DaemonSet",
    api_version="apps/v1",
    kind="DaemonSet",
    plural="daemonsets",
    namespaced=True,
    create_only=frozenset({"spec.selector"}),
    ready=_rolled_out,
)
DEPLOYMENT: Final = Kind(
    pulumi_type="kubernetes:apps/v1:Deployment",
    api_version="apps/v1",
    kind="Deployment",
    plural="deployments",
    namespaced=True,
    create_only=frozenset({"spec.selector"}),
    ready=_available,
)
POD_MONITOR: Final = Kind(
    pulumi_type="kubernetes:azmonitoring.coreos.com/v1:PodMonitor",
    api_version="azmonitoring.coreos.com/v1",
    kind="PodMonitor",
    plural="podmonitors",
    namespaced=True,
)
SERVICE: Final = Kind(
    pulumi_type="kubernetes:core/v1:Service",
    api_version="v1",
    kind="Service",
    plural="services",
    namespaced=True,
)
"""The provider would wait for its pods, unless it is told not to (``pulumi.com/skipAwait``)."""
CLAIM_PATCH: Final = Kind(
    pulumi_type="kubernetes:core/v1:PersistentVolumeClaimPatch",
    api_version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    namespaced=True,
    patch=True,
)
KINDS: Final = {
    kind.pulumi_type: kind
    for kind in (NAMESPACE, DAEMON_SET, DEPLOYMENT, POD_MONITOR, SERVICE, CLAIM_PATCH)
}


def check(
    kind: Kind,
    urn: Urn,
    olds: Object,
    news: Object,
    default_namespace: str,
    *,
    client_side: bool,
) -> Checked:
    """Name and namespace by default; kind and version as the type says.

    Without server-side apply (``client_side``) a new object is labelled as Pulumi's, over whatever
    the program says; one that exists is labelled where it was (provider.go: Check).
    """
    inputs: Object = {**news, "apiVersion": kind.api_version, "kind": kind.kind}
    metadata = dict(as_object(inputs.get("metadata")))
    if has_unknowns(inputs.get("metadata")) and not metadata:
        return Checked(inputs)
    if "name" not in metadata:
        old = as_object(olds.get("metadata"))
        named_so = as_object(old.get("annotations")).get(AUTONAMED) == "true"
        end = "".join(secrets.choice(RANDOM) for _ in range(8))
        metadata["name"] = old["name"] if named_so else f"{urn.name}-{end}"
        metadata["annotations"] = {**as_object(metadata.get("annotations")), AUTONAMED: "true"}
    if kind.namespaced:
        metadata.setdefault("namespace", default_namespace)
    before = as_object(as_object(olds.get("metadata")).get("labels"))
    if (before.get(MANAGED_BY) == PULUMI) if olds else client_side:
        metadata["labels"] = {**as_object(metadata.get("labels")), MANAGED_BY: PULUMI}
    inputs["metadata"] = metadata
    return Checked(inputs)


def diff(kind: Kind, old_inputs: Object, news: Object) -> Difference:
    """Name, namespace and what the API calls immutable replace."""

    def replaces(path: str) -> bool:
        return path in ("metadata.name", "metadata.namespace") or path in kind.create_only

    changes = compare(old_inputs, news, replaces)
    old, new = as_object(old_inputs.get("metadata")), as_object(news.get("metadata"))
    same_place = all(old.get(key) == new.get(key) for key in ("name", "namespace"))
    named = AUTONAMED not in as_object(new.get("annotations"))
    replaced = any(change.replaces for change in changes.values())
    return Difference(changes, delete_before_replace=replaced and named and same_place)


class Objects:
    """The objects of one cluster."""

    def __init__(self, client: Client, *, upsert: bool) -> None:
        self._client = client
        self._upsert = upsert

    def create(self, kind: Kind, urn: Urn, inputs: Object, timeout: float) -> tuple[str, Object]:
        """Apply, and wait until it is ready; the id and the live object.

        Raises:
            PartialError: made, and not ready in time.
            ProviderError: not made; an object of that name is not taken over.
        """
        path = self._path(kind, inputs)
        if kind.patch and self._client.find(path) is None:
            raise ProviderError(f"failed to patch {path}: there is no such object")
        if not kind.patch and not self._upsert and self._client.find(path) is not None:
            name = as_text(as_object(inputs.get("metadata")).get("name"))
            raise ProviderError(
                f'resource "{urn.text}" was not successfully created by the Kubernetes API server: '
                f'{kind.plural} "{name}" already exists'
            )
        live = self._apply(urn, path, inputs, "created")
        return _id(live), self._await(kind, urn, path, live, inputs, timeout, "created")

    def update(self, kind: Kind, urn: Urn, inputs: Object, timeout: float) -> Object:
        """Apply, and wait until it is ready; the live object."""
        path = self._path(kind, inputs)
        live = self._apply(urn, path, inputs, "updated")
        return self._await(kind, urn, path, live, inputs, timeout, "updated")

    def read(
        self, kind: Kind, object_id: str, inputs: Object | None, default_namespace: str
    ) -> tuple[str, Object, Object]:
        """The live object; an empty id if it is gone."""
        namespace, _, name = object_id.rpartition("/")
        live = self._client.find(kind.path(namespace or default_namespace, name))
        if live is None:
            return "", {}, {}
        if inputs is None:
            metadata = as_object(live.get("metadata"))
            kept = {
                key: metadata[key]
                for key in ("annotations", "labels", "name", "namespace")
                if key in metadata
            }
            inputs = {**live, "metadata": kept}
            inputs.pop("status", None)
            return object_id, inputs, live
        return object_id, as_object(_live_inputs(inputs, live)), live

    def delete(self, kind: Kind, object_id: str, default_namespace: str, timeout: float) -> None:
        """Delete, and wait until it is gone.

        Raises:
            ProviderError: it is still there after the timeout.
        """
        namespace, _, name = object_id.rpartition("/")
        path = kind.path(namespace or default_namespace, name)
        try:
            self._client.call("DELETE", path, {"propagationPolicy": "Foreground"})
        except ApiError as error:
            if error.code == 404:
                return
            raise

        def gone() -> bool | None:
            return True if self._client.find(path) is None else None

        try:
            self._client.poll(gone, give_up_after=timeout or DELETE_TIMEOUT_SECONDS)
        except WaitExpiredError:
            live = self._client.find(path) or {}
            held = as_object(live.get("metadata")).get("finalizers") or as_object(
                live.get("spec")
            ).get("finalizers")
            raise ProviderError(
                f"timed out waiting for {kind.kind} {object_id!r} to be deleted"
                + (f": finalizers might be preventing deletion ({held})" if held else "")
            ) from None

    def _path(self, kind: Kind, inputs: Object) -> str:
        metadata = as_object(inputs.get("metadata"))
        return kind.path(as_text(metadata.get("namespace")), as_text(metadata.get("name")))

    def _apply(self, urn: Urn, path: str, inputs: Object, done: str) -> Object:
        try:
            return self._client.call("PATCH", path, inputs, SERVER_SIDE_APPLY)
        except ApiError as error:
            raise ProviderError(
                f'resource "{urn.text}" was not successfully {done} by the Kubernetes API server: '
                f"{error}"
            ) from error

    def _await(
        self,
        kind: Kind,
        urn: Urn,
        path: str,
        live: Object,
        inputs: Object,
        timeout: float,
        done: str,
    ) -> Object:
        def ready() -> Object | None:
            found = self._client.find(path) or live
            return found if kind.ready(found) else None

        try:
            return self._client.poll(ready, give_up_after=timeout or READY_TIMEOUT_SECONDS)
        except WaitExpiredError:
            raise PartialError(
                f'resource "{urn.text}" was successfully {done}, but the Kubernetes API server '
                "reported that it failed to fully initialize or become live: timed out waiting",
                resource_id=_id(live),
                properties=self._client.find(path) or live,
                inputs=inputs,
            ) from None


def _id(live: Object) -> str:
    metadata = as_object(live.get("metadata"))
    namespace, name = as_text(metadata.get("namespace")), as_text(metadata.get("name"))
    return f"{namespace}/{name}" if namespace else name


def _live_inputs(inputs: object, live: object) -> object:
    """The inputs' own fields as they are now: what others added is not ours."""
    if is_object(inputs) and is_object(live):
        return {key: _live_inputs(value, live[key]) for key, value in inputs.items() if key in live}
    return live
