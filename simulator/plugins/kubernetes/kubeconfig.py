"""A kubeconfig's active cluster and user, read as client-go reads it; exec plugins really run."""

import base64
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from simulator.plugins.properties import Object
from simulator.values import as_list, as_object, as_text

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the message is client-go's reason."""


@dataclass(frozen=True)
class Kubeconfig:
    """The active context, resolved."""

    server: str
    authority: str
    """PEM text of who signed the server's certificate; empty: the system's authorities."""
    namespace: str
    cluster: Object
    user: Object
    folder: Path | None
    """Where relative paths start; None: the kubeconfig was given as text."""


def parse(text_or_path: str, context: str = "", cluster: str = "") -> Kubeconfig:
    """Read a kubeconfig given as text or as a path.

    Raises:
        KubeconfigError: it is malformed, or names what it does not hold.
    """
    text, folder = text_or_path, None
    if _is_path(text_or_path):
        path = Path(text_or_path).expanduser()
        text, folder = path.read_text(), path.parent
    try:
        document = as_object(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise KubeconfigError(f"not a kubeconfig: {error}") from error
    contexts = _named(document, "contexts", "context")
    name = context or as_text(document.get("current-context"))
    chosen = contexts.get(name)
    if chosen is None:
        raise KubeconfigError(f"context {name!r} does not exist")
    clusters = _named(document, "clusters", "cluster")
    users = _named(document, "users", "user")
    cluster_name = cluster or as_text(chosen.get("cluster"))
    user_name = as_text(chosen.get("user"))
    if cluster_name not in clusters:
        raise KubeconfigError(f"cluster {cluster_name!r} does not exist")
    found = clusters[cluster_name]
    return Kubeconfig(
        server=as_text(found.get("server")),
        authority=_authority(found, folder),
        namespace=as_text(chosen.get("namespace")) or "default",
        cluster=found,
        user=users.get(user_name, {}),
        folder=folder,
    )


def _named(document: Object, plural: str, singular: str) -> dict[str, Object]:
    entries = [as_object(entry) for entry in as_list(document.get(plural))]
    return {as_text(entry.get("name")): as_object(entry.get(singular)) for entry in entries}


def _is_path(text: str) -> bool:
    """Whether ``text`` names a file, rather than being a kubeconfig as YAML or JSON."""
    if "\n" in text:
        return False
    try:
        return Path(text).expanduser().exists()
    except OSError:  # too long for a name
        return False


def _authority(cluster: Object, folder: Path | None) -> str:
    data = as_text(cluster.get("certificate-authority-data"))
    if data:
        return base64.b64decode(data).decode()
    file = as_text(cluster.get("certificate-authority"))
    return ((folder or Path()) / file).read_text() if file else ""


class Credentials:
    """The bearer token of a kubeconfig's user, renewed when it has expired."""

    def __init__(self, config: Kubeconfig) -> None:
        self._config = config
        self._token = ""
        self._expires: datetime | None = None

    def token(self) -> str:
        """The token; empty if the user has none.

        Raises:
            KubeconfigError: the exec plugin is missing or failed.
        """
        user = self._config.user
        if "exec" not in user:
            return as_text(user.get("token")) or self._from_file(as_text(user.get("tokenFile")))
        expired = self._expires is not None and self._expires <= datetime.now(UTC)
        if not self._token or expired:
            self._run(as_object(user["exec"]))
        return self._token

    def _from_file(self, name: str) -> str:
        if not name:
            return ""
        return ((self._config.folder or Path()) / name).read_text().strip()

    def _run(self, plugin: Object) -> None:
        """Run the exec plugin and take the token it prints."""
        version = as_text(plugin.get("apiVersion"))
        if version not in EXEC_VERSIONS:
            raise KubeconfigError(f"exec plugin: invalid apiVersion {version!r}")
        interactive = as_text(plugin.get("interactiveMode"))
        if not interactive and version == EXEC_VERSIONS[0]:
            raise KubeconfigError("exec plugin: interactiveMode must be specified")
        if interactive == "Always":
            raise KubeconfigError(
                "getting credentials: exec plugin cannot support interactive mode: "
                "standard input is not a terminal"
            )
        command = as_text(plugin.get("command"))
        executable = self._executable(command)
        if executable is None:
            hint = as_text(plugin.get("installHint"))
            raise KubeconfigError(
                f"getting credentials: exec: executable {command} not found\n\n"
                "It looks like you are trying to use a client-go credential plugin that is not "
                f"installed.\n\n{hint}".rstrip()
            )
        spec: Object = {"interactive": False}
        if plugin.get("provideClusterInfo"):
            spec["cluster"] = {
                "server": self._config.server,
                "certificate-authority-data": base64.b64encode(
                    self._config.authority.encode()
                ).decode(),
            }
        info = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
        variables = {
            as_text(entry.get("name")): as_text(entry.get("value"))
            for entry in map(as_object, as_list(plugin.get("env")))
        }
        answer = subprocess.run(
            [executable, *(as_text(argument) for argument in as_list(plugin.get("args")))],
            env={**os.environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            said = answer.stderr.strip()
            raise KubeconfigError(
                f"getting credentials: exec: executable {command} failed with exit code "
                f"{answer.returncode}" + (f": {said}" if said else "")
            )
        self._take(answer.stdout, version)

    def _executable(self, command: str) -> str | None:
        if self._config.folder is not None and "/" in command and not command.startswith("/"):
            command = str(self._config.folder / command)
        return shutil.which(command)

    def _take(self, printed: str, version: str) -> None:
        try:
            credential = as_object(json.loads(printed))
        except ValueError as error:
            raise KubeconfigError(f"getting credentials: decoding stdout: {error}") from error
        returned = as_text(credential.get("apiVersion"))
        if returned != version:
            raise KubeconfigError(
                f"getting credentials: exec plugin is configured to use API version {version}, "
                f"plugin returned version {returned}"
            )
        status = as_object(credential.get("status"))
        self._token = as_text(status.get("token"))
        if not self._token:
            raise KubeconfigError(
                "getting credentials: exec plugin didn't return a token or cert/key pair"
            )
        expires = as_text(status.get("expirationTimestamp"))
        self._expires = datetime.fromisoformat(expires.replace("Z", "+00:00")) if expires else None
