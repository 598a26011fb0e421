"""Entra ID as far as a client of Azure meets it: managed identity tokens, and who a token names.

Speaks the App Service managed identity protocol (``IDENTITY_ENDPOINT``, ``IDENTITY_HEADER``) over
plain http, as azure-identity allows. A token is a signed JWT whose ``oid`` is the caller's; the
simulated services check signature, expiry and audience. No other grant is offered.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Collection
from typing import Final

from simulator.http import Request, Response
from simulator.values import JsonObject, as_number, as_object, as_text
from simulator.world import TENANT_ID, World

IDENTITY_HEADER: Final = "simulated-identity"
"""The value of ``X-IDENTITY-HEADER`` that proves the caller runs on the simulated machine."""

LIFETIME: Final = 24 * 3600
"""Seconds a token is good for; azure-identity asks again below five minutes."""

ARM_AUDIENCES: Final = frozenset(
    {"https://management.azure.com", "https://management.core.windows.net"}
)
GRAFANA_AUDIENCES: Final = frozenset(
    {"ce34e7e5-485f-4d76-964f-b3d2b16d1e4f", "6f2d169c-08f3-4a4c-a982-bcaf2d038c45"}
)
KUBERNETES_AUDIENCES: Final = frozenset({"6dae42f8-4368-4678-94ff-3960e28e3630"})
"""The Entra application of AKS: tokens for clusters with Entra ID integration."""
PROMETHEUS_AUDIENCES: Final = frozenset(
    {"https://prometheus.monitor.azure.com", "https://data.monitor.azure.com"}
)


class IdentityService:
    """The managed identity endpoint."""

    name = "identity"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Answer a token for the caller that the world's settings name."""
        if request.method != "GET":
            return _refusal(405, "only GET is answered")
        if request.headers.get("x-identity-header") != IDENTITY_HEADER:
            return _refusal(401, "X-IDENTITY-HEADER is missing or wrong")
        if request.query.get("api-version") != "2019-08-01":
            return _refusal(400, "api-version 2019-08-01 is needed")
        resource = request.query.get("resource", "")
        if not resource:
            return _refusal(400, "the query has no resource")
        if any(key in request.query for key in ("client_id", "mi_res_id", "object_id")):
            return _refusal(400, "no user-assigned identity of that id is on this machine")
        caller = as_text(self._world.settings.get("caller"))
        principal = self._world.principals.get(caller)
        if principal is None:
            return _refusal(400, "no managed identity is assigned to this machine")
        expires = int(time.time()) + LIFETIME
        claims: JsonObject = {
            "aud": resource,
            "exp": expires,
            "iss": f"https://sts.windows.net/{TENANT_ID}/",
            "oid": principal.id,
            "sub": principal.id,
            "tid": TENANT_ID,
            "appid": principal.id,
            "idtyp": "user" if principal.kind == "User" else "app",
        }
        if principal.kind == "User":
            claims["upn"] = principal.name
        return Response(
            200,
            {
                "access_token": sign(self._world, claims),
                "expires_on": str(expires),
                "resource": resource,
                "token_type": "Bearer",
                "client_id": principal.id,
            },
        )


def sign(world: World, claims: JsonObject) -> str:
    """A token with these claims that this world's services accept."""
    head = _encode({"alg": "HS256", "typ": "JWT"})
    body = _encode(claims)
    return f"{head}.{body}.{_signature(world, f'{head}.{body}')}"


def principal_of(world: World, request: Request, audiences: Collection[str]) -> str | None:
    """The object id that the request's bearer token names; None if the token is not good here."""
    claims = claims_of(world, request)
    if is_expired(claims) or as_text(claims.get("aud")).rstrip("/") not in audiences:
        return None
    return as_text(claims.get("oid")) or None


def claims_of(world: World, request: Request) -> JsonObject:
    """What the request's bearer token says; nothing if this world did not sign it."""
    head, _, rest = request.bearer.partition(".")
    body, _, signature = rest.partition(".")
    if not signature or not hmac.compare_digest(signature, _signature(world, f"{head}.{body}")):
        return {}
    return as_object(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))


def is_expired(claims: JsonObject) -> bool:
    """Whether the token with these claims is not good any more."""
    return as_number(claims.get("exp")) < time.time()


def _encode(value: JsonObject) -> str:
    text = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _signature(world: World, text: str) -> str:
    digest = hmac.new(world.signing_key.encode(), text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _refusal(status: int, message: str) -> Response:
    return Response(status, {"statusCode": status, "message": message})
