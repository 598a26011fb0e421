"""etcd and kube-apiserver of one cluster as child processes on loopback.

State survives restarts: etcd's data, the keys and the ports live in the cluster's folder. There is
no controller manager, no scheduler and no kubelet; :mod:`simulator.apiserver.controllers` does the
little that the deployed objects need of them.
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

START_SECONDS = 60
"""Wall seconds that the API server may take to become ready; it takes under ten."""

STOP_SECONDS = 10


class ApiServerError(Exception):
    """etcd or kube-apiserver is missing, did not start, or died; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """PEM files of the certificate that the API server presents, and of who signed it."""

    certificate_file: Path
    key_file: Path
    ca_file: Path


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """The two programs; `scripts/tools kubernetes` provides them."""

    kube_apiserver: str
    etcd: str

    @classmethod
    def find(cls) -> "Binaries":
        """Look on PATH and in envtest's assets folder (`KUBEBUILDER_ASSETS`).

        Raises:
            ApiServerError: one of them is in neither place.
        """
        assets = os.environ.get("KUBEBUILDER_ASSETS")
        path = os.pathsep.join(filter(None, [assets, os.environ.get("PATH", os.defpath)]))

        def find(name: str) -> str:
            found = shutil.which(name, path=path)
            if found is None:
                raise ApiServerError(
                    f"{name} is not installed: `scripts/tools kubernetes` provides it"
                )
            return found

        return cls(kube_apiserver=find("kube-apiserver"), etcd=find("etcd"))


class ApiServer:
    """One cluster's API server: started, ready, stopped, and started again on the same port."""

    def __init__(
        self, folder: Path, *, certificate: Certificate, token_review_url: str | None = None
    ) -> None:
        """Prepare to run in `folder`; nothing is started.

        `token_review_url` answers a TokenReview for every bearer token but the administrator's.
        """
        self._folder = folder
        self._certificate = certificate
        self._token_review_url = token_review_url
        self._children: list[subprocess.Popen[bytes]] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.admin_token = self._secret_file("admin-token", lambda: secrets.token_urlsafe(24))
        etcd_port, peer_port, port = self._ports()
        self._etcd_url = f"http://127.0.0.1:{etcd_port}"
        self._peer_url = f"http://127.0.0.1:{peer_port}"
        self._port = port
        self.url = f"https://127.0.0.1:{port}"

    def start(self) -> None:
        """Start both programs and return when the API server says that it is ready.

        Raises:
            ApiServerError: a program is missing, ends, or is not ready in time.
        """
        binaries = Binaries.find()
        self._spawn("etcd", self._etcd_command(binaries.etcd))
        self._spawn("kube-apiserver", self._apiserver_command(binaries.kube_apiserver))
        try:
            self._await_ready()
        except ApiServerError:
            self.stop()
            raise

    def stop(self) -> None:
        """End both programs, the API server first; what they stored stays."""
        for child in reversed(self._children):
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._children.clear()

    @contextlib.contextmanager
    def running(self) -> Generator["ApiServer"]:
        """Start, and stop when the block ends."""
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def _etcd_command(self, etcd: str) -> list[str]:
        return [
            etcd,
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            f"--initial-cluster=default={self._peer_url}",
            # Nothing here must outlive a power cut, and syncing each write costs most of its time.
            "--unsafe-no-fsync",
        ]

    def _apiserver_command(self, kube_apiserver: str) -> list[str]:
        key = self._folder / "service-account.key"
        self._secret_file(key.name, _private_key)
        tokens = f'{self.admin_token},simulator,simulator,"system:masters"\n'
        command = [
            kube_apiserver,
            f"--etcd-servers={self._etcd_url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={self._folder}",
            f"--tls-cert-file={self._certificate.certificate_file}",
            f"--tls-private-key-file={self._certificate.key_file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={key}",
            f"--service-account-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--watch-cache=true",
            f"--token-auth-file={self._replace('tokens.csv', tokens)}",
        ]
        if self._token_review_url:
            command += [
                f"--authentication-token-webhook-config-file={self._webhook(self._token_review_url)}",
                "--authentication-token-webhook-cache-ttl=1s",
            ]
        return command

    def _webhook(self, url: str) -> Path:
        ca = self._certificate.ca_file
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "simulator", "cluster": {"server": url, "certificate-authority": str(ca)}}
            ],
            "users": [{"name": "kube-apiserver"}],
            "contexts": [
                {"name": "default", "context": {"cluster": "simulator", "user": "kube-apiserver"}}
            ],
            "current-context": "default",
        }
        return self._replace("token-review.json", json.dumps(config))

    def _spawn(self, name: str, command: list[str]) -> None:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._folder)}
        with (self._folder / f"{name}.log").open("ab") as log:
            self._children.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    # A ctrl-C at the terminal is for the simulator; it stops these in order.
                    start_new_session=True,
                )
            )

    def _await_ready(self) -> None:
        context = ssl.create_default_context(cafile=str(self._certificate.ca_file))
        request = Request(  # noqa: S310 - an https URL of our own
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.admin_token}"}
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for child in self._children:
                if child.poll() is not None:
                    raise ApiServerError(f"{child.args!r} ended: {self._last_words()}")
            try:
                with urlopen(request, timeout=5, context=context) as answer:  # noqa: S310
                    if answer.status == 200:
                        return
            except (URLError, OSError):
                time.sleep(0.1)
        raise ApiServerError(
            f"the API server was not ready within {START_SECONDS} s: {self._last_words()}"
        )

    def _last_words(self) -> str:
        log = self._folder / "kube-apiserver.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return " | ".join(lines[-3:]) or "no output"

    def _ports(self) -> tuple[int, int, int]:
        """The same three ports at every start: kubeconfigs and etcd's data name them."""
        file = self._folder / "ports.json"
        if file.exists():
            stored: list[int] = json.loads(file.read_text())
            first, second, third = stored
            return first, second, third
        with contextlib.ExitStack() as sockets:
            bound = [sockets.enter_context(socket.socket()) for _ in range(3)]
            for each in bound:
                each.bind(("127.0.0.1", 0))
            first, second, third = (int(each.getsockname()[1]) for each in bound)
        file.write_text(json.dumps([first, second, third]))
        return first, second, third

    def _secret_file(self, name: str, make: Callable[[], str]) -> str:
        file = self._folder / name
        if not file.exists():
            self._replace(name, make())
        return file.read_text()

    def _replace(self, name: str, text: str) -> Path:
        file = self._folder / name
        file.touch(mode=0o600)
        file.write_text(text)
        return file


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
