"""``helm.sh/v3:Release``: Helm releases with the rules of the provider's own Helm library."""

import secrets
from typing import Final

from simulator.plugins.differences import compare
from simulator.plugins.kubernetes.charts import ChartError, LocalChart, locate
from simulator.plugins.kubernetes.client import ApiError, Client, UnreachableError, WaitExpiredError
from simulator.plugins.properties import UNKNOWN, Object, has_unknowns
from simulator.plugins.provider import Checked, Difference, PartialError, ProviderError
from simulator.values import as_list, as_number, as_object, as_text, is_object

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
DEFAULT_TIMEOUT_SECONDS: Final = 300
KNOWN_INPUTS: Final = frozenset(
    {
        "allowNullValues",
        "atomic",
        "chart",
        "cleanupOnFail",
        "compat",
        "createNamespace",
        "dependencyUpdate",
        "description",
        "disableWebhooks",
        "forceUpdate",
        "lint",
        "maxHistory",
        "name",
        "namespace",
        "repositoryOpts",
        "resetValues",
        "skipAwait",
        "skipCrds",
        "timeout",
        "values",
        "version",
        "waitForJobs",
    }
)
PENDING: Final = frozenset({"pending-install", "pending-upgrade", "uninstalling"})
ENDED: Final = "the process that ran Helm has ended"
"""What the release says where a fault has ended Helm, which is part of this process."""


class ReleaseFailedError(Exception):
    """Helm installed or upgraded the release, and it did not become what it should."""


def check(name: str, olds: Object, news: Object, default_namespace: str) -> Checked:
    """Name, namespace and timeout by default; the chart must be there at every preview."""
    inputs = dict(news)
    inputs.setdefault("name", olds.get("name") or f"{name}-{secrets.token_hex(4)}")
    inputs.setdefault("namespace", default_namespace)
    if not inputs.get("skipAwait"):
        inputs.setdefault("timeout", DEFAULT_TIMEOUT_SECONDS)
    failures = [
        (key, f"the simulator's kubernetes plugin does not know the input {key!r} of a Release")
        for key in sorted(inputs.keys() - KNOWN_INPUTS)
    ]
    if not as_text(inputs.get("chart")) and not has_unknowns(inputs.get("chart")):
        failures.append(("chart", "missing required property 'chart'"))
    elif not has_unknowns(inputs):
        try:
            local = _chart(inputs)
        except ChartError as error:
            advice = "check the chart name and repository configuration."
            failures.append(("chart", f"{error}; {advice}"))
        else:
            if local is not None:
                inputs["version"] = local.version
    return Checked(inputs, failures)


def diff(old_inputs: Object, news: Object) -> Difference:
    """Name and namespace replace, also where they are not known yet."""
    # The provider stores no "compat" among its inputs; it only switches the SDK's shape.
    before = {key: value for key, value in old_inputs.items() if key != "compat"}
    after = {key: value for key, value in news.items() if key != "compat"}
    return Difference(compare(before, after, lambda path: path in ("name", "namespace")))


def preview(inputs: Object) -> Object:
    """The inputs, and what only Helm knows as unknown."""
    return {**inputs, "resourceNames": UNKNOWN, "status": UNKNOWN}


class Releases:
    """The Helm releases of one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, inputs: Object) -> tuple[str, Object]:
        """Install; the id and the outputs.

        Raises:
            PartialError: installed, and failed: it stays in state.
            ProviderError: not installed.
        """
        release_id = _id(inputs)
        try:
            release = self._put(inputs, upgrade=False)
        except ReleaseFailedError as failure:
            if inputs.get("atomic"):
                self.delete(inputs)
                raise ProviderError(
                    f"release {as_text(inputs.get('name'))} failed, and has been uninstalled due "
                    f"to atomic being set: {failure}"
                ) from failure
            found = self._client.find(_path(inputs))
            if found is None:
                raise ProviderError(str(failure)) from failure
            reason = _reason(inputs, failure)
            raise PartialError(
                f'Helm release "{release_id}" was created, but failed to initialize completely. '
                f"Use Helm CLI to investigate: {reason}",
                resource_id=release_id,
                properties=_outputs(inputs, found),
                inputs=inputs,
            ) from failure
        return release_id, _outputs(inputs, release)

    def update(self, inputs: Object) -> Object:
        """Upgrade; the outputs. Rolling back a failed one is not simulated.

        Raises:
            PartialError: upgraded, and failed: the new inputs stay in state.
            ProviderError: not upgraded.
        """
        release_id = _id(inputs)
        if inputs.get("atomic"):
            raise ProviderError("the simulator's kubernetes plugin cannot upgrade atomically")
        try:
            return _outputs(inputs, self._put(inputs, upgrade=True))
        except ReleaseFailedError as failure:
            reason = _reason(inputs, failure)
            raise PartialError(
                f'Helm release "{release_id}" failed to initialize completely. '
                f"Use Helm CLI to investigate: {reason}",
                resource_id=release_id,
                properties=_outputs(inputs, self._client.find(_path(inputs)) or {}),
                inputs=inputs,
            ) from failure

    def read(
        self, release_id: str, inputs: Object | None, state: Object, default_namespace: str
    ) -> tuple[str, Object, Object]:
        """The live release; an empty id if it is gone."""
        if inputs is None and not state:
            namespace, _, name = release_id.rpartition("/")
            inputs = {"namespace": namespace or default_namespace, "name": name}
            release = self._client.find(_path(inputs))
            if release is None:
                return "", {}, {}
            inputs |= {
                "chart": release.get("chart"),
                "version": release.get("version"),
                "values": release.get("values"),
                "timeout": DEFAULT_TIMEOUT_SECONDS,
            }
        else:
            inputs = inputs or {}
            release = self._client.find(_path(state or inputs))
            if release is None:
                return "", {}, {}
        return release_id, inputs, _outputs(inputs, release)

    def delete(self, state: Object) -> None:
        """Uninstall, and wait for the objects to be gone unless the request says not to.

        Raises:
            ProviderError: it is not there, or its objects stay.
        """
        name = as_text(state.get("name"))
        try:
            self._client.call("DELETE", _path(state))
        except ApiError as error:
            if error.code == 404:
                # The published provider does not take this for success either.
                message = f"uninstall: Release not loaded: {name}: release: not found"
                raise ProviderError(message) from error
            raise
        except UnreachableError as error:
            raise ProviderError(f"Kubernetes cluster unreachable: {error}") from error
        if state.get("skipAwait") and not state.get("atomic"):
            return

        def gone() -> bool | None:
            return True if self._client.find(_path(state)) is None else None

        try:
            self._client.poll(gone, give_up_after=_timeout(state))
        except WaitExpiredError:
            found = self._client.find(_path(state)) or {}
            waits = as_text(found.get("message"))
            raise ProviderError(
                "uninstallation completed with 1 error(s): context deadline exceeded"
                + (f" ({waits})" if waits else "")
            ) from None

    def _put(self, inputs: Object, *, upgrade: bool) -> Object:
        """Install or upgrade, and wait as Helm does; the deployed release."""
        try:
            local = _chart(inputs)
        except ChartError as error:
            raise ProviderError(str(error)) from error
        if local is not None and local.kind not in ("", "application"):
            raise ProviderError(f"{local.kind} charts are not installable")
        body: Object = {
            "chart": inputs.get("chart"),
            "repository": _repository(inputs),
            "version": inputs.get("version"),
            "values": inputs.get("values") or {},
            "createNamespace": bool(inputs.get("createNamespace")),
            "timeout": _timeout(inputs),
            "cleanupOnFail": bool(inputs.get("cleanupOnFail")),
        }
        if local is not None:
            body["localChart"] = local.to_json()
        query = "?upgrade=true" if upgrade else ""
        self._client.call("PUT", _path(inputs) + query, body)

        def settled() -> Object | None:
            found = self._client.find(_path(inputs)) or {"status": "failed"}
            if found.get("status") in PENDING and found.get("message") == ENDED:
                # As the engine words it when a plugin is gone.
                raise ProviderError("error reading from server: EOF")
            skipped = bool(inputs.get("skipAwait"))
            return found if skipped or found.get("status") not in PENDING else None

        try:
            # The server ends the wait itself; this only bounds it.
            release = self._client.poll(settled, give_up_after=_timeout(inputs) * 2 + 60)
        except WaitExpiredError:
            raise ReleaseFailedError("context deadline exceeded") from None
        if release.get("status") == "failed":
            raise ReleaseFailedError(as_text(release.get("message")) or "context deadline exceeded")
        return release


def _chart(inputs: Object) -> LocalChart | None:
    return locate(as_text(inputs.get("chart")), _repository(inputs), as_text(inputs.get("version")))


def _repository(inputs: Object) -> str:
    return as_text(as_object(inputs.get("repositoryOpts")).get("repo"))


def _timeout(inputs: Object) -> float:
    return as_number(inputs.get("timeout")) or DEFAULT_TIMEOUT_SECONDS


def _id(inputs: Object) -> str:
    return f"{as_text(inputs.get('namespace'))}/{as_text(inputs.get('name'))}"


def _path(inputs: Object) -> str:
    return f"/releases/{_id(inputs)}"


def _reason(inputs: Object, failure: ReleaseFailedError) -> str:
    return (
        "failed to become available within allocated timeout. "
        f"Error: Helm Release {_id(inputs)}: {failure}"
    )


def _outputs(inputs: Object, release: Object) -> Object:
    status = {
        "appVersion": release.get("appVersion"),
        "chart": release.get("chart"),
        "name": release.get("name"),
        "namespace": release.get("namespace"),
        "revision": release.get("revision"),
        "status": release.get("status"),
        "version": release.get("version"),
    }
    outputs = {key: value for key, value in inputs.items() if key != "compat"}
    outputs["version"] = release.get("version") or inputs.get("version")
    if is_object(release.get("values")):
        outputs["values"] = release["values"]
    outputs["resourceNames"] = _resource_names(release)
    outputs["status"] = status
    return outputs


def _resource_names(release: Object) -> Object:
    """``v1/Service/gadget/pyroscope`` as ``{"Service/v1": ["gadget/pyroscope"]}``."""
    names: dict[str, list[str]] = {}
    for text in map(str, as_list(release.get("resources"))):
        *version, kind, namespace, name = text.split("/")
        names.setdefault(f"{kind}/{'/'.join(version)}", []).append(f"{namespace}/{name}")
    return {kind: sorted(found) for kind, found in names.items()}
