"""The HTTP API of a Grafana, Azure's or one's own: one short client, errors distinguished.

Only routes by uid are used; Grafana 13 turned the ones with numeric ids off. A token goes to https
endpoints only, and Azure's never to a Grafana of one's own. Not here: what is applied
(``data_sources.py``, ``dashboards.py``), and how one signs in to one's own
(``service_account.py``).
"""

import os
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import httpx

from contract.azure import GRAFANA, GRAFANA_API, Role, grafana_scope
from contract.grafana import may_carry_a_token
from contract.json import Document, as_objects, is_list, is_object, parse
from contract.lines import line, open_to_public_networks
from contract.messages.grafana import DashboardRequest, DataSourceRequest
from operations import service_account
from operations.azure import CHECK_NETWORK, is_absent, parse_id, retry_after
from operations.clock import CONNECT_SECONDS, read_seconds
from operations.errors import ExitCode, OperationError
from operations.session import Session

if TYPE_CHECKING:
    from operations.azure import Azure

ROLE_DEADLINE = 900.0
"""Seconds to wait through 401 and 403: a role assigned a moment ago takes minutes to count."""

_WORTH_ASKING_ARM = (ExitCode.FORBIDDEN, ExitCode.UNREACHABLE, ExitCode.NOT_FOUND)

T = TypeVar("T")


class Grafana:
    """One Grafana's API; safe to use from several threads.

    ``workspace_id`` (where known) lets Resource Manager confirm why Grafana does not answer. With
    ``token_variable``, the environment variable that holds a service account's token, it is a
    Grafana of one's own, of which Azure knows nothing.
    """

    def __init__(
        self,
        session: Session,
        endpoint: str,
        workspace_id: str = "",
        *,
        token_variable: str | None = None,
    ) -> None:
        if token_variable is not None and not may_carry_a_token(endpoint):
            raise OperationError(
                ExitCode.BAD_REQUEST,
                f"{endpoint!r} is not the https URL of a Grafana.",
                why="a token must not be sent unencrypted",
                fix="write an https URL into gpuobs:grafana.selfHosted.url; http only for a "
                "port-forward, e.g. http://localhost:3000",
            )
        if token_variable is None and not _is_https(endpoint):
            raise OperationError(
                ExitCode.BAD_REQUEST,
                f"{endpoint!r} is not the https URL of a Grafana workspace.",
                why="an access token must not be sent unencrypted",
                fix=_where_its_endpoint_is(workspace_id),
            )
        self.endpoint = endpoint.rstrip("/")
        self.workspace_id = workspace_id
        self._session = session
        self._token_variable = token_variable
        auth = (
            _Bearer(session.azure)
            if token_variable is None
            else service_account.ServiceAccount(token_variable, self.endpoint)
        )
        self._client = session.connections.enter_context(
            httpx.Client(auth=auth, headers={"User-Agent": session.user_agent})
        )

    @classmethod
    def named_by(cls, request: DataSourceRequest | DashboardRequest, session: Session) -> "Grafana":
        """The one that the request is about."""
        variable = request.token_variable
        return cls(session, request.endpoint, request.workspace_id, token_variable=variable)

    def get(self, path: str, action: str, role: str, **query: str) -> Document:
        """The JSON object at ``path``, which starts with ``/api/``."""
        _, found = self._answer("GET", path, action, role, query=query)
        if not is_object(found):
            raise self.not_understood(action)
        return Document(found)

    def get_list(self, path: str, action: str, role: str, **query: str) -> list[Document]:
        """The JSON objects of the list at ``path``."""
        _, found = self._answer("GET", path, action, role, query=query)
        if not is_list(found):
            raise self.not_understood(action)
        return [Document(one) for one in as_objects(found)]

    def find(self, path: str, action: str, role: str) -> Document | None:
        """Like :meth:`get`; None where Grafana says 404."""
        try:
            return self.get(path, action, role)
        except OperationError as error:
            if error.kind is ExitCode.NOT_FOUND:
                return None
            raise

    def delete(self, path: str, action: str, role: str) -> None:
        """Delete what is at ``path``, if it is there, and look whether it is gone.

        Whatever is between here and Grafana may answer a deletion with a success that is none.
        """
        self.request(
            "DELETE", path, action, role, accept=lambda status: status < 300 or status == 404
        )
        if self.find(path, action, role) is not None:
            raise _success_that_is_none(action, "it is still there")

    def write(
        self,
        method: str,
        path: str,
        action: str,
        role: str,
        *,
        body: object,
        is_done: Callable[[], bool],
        accept: Callable[[int], bool] = lambda status: status < 300,
    ) -> httpx.Response:
        """Make or change something, and look whether it ``is_done``; else like :meth:`request`.

        Whatever is between here and Grafana may answer a write with a success that is none.
        """
        response = self.request(method, path, action, role, body=body, accept=accept)
        if response.is_success and not is_done():
            raise _success_that_is_none(action, "nothing of it is there")
        return response

    def request(
        self,
        method: str,
        path: str,
        action: str,
        role: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        accept: Callable[[int], bool] = lambda status: status < 300,
    ) -> httpx.Response:
        """One call, once.

        ``action`` completes "could not ..." and ``role`` names what a 401 or 403 lacks. ``accept``
        says which statuses are answers rather than errors. A success that is not JSON is none:
        something between here and Grafana answered, and nothing is known of what Grafana did.
        """
        response, _ = self._answer(
            method, path, action, role, body=body, query=query, accept=accept
        )
        return response

    def _answer(
        self,
        method: str,
        path: str,
        action: str,
        role: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        accept: Callable[[int], bool] = lambda status: status < 300,
    ) -> tuple[httpx.Response, object]:
        """The response, and what JSON it holds."""
        try:
            response = self._client.request(
                method,
                self.endpoint + path,
                json=body,
                params=dict(query) if query else None,
                timeout=httpx.Timeout(read_seconds(), connect=CONNECT_SECONDS),
            )
        except httpx.RequestError as error:
            raise OperationError(
                ExitCode.UNREACHABLE,
                f"Could not {action}: {self.endpoint} did not respond.",
                why=str(error) or type(error).__name__,
                fix=CHECK_NETWORK,
                transient=True,
            ) from error
        if not accept(response.status_code):
            raise self._refused(response, action, role)
        found = parse(response.content)
        if response.is_success and not (is_object(found) or is_list(found)):
            raise self.not_understood(action)
        return response, found

    def not_understood(self, action: str) -> OperationError:
        """The error for an answer that Grafana does not give."""
        return OperationError(
            ExitCode.UNREACHABLE,
            f"Could not {action}: what answered at {self.endpoint} is not Grafana.",
            why="the answer is not the JSON that Grafana's API documents; a sign-in page or a "
            "proxy may be in between",
            fix=CHECK_NETWORK,
            transient=True,
        )

    def when_allowed(self, probe: Callable[[], T], *, what: str) -> T:
        """``probe``'s answer, waiting through busy answers and roles that do not count yet.

        Gives up at once where waiting cannot help: the workspace is gone, or does not admit callers
        from public networks.
        """
        checked = False

        def probe_twice() -> T:
            nonlocal checked
            try:
                return probe()
            except OperationError as error:
                if error.kind in _WORTH_ASKING_ARM and not checked:
                    checked = True
                    self._raise_if_hopeless(error)
                raise

        return self._session.clock.poll(
            probe_twice,
            what=what,
            within=self._session.within(ROLE_DEADLINE),
            give_up_after={ExitCode.UNREACHABLE: 120.0},
        )

    def is_gone(self) -> bool:
        """Whether Resource Manager says that the workspace does not exist."""
        if not self.workspace_id:
            return False
        try:
            self._workspace()
        except OperationError as error:
            return is_absent(error)
        return False

    def _raise_if_hopeless(self, seen: OperationError) -> None:
        if not self.workspace_id:
            return
        try:
            workspace = self._workspace()
        except OperationError as error:
            if is_absent(error):
                raise OperationError(
                    ExitCode.NOT_FOUND,
                    f"The Grafana workspace {self.workspace_id} does not exist.",
                    why=seen.sentence(),
                ) from seen
            return
        name = workspace.text("name")
        if workspace.text("properties", "publicNetworkAccess") == "Disabled":
            raise OperationError(
                ExitCode.FORBIDDEN,
                f"The Grafana workspace {name} does not allow access from public networks "
                "(publicNetworkAccess is Disabled).",
                why=seen.sentence(),
                fix="run this from inside the network of its private endpoint, or "
                + open_to_public_networks(self.workspace_id),
            ) from seen

    def _workspace(self) -> Document:
        resource = parse_id(self.workspace_id, GRAFANA)
        return self._session.azure.get(
            resource.text, GRAFANA_API, f"read the Grafana workspace {resource.name}"
        )

    def _refused(self, response: httpx.Response, action: str, role: str) -> OperationError:
        status = response.status_code
        if status == 404 and not Document.parse(response.content):
            # That something is absent only Grafana can say.
            return self.not_understood(action)
        why = message_of(response)
        if status in (401, 403) or response.is_redirect:
            if self._token_variable is not None:
                return service_account.refusal(
                    status,
                    why,
                    action=action,
                    role=role,
                    variable=self._token_variable,
                    endpoint=self.endpoint,
                )
            return OperationError(
                ExitCode.FORBIDDEN,
                f"Could not {action}: Grafana answers {status}.",
                why=why,
                fix=f"the caller needs the role {_or_more(role)} on "
                f"{self.workspace_id or self.endpoint} "
                "(Owner and Contributor do not include it; a new assignment takes minutes)",
                transient=True,
            )
        kinds = {
            404: (ExitCode.NOT_FOUND, False),
            409: (ExitCode.CONFLICT, False),
            412: (ExitCode.CONFLICT, False),
            408: (ExitCode.BUSY, True),
            429: (ExitCode.BUSY, True),
        }
        kind, transient = kinds.get(
            status, (ExitCode.BUSY, True) if status >= 500 else (ExitCode.REJECTED, False)
        )
        return OperationError(
            kind,
            f"Could not {action}: Grafana answers {status}.",
            why=why,
            transient=transient,
            retry_after=retry_after(response.headers),
        )


def _or_more(role: str) -> str:
    """The role, and the one with which nothing else of a stack is refused next."""
    admin = Role.GRAFANA_ADMIN.role_name
    return repr(role) if role == admin else f"{role!r}, or {admin!r}, which data sources need,"


def _success_that_is_none(action: str, seen: str) -> OperationError:
    return OperationError(
        ExitCode.UNREACHABLE,
        f"Could not {action}: {seen} after a success was answered.",
        why="something in between may have answered in place of Grafana",
        fix=CHECK_NETWORK,
        transient=True,
    )


def _where_its_endpoint_is(workspace_id: str) -> str:
    """What to do about a wrong endpoint of a workspace, whose id may not be known."""
    if not workspace_id:
        return "use the endpoint that the workspace's overview in the portal shows"
    show = ("az", "resource", "show", "--ids", workspace_id)
    query = ("--query", "properties.endpoint", "--output", "tsv")
    return f"use the endpoint that this prints: {line(*show, *query)}"


def _is_https(endpoint: str) -> bool:
    try:
        url = httpx.URL(endpoint)
    except httpx.InvalidURL:
        return False
    return url.scheme == "https" and bool(url.host)


class _Bearer(httpx.Auth):
    """The caller's token, from the cache of the credential, on each request."""

    def __init__(self, azure: "Azure") -> None:
        self._azure = azure

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        token, _ = self._azure.token(grafana_scope(os.environ))
        request.headers["Authorization"] = f"Bearer {token}"
        yield request


def segment(name: str) -> str:
    """``name`` as one segment of a path."""
    return quote(name, safe="")


def message_of(response: httpx.Response) -> str:
    """The service's own words."""
    body = Document.parse(response.content)
    return body.text("message") or body.text("error") or response.text
