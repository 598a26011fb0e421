"""Azure Resource Manager and its tokens, through the official pipeline.

Each call names its API version; a client of one service would add its own newest one, and half a
second of imports. One credential for everything (:mod:`operations.credentials`). The pipeline's
policies for retries, polling and registration of resource providers are left out: none has a total
limit, so :class:`operations.clock.Clock` repeats calls instead. Every failure leaves this module as
an :class:`~operations.errors.OperationError`.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Self, cast

from azure.core.exceptions import (
    AzureError,
    DecodeError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import RequestIdPolicy, SansIOHTTPPolicy, UserAgentPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

from contract.azure import (
    ARM_URL,
    LOCKED,
    NOT_REGISTERED,
    ResourceId,
    group_of,
    resource_id,
    scope_of,
)
from contract.json import Document, is_list
from contract.lines import line
from contract.messages.survey import Presence
from operations.clock import CONNECT_SECONDS, read_seconds
from operations.credentials import (
    ANY_ACCOUNT,
    CachingCredential,
    CliAccount,
    credential,
    how_to_sign_in,
    timeouts,
)
from operations.errors import ExitCode, OperationError

ARM_URL_VARIABLE = "GPUOBS_ARM_URL"
"""For tests: where Azure Resource Manager is."""


CHECK_NETWORK = "check the network, the proxy (HTTPS_PROXY, NO_PROXY) and name resolution"

_OCCUPIED = {
    "AnotherOperationInProgress",
    "CanceledAndSupersededDueToAnotherOperation",
    "Conflict",
    "ConflictError",
    "ConflictInProcessing",
    "OperationPreempted",
    "ReferencedResourceNotProvisioned",
    "RetryableError",
    "RetryableErrorDueToAnotherOperation",
}
"""Codes of a 400 or 409 that ends by itself: one operation at a time per resource.

``ConflictInProcessing`` is Grafana's. ``ConflictError`` and ``RetryableError`` answer for a Private
Link Service that is being updated (terraform-provider-azurerm PR 32095), ``Retryable...Operation``
for any network resource (Azure's page on throttling, as 429). ``Conflict`` says "another operation
is pending" (azure-service-operator PR 4671); the others are those that cloud-provider-azure
(``pkg/consts``) and Azure's Terraform modules repeat a call for.
"""

_NOT_ABSENT = {"SubscriptionNotFound", "InvalidResourceType", "InvalidResourceNamespace"}
"""Codes of a 404 that does not say that the resource is gone."""


def parse_id(text: str, expected_type: str) -> ResourceId:
    """The parts of an id of a request; raises BAD_REQUEST if it is no id of ``expected_type``."""
    try:
        return ResourceId.parse(text, expected_type)
    except ValueError as error:
        raise OperationError(
            ExitCode.BAD_REQUEST,
            str(error),
            fix=f"an id has the form {resource_id('<id>', '<group>', expected_type, '<name>')}",
        ) from error


class Azure:
    """Tokens and Resource Manager for one process; safe to use from several threads."""

    def __init__(self, account: CliAccount | None = None, *, user_agent: str = "gpuobs") -> None:
        self._account = account or ANY_ACCOUNT
        self._user_agent = user_agent
        self.arm_url = os.environ.get(ARM_URL_VARIABLE, "").rstrip("/") or ARM_URL
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @cached_property
    def credential(self) -> CachingCredential:
        """Who the operations are in Azure."""
        found = CachingCredential(credential(timeouts(), account=self._account))
        self._open.callback(found.close)
        return found

    def use(self, account: CliAccount) -> None:
        """Go on as another account of `az login`; nothing where that is not who this is."""
        if self.credential.is_cli:
            self.credential.use(credential(timeouts(), account=account))

    def token(self, scope: str) -> tuple[str, int]:
        """A bearer token for ``scope`` and when it expires (Unix seconds), cached.

        Raises NOT_AUTHENTICATED; UNREACHABLE and BUSY, transient.
        """
        found = self.credential.get_token(scope)
        return found.token, found.expires_on

    def get(
        self, path: str, api_version: str, action: str, *, role_scope: str = "", **query: str
    ) -> Document:
        """The document at ``path`` (an ARM id, or one and more).

        ``action`` completes "could not ..." in an error, ``role_scope`` says where a 403 lacks the
        role Reader if not at ``path``.
        """
        parameters = {"api-version": api_version}
        parameters |= {f"${key}": value for key, value in query.items()}
        request = HttpRequest("GET", self.arm_url + path, params=parameters)
        found = _understood(self._send(request, action, role_scope or path), action)
        if not (found.text("id") or is_list(found.value("value"))):
            raise not_understood(action, "the answer is neither a resource nor a list")
        return found

    def put(
        self,
        path: str,
        api_version: str,
        body: Mapping[str, object],
        action: str,
        *,
        role_scope: str,
        role: str,
    ) -> None:
        """Write ``body`` to ``path``; Azure may go on working after its answer.

        An answer that is no resource is none: whether Azure has written is then not known.
        ``action``, ``role_scope`` and ``role`` are for errors: see :meth:`get`.
        """
        parameters = {"api-version": api_version}
        request = HttpRequest("PUT", self.arm_url + path, params=parameters, json=body)
        _understood(self._send(request, action, role_scope, role), action)

    def delete(
        self,
        path: str,
        api_version: str,
        action: str,
        *,
        role_scope: str,
        role: str,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """Delete what is at ``path``, if it is there; Azure may go on working after its answer.

        ``query``: further parameters. ``action``, ``role_scope`` and ``role`` are for errors: see
        :meth:`get`.
        """
        parameters = {"api-version": api_version, **(query or {})}
        request = HttpRequest("DELETE", self.arm_url + path, params=parameters)
        try:
            self._send(request, action, role_scope, role)
        except OperationError as error:
            if not is_absent(error):
                raise

    def ask(
        self,
        path: str,
        api_version: str,
        action: str,
        *,
        role_scope: str,
        role: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> Document:
        """What a POST of ``body`` to ``path`` answers at once; ``query``: further parameters.

        ``action``, ``role_scope`` and ``role`` are for errors: see :meth:`get`.
        """
        parameters = {"api-version": api_version, **(query or {})}
        request = HttpRequest("POST", self.arm_url + path, params=parameters, json=body)
        return _understood(self._send(request, action, role_scope, role), action)

    def post(self, path: str, api_version: str, action: str, *, role_scope: str, role: str) -> str:
        """Start the long-running operation at ``path``; the URL to :meth:`follow`, if there is one.

        ``action``, ``role_scope`` and ``role`` are for errors: see :meth:`get`.
        """
        request = HttpRequest("POST", self.arm_url + path, params={"api-version": api_version})
        started = self._send(request, action, role_scope, role)
        # Empty or `null` is how services begin an operation.
        if started.content.strip() not in (b"", b"null"):
            _understood(started, action)
        return started.headers.get("Azure-AsyncOperation") or ""

    def follow(self, operation_url: str, action: str) -> Document:
        """The status document of a long-running operation that this ARM itself named."""
        # Some services write the port that goes without saying.
        if not operation_url.startswith((f"{self.arm_url}/", f"{self.arm_url}:443/")):
            # The bearer token would go with it.
            return Document({})
        request = HttpRequest("GET", operation_url)
        return _understood(self._send(request, action, operation_url), action)

    def _send(
        self, request: HttpRequest, action: str, scope: str, role: str = "Reader"
    ) -> HttpResponse:
        with _azure_errors(action, scope, role):
            return self._client.send_request(request, read_timeout=read_seconds())

    @cached_property
    def _client(self) -> ARMPipelineClient[HttpRequest, HttpResponse]:
        client = ARMPipelineClient[HttpRequest, HttpResponse](
            self.arm_url,
            policies=[
                _RaiseRefusals(),
                RequestIdPolicy(),
                UserAgentPolicy(self._user_agent),
                ARMChallengeAuthenticationPolicy(self.credential, scope_of(ARM_URL)),
            ],
            transport=RequestsTransport(connection_timeout=CONNECT_SECONDS),
        )
        self._open.callback(client.close)
        return client


def _understood(response: HttpResponse, action: str) -> Document:
    """The answer's JSON object; raises UNREACHABLE (transient) where it is none.

    A page with status 200 comes from a proxy or a sign-in portal, and nothing follows from it.
    """
    found = Document.parse(response.content)
    if not found:
        raise not_understood(action, "the answer is not a JSON object")
    return found


def not_understood(action: str, why: str) -> OperationError:
    """The error for an answer that Resource Manager does not give; ``action`` as in errors."""
    return OperationError(
        ExitCode.UNREACHABLE,
        f"Could not {action}: the answer is not from Azure Resource Manager.",
        why=why,
        fix=CHECK_NETWORK,
        transient=True,
    )


class _RaiseRefusals(SansIOHTTPPolicy[HttpRequest, HttpResponse]):
    """Raise for every answer that is not a success, whatever its body: it may be a proxy's page."""

    def on_response(
        self,
        request: PipelineRequest[HttpRequest],
        response: PipelineResponse[HttpRequest, HttpResponse],
    ) -> None:
        del request
        if not 200 <= response.http_response.status_code < 300:
            response.http_response.read()
            raise HttpResponseError(response=response.http_response)


@contextmanager
def _azure_errors(action: str, scope: str, role: str = "Reader") -> Generator[None]:
    """Raise the pipeline's exceptions as OperationErrors; ``action`` completes "could not ..."."""
    try:
        yield
    except DecodeError as error:
        raise not_understood(action, f"it is cut off: {_first_line(str(error))}") from error
    except HttpResponseError as error:
        raise _refused(error, action, scope, role) from error
    except (ServiceRequestError, ServiceResponseError) as error:
        raise OperationError(
            ExitCode.UNREACHABLE,
            f"Could not {action}: Azure Resource Manager did not respond.",
            why=_first_line(str(error)),
            fix=CHECK_NETWORK,
            transient=True,
        ) from error
    except AzureError as error:
        raise OperationError(
            ExitCode.REJECTED, f"Could not {action} on {scope}.", why=_first_line(str(error))
        ) from error


def is_absent(error: OperationError) -> bool:
    """Whether the error is Resource Manager's own statement that the resource does not exist."""
    return (
        error.kind is ExitCode.NOT_FOUND
        and bool(error.service_code)
        and error.service_code not in _NOT_ABSENT
    )


def presence_of(error: OperationError) -> Presence:
    """What a lookup that failed says of the thing."""
    if is_absent(error):
        return Presence.ABSENT
    if error.service_code == NOT_REGISTERED:
        return Presence.UNREGISTERED
    # A subscription that is "not found" is one that the caller cannot see.
    return {
        ExitCode.FORBIDDEN: Presence.FORBIDDEN,
        ExitCode.NOT_FOUND: Presence.FORBIDDEN,
        ExitCode.NOT_AUTHENTICATED: Presence.UNAUTHENTICATED,
        ExitCode.UNREACHABLE: Presence.UNREACHABLE,
        ExitCode.BUSY: Presence.UNREACHABLE,
    }.get(error.kind, Presence.REFUSED)


def _refused(error: HttpResponseError, action: str, scope: str, role: str) -> OperationError:
    status = error.status_code or 0
    code, message = _code_and_message(error)
    why = f"{code}: {message}" if code else message or f"HTTP {status}"

    def failure(
        kind: ExitCode, happened: str, fix: str = "", *, transient: bool = False
    ) -> OperationError:
        return OperationError(
            kind,
            happened,
            why=why,
            fix=fix,
            transient=transient,
            retry_after=_advised_wait(error),
            service_code=code,
        )

    if status < 400:
        # Resource Manager sends nobody elsewhere, and no answer at all has no status.
        return not_understood(action, f"HTTP {status}" if status else _first_line(str(error)))
    if status == 401:
        return failure(
            ExitCode.NOT_AUTHENTICATED,
            f"Could not {action}: Azure does not accept the token.",
            f"another tenant or an expired session? {how_to_sign_in()}",
        )
    if status == 403 and code == "DenyAssignmentAuthorizationFailed":
        return failure(
            ExitCode.FORBIDDEN,
            f"Could not {action}: a deny assignment protects {scope}.",
            "no role helps against a deny assignment; the resource must live in another group",
        )
    if code == LOCKED:
        locked = f"Could not {action}: a management lock is in the way."
        return failure(ExitCode.FORBIDDEN, locked, _without_lock(scope))
    if status == 403:
        return failure(
            ExitCode.FORBIDDEN,
            f"Could not {action}: forbidden (403).",
            f"the caller needs the role {role!r} on {scope} (a new assignment takes minutes)",
            transient=True,
        )
    if status == 404:
        return failure(ExitCode.NOT_FOUND, f"Could not {action}: not found (404).", transient=True)
    occupied = status in (400, 409) and code in _OCCUPIED
    if status == 409 and not occupied:
        return failure(ExitCode.CONFLICT, f"Could not {action}: conflict (409).")
    if occupied or status in (408, 429) or status >= 500:
        return failure(
            ExitCode.BUSY,
            f"Could not {action}: Azure is busy or failing ({status}).",
            "wait a moment and run it again",
            transient=True,
        )
    return failure(ExitCode.REJECTED, f"Could not {action}: Azure refused it ({status}).")


def _without_lock(scope: str) -> str:
    group = group_of(scope)
    listed = line("az", "lock", "list", "--resource-group", group, "--output", "table")
    return "no role helps against a lock: whoever set it takes it away for the time" + (
        f" ({listed} shows those of the group)" if group else ""
    )


def _advised_wait(error: HttpResponseError) -> float | None:
    response = error.response
    headers: object = getattr(response, "headers", None)
    return retry_after(cast("Mapping[str, str]", headers)) if isinstance(headers, Mapping) else None


def _code_and_message(error: HttpResponseError) -> tuple[str, str]:
    try:
        body = Document.parse(error.response.text()) if error.response else Document({})
    except (AttributeError, ValueError, AzureError):
        body = Document({})
    envelope = body.child("error") or body
    return envelope.text("code"), " ".join(envelope.text("message").split())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer's headers advise to wait; None for none, zero or a date."""
    for name, unit in (
        ("retry-after-ms", 0.001),
        ("x-ms-retry-after-ms", 0.001),
        ("Retry-After", 1),
    ):
        try:
            seconds = float(headers.get(name) or 0) * unit
        except ValueError:
            continue
        if 0 < seconds < float("inf"):
            return seconds
    return None


def _first_line(text: str) -> str:
    """The gist of an SDK's message, which may list a whole chain over many lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""
