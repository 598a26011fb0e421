"""The provider: which cluster, whether it answers, and which kind of resource is whose."""

import json
import os
from collections.abc import Callable
from typing import Final, TypeVar

from typing_extensions import override

from simulator.plugins.kubernetes import objects, releases
from simulator.plugins.kubernetes.client import ApiError, Client, UnreachableError
from simulator.plugins.kubernetes.kubeconfig import Kubeconfig, KubeconfigError, parse
from simulator.plugins.kubernetes.objects import KINDS, Objects
from simulator.plugins.kubernetes.releases import RELEASE, Releases
from simulator.plugins.properties import Object, Unknown
from simulator.plugins.provider import (
    Checked,
    Difference,
    Kind,
    Provider,
    ProviderError,
    Severity,
    Urn,
    run,
)
from simulator.values import as_text

_Result = TypeVar("_Result")

DELETE_ANYWAY_VARIABLE: Final = "PULUMI_K8S_DELETE_UNREACHABLE"
KUBECONFIG_KEYS: Final = ("kubeconfig", "context", "cluster")
KNOWN_ARGUMENTS: Final = frozenset(
    {
        "cluster",
        "clusterIdentifier",
        "context",
        "deleteUnreachable",
        "enableServerSideApply",
        "helmReleaseSettings",
        "kubeClientSettings",
        "kubeconfig",
        "namespace",
        "skipUpdateUnreachable",
        "suppressDeprecationWarnings",
        "suppressHelmHookWarnings",
        "upsertExistingObjects",
        "version",
        "pluginDownloadURL",
    }
)


class KubernetesProvider(Provider):
    """Objects and Helm releases of the cluster that the provider's kubeconfig names."""

    version = "4.34.2"

    def __init__(self) -> None:
        super().__init__()
        self._arguments: Object = {}
        self._default_namespace = "default"
        self._client: Client | None = None
        self._unreachable = "no kubeconfig was given to the provider"

    # --- the provider itself ------------------------------------------------------------------

    @override
    def check_config(self, news: Object) -> Checked:
        failures = [
            (key, f"the simulator's kubernetes plugin does not know the argument {key!r}")
            for key in sorted(news.keys() - KNOWN_ARGUMENTS)
        ]
        return Checked(news, failures)

    @override
    def diff_config(self, olds: Object, news: Object) -> Difference:
        changed = sorted(key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key))
        if not changed:
            return Difference()
        replaces: list[str] = []
        old_id, new_id = olds.get("clusterIdentifier"), news.get("clusterIdentifier")
        if old_id and new_id and old_id != new_id:
            replaces.append("clusterIdentifier")
        unknown = [key for key in KUBECONFIG_KEYS if isinstance(news.get(key), Unknown)]
        if unknown:
            replaces.append(unknown[0])
            changed = unknown[:1]
        elif _active_cluster(olds) != _active_cluster(news):
            replaces += [key for key in KUBECONFIG_KEYS if key in changed]
        if new_id and old_id == new_id:
            # The same cluster by its own name, whatever its kubeconfig says.
            replaces = []
        return Difference(dict.fromkeys(changed, Kind.UPDATE), replaces_anyway=tuple(replaces))

    @override
    def configure(self, arguments: Object) -> None:
        self._arguments = arguments
        text = as_text(arguments.get("kubeconfig"))
        if not text:
            return
        try:
            config = parse(
                text, as_text(arguments.get("context")), as_text(arguments.get("cluster"))
            )
        except KubeconfigError as error:
            self._unreachable = (
                f"failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- {error}"
            )
            return
        self._default_namespace = as_text(arguments.get("namespace")) or config.namespace
        self._reach(config)

    def _reach(self, config: Kubeconfig) -> None:
        """Ask the API server who it is; remember why if it does not say."""
        client = Client(config, self.cancelled)
        try:
            client.call("GET", "/version")
            client.call("GET", "/api/v1/namespaces")
        except ApiError as error:
            if error.code != 403:
                self._unreachable = _no_schema(error)
                return
        except (UnreachableError, KubeconfigError) as error:
            self._unreachable = _no_schema(error)
            return
        self._client = client

    @override
    def invoke(self, token: str, arguments: Object, preview: bool) -> Object:
        raise ProviderError(f"the simulator's kubernetes plugin does not know the function {token}")

    # --- resources ----------------------------------------------------------------------------

    @override
    def check(self, urn: Urn, olds: Object, news: Object, seed: bytes) -> Checked:
        if urn.type == RELEASE:
            return releases.check(urn.name, olds, news, self._default_namespace)
        return objects.check(
            _kind(urn),
            urn,
            olds,
            news,
            self._default_namespace,
            client_side=not _flag(self._arguments.get("enableServerSideApply"), default=True),
        )

    @override
    def diff(
        self, urn: Urn, resource_id: str, olds: Object, old_inputs: Object, news: Object
    ) -> Difference:
        if urn.type == RELEASE:
            return releases.diff(old_inputs, news)
        return objects.diff(_kind(urn), old_inputs, news)

    @override
    def create(
        self, urn: Urn, inputs: Object, *, timeout: float, preview: bool
    ) -> tuple[str, Object]:
        if urn.type == RELEASE:
            if preview:
                return "", releases.preview(inputs)
            client = self._client
            if client is None:
                raise ProviderError(
                    f"can't create Helm Release with unreachable cluster: {self._unreachable}"
                )
            return self._guarded(lambda: Releases(client).create(inputs))
        if preview:
            return "", inputs
        return self._guarded(lambda: self._objects.create(_kind(urn), urn, inputs, timeout))

    @override
    def update(
        self,
        urn: Urn,
        resource_id: str,
        olds: Object,
        old_inputs: Object,
        news: Object,
        *,
        timeout: float,
        preview: bool,
    ) -> Object:
        if urn.type == RELEASE:
            if preview:
                return releases.preview(news)
            client = self._client
            if client is None:
                raise ProviderError(
                    f"can't update Helm Release with unreachable cluster: {self._unreachable}"
                )
            return self._guarded(lambda: Releases(client).update(news))
        if preview:
            return {**olds, **news}
        return self._guarded(lambda: self._objects.update(_kind(urn), urn, news, timeout))

    @override
    def read(
        self, urn: Urn, resource_id: str, inputs: Object | None, state: Object
    ) -> tuple[str, Object, Object]:
        client = self._client
        if client is None:
            return self._read_unreachable(urn, resource_id, inputs, state)
        if urn.type == RELEASE:
            return self._guarded(
                lambda: Releases(client).read(resource_id, inputs, state, self._default_namespace)
            )
        return self._guarded(
            lambda: self._objects.read(_kind(urn), resource_id, inputs, self._default_namespace)
        )

    @override
    def delete(
        self, urn: Urn, resource_id: str, state: Object, inputs: Object, *, timeout: float
    ) -> None:
        client = self._client
        if urn.type == RELEASE:
            if client is None:
                # Releases do not know deleteUnreachable.
                raise ProviderError(f"Kubernetes cluster unreachable: {self._unreachable}")
            self._guarded(lambda: Releases(client).delete(state))
            return
        if client is None:
            if self._forgets_unreachable:
                self.log(
                    Severity.INFO,
                    "configured Kubernetes cluster is unreachable and the `deleteUnreachable` "
                    "option is enabled. Deleting the unreachable resource from Pulumi state",
                    urn.text,
                )
                return
            raise ProviderError(
                f"configured Kubernetes cluster is unreachable: {self._unreachable}. If the "
                "cluster has been deleted, you can edit the pulumi state to remove this resource "
                f'or retry with the {DELETE_ANYWAY_VARIABLE} environment variable set to "true"'
            )
        self._guarded(
            lambda: self._objects.delete(_kind(urn), resource_id, self._default_namespace, timeout)
        )

    @property
    def _objects(self) -> Objects:
        if self._client is None:
            raise ProviderError(
                f"configured Kubernetes cluster is unreachable: {self._unreachable}"
            )
        # Without server-side apply an object is created, which is refused where it exists already.
        upsert = _flag(self._arguments.get("upsertExistingObjects"), default=False) and _flag(
            self._arguments.get("enableServerSideApply"), default=True
        )
        return Objects(self._client, upsert=upsert)

    @property
    def _forgets_unreachable(self) -> bool:
        """As the provider's argument says, and without one as the environment does."""
        by_default = os.environ.get(DELETE_ANYWAY_VARIABLE) == "true"
        return _flag(self._arguments.get("deleteUnreachable"), default=by_default)

    def _read_unreachable(
        self, urn: Urn, resource_id: str, inputs: Object | None, state: Object
    ) -> tuple[str, Object, Object]:
        reason = f"configured Kubernetes cluster is unreachable: {self._unreachable}"
        self.log(Severity.WARNING, reason, urn.text)
        if self._forgets_unreachable:
            return "", {}, {}
        if _flag(self._arguments.get("skipUpdateUnreachable"), default=False):
            return resource_id, inputs or {}, state
        raise ProviderError(
            "failed to read resource state due to unreachable cluster. If the cluster was deleted, "
            "you can remove this resource from Pulumi state by rerunning the operation with the "
            f'{DELETE_ANYWAY_VARIABLE} environment variable set to "true"'
        )

    @staticmethod
    def _guarded(work: Callable[[], _Result]) -> _Result:
        """Run ``work``; a credential that went bad is an error of the call."""
        try:
            return work()
        except KubeconfigError as error:
            raise ProviderError(str(error)) from error


def _kind(urn: Urn) -> objects.Kind:
    found = KINDS.get(urn.type)
    if found is None:
        raise ProviderError(f"the simulator's kubernetes plugin does not know the type {urn.type}")
    return found


def _flag(value: object, *, default: bool) -> bool:
    """A provider argument: the SDK sends booleans as JSON text."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(as_text(value).lower(), default)


def _active_cluster(arguments: Object) -> object:
    text = as_text(arguments.get("kubeconfig"))
    try:
        config = parse(text, as_text(arguments.get("context")), as_text(arguments.get("cluster")))
    except KubeconfigError:
        return text
    return json.dumps(config.cluster, sort_keys=True)


def _no_schema(error: Exception) -> str:
    return f"unable to load schema information from the API server: {error}"


def main() -> None:
    """Serve the provider; the engine starts this."""
    run(KubernetesProvider())


if __name__ == "__main__":
    main()
