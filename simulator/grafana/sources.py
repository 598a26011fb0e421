"""What the data source plugins do: reach the server behind a source, and tell what it says.

Every plugin offers a raw proxy, a health check, queries and resources. Grafana's own words are
kept, as clients must make sense of them: a failed connection is a Go error with the address.
"""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from simulator.http import Request, Response
from simulator.values import JsonObject, as_text


class SourceError(Exception):
    """A query that failed; ``status`` as it stands in the result."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class TimeRange:
    """Milliseconds of the Unix epoch."""

    start: int
    end: int


class Source(Protocol):
    """A data source in use."""

    def forward(self, request: Request, path: str) -> Response:
        """Answer a request through the proxy, at the server's own path."""
        ...

    def check(self) -> str:
        """Check the health: the message of success.

        Raises:
            SourceError: it is not healthy; with the plugin's message.
        """
        ...

    def query(self, query: JsonObject, window: TimeRange) -> list[JsonObject]:
        """The frames that answer one query.

        Raises:
            SourceError: it failed.
        """
        ...

    def resource(self, request: Request, path: str) -> Response:
        """Answer a call of the plugin's own resources."""
        ...


def address(url: str) -> str:
    """``host:port`` of a URL, the way Go writes it in errors."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.hostname or ''}:{port}"


def dial_error(url: str) -> str:
    """What Go says when nobody answers at the host of ``url``."""
    host = urlsplit(url).hostname
    if not host:
        return f"dial tcp {address(url)}: connect: connection refused"
    if not host.replace(".", "").isdigit():
        return f"dial tcp: lookup {host}: no such host"
    return f"dial tcp {address(url)}: i/o timeout"


def source_url(source: JsonObject) -> str:
    """The URL of a stored source, without a slash at its end."""
    return as_text(source["url"]).rstrip("/")
