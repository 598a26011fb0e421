"""A person with kubectl at the real API server of a simulated cluster."""

import json
import os
import ssl
import time
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path
from signal import SIGKILL
from typing import TypeVar

from simulator.values import JsonObject, as_object, as_text

_Found = TypeVar("_Found")

GADGET = "/api/v1/namespaces/gadget"
SERVICE = f"{GADGET}/services/pyroscope"
STATEFUL_SET = "/apis/apps/v1/namespaces/gadget/statefulsets/pyroscope"
PREFIX = "service.beta.kubernetes.io/azure-"


class Cluster:
    """The API server of ``aks-dev``, or of another cluster, as its administrator sees it."""

    def __init__(self, home: Path, group: str = "rg-dev", name: str = "aks-dev") -> None:
        self._home = home
        self.folder = home / "azure" / "clusters" / f"{group}.{name}"

    @property
    def token(self) -> str:
        """The administrator's."""
        return (self.folder / "admin-token").read_text()

    def call(
        self, method: str, path: str, body: object = None, token: str | None = None
    ) -> tuple[int, JsonObject]:
        """Status and body of the answer."""
        port = json.loads((self.folder / "ports.json").read_text())[2]
        tls = ssl.create_default_context(cafile=str(self._home / "azure" / "ca.pem"))
        connection = HTTPSConnection("127.0.0.1", port, context=tls, timeout=30)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": kind,
        }
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return answer.status, as_object(json.loads(text)) if text.startswith("{") else {}

    def get(self, path: str) -> JsonObject:
        """An object that is there."""
        status, body = self.call("GET", path)
        assert status == 200, body
        return body

    def find(self, path: str) -> JsonObject | None:
        """An object, or None if there is none."""
        status, body = self.call("GET", path)
        assert status in (200, 404), body
        return body if status == 200 else None

    def create(self, path: str, manifest: JsonObject) -> JsonObject:
        """Make an object."""
        status, body = self.call("POST", path, manifest)
        assert status in (200, 201, 202), body
        return body

    def patch(self, path: str, patch: JsonObject) -> JsonObject:
        """Change an object by a merge patch."""
        status, body = self.call("PATCH", path, patch)
        assert status == 200, body
        return body

    def delete(self, path: str) -> None:
        """Delete an object."""
        status, body = self.call("DELETE", path)
        assert status in (200, 202), body

    def annotations(self) -> JsonObject:
        """Pyroscope's Service's annotations."""
        return as_object(as_object(self.get(SERVICE)["metadata"])["annotations"])

    def kill(self, program: str) -> None:
        """Kill ``kube-apiserver`` or ``etcd``."""
        os.kill(self._pids()[program], SIGKILL)

    def pids(self) -> list[int]:
        """The processes that are the cluster's."""
        return list(self._pids().values())

    def _pids(self) -> dict[str, int]:
        found: dict[str, int] = json.loads((self.folder / "pids.json").read_text())
        return found


def until(probe: Callable[[], _Found | None], seconds: float = 30.0) -> _Found:
    """What ``probe`` finds, asked again until it finds something."""
    deadline = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def name_of(manifest: JsonObject) -> str:
    """``metadata.name``."""
    return as_text(as_object(manifest.get("metadata")).get("name"))
