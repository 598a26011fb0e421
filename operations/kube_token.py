"""A kubectl credential plugin for Entra-enabled AKS clusters, in place of kubelogin.

Prints a client.authentication.k8s.io ExecCredential. The token goes to standard output only, for
the Kubernetes client that asked.
"""

import json
import os
from datetime import UTC, datetime

from contract.azure import AKS_SERVER_AUDIENCE, scope_of
from contract.json import Document
from operations.session import Session

DEADLINE = 20.0
"""Seconds; the Kubernetes client that asks waits for it, too."""

_DEFAULT_VERSION = "client.authentication.k8s.io/v1"


def exec_credential(session: Session) -> str:
    """The ExecCredential as one line of JSON; raises NOT_AUTHENTICATED, UNREACHABLE, BUSY."""
    token, expires = session.clock.poll(
        lambda: session.azure.token(scope_of(AKS_SERVER_AUDIENCE)),
        what="a token for the cluster",
        within=DEADLINE,
        quiet=True,
    )
    return json.dumps(
        {
            "apiVersion": _asked_version(),
            "kind": "ExecCredential",
            "status": {
                "token": token,
                "expirationTimestamp": datetime.fromtimestamp(expires, UTC).strftime(
                    "%Y-%m-%dT%H:%M:%SZ"
                ),
            },
        }
    )


def _asked_version() -> str:
    """The version that the client speaks; it refuses an answer in another one."""
    info = Document.parse(os.environ.get("KUBERNETES_EXEC_INFO", ""))
    return info.text("apiVersion") or _DEFAULT_VERSION
