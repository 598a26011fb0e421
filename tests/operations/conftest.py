"""A simulated Azure for each test, and the command line of the operations, run on it.

One simulator process serves all tests of a worker; each test starts from the seeded world. The
operations run in the test's own process (a subprocess a call would take most of the time); what
only a process can show is tested in ``test_process.py``.
"""

import io
import ipaddress
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from contract.messages.base import Message, Verb
from operations.__main__ import main
from simulator.testing import FOREIGN, running
from simulator.values import JsonObject, as_object, as_objects, as_text
from tests.azure_client import AzureClient

SUBSCRIPTION = "11111111-1111-4111-8111-111111111111"
CALLER = "22222222-2222-4222-8222-222222222222"
GROUP_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-dev"
GRAFANA_ID = f"{GROUP_ID}/providers/Microsoft.Dashboard/grafana/grafana-dev"
CLUSTER_ID = f"{GROUP_ID}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
WORKSPACE_ID = f"{GROUP_ID}/providers/Microsoft.Monitor/accounts/amw-dev"

MESSAGE = "gpuobs gpuobs dev 0a1b2c3d"

GRAFANA_ADMIN = "22926164-76b3-42b3-bc55-97df8dab3e41"
GRAFANA_VIEWER = "60921a7e-fef1-4a43-9b16-a26c52ad4769"

_guarded: dict[str, bool] = {"on": False, "installed": False}


def _refuse_other_addresses(event: str, arguments: tuple[object, ...]) -> None:
    # Empty while the interpreter ends and takes the module's names away.
    if not _guarded or not _guarded["on"] or event not in ("socket.connect", "socket.getaddrinfo"):
        return
    address = arguments[1] if event == "socket.connect" else arguments[0]
    host = cast("tuple[object, ...]", address)[0] if isinstance(address, tuple) else address
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        loopback = ipaddress.ip_address(text).is_loopback
    except ValueError:
        loopback = text == "localhost" or text.startswith("/")
    if not loopback:
        raise AssertionError(f"{event} beyond loopback: {text}")


@pytest.fixture(autouse=True)
def no_address_beyond_loopback() -> Iterator[None]:
    """Every test of the operations fails if anything but loopback is looked up or connected to."""
    if not _guarded["installed"]:
        sys.addaudithook(_refuse_other_addresses)
        _guarded["installed"] = True
    _guarded["on"] = True
    yield
    _guarded["on"] = False


@dataclass(frozen=True)
class Result:
    """What one run of the command line left."""

    exit_code: int
    answer: JsonObject
    stdout: str
    stderr: str


class Azure(AzureClient):
    """The simulated Azure as a test sees it."""

    @property
    def endpoint(self) -> str:
        """The URL of the seeded Grafana."""
        return as_text(
            as_object(self.arm("GET", GRAFANA_ID, "2025-08-01")["properties"])["endpoint"]
        )

    def in_grafana(self, method: str, path: str, body: object = None, *, ok: bool = True) -> object:
        """What the seeded Grafana answers, which with ``ok`` must be a success."""
        response = self.grafana(method, path, body)
        assert response.is_success or not ok, f"{method} {path}: {response.text}"
        return response.json() if response.content else None

    def source(self, uid: str) -> JsonObject:
        """The data source ``uid``; empty where there is none."""
        sources = as_objects(self.in_grafana("GET", "/api/datasources"))
        return next((one for one in sources if one["uid"] == uid), as_object(None))

    def fault(self, methods: str, path: str, then: Mapping[str, object], **rule: object) -> None:
        """A fault rule for each of ``methods`` (``PUT|POST``), in place of those before."""
        self.settings(
            faults=[
                {"method": method, "path": path, "then": dict(then), **rule}
                for method in methods.split("|")
            ]
        )

    def expose(self, name: str = "pyroscope-dev", **annotations: str) -> str:
        """Let the cloud controller see Pyroscope's Service; the id of its Private Link Service."""
        prefix = "service.beta.kubernetes.io/azure-"
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "pyroscope",
                "namespace": "gadget",
                "annotations": {
                    f"{prefix}load-balancer-internal": "true",
                    f"{prefix}pls-create": "true",
                    f"{prefix}pls-name": name,
                    f"{prefix}pls-proxy-protocol": "false",
                    f"{prefix}pls-visibility": "*",
                    **{
                        f"{prefix}{key.replace('_', '-')}": text
                        for key, text in annotations.items()
                    },
                },
            },
            "spec": {"type": "LoadBalancer", "ports": [{"name": "http2", "port": 4040}]},
        }
        # Like a watch, until the controller has nothing more to do.
        for _ in range(1000):
            outcomes = self.control("POST", "services/aks-dev", [service])
            if not any(one.get("pending") for one in as_objects(outcomes)):
                break
            time.sleep(0.005)
        return self.private_link_id(name)

    def private_link_id(self, name: str = "pyroscope-dev") -> str:
        """The id that a Private Link Service of this name has in the node resource group."""
        cluster = self.arm("GET", CLUSTER_ID, "2025-09-01")
        group = as_text(as_object(cluster["properties"])["nodeResourceGroup"])
        return (
            f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"
            f"/providers/Microsoft.Network/privateLinkServices/{name}"
        )

    def connect(
        self, link_id: str, name: str = "p-dev", message: str = MESSAGE, grafana: str = GRAFANA_ID
    ) -> None:
        """Make a managed private endpoint on a Grafana workspace."""
        properties = {
            "privateLinkResourceId": link_id,
            "privateLinkResourceRegion": "westeurope",
            "requestMessage": message,
        }
        path = f"{grafana}/managedPrivateEndpoints/{name}"
        body = {"location": "westeurope", "properties": properties}
        self.arm("PUT", path, "2025-08-01", body)
        # Operations end when the world is looked at again.
        self.arm("GET", path, "2025-08-01")

    def connections(self, link_id: str) -> list[JsonObject]:
        """The connections of a Private Link Service."""
        service = self.arm("GET", link_id, "2026-03-01")
        return as_objects(as_object(service["properties"]).get("privateEndpointConnections"))

    def state(self, link_id: str, number: int = 0) -> JsonObject:
        """Status and description of a connection."""
        properties = as_object(self.connections(link_id)[number]["properties"])
        return as_object(properties["privateLinkServiceConnectionState"])

    def set_state(self, link_id: str, status: str, description: str, number: int = 0) -> None:
        """Approve, reject or disconnect a connection by hand."""
        connection = self.connections(link_id)[number]
        state = {"status": status, "description": description}
        body = {"properties": {"privateLinkServiceConnectionState": state}}
        self.arm("PUT", as_text(connection["id"]), "2026-03-01", body)

    def calls(self) -> int:
        """HTTP requests since the reset."""
        count = self.inspect()["calls"]
        assert isinstance(count, int)
        return count


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azure]:
    with running(tmp_path_factory.mktemp("simulator")) as server, Azure(server) as azure:
        yield azure


@pytest.fixture
def azure(simulator: Azure, monkeypatch: pytest.MonkeyPatch) -> Azure:
    """The seeded world; this process is pointed at it like a deployment would be."""
    simulator.settings(faults=[], latency=0.0)
    simulator.reset()
    for name in list(os.environ):
        if name.startswith((*FOREIGN, "GPUOBS_")):
            monkeypatch.delenv(name)
    for name, value in simulator.server.environment.items():
        monkeypatch.setenv(name, value)
    return simulator


class Operations:
    """The command line, run on the simulated Azure."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(
        self,
        verb: Verb,
        request: Message | Mapping[str, object] | str,
        *options: str,
        observed: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Result:
        """Run ``verb``; a traceback on standard error fails the test."""
        text = request if isinstance(request, str) else _json(request)
        with self._monkeypatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(text))
            if observed:
                patch.setenv("GPUOBS_OBSERVED", observed)
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            self._capsys.readouterr()
            exit_code = main([verb.value, *options])
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err, err
        assert out.count("\n") <= 1, f"more than one line on standard output: {out}"
        return Result(exit_code, as_object(json.loads(out)) if out else {}, out, err)

    def succeed(
        self,
        verb: Verb,
        request: Message | Mapping[str, object] | str,
        *options: str,
        observed: str = "",
    ) -> Result:
        """Run ``verb``, which must succeed."""
        result = self(verb, request, *options, observed=observed)
        assert result.exit_code == 0, result.stderr
        return result


@pytest.fixture
def operations(
    azure: Azure, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Operations:
    del azure
    return Operations(monkeypatch, capsys)


def _json(request: Message | Mapping[str, object]) -> str:
    return request.to_json() if isinstance(request, Message) else json.dumps(request)


def assert_says(text: str, words: Sequence[str]) -> None:
    """All of ``words`` stand in ``text``."""
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in:\n{text}"
