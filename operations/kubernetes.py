"""The API server of an AKS cluster, as its kubeconfig names it: one short client.

For what no Pulumi resource can say: looking into a cluster before anything is deployed, and marking
a namespace. What the program deploys goes through Pulumi's kubernetes provider.
"""

import base64
import re
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx

from contract.azure import (
    AKS_SERVER_AUDIENCE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_API,
    scope_of,
)
from contract.json import Document, as_list
from operations.azure import CHECK_NETWORK, parse_id, retry_after
from operations.clock import CONNECT_SECONDS, read_seconds
from operations.errors import ExitCode, OperationError
from operations.session import Session

_USER_ROLE = "Azure Kubernetes Service Cluster User Role"
_ADMIN_ROLE = "Azure Kubernetes Service Cluster Admin Role"
_NO_SUCH_API = "404 page not found"
"""What an API server says of a group of resources that it does not have: Go's ``http.NotFound``."""
_FIELD_MANAGER = "gpuobs"
"""What the API server keeps as the owner of the fields that :meth:`Kubernetes.apply` sets."""


class Kubernetes:
    """One cluster's API server; safe to use from several threads."""

    def __init__(self, session: Session, cluster_id: str, *, admin: bool = False) -> None:
        """Ask AKS for the kubeconfig.

        Raises:
            OperationError: AKS gives none, or one that cannot be used.
        """
        cluster = parse_id(cluster_id, MANAGED_CLUSTER)
        self._name = cluster.name
        action = "listClusterAdminCredential" if admin else "listClusterUserCredential"
        found = session.azure.ask(
            f"{cluster.text}/{action}",
            MANAGED_CLUSTER_API,
            f"get the kubeconfig of the cluster {cluster.name}",
            role_scope=cluster.text,
            role=_ADMIN_ROLE if admin else _USER_ROLE,
            query=None if admin else {"format": "exec"},
        )
        encoded = next((one.text("value") for one in found.children("kubeconfigs")), "")
        server, user = _active(_read(encoded))
        if not server.text("server"):
            raise OperationError(
                ExitCode.REJECTED, f"The kubeconfig of the cluster {cluster.name} names no server."
            )
        self._client = session.connections.enter_context(
            httpx.Client(
                base_url=server.text("server").rstrip("/"),
                headers={"User-Agent": session.user_agent, **_authorization(session, user)},
                verify=_trust(server, user),
            )
        )

    def get(self, path: str, action: str, **query: str) -> Document:
        """The object at ``path``; raises NOT_FOUND, FORBIDDEN, UNREACHABLE, ..."""
        return self._send("GET", path, action, query=query)

    def text(self, path: str, action: str, **query: str) -> str:
        """The plain text at ``path``: a log."""
        return self._respond("GET", path, action, query=query).text

    def find(self, path: str, action: str) -> Document | None:
        """The object at ``path``; None where there is none."""
        try:
            return self.get(path, action)
        except OperationError as error:
            if error.kind is ExitCode.NOT_FOUND:
                return None
            raise

    def merge(
        self, path: str, patch: Mapping[str, object], action: str, *, dry_run: bool = False
    ) -> Document:
        """Change the object at ``path`` by a merge patch; ``dry_run``: only what it would be."""
        query = {"dryRun": "All"} if dry_run else None
        return self._send("PATCH", path, action, patch, "application/merge-patch+json", query)

    def create(self, collection: str, manifest: Mapping[str, object], action: str) -> Document:
        """Make an object in ``collection``; raises CONFLICT where it is there already."""
        return self._send("POST", collection, action, manifest)

    def apply(self, path: str, manifest: Mapping[str, object], action: str) -> Document:
        """Make the object at ``path``, or change it to ``manifest`` (server-side apply)."""
        query = {"fieldManager": _FIELD_MANAGER, "force": "true"}
        return self._send("PATCH", path, action, manifest, "application/apply-patch+yaml", query)

    def delete(self, path: str, action: str, *, uid: str = "") -> None:
        """Delete the object at ``path``, if it is there; with ``uid`` no other of its name."""
        only = {"preconditions": {"uid": uid}} if uid else None
        try:
            self._send("DELETE", path, action, only)
        except OperationError as error:
            if error.kind is not ExitCode.NOT_FOUND:
                raise

    def _send(
        self,
        method: str,
        path: str,
        action: str,
        body: Mapping[str, object] | None = None,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Document:
        response = self._respond(method, path, action, body, content_type, query)
        found = Document.parse(response.content)
        if not _is_answer(found, method, path):
            raise self._not_understood(action)
        return found

    def _respond(
        self,
        method: str,
        path: str,
        action: str,
        body: Mapping[str, object] | None = None,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        try:
            response = self._client.request(
                method,
                path,
                json=body,
                params=dict(query) if query else None,
                headers={"Content-Type": content_type} if body is not None else None,
                timeout=httpx.Timeout(read_seconds(), connect=CONNECT_SECONDS),
            )
        except httpx.RequestError as error:
            raise OperationError(
                ExitCode.UNREACHABLE,
                f"Could not {action}: the API server of {self._name} gave no answer.",
                why=str(error) or type(error).__name__,
                fix="check the network and the proxy (HTTPS_PROXY, NO_PROXY); a private API server "
                "answers only inside its network",
                transient=True,
            ) from error
        if not response.is_success:
            raise self._refused(response, action)
        return response

    def _not_understood(self, action: str) -> OperationError:
        return OperationError(
            ExitCode.UNREACHABLE,
            f"Could not {action}: what answered is not the API server of {self._name}.",
            why="the answer is not the JSON that Kubernetes documents; a sign-in page or a "
            "proxy may be in between",
            fix=CHECK_NETWORK,
            transient=True,
        )

    def _refused(self, response: httpx.Response, action: str) -> OperationError:
        status = response.status_code
        answer = Document.parse(response.content)
        is_own = answer.text("kind") == "Status" or response.text.strip() == _NO_SUCH_API
        if status == 404 and not is_own:
            # That something is absent only the API server can say.
            return self._not_understood(action)
        kind, transient = {
            401: (ExitCode.NOT_AUTHENTICATED, False),
            403: (ExitCode.FORBIDDEN, False),
            404: (ExitCode.NOT_FOUND, False),
            409: (ExitCode.CONFLICT, True),
            429: (ExitCode.BUSY, True),
        }.get(status, (ExitCode.BUSY, True) if status >= 500 else (ExitCode.REJECTED, False))
        message = answer.text("message") or response.text
        return OperationError(
            kind,
            f"Could not {action}: the API server of {self._name} answers {status}.",
            why=message,
            transient=transient,
            retry_after=retry_after(response.headers),
        )


def _is_answer(found: Document, method: str, path: str) -> bool:
    """Whether ``found`` is what an API server answers: the object of that name, a list, a status.

    Objects and lists say what they are (Kubernetes API conventions, "Types (Kinds)"); a deletion
    that is done at once is answered with a Status.
    """
    kind = found.text("kind")
    if re.fullmatch(r"[A-Z][A-Za-z0-9]{0,62}List", kind):
        return True
    if kind == "Status":
        return method == "DELETE" and found.text("status") == "Success"
    return bool(kind) and found.text("metadata", "name") == path.rpartition("/")[2]


def _read(encoded: str) -> Document:
    """The kubeconfig in ``encoded``, base64 of YAML."""
    import yaml  # in use only where a cluster is looked into

    try:
        return Document(yaml.safe_load(base64.b64decode(encoded)))
    except (ValueError, yaml.YAMLError):
        return Document({})


def _active(config: Document) -> tuple[Document, Document]:
    """Cluster and user of the current context."""
    context = _named(config, "contexts", config.text("current-context")).child("context")
    server = _named(config, "clusters", context.text("cluster")).child("cluster")
    return server, _named(config, "users", context.text("user")).child("user")


def _named(config: Document, plural: str, name: str) -> Document:
    entries = [Document(one) for one in as_list(config.value(plural))]
    return next((one for one in entries if one.text("name") == name), Document({}))


def _authorization(session: Session, user: Document) -> dict[str, str]:
    """The header that signs in; none where a certificate does."""
    token = user.text("token")
    if user.child("exec"):
        # What kubelogin would answer: Microsoft Entra ID's token for every AKS API server.
        token, _ = session.azure.token(scope_of(AKS_SERVER_AUDIENCE))
    return {"Authorization": f"Bearer {token}"} if token else {}


def _trust(server: Document, user: Document) -> ssl.SSLContext:
    """Whom to trust, and the user's certificate where it has one."""
    authority = base64.b64decode(server.text("certificate-authority-data")).decode()
    context = ssl.create_default_context(cadata=authority or None)
    # From Python 3.13 on strict by default, which certificates of a cluster's own authority are not
    # made for (no Authority Key Identifier).
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    certificate, key = user.text("client-certificate-data"), user.text("client-key-data")
    if certificate and key:
        with tempfile.TemporaryDirectory() as folder:
            # Python reads them from files only; nobody else may read the folder.
            pem = Path(folder) / "user.pem"
            pem.write_bytes(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
            context.load_cert_chain(pem)
    return context
