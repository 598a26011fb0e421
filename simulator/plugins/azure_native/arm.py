"""ARM over HTTPS, as azure-native's client does it: retries, long-running operations.

Waits are simulated seconds, scaled by ``SIM_LATENCY``. Where ARM is comes from ``SIM_ARM_URL``; its
certificate is checked against ``SIM_CA_FILE``.
"""

import base64
import http.client
import json
import os
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qs, urlencode, urlsplit

from simulator.plugins.bodies import text_of
from simulator.plugins.properties import Object
from simulator.plugins.provider import ProviderError
from simulator.values import as_object, as_text, is_object

USER_AGENT = "pulumi-azure-native azsdk-go-azcore"
"""In the form of azcore's telemetry policy (``BuildUserAgent`` of azure-native), without versions
and system."""
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
RETRY_DELAYS = (20.0, 60.0, 120.0)
UPDATE_POLL_SECONDS = 10.0
DELETE_POLL_SECONDS = 30.0
REGISTRATION_POLL_SECONDS = 15.0
REGISTRATION_POLLS = 20
TERMINAL = frozenset({"succeeded", "failed", "canceled"})
GONE = frozenset(
    {
        "EntityNotFound",
        "LockNotFound",
        "NotFound",
        "ParentResourceNotFound",
        "ResourceGroupNotFound",
        "ResourceNotFound",
        "RoleAssignmentNotFound",
        "SubscriptionNotFound",
    }
)
"""Codes with which a 404 tells that a resource is gone; any other 404 may be a proxy's
(``IsNotFound`` of azure.go since 3.11, pulumi-azure-native 4416 and 4841)."""


class ArmError(ProviderError):
    """ARM refused; the text is azure-native's ``Status=409 Code="X" Message="…"``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        quoted = json.dumps(message, ensure_ascii=False)
        super().__init__(f'Status={status} Code="{code}" Message={quoted}')
        self.status = status
        self.code = code

    @property
    def is_gone(self) -> bool:
        """Whether the resource does not exist."""
        return self.status == 404 and self.code in GONE


class UnfinishedError(ProviderError):
    """ARM took the request to create or change; what came after it failed."""

    def __init__(self, reason: str, *, is_over: bool) -> None:
        super().__init__(reason)
        self.is_over = is_over
        """Whether there is no time or no will for another request: timed out, or cancelled."""


class _OverError(ProviderError):
    """The deadline has passed, or the user cancelled."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Object:
        """The JSON object in the answer; empty if it has none."""
        try:
            return as_object(json.loads(self.text)) if self.text else {}
        except ValueError:
            return {}

    def resource(self) -> Object:
        """The JSON object in the answer to a read or write of a resource.

        Raises:
            ProviderError: there is none, in the words of ``handleAzCoreResponseError``.
        """
        if not is_object(self.decoded()):
            reason = http.HTTPStatus(self.status).phrase
            raise ProviderError(
                f"unexpected response from Azure: '{self.text}', HTTP status: "
                f"{self.status} {reason}"
            )
        return self.body

    def decoded(self) -> object:
        """The answer as JSON; None if it is not."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def error(self) -> ArmError:
        """The answer as an error, with ``error`` around code and message or without."""
        error = as_object(self.body.get("error")) or self.body
        if not error.get("code"):
            return ArmError(self.status, "", self.text)
        return ArmError(self.status, as_text(error.get("code")), as_text(error.get("message")))


class Client:
    """One caller's view of ARM. Threads may share it."""

    def __init__(self, cancelled: threading.Event, token: Callable[[], str]) -> None:
        url = os.environ.get("SIM_ARM_URL")
        if not url:
            raise ProviderError(
                "SIM_ARM_URL is not set: this plugin only knows the simulated Azure; "
                "run the command inside scripts/simulate"
            )
        self._host = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=os.environ.get("SIM_CA_FILE"))
        self._scale = float(os.environ.get("SIM_LATENCY", "0.01"))
        self._cancelled = cancelled
        self._local = threading.local()
        self._ask = token
        self._token = ""
        self._token_lock = threading.Lock()

    # --- calls --------------------------------------------------------------------------------

    def get(self, resource_id: str, api_version: str) -> Object:
        """The resource.

        Raises:
            ArmError: the answer is not 200, 404 included.
        """
        answer = self._send("GET", resource_id, {"api-version": api_version})
        if answer.status != 200:
            raise answer.error()
        return answer.resource()

    def exists(self, resource_id: str, api_version: str) -> bool:
        """Whether there is a resource of this id.

        Raises:
            ProviderError: ARM answered neither yes nor no.
        """
        answer = self._send("GET", resource_id, {"api-version": api_version})
        if answer.status == 200:
            return bool(answer.body)
        if answer.status in (204, 404):
            return False
        raise ProviderError(
            f"cannot check existence of resource '{resource_id}': "
            f"status code {answer.status}, {answer.text}"
        )

    def post(self, resource_id: str, api_version: str, query: Mapping[str, str]) -> Object:
        """The answer of an action that answers at once."""
        answer = self._send("POST", resource_id, {"api-version": api_version, **query}, {})
        if answer.status not in (200, 201):
            raise answer.error()
        return answer.body

    def put(
        self, resource_id: str, api_version: str, body: Object, *, long: bool, timeout: float
    ) -> Object:
        """Create or change, and wait until it is done; the resource.

        Raises:
            UnfinishedError: a long one was taken, and then failed, took too long, or was cancelled
                (``created`` in ``putOrPatch`` of client_azcore.go).
            ProviderError: it was refused, or the answer is none.
        """
        answer = self._send("PUT", resource_id, {"api-version": api_version}, body)
        if answer.status not in (200, 201, 202):
            raise answer.error()
        if answer.status != 202:
            made = answer.resource()
            if not long:
                return made
        try:
            self._wait(answer, resource_id, api_version, UPDATE_POLL_SECONDS, timeout)
            return self.get(resource_id, api_version)
        except ProviderError as error:
            raise UnfinishedError(str(error), is_over=isinstance(error, _OverError)) from error

    def delete(self, resource_id: str, api_version: str, *, long: bool, timeout: float) -> None:
        """Delete, and wait until it is done; what is gone already is no error.

        A success is believed, whatever is in it (``Delete`` of client_azcore.go); only where the
        type's deletion is long must it be JSON, or nothing (azcore: ``NewNopPoller``).
        """
        answer = self._send("DELETE", resource_id, {"api-version": api_version})
        if answer.status == 404:
            return
        if answer.status not in (200, 202, 204):
            raise answer.error()
        if long and answer.status != 204:
            if answer.text and answer.decoded() is None and answer.text.strip() != "null":
                raise ProviderError(
                    f"invalid character {answer.text[0]!r} looking for beginning of value"
                )
            try:
                self._wait(answer, None, api_version, DELETE_POLL_SECONDS, timeout)
            except ArmError as error:
                if error.status != 404:
                    raise

    def claims(self) -> Object:
        """What the token says of its owner."""
        body = self._bearer().split(".")[1]
        return as_object(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))

    # --- long-running operations --------------------------------------------------------------

    def _wait(
        self,
        first: Answer,
        resource_id: str | None,
        api_version: str,
        interval: float,
        timeout: float,
    ) -> None:
        url = first.headers.get("azure-asyncoperation")
        location = first.headers.get("location")
        waited = 0.0
        answer = first
        while True:
            if url:
                answer = self._follow(url, api_version)
                if answer.status not in (200, 201, 202, 204):
                    raise answer.error()
                state = as_text(answer.body.get("status"))
            elif location and (first.status == 202 or resource_id is None):
                answer = self._follow(location, api_version)
                if answer.status not in (200, 201, 202, 204):
                    raise answer.error()
                state = "InProgress" if answer.status == 202 else "Succeeded"
            elif resource_id is not None:
                # No header: the resource itself says how it is.
                if answer is not first:
                    answer = self._send("GET", resource_id, {"api-version": api_version})
                    if answer.status != 200:
                        raise answer.error()
                nested = as_object(answer.body.get("properties"))
                state = as_text(nested.get("provisioningState")) or "Succeeded"
            else:
                return
            if state.lower() == "succeeded":
                return
            if state.lower() in TERMINAL:
                error = as_object(answer.body.get("error"))
                raise ArmError(
                    answer.status,
                    as_text(error.get("code")) or state,
                    as_text(error.get("message")) or f"the operation ended as {state}",
                )
            pause = _seconds(answer.headers.get("retry-after")) or interval
            waited += pause
            if waited > timeout:
                raise _OverError("operation timed out")
            self._sleep(pause)
            if answer is first:
                answer = Answer(0, {}, "")

    def _follow(self, url: str, api_version: str) -> Answer:
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        return self._send("GET", parts.path, {"api-version": api_version, **query})

    # --- one request --------------------------------------------------------------------------

    def _send(
        self, method: str, path: str, query: Mapping[str, str], body: Object | None = None
    ) -> Answer:
        """Send with azure-native's retries; registers the resource provider where asked to."""
        answer = Answer(0, {}, "")
        for delay in (*RETRY_DELAYS, None):
            try:
                answer = self._send_once(method, path, query, body)
            except (OSError, http.client.HTTPException) as error:
                if delay is None or self._cancelled.is_set():
                    raise ProviderError(f"{method} {path}: no answer from ARM: {error}") from error
                self._sleep(delay)
                continue
            if not _worth_retrying(answer) or delay is None or self._cancelled.is_set():
                break
            self._sleep(_seconds(answer.headers.get("retry-after")) or delay)
        if answer.status == 409 and answer.error().code == "MissingSubscriptionRegistration":
            self._register(path, answer)
            return self._send_once(method, path, query, body)
        return answer

    def _register(self, path: str, refusal: Answer) -> None:
        """Register the namespace that ``refusal`` names, as every Azure SDK for Go does."""
        details = cast(list[object], as_object(refusal.body.get("error")).get("details") or [])
        namespace = as_text(as_object(details[0]).get("target")) if details else ""
        if not namespace:
            return
        subscription = "/".join(path.split("/")[:3])
        provider = f"{subscription}/providers/{namespace}"
        version = {"api-version": "2016-02-01"}
        answer = self._send_once("POST", f"{provider}/register", version, {})
        if answer.status not in (200, 202):
            raise answer.error()
        for _ in range(REGISTRATION_POLLS):
            answer = self._send_once("GET", provider, version)
            if as_text(answer.body.get("registrationState")).lower() == "registered":
                return
            self._sleep(REGISTRATION_POLL_SECONDS)

    def _send_once(
        self, method: str, path: str, query: Mapping[str, str], body: Object | None = None
    ) -> Answer:
        headers = {
            "Authorization": f"Bearer {self._bearer()}",
            "Accept": "application/json",
            "User-Agent": USER_AGENT,
        }
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json; charset=utf-8"
        target = f"{path}?{urlencode(query)}"
        connection = self._connection()
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = text_of(response)
        except (OSError, http.client.HTTPException):
            self._local.connection = None
            raise
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, text)

    def _connection(self) -> http.client.HTTPSConnection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                str(self._host.hostname), self._host.port, context=self._tls
            )
            self._local.connection = connection
        return cast(http.client.HTTPSConnection, connection)

    def _bearer(self) -> str:
        with self._token_lock:
            if not self._token:
                self._token = self._ask()
            return self._token

    def _sleep(self, seconds: float) -> None:
        """Wait simulated seconds; ends early when the user cancels."""
        # At latency 0 everything is due at once, but others must get a turn.
        if self._cancelled.wait(max(seconds * self._scale, 0.005)):
            raise _OverError("resource created but read failed context canceled: context canceled")


def _worth_retrying(answer: Answer) -> bool:
    if answer.status in RETRIED:
        return True
    # Of all conflicts only this one is waited out; the others are the user's to see.
    return answer.status == 409 and answer.error().code == "AnotherOperationInProgress"


def _seconds(value: str | None) -> float:
    try:
        return float(value) if value else 0.0
    except ValueError:
        return 0.0
