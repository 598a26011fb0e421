"""Reaches Pyroscope through Grafana's data source proxy, with the user's Azure credentials.

The server itself has no public address: Azure Managed Grafana holds the private link to it, and
whoever may see a dashboard there (Grafana Viewer) may query through it. A Grafana of one's own is
asked with the token of a service account, which is in the environment.
"""

import os
from collections.abc import Generator
from urllib.parse import quote, urlsplit

import httpx

from contract.azure import grafana_scope
from flamegraphs.errors import NotSignedInError, UsageError
from flamegraphs.sources.pyroscope import Server


def server(endpoint: str, data_source: str, token_variable: str | None = None) -> Server:
    """Return the Pyroscope behind a data source; raises `UsageError` for a URL without TLS.

    With ``token_variable`` the Grafana is one's own, and that environment variable holds a token.
    """
    if token_variable is not None:
        return _own(endpoint.rstrip("/"), data_source, token_variable)
    if urlsplit(endpoint).scheme != "https":
        raise UsageError(f"{endpoint}: a token is sent to Grafana, so its URL has to be https.")
    return Server(
        url=f"{endpoint.rstrip('/')}/api/datasources/proxy/uid/{quote(data_source, safe='')}",
        name=f"Pyroscope (data source {data_source} of {endpoint.rstrip('/')})",
        unreachable_hint=(
            "Check that Grafana's address and the data source's uid are right, and that Grafana's "
            "managed private endpoint to Pyroscope is approved."
        ),
        forbidden_hint=(
            "The identity you are signed in with needs the role Grafana Viewer on this workspace "
            "(a new assignment takes some minutes to take effect)."
        ),
        auth=_AzureToken(),
    )


def _own(endpoint: str, data_source: str, token_variable: str) -> Server:
    from contract.grafana import may_carry_a_token
    from operations.errors import OperationError
    from operations.service_account import ServiceAccount, token

    if not may_carry_a_token(endpoint):
        raise UsageError(f"{endpoint}: a token is sent to Grafana, so its URL has to be https.")
    try:
        token(token_variable, endpoint)
    except OperationError as error:
        raise NotSignedInError(f"{error.sentence()}. To fix it, {error.fix}.") from error
    return Server(
        url=f"{endpoint}/api/datasources/proxy/uid/{quote(data_source, safe='')}",
        name=f"Pyroscope (data source {data_source} of {endpoint})",
        unreachable_hint=(
            "Check that Grafana's address and the data source's uid are right, and that Grafana "
            "reaches the URL of the source."
        ),
        forbidden_hint=(
            f"The token in {token_variable} must be one of a service account of this Grafana, with "
            "the role Viewer or more."
        ),
        auth=ServiceAccount(token_variable, endpoint),
    )


class _AzureToken(httpx.Auth):
    """Adds a token of the identity that Pulumi's Azure provider has, got when first needed."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token()}"
        yield request

    def __init__(self) -> None:
        self._value: str | None = None

    def _token(self) -> str:
        if self._value is None:
            # 0.2 s that a query of a server without Azure should not wait for.
            from operations.credentials import CachingCredential, credential, timeouts
            from operations.errors import OperationError

            # The same identity that deployed: a gate in CI has `ARM_*` variables and no `az login`.
            source = CachingCredential(credential(timeouts()))
            try:
                self._value = source.get_token(grafana_scope(os.environ)).token
            except OperationError as error:
                raise NotSignedInError(
                    "No Azure credential returned a token for Grafana. "
                    f"{error.sentence()}. To fix it, {error.fix}."
                ) from error
            finally:
                source.close()
        return self._value
