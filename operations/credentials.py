"""Who the operations are in Azure: whoever Pulumi's Azure provider is.

The provider reads the ``ARM_*`` variables in a fixed order (its own documentation and source), and
knows nothing of the ``AZURE_*`` ones unless it is set to. With two identities a deployment fails
half-way, on rights that the other one has. So what ``ARM_*`` names counts here too, in the same
order; without any, it is the chain of ``DefaultAzureCredential``, which like the provider ends at
``az login``. What a stack file configures (``azure-native:clientId``) is not seen here; a
difference is reported before the first resource (:mod:`infra.preflight`).
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypedDict

from azure.core.credentials import AccessToken
from azure.identity import (
    CertificateCredential,
    ClientAssertionCredential,
    ClientSecretCredential,
    DefaultAzureCredential,
    ManagedIdentityCredential,
)

from contract.json import as_object, as_text

Credential = (
    CertificateCredential
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

_CLI_SECONDS = 30
"""Seconds for ``az`` to answer: its first start on a slow disk (WSL) takes longer than 10 s."""
_RENEW_BEFORE = 300.0
"""Seconds before its end in which a token is asked for anew, as the Azure SDKs do."""
_DEFAULT_AUDIENCE = "api://AzureADTokenExchange"


class Timeouts(TypedDict):
    """How long a credential waits: its own defaults are up to 300 s."""

    connection_timeout: float
    read_timeout: float
    retry_total: int


def credential(timeouts: Timeouts, environment: Mapping[str, str] = os.environ) -> Credential:
    """The credential that ``environment`` asks for."""
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
    return DefaultAzureCredential(process_timeout=_CLI_SECONDS, **timeouts)


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
        """A token for ``scopes``; with ``claims`` (an answer to a challenge) always a new one."""
        with self._lock:
            key = (scopes, tenant_id)
            kept = self._kept.get(key)
            if kept is None or claims or kept.expires_on - time.time() < _RENEW_BEFORE:
                kept = self._source.get_token(*scopes, claims=claims, tenant_id=tenant_id, **kwargs)
                self._kept[key] = kept
            return kept

    def close(self) -> None:
        """Let go of the source's connections."""
        self._source.close()


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
