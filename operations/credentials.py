"""Who the operations are in Azure: whoever Pulumi's Azure provider is.

The provider reads the ``ARM_*`` variables in a fixed order, ends at the Azure CLI and nothing else
(its ``newSingleMethodAuthCredential``), and knows nothing of the ``AZURE_*`` variables, of workload
identity and of the machine's own unless it is set to. With two identities a deployment fails
half-way, on rights that the other one has. So it is the same order here. What a stack file
configures (``azure-native:clientId``) is not seen here and refused before the first resource
(:mod:`infra.identity`); a difference that is left is reported (:mod:`infra.preflight`).
"""

import base64
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypedDict

from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import (
    AzureCliCredential,
    CertificateCredential,
    ClientAssertionCredential,
    ClientSecretCredential,
    DefaultAzureCredential,
    ManagedIdentityCredential,
)

from contract.json import Document, as_object, as_text
from operations.errors import ExitCode, OperationError

Credential = (
    AzureCliCredential
    | CertificateCredential
    | ClientAssertionCredential
    | ClientSecretCredential
    | DefaultAzureCredential
    | ManagedIdentityCredential
)

SIGN_IN = (
    "sign in with `az login`, or set ARM_CLIENT_ID, ARM_TENANT_ID, ARM_SUBSCRIPTION_ID and "
    "ARM_CLIENT_SECRET (or ARM_USE_OIDC=true, or ARM_USE_MSI=true). AZURE_* variables count where "
    "ARM_USE_DEFAULT_AZURE_CREDENTIAL=true and ARM_SUBSCRIPTION_ID are set"
)

MANAGED_IDENTITY = (
    "`ARM_USE_MSI=true` asks for the managed identity of this machine: assign one to it, and name "
    "it in ARM_CLIENT_ID where there are several; or unset ARM_USE_MSI and sign in with `az login`"
)

RENEWED_ASSERTION = (
    "leave ARM_OIDC_TOKEN out and let each step ask for one (in GitHub Actions "
    "`permissions: id-token: write` is enough), or keep one that the job renews in a file "
    "(ARM_OIDC_TOKEN_FILE_PATH); what has been made already stays, so run it again"
)

_CLI_SECONDS = 30
"""Seconds for ``az`` to answer: its first start on a slow disk (WSL) takes longer than 10 s."""
_LONGEST_PAUSE = 2.0
"""Seconds."""
_RENEW_BEFORE = 300.0
"""Seconds before its end in which a token is asked for anew, as the Azure SDKs do."""
_DEFAULT_AUDIENCE = "api://AzureADTokenExchange"


class Timeouts(TypedDict):
    """How long a credential waits: its own defaults are up to 300 s."""

    transport: "BriefTransport"
    retry_total: int


class BriefTransport(RequestsTransport):
    """Waits a moment where an answer's ``Retry-After`` asks for an hour, or names a date.

    The SDK repeats a call that failed, and sleeps as long as it is told to, without a word.
    """

    def sleep(self, duration: float) -> None:
        """Sleep; called by the SDK's retry policy."""
        time.sleep(min(duration, _LONGEST_PAUSE))


def timeouts() -> Timeouts:
    """Those of whoever waits for a token."""
    return {
        "transport": BriefTransport(connection_timeout=5.0, read_timeout=10.0),
        "retry_total": 1,
    }


@dataclass(frozen=True, kw_only=True)
class CliAccount:
    """Which of the accounts of `az login` is meant; the CLI takes one of the two, not both."""

    subscription: str = ""
    """Id; its tenant's tokens, and whoever is signed in for it. Empty: ``ARM_SUBSCRIPTION_ID``, or
    the CLI's own default, as the provider does."""
    tenant: str = ""


ANY_ACCOUNT = CliAccount()


def credential(
    timeouts: Timeouts,
    environment: Mapping[str, str] = os.environ,
    account: CliAccount = ANY_ACCOUNT,
) -> Credential:
    """The credential that ``environment`` asks for; ``account`` counts where it is the CLI's."""
    client, tenant = environment.get("ARM_CLIENT_ID", ""), environment.get("ARM_TENANT_ID", "")
    certificate = environment.get("ARM_CLIENT_CERTIFICATE_PATH", "")
    secret = environment.get("ARM_CLIENT_SECRET", "")
    if _is_on(environment, "ARM_USE_DEFAULT_AZURE_CREDENTIAL"):
        return DefaultAzureCredential(process_timeout=_CLI_SECONDS, **timeouts)
    if client and tenant and certificate:
        password = environment.get("ARM_CLIENT_CERTIFICATE_PASSWORD") or None
        return CertificateCredential(tenant, client, certificate, password=password, **timeouts)
    if client and tenant and secret:
        return ClientSecretCredential(tenant, client, secret, **timeouts)
    if client and tenant and _is_on(environment, "ARM_USE_OIDC"):
        token = assertion(environment)
        if token is not None:
            return ClientAssertionCredential(tenant, client, token, **timeouts)
    if _is_on(environment, "ARM_USE_MSI"):
        return ManagedIdentityCredential(client_id=client or None, **timeouts)
    if account.tenant:
        return AzureCliCredential(tenant_id=account.tenant, process_timeout=_CLI_SECONDS)
    subscription = account.subscription or environment.get("ARM_SUBSCRIPTION_ID", "")
    return AzureCliCredential(subscription=subscription or None, process_timeout=_CLI_SECONDS)


class _Source(Protocol):
    """What gives tokens, and is closed."""

    def get_token(
        self, *scopes: str, claims: str | None = None, tenant_id: str | None = None, **kwargs: Any
    ) -> AccessToken: ...

    def close(self) -> None: ...


class CachingCredential:
    """A credential that asks ``source`` for a token of a scope once.

    The credential of `az login` keeps nothing: every call of Azure, and several at once, would
    start an ``az`` of its own, a second each. Safe to use from several threads.
    """

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._kept: dict[tuple[tuple[str, ...], str | None], AccessToken] = {}
        self._lock = threading.Lock()

    def get_token(
        self, *scopes: str, claims: str | None = None, tenant_id: str | None = None, **kwargs: Any
    ) -> AccessToken:
        """A token for ``scopes``; with ``claims`` (an answer to a challenge) always a new one.

        Raises:
            OperationError: NOT_AUTHENTICATED; transient where who gives tokens has trouble.
        """
        with self._lock:
            key = (scopes, tenant_id)
            kept = self._kept.get(key)
            if kept is None or claims or kept.expires_on - time.time() < _RENEW_BEFORE:
                kept = self._asked(*scopes, claims=claims, tenant_id=tenant_id, **kwargs)
                self._kept[key] = kept
            return kept

    def _asked(
        self, *scopes: str, claims: str | None, tenant_id: str | None, **kwargs: Any
    ) -> AccessToken:
        try:
            found = self._source.get_token(*scopes, claims=claims, tenant_id=tenant_id, **kwargs)
        except ClientAuthenticationError as error:
            if _is_refusal(error):
                raise _refused(scopes, error) from error
            raise _no_token(self._source, error) from error
        # An answer that the SDK does not expect ends in whatever its code meets.
        except Exception as error:
            raise _no_token(self._source, error) from error
        if not _is_token(found):
            raise _no_token(self._source, ValueError("the answer holds no bearer token"))
        return found

    @property
    def is_cli(self) -> bool:
        """Whether the tokens are those of `az login`, where there may be several accounts."""
        return isinstance(self._source, AzureCliCredential)

    def use(self, source: _Source) -> None:
        """Ask ``source`` from now on; what was kept is forgotten."""
        with self._lock:
            self._source.close()
            self._source = source
            self._kept.clear()

    def close(self) -> None:
        """Let go of the source's connections."""
        self._source.close()


_MACHINE_SAYS = re.compile(r"\(invalid_scope\) (\w+), ")
"""How msal (``managed_identity.py``) words what App Service's endpoint answers instead of a token:
its own ``statusCode``, or None for an answer that has none."""


def _is_refusal(error: ClientAuthenticationError) -> bool:
    """Whether this is an answer to who asks: the SDK says the same of what it cannot read."""
    said = _MACHINE_SAYS.search(str(error))
    status = said[1] if said else str(error.status_code or 400)
    return status in ("400", "401", "403", "404")


def _refused(scopes: tuple[str, ...], error: Exception) -> OperationError:
    return OperationError(
        ExitCode.NOT_AUTHENTICATED,
        f"Could not sign in: no credential returned a token for {' '.join(scopes)}.",
        # The gist of a message that may list a whole chain over many lines.
        why=next((line for line in str(error).splitlines() if line.strip()), ""),
        fix=how_to_sign_in(),
    )


def _no_token(source: _Source, error: Exception) -> OperationError:
    """Who gives tokens has trouble; that is no matter of who asks."""
    managed = isinstance(source, DefaultAzureCredential | ManagedIdentityCredential)
    whom = "the identity endpoint of this machine" if managed else "Microsoft Entra ID"
    status = (error.status_code or 0) if isinstance(error, HttpResponseError) else 0
    # The SDK repeats the answer, which may hold the beginning of a token.
    why = str(error).partition("Content:")[0] or type(error).__name__
    if _MACHINE_SAYS.search(why):
        why = "the answer holds no token"
    if status >= 400:
        return OperationError(
            ExitCode.BUSY,
            f"Could not sign in: {whom} is busy or failing ({status}).",
            why=why,
            fix="wait a moment and run it again",
            transient=True,
        )
    return OperationError(
        ExitCode.UNREACHABLE,
        f"Could not sign in: {whom} did not answer with a token.",
        why=why,
        fix="run it again; if it stays so, look at what answers there: a proxy (HTTPS_PROXY, "
        "NO_PROXY)" + (", or IDENTITY_ENDPOINT" if managed else ""),
        transient=True,
    )


def _is_token(found: AccessToken) -> bool:
    """Whether it can stand in a header: what the SDK passes on is what was in the answer."""
    return re.fullmatch(r"[!-~]+", str(found.token)) is not None


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "") == "true"


def assertion(environment: Mapping[str, str]) -> Callable[[], str] | None:
    """How to get the token that Entra ID exchanges for one of its own; None: it is not said."""
    token = environment.get("ARM_OIDC_TOKEN", "")
    file = environment.get("ARM_OIDC_TOKEN_FILE_PATH", "")
    url = environment.get("ACTIONS_ID_TOKEN_REQUEST_URL", "")
    bearer = environment.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")
    if token:
        return lambda: token
    if file:
        return lambda: Path(file).read_text(encoding="utf-8")
    if url and bearer:
        audience = environment.get("ARM_OIDC_AUDIENCE") or _DEFAULT_AUDIENCE
        return lambda: _requested(url, bearer, audience)
    return None


def claims_of(token: str) -> Document:
    """What a token says, not verified; nothing where it is opaque."""
    parts = token.split(".")
    if len(parts) != 3:
        return Document({})
    try:
        return Document.parse(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return Document({})


def fixed_assertion_ends(environment: Mapping[str, str]) -> float | None:
    """When (Unix seconds) the federated token in ``ARM_OIDC_TOKEN`` ends; None: none is in use.

    A job's token lives for minutes. Each step of a deployment signs in for itself, and needs it
    while it lives. One in a file, or asked for anew, can be renewed.
    """
    if not _is_on(environment, "ARM_USE_OIDC"):
        return None
    ends = claims_of(environment.get("ARM_OIDC_TOKEN", "")).integer("exp")
    return None if ends is None else float(ends)


def how_to_sign_in(environment: Mapping[str, str] = os.environ) -> str:
    """What to do where no token was given."""
    ends = fixed_assertion_ends(environment)
    if ends is None or ends > time.time():
        managed = _is_on(environment, "ARM_USE_MSI") and not _is_on(
            environment, "ARM_USE_DEFAULT_AZURE_CREDENTIAL"
        )
        return MANAGED_IDENTITY if managed else SIGN_IN
    ended = time.strftime("%H:%M:%S UTC", time.gmtime(ends))
    return f"the federated token in ARM_OIDC_TOKEN ended at {ended}; {RENEWED_ASSERTION}"


def _requested(url: str, bearer: str, audience: str) -> str:
    """A token from the endpoint that GitHub Actions gives a job."""
    import httpx

    response = httpx.get(
        httpx.URL(url).copy_merge_params({"audience": audience}),
        headers={"Authorization": f"Bearer {bearer}"},
        timeout=10.0,
    )
    response.raise_for_status()
    return as_text(as_object(response.json()).get("value"))
