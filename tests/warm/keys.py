"""A key service on loopback: the two calls of HashiCorp Vault's transit API that Pulumi makes.

Pulumi makes the key of a stack's secrets from its passphrase in a million rounds, a fifth of a
second of processor time for every command. Where a key service keeps the key
(``--secrets-provider hashivault://NAME``), it is asked for instead; the secrets are encrypted as
always. The calls: https://developer.hashicorp.com/vault/api-docs/secret/transit, as
``gocloud.dev/secrets/hashivault`` makes them.
"""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from simulator.values import as_object, as_text

PROVIDER: Final = "hashivault://tests"
_PREFIX: Final = "vault:v1:"


class _Keys(BaseHTTPRequestHandler):
    """Wraps keys by writing a word in front of them."""

    def do_PUT(self) -> None:
        """``encrypt`` or ``decrypt``."""
        size = int(self.headers["Content-Length"])
        asked = as_object(json.loads(self.rfile.read(size)))
        if self.path == "/v1/transit/encrypt/tests":
            data = {"ciphertext": _PREFIX + as_text(asked["plaintext"])}
        elif self.path == "/v1/transit/decrypt/tests":
            data = {"plaintext": as_text(asked["ciphertext"]).removeprefix(_PREFIX)}
        else:
            self.send_error(404)
            return
        answer = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT  # noqa: N815 - the name is the method's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Nothing is logged."""


@contextmanager
def key_service() -> Generator[str]:
    """Serve while the context lasts; the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Keys) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def environment(url: str) -> dict[str, str]:
    """The variables with which Pulumi finds the service at ``url``."""
    return {"VAULT_SERVER_URL": url, "VAULT_SERVER_TOKEN": "none"}
