"""Real HTTP servers on loopback that answer as Pyroscope does, alone and behind a Grafana with TLS.

The answers are the simulator's own; only the private link and the roles around it are left out.
"""

import json
import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import trustme

from simulator.http import Request, Response
from simulator.pyroscope import api
from simulator.pyroscope.limits import ServerLimits
from simulator.pyroscope.recordings import Recording, profile_type
from simulator.pyroscope.store import ProfileStore

OLD_TYPE = profile_type((0, 53), (1, 15))
NEW_TYPE = profile_type((0, 54), (1, 15))
TOKEN = "a-token-of-the-test"  # noqa: S105 - no secret: the server below gives it to anyone

Answer = Callable[[Request], Response]


@dataclass
class Asked:
    """The requests a server got."""

    requests: list[Request] = field(default_factory=list[Request])


def pyroscope(
    *recordings: tuple[str, float, float | None], limits: ServerLimits | None = None
) -> Answer:
    """A Pyroscope with profiles of (type, begin, end); seconds from now, None goes on."""
    now = time.time()
    store = ProfileStore(
        [
            Recording(
                origin=now + start,
                start=now + start,
                end=None if end is None else now + end,
                profile_type=kind,
                service_name="inspektor-gadget",
            )
            for kind, start, end in recordings
        ],
        limits=limits,
    )
    return lambda request: api.answer_from(store, request.path, request)


def without_merged_profiles(answer: Answer) -> Answer:
    """The same server, as if it did not offer SelectMergeProfile."""

    def reduced(request: Request) -> Response:
        if request.path.endswith("SelectMergeProfile"):
            return Response(404, b"404 page not found", {})
        return answer(request)

    return reduced


def always(status: int, body: object = b"", headers: dict[str, str] | None = None) -> Answer:
    return lambda request: Response(status, body, headers or {})


def grafana(uid: str, source: Answer) -> Answer:
    """A Grafana that proxies one data source for whoever brings the token."""
    prefix = f"/api/datasources/proxy/uid/{uid}"

    def answer(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Response(401, {"message": "Unauthorized"}, {})
        if not request.path.startswith(prefix + "/"):
            return Response(404, {"message": "Unable to find datasource"}, {})
        path = request.path.removeprefix(prefix)
        return source(Request(request.method, path, request.query, request.headers, request.body))

    return answer


def identity(request: Request) -> Response:
    """The identity endpoint of a machine in Azure."""
    token = {
        "access_token": TOKEN,
        "expires_on": str(int(time.time()) + 3_600),
        "resource": request.query.get("resource", ""),
        "token_type": "Bearer",
    }
    return Response(200, token, {})


@contextmanager
def serving(answer: Answer, authority: Path | None = None) -> Generator[tuple[str, Asked]]:
    """Serve until the context ends; with ``authority`` over TLS, its CA file written there."""
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            split = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = dict(parse_qsl(split.query))
            request = Request(self.command, split.path, query, headers, body)
            asked.requests.append(request)
            response = answer(request)
            content = response.body
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if authority is not None:
        scheme = "https"
        issuer = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert("127.0.0.1").configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
        issuer.cert_pem.write_to_path(str(authority))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    # It looks so many seconds apart whether it is to end.
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
