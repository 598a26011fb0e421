"""etcd and kube-apiserver of one cluster as child processes on loopback.

State survives restarts: etcd's data, the keys and the ports live in the cluster's folder. There is
no controller manager, no scheduler and no kubelet: :mod:`simulator.apiserver.mirror` lets the
simulated Azure's controllers do the little that the deployed objects need of them.
"""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from simulator.apiserver.provision import Programs

START_SECONDS = 60
"""Wall seconds that the API server may take to become ready; it takes three to ten."""

STOP_SECONDS = 10


class ApiServerError(Exception):
    """etcd or kube-apiserver did not start, or died; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """PEM files of the certificate that the API server presents, and of who signed it."""

    certificate_file: Path
    key_file: Path
    authority_file: Path


class ApiServer:
    """One cluster's API server: started, ready, stopped, and started again on the same port."""

    def __init__(
        self, folder: Path, *, programs: Programs, certificate: Certificate, token_review_url: str
    ) -> None:
        """Prepare to run in ``folder``; nothing is started.

        ``token_review_url`` answers a TokenReview for every bearer token but the administrator's.
        """
        self._folder = folder
        self._programs = programs
        self._certificate = certificate
        self._token_review_url = token_review_url
        self._children: dict[str, asyncio.subprocess.Process] = {}
        self._guard: asyncio.subprocess.Process | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.admin_token = self._secret_file("admin-token", lambda: secrets.token_urlsafe(24))
        etcd_port, peer_port, port = self._ports()
        self._etcd_url = f"http://127.0.0.1:{etcd_port}"
        self._peer_url = f"http://127.0.0.1:{peer_port}"
        self._port = port
        self.url = f"https://127.0.0.1:{port}"
        self.tls = ssl.create_default_context(cafile=str(certificate.authority_file))

    async def start(self) -> None:
        """Start both programs and return when the API server says that it is ready.

        Raises:
            ApiServerError: a program ends, or is not ready in time.
        """
        await self._spawn("etcd", self._etcd_command())
        await self._spawn("kube-apiserver", self._apiserver_command())
        self._replace("pids.json", json.dumps({k: v.pid for k, v in self._children.items()}))
        self._guard = await _guard([child.pid for child in self._children.values()])
        try:
            await self._await_ready()
        except ApiServerError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End both programs, the API server first; what they stored stays."""
        one_died = any(child.returncode is not None for child in self._children.values())
        for child in reversed(self._children.values()):
            with contextlib.suppress(ProcessLookupError):
                # An API server that is asked nicely waits for its etcd.
                child.kill() if one_died else child.terminate()
            try:
                await asyncio.wait_for(child.wait(), STOP_SECONDS)
            except TimeoutError:
                child.kill()
                await child.wait()
        self._children.clear()
        if self._guard is not None:
            with contextlib.suppress(ProcessLookupError):
                self._guard.kill()
            await self._guard.wait()
            self._guard = None

    async def ended(self) -> str:
        """Wait until one of the programs ends by itself; its name."""
        waits = {asyncio.create_task(child.wait()): name for name, child in self._children.items()}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return waits[done.pop()]

    def _etcd_command(self) -> list[str]:
        return [
            str(self._programs.etcd),
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            f"--initial-cluster=default={self._peer_url}",
            # Nothing here must outlive a power cut, and syncing each write costs most of its time.
            "--unsafe-no-fsync",
        ]

    def _apiserver_command(self) -> list[str]:
        key = self._folder / "service-account.key"
        self._secret_file(key.name, _private_key)
        tokens = f'{self.admin_token},simulator,simulator,"system:masters"\n'
        return [
            str(self._programs.kube_apiserver),
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
            f"--token-auth-file={self._replace('tokens.csv', tokens)}",
            f"--authentication-token-webhook-config-file={self._webhook()}",
            "--authentication-token-webhook-version=v1",
            # A rotated token is soon refused; the API server itself remembers tokens for 10 s.
            "--authentication-token-webhook-cache-ttl=1s",
        ]

    def _webhook(self) -> Path:
        cluster = {
            "server": self._token_review_url,
            "certificate-authority": str(self._certificate.authority_file),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "simulator", "cluster": cluster}],
            "users": [{"name": "kube-apiserver"}],
            "contexts": [
                {"name": "default", "context": {"cluster": "simulator", "user": "kube-apiserver"}}
            ],
            "current-context": "default",
        }
        return self._replace("token-review.json", json.dumps(config))

    async def _spawn(self, name: str, command: list[str]) -> None:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._folder),
            # Go's garbage collection, at its default of 100, is a quarter of what a start costs.
            "GOGC": "400",
        }
        with (self._folder / f"{name}.log").open("ab") as log:
            self._children[name] = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                # A ctrl-C at the terminal is for the simulator; it stops these in order.
                start_new_session=True,
            )

    async def _await_ready(self) -> None:
        headers = {"Authorization": f"Bearer {self.admin_token}"}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        async with aiohttp.ClientSession(
            headers=headers, connector=aiohttp.TCPConnector(ssl=self.tls)
        ) as session:
            while loop.time() < deadline:
                for name, child in self._children.items():
                    if child.returncode is not None:
                        raise ApiServerError(f"{name} ended: {self._last_words(name)}")
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    async with session.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(0.05)
        words = self._last_words("kube-apiserver")
        raise ApiServerError(f"the API server was not ready within {START_SECONDS} s: {words}")

    def _last_words(self, name: str) -> str:
        log = self._folder / f"{name}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return " | ".join(lines[-3:]) or "no output"

    def _ports(self) -> tuple[int, int, int]:
        """The same three ports at every start: kubeconfigs and etcd's data name them."""
        file = self._folder / "ports.json"
        if file.exists():
            first, second, third = json.loads(file.read_text())
            return int(first), int(second), int(third)
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


async def _guard(pids: list[int]) -> asyncio.subprocess.Process:
    """A process that ends the children should the simulator be killed: its pipe closes then."""
    # At once: an API server that is asked nicely waits for its etcd, which is ended as well.
    script = 'read -r _; kill -KILL "$@" 2>/dev/null'
    return await asyncio.create_subprocess_exec(
        shutil.which("sh") or "/bin/sh",
        "-c",
        script,
        "sh",
        *map(str, pids),
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
