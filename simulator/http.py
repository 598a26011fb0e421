"""What a simulated service sees of HTTP: a request in, a response out.

The services know neither sockets nor the web server; that is :mod:`simulator.server`'s.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote

from simulator.values import JsonObject, as_object


class MalformedBodyError(ValueError):
    """The body of a request is not JSON."""


@dataclass(frozen=True)
class Request:
    """One HTTP request to a service."""

    method: str
    """Upper case."""
    path: str
    """As sent (percent-encoded), with the service's prefix removed, beginning with ``/``."""
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    """Decoded; of a repeated key the last value (all of them are in ``pairs``)."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case."""
    body: bytes = b""
    pairs: tuple[tuple[str, str], ...] = ()
    """The query's keys and values in order, for keys that repeat."""

    @property
    def segments(self) -> tuple[str, ...]:
        """The decoded parts of the path; an encoded slash stays inside its part."""
        return tuple(unquote(part) for part in self.path.strip("/").split("/") if part)

    @property
    def bearer(self) -> str:
        """The bearer token, or the empty string."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def json(self) -> object:
        """The body as JSON; None if there is no body.

        Raises:
            MalformedBodyError: the body is not JSON.
        """
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise MalformedBodyError(f"the request's body is not JSON: {error}") from error

    def json_object(self) -> JsonObject:
        """The body as a JSON object; an empty one if it is anything else.

        Raises:
            MalformedBodyError: the body is not JSON.
        """
        return as_object(self.json())


@dataclass
class Response:
    """One HTTP response; a ``body`` that is not bytes is sent as JSON, None as no body."""

    status: int
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def encoded(self) -> bytes:
        """The body as it is sent."""
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, separators=(",", ":")).encode()


NULL_BODY = b"null"
"""The body of an answer that sends the JSON value null."""


class Service(Protocol):
    """A simulated service; it never sleeps, and what it does is done when it answers."""

    @property
    def name(self) -> str:
        """As fault rules name it: arm, identity, grafana, pyroscope, prometheus, kubernetes."""
        ...

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        ...
