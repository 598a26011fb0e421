"""The operations are whoever Pulumi's Azure provider is, by the variables that it reads."""

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.identity import AzureCliCredential
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from operations import credentials
from operations.credentials import (
    SIGN_IN,
    CachingCredential,
    CliAccount,
    credential,
    how_to_sign_in,
    timeouts,
)

PRINCIPAL = {
    "ARM_CLIENT_ID": "33333333-3333-4333-8333-333333333333",
    "ARM_TENANT_ID": "44444444-4444-4444-8444-444444444444",
}


def kind(environment: Mapping[str, str]) -> str:
    with credential(timeouts(), environment) as found:
        return type(found).__name__


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        # The provider ends at the CLI, whatever identity the machine has.
        ({}, "AzureCliCredential"),
        ({"IDENTITY_ENDPOINT": "http://127.0.0.1", "IDENTITY_HEADER": "h"}, "AzureCliCredential"),
        ({"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t"}, "AzureCliCredential"),
        ({"ARM_USE_DEFAULT_AZURE_CREDENTIAL": "true"}, "DefaultAzureCredential"),
        ({**PRINCIPAL, "ARM_CLIENT_SECRET": "s"}, "ClientSecretCredential"),
        ({**PRINCIPAL, "ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": "t"}, "ClientAssertionCredential"),
        (
            {
                **PRINCIPAL,
                "ARM_USE_OIDC": "true",
                "ACTIONS_ID_TOKEN_REQUEST_URL": "https://example.test/?a=b",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
            },
            "ClientAssertionCredential",
        ),
        ({"ARM_USE_MSI": "true"}, "ManagedIdentityCredential"),
        ({**PRINCIPAL, "ARM_USE_MSI": "true"}, "ManagedIdentityCredential"),
        # The provider takes a secret before a managed identity, and the whole chain before either.
        (
            {**PRINCIPAL, "ARM_CLIENT_SECRET": "s", "ARM_USE_MSI": "true"},
            "ClientSecretCredential",
        ),
        (
            {
                **PRINCIPAL,
                "ARM_CLIENT_SECRET": "s",
                "ARM_USE_DEFAULT_AZURE_CREDENTIAL": "true",
            },
            "DefaultAzureCredential",
        ),
        # Switched off, as the provider reads it: only `true` is on.
        ({"ARM_USE_MSI": "false"}, "AzureCliCredential"),
        ({"ARM_CLIENT_ID": "lonely"}, "AzureCliCredential"),
    ],
)
def test_the_variables_of_the_provider_choose_the_credential(
    environment: Mapping[str, str], expected: str
) -> None:
    assert kind(environment) == expected


@pytest.mark.parametrize(
    ("environment", "account", "subscription", "tenant"),
    [
        ({}, CliAccount(), None, ""),
        ({"ARM_SUBSCRIPTION_ID": "from-arm"}, CliAccount(), "from-arm", ""),
        # Of what the request is about.
        ({"ARM_SUBSCRIPTION_ID": "from-arm"}, CliAccount(subscription="its"), "its", ""),
        ({"ARM_SUBSCRIPTION_ID": "from-arm"}, CliAccount(tenant="t"), None, "t"),
    ],
)
def test_the_cli_is_asked_for_the_subscription_or_the_tenant_in_use(
    environment: Mapping[str, str], account: CliAccount, subscription: str | None, tenant: str
) -> None:
    found = credential(timeouts(), environment, account)
    assert isinstance(found, AzureCliCredential)
    assert (found.subscription, found.tenant_id) == (subscription, tenant)


def certificate_of(password: str) -> bytes:
    """A certificate with its key, which ``password`` opens; empty: anybody."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "principal")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    locked = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, locked) + certificate.public_bytes(
        serialization.Encoding.PEM
    )


@pytest.mark.parametrize("password", ["", "only the owner knows"])
def test_a_certificate_of_a_service_principal_is_read_with_its_password(
    tmp_path: Path, password: str
) -> None:
    file = tmp_path / "principal.pem"
    file.write_bytes(certificate_of(password))
    environment = {**PRINCIPAL, "ARM_CLIENT_CERTIFICATE_PATH": str(file)}
    if password:
        with pytest.raises(TypeError, match=r"[Pp]assword"):
            kind(environment)
    environment["ARM_CLIENT_CERTIFICATE_PASSWORD"] = password
    assert kind(environment) == "CertificateCredential"


@pytest.mark.parametrize("given", ["ARM_CLIENT_ID", "ARM_TENANT_ID"])
@pytest.mark.parametrize(
    "secret",
    [
        {"ARM_CLIENT_SECRET": "s"},
        {"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": "t"},
        {"ARM_CLIENT_CERTIFICATE_PATH": "principal.pem"},
    ],
)
def test_half_a_service_principal_is_none(given: str, secret: dict[str, str]) -> None:
    assert kind({given: PRINCIPAL[given], **secret}) == "AzureCliCredential"


class _Issuer(BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Authorization"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"value": "a job\'s token"}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        del format, args


@pytest.fixture
def issuer() -> Iterator[HTTPServer]:
    _Issuer.asked = []
    with HTTPServer(("127.0.0.1", 0), _Issuer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_job_of_github_actions_asks_for_a_token_for_entra(
    issuer: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    environment = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"http://127.0.0.1:{issuer.server_port}/token?v=1",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "bearer",
    }
    ask = credentials.assertion(environment)
    assert ask is not None
    assert ask() == "a job's token"
    (path, authorization) = _Issuer.asked[0]
    assert path == "/token?v=1&audience=api%3A%2F%2FAzureADTokenExchange"
    assert authorization == "Bearer bearer"


def test_a_federated_token_in_a_file_is_read_when_it_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    ask = credentials.assertion({"ARM_OIDC_TOKEN_FILE_PATH": str(file)})
    file.write_text("renewed")
    assert ask is not None
    assert ask() == "renewed"


class Counted:
    """Gives tokens that live ``life`` seconds, slowly, and notes what it was asked for."""

    def __init__(self, life: float) -> None:
        self.asked: list[str] = []
        self._life = life

    def get_token(
        self, *scopes: str, claims: str | None = None, tenant_id: str | None = None, **kwargs: Any
    ) -> AccessToken:
        del claims, tenant_id, kwargs
        time.sleep(0.01)
        self.asked.append(scopes[0])
        return AccessToken(f"token-{len(self.asked)}", int(time.time() + self._life))

    def close(self) -> None:
        self.asked.append("closed")


def test_many_calls_at_once_ask_for_one_token_a_scope() -> None:
    source = Counted(3600)
    kept = CachingCredential(source)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(kept.get_token, ["scope-0", "scope-1"] * 8))
    assert sorted(source.asked) == ["scope-0", "scope-1"]
    assert len({one.token for one in found}) == 2


def test_a_token_that_ends_soon_is_asked_for_anew() -> None:
    source = Counted(200)
    kept = CachingCredential(source)
    assert kept.get_token("scope").token != kept.get_token("scope").token


def test_a_challenge_is_answered_with_a_new_token_which_is_then_kept() -> None:
    kept = CachingCredential(Counted(3600))
    old = kept.get_token("scope")
    new = kept.get_token("scope", claims="{}")
    assert new != old
    assert kept.get_token("scope") == new


def federated(ends: float) -> str:
    claims = json.dumps({"exp": int(ends)}).encode()
    return f"head.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.signature"


def test_a_federated_token_that_has_ended_is_named_with_what_renews_it() -> None:
    over = {"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": federated(time.time() - 60)}
    assert "ARM_OIDC_TOKEN ended at" in how_to_sign_in(over)
    assert "ARM_OIDC_TOKEN_FILE_PATH" in how_to_sign_in(over)
    for fine in (
        {"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": federated(time.time() + 60)},
        {"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": "opaque"},
        {"ARM_OIDC_TOKEN": federated(time.time() - 60)},
        {},
    ):
        assert how_to_sign_in(fine) == SIGN_IN
