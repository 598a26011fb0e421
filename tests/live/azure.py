"""Calling Azure for the checks: ARM, Grafana and a cluster's API server, as the product's identity.

Deliberately not the product's own clients: a check looks past what they conclude.
"""

import base64
import contextlib
import json
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import httpx
import yaml

from operations.credentials import credential, timeouts
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig

ARM: Final = "https://management.azure.com"
GRAFANA_AUDIENCE: Final = "ce34e7e5-485f-4d76-964f-b3d2b16d1e4f"
AKS_AUDIENCE: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
VERSIONS: Final = {
    "microsoft.authorization": "2022-04-01",
    "microsoft.containerservice": "2025-09-01",
    "microsoft.dashboard": "2024-10-01",
    "microsoft.insights": "2022-06-01",
    "microsoft.kubernetesconfiguration": "2023-05-01",
    "microsoft.network": "2024-05-01",
    "microsoft.resources": "2024-03-01",
    "microsoft.storage": "2024-01-01",
}
"""API version by the namespace of a type."""
SETTLED: Final = ("Succeeded", "Failed", "Canceled")


class CheckError(Exception):
    """A check cannot go on; the message says why, for the report."""


def pause(seconds: float) -> None:
    """Wait; in a simulated Azure as long as its time takes."""
    time.sleep(max(0.01, seconds * float(os.environ.get("GPUOBS_TIME_SCALE") or 1)))


def poll(probe: Callable[[], bool], *, what: str, seconds: float, every: float = 10.0) -> None:
    """Wait until ``probe`` is true.

    Raises:
        CheckError: it was not within ``seconds`` (of Azure's time).
    """
    for _ in range(max(2, int(seconds / every))):
        if probe():
            return
        pause(every)
    raise CheckError(f"{what} did not happen within {seconds:.0f} s")


class Tokens:
    """The caller's tokens, one for each audience, renewed before they end."""

    def __init__(self) -> None:
        self._credential = credential(timeouts())
        self._kept: dict[str, tuple[str, float]] = {}

    def get(self, audience: str) -> str:
        """A bearer token for ``audience``."""
        token, expires = self._kept.get(audience, ("", 0.0))
        if expires - time.time() < 300:
            found = self._credential.get_token(f"{audience}/.default")
            token, expires = found.token, float(found.expires_on)
            self._kept[audience] = (token, expires)
        return token

    def caller(self) -> str:
        """The caller's object id, from the claims of its token."""
        claims = self.get(ARM).split(".")[1]
        padded = claims + "=" * (-len(claims) % 4)
        return as_text(as_object(json.loads(base64.urlsafe_b64decode(padded))).get("oid"))

    def close(self) -> None:
        """Let go of the credential's connections."""
        self._credential.close()


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    body: JsonObject
    text: str
    location: str = ""
    """Where to ask how the operation is going."""

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return self.status < 300

    @property
    def error(self) -> str:
        """Status and the service's own words, on one line."""
        said = dig(self.body, "error", "message") or self.body.get("message") or self.text
        code = as_text(dig(self.body, "error", "code"))
        return " ".join(f"{self.status} {code} {said}".split())[:300]

    def items(self, key: str = "value") -> list[JsonObject]:
        """The objects of a list."""
        return as_objects(self.body.get(key))


def answer_of(response: httpx.Response) -> Answer:
    """The answer in ``response``, whose body may be no JSON object."""
    document: object = {}
    with contextlib.suppress(ValueError):
        document = response.json()
    body = as_object(document) or {"value": as_list(document)}
    headers = response.headers
    location = headers.get("Azure-AsyncOperation") or headers.get("Location") or ""
    return Answer(response.status_code, body, response.text, location)


class Arm:
    """Azure Resource Manager, one call at a time."""

    def __init__(self, tokens: Tokens) -> None:
        self.url = os.environ.get("GPUOBS_ARM_URL", "").rstrip("/") or ARM
        self._tokens = tokens
        self._client = httpx.Client(timeout=60.0)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Answer:
        """One call, whatever comes of it; the API version is the one of the path's last type."""
        tail = path.lower().rsplit("/providers/", 1)
        namespace = tail[1].split("/")[0] if len(tail) == 2 else "microsoft.resources"
        response = self._client.request(
            method,
            f"{self.url}{path}",
            json=body,
            params={"api-version": VERSIONS[namespace], **(query or {})},
            headers={"Authorization": f"Bearer {self._tokens.get(ARM)}"},
        )
        return answer_of(response)

    def get(self, path: str) -> JsonObject:
        """The resource.

        Raises:
            CheckError: it cannot be read.
        """
        return self._body(self.call("GET", path), f"GET {path}")

    def find(self, path: str) -> JsonObject | None:
        """The resource; None where there is none."""
        answer = self.call("GET", path)
        return None if answer.status == 404 else self._body(answer, f"GET {path}")

    def list(self, path: str, query: Mapping[str, str] | None = None) -> list[JsonObject]:
        """The first page of a collection."""
        answer = self.call("GET", path, query=query)
        self._body(answer, f"GET {path}")
        return answer.items()

    def put(self, path: str, body: object) -> JsonObject:
        """Make or change a resource, and wait until it is settled."""
        self._body(self.call("PUT", path, body), f"PUT {path}")
        return self.settled(path)

    def settled(self, path: str) -> JsonObject:
        """The resource, once no operation runs on it any more."""
        found: JsonObject = {}

        def look() -> bool:
            nonlocal found
            found = self.get(path)
            state = as_text(dig(found, "properties", "provisioningState"), "Succeeded")
            return state in SETTLED

        poll(look, what=f"the end of the operation on {path}", seconds=3600)
        return found

    def delete(self, path: str) -> None:
        """Delete a resource that may be gone already, and wait until it is."""
        answer = self.call("DELETE", path)
        if answer.status != 404:
            self._body(answer, f"DELETE {path}")
        poll(lambda: self.find(path) is None, what=f"the deletion of {path}", seconds=3600)

    def follow(self, answer: Answer) -> None:
        """Wait until the operation that ``answer`` started has ended."""

        def look() -> bool:
            headers = {"Authorization": f"Bearer {self._tokens.get(ARM)}"}
            state = answer_of(self._client.get(answer.location, headers=headers))
            return state.status != 202 and as_text(state.body.get("status"), "Succeeded") in SETTLED

        if answer.location:
            poll(look, what="the end of the operation", seconds=1800)

    def _body(self, answer: Answer, call: str) -> JsonObject:
        if not answer.ok:
            raise CheckError(f"{call}: {answer.error}")
        return answer.body


class Grafana:
    """The HTTP API of one workspace."""

    def __init__(self, tokens: Tokens, endpoint: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._tokens = tokens

    def call(
        self, method: str, path: str, body: object = None, audience: str = "", token: str = ""
    ) -> Answer:
        """One call, whatever comes of it.

        ``audience`` of the token, else the product's; ``token`` in place of one of Entra ID's.
        """
        audience = audience or os.environ.get("GPUOBS_GRAFANA_AUDIENCE") or GRAFANA_AUDIENCE
        response = httpx.request(
            method,
            self._endpoint + path,
            json=body,
            timeout=60.0,
            headers={"Authorization": f"Bearer {token or self._tokens.get(audience)}"},
        )
        return answer_of(response)


class Kubernetes:
    """A cluster's API server, by the user credentials that ARM gives out."""

    def __init__(self, tokens: Tokens, kubeconfig: str) -> None:
        config = as_object(yaml.safe_load(kubeconfig))
        cluster = as_object(dig(as_objects(config.get("clusters"))[0], "cluster"))
        self.user = as_object(dig(as_objects(config.get("users"))[0], "user"))
        self._server = as_text(cluster.get("server"))
        self._tokens = tokens
        authority = base64.b64decode(as_text(cluster.get("certificate-authority-data"))).decode()
        self._context = ssl.create_default_context(cadata=authority or None)
        self._sign()

    @property
    def asks_a_program(self) -> bool:
        """Whether the credentials name a program (kubelogin) instead of holding any."""
        return "exec" in self.user

    def call(self, method: str, path: str, body: object = None, token: str = "") -> Answer:
        """One call, whatever comes of it; ``token`` instead of the credentials' own."""
        own = self._tokens.get(AKS_AUDIENCE) if self.asks_a_program else self.user.get("token")
        bearer = token or as_text(own)
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        with httpx.Client(verify=self._context, timeout=60.0) as client:
            return answer_of(
                client.request(method, self._server + path, json=body, headers=headers)
            )

    def _sign(self) -> None:
        """Sign in with the client certificate, where the credentials hold one."""
        certificate = as_text(self.user.get("client-certificate-data"))
        key = as_text(self.user.get("client-key-data"))
        if not certificate or not key:
            return
        # Python's ssl reads a key from files only.
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
            file.flush()
            self._context.load_cert_chain(file.name)
