"""HTTP to a simulated API server: one kubeconfig, JSON in and out, simulated waiting."""

import http.client
import json
import os
import ssl
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from simulator.plugins.bodies import text_of
from simulator.plugins.kubernetes.kubeconfig import Credentials, Kubeconfig
from simulator.plugins.properties import Object
from simulator.plugins.provider import ProviderError
from simulator.values import as_object, as_text

POLL_SECONDS = 2.0
ATTEMPTS = 11
"""One call and client-go's ten repetitions (``withRetry`` of rest/request.go)."""

_Found = TypeVar("_Found")


class ApiError(ProviderError):
    """The API server refused; the text is its own message."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class UnreachableError(ProviderError):
    """There is no answer from the API server, as client-go words it."""


class WaitExpiredError(Exception):
    """What was waited for did not come in time."""


class Client:
    """One user's view of one cluster. Threads may share it."""

    def __init__(self, config: Kubeconfig, cancelled: threading.Event) -> None:
        self._server = urlsplit(config.server)
        self._credentials = Credentials(config)
        self._tls = ssl.create_default_context(cadata=config.authority or None)
        self._scale = float(os.environ.get("SIM_LATENCY", "0.01"))
        self._cancelled = cancelled
        self._lock = threading.Lock()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> Object:
        """The decoded answer.

        As client-go does, a 429 or 5xx with a Retry-After is repeated after that time.

        Raises:
            ApiError: the server refused.
            UnreachableError: it does not answer.
            KubeconfigError: there is no credential.
        """
        with self._lock:
            token = self._credentials.token()
        headers = {"Accept": "application/json", "User-Agent": "pulumi-kubernetes"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = content_type
        url = f"{self._server.geturl().rstrip('/')}{path}"
        status, pause, text = 0, "", ""
        for _ in range(ATTEMPTS):
            status, pause, text = self._send(method, url, path, data, headers)
            if not (status == 429 or status >= 500) or not pause.isdigit():
                break
            if self._cancelled.wait(max(int(pause) * self._scale, 0.005)):
                raise ProviderError("context canceled")
        answer = _decoded(text)
        phrase = http.client.responses.get(status, "")
        if status == 503 and not answer:
            raise UnreachableError(f'{method.title()} "{url}": {phrase}')
        if status >= 400:
            document = as_object(answer)
            message = as_text(document.get("message")) or text or phrase
            raise ApiError(status, as_text(document.get("reason")), message)
        return as_object(answer)

    def _send(
        self, method: str, url: str, path: str, data: str | None, headers: dict[str, str]
    ) -> tuple[int, str, str]:
        """Status, Retry-After and text of one answer."""
        connection = http.client.HTTPSConnection(
            str(self._server.hostname), self._server.port, context=self._tls, timeout=60
        )
        try:
            connection.request(method, self._server.path.rstrip("/") + path, data, headers)
            response = connection.getresponse()
            pause = response.getheader("Retry-After") or ""
            return response.status, pause, text_of(response)
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f'{method.title()} "{url}": {error}') from error
        finally:
            connection.close()

    def find(self, path: str) -> Object | None:
        """What GET answers; None for a 404."""
        try:
            return self.call("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def poll(self, probe: Callable[[], _Found | None], *, give_up_after: float) -> _Found:
        """Ask until there is an answer.

        Args:
            probe: answers None for "not yet".
            give_up_after: simulated seconds.

        Raises:
            WaitExpiredError: there was no answer in time.
            ProviderError: the user cancelled.
        """
        waited = 0.0
        while (found := probe()) is None:
            if waited >= give_up_after:
                raise WaitExpiredError
            waited += POLL_SECONDS
            # At latency 0 everything is due at once, but others must get a turn.
            if self._cancelled.wait(max(POLL_SECONDS * self._scale, 0.005)):
                raise ProviderError("context canceled")
        return found


def _decoded(text: str) -> object:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
