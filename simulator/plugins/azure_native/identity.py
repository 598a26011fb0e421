"""Who azure-native is: the tail of its ``newSingleMethodAuthCredential`` that works here.

A managed identity where ``ARM_USE_MSI`` says so, or the default chain, which on the simulated
machine finds the same; otherwise the Azure CLI and nothing else, for the subscription in use. The
other methods need Entra ID itself and are refused.
"""

import http.client
import json
import os
import subprocess
import time
import urllib.request
from urllib.parse import urlencode

from simulator.plugins.azure_native.arm import USER_AGENT
from simulator.plugins.provider import ProviderError
from simulator.values import JsonObject, as_object, as_text

AUDIENCE = "https://management.azure.com"
NEED_ENTRA = ("ARM_CLIENT_CERTIFICATE_PATH", "ARM_CLIENT_SECRET", "ARM_USE_OIDC")


def token(subscription: str) -> str:
    """A token for ARM; ``subscription`` may be empty.

    Raises:
        ProviderError: there is none.
    """
    if _is_on("ARM_USE_DEFAULT_AZURE_CREDENTIAL"):
        return _of_the_machine()
    for variable in NEED_ENTRA:
        if os.environ.get(variable, "") not in ("", "false"):
            raise ProviderError(
                f"{variable} is set, and there is no Entra ID in the simulated Azure"
            )
    if _is_on("ARM_USE_MSI"):
        return _of_the_machine()
    answer = _cli(["get-access-token", "--resource", AUDIENCE], subscription)
    return as_text(answer.get("accessToken"))


def subscription_of_the_cli() -> str:
    """The CLI's default subscription; empty where another identity is used, which has none."""
    if _is_on("ARM_USE_DEFAULT_AZURE_CREDENTIAL") or _is_on("ARM_USE_MSI"):
        return ""
    return as_text(_cli(["show"], "").get("id"))


def _is_on(variable: str) -> bool:
    return os.environ.get(variable) == "true"


def _cli(arguments: list[str], subscription: str) -> JsonObject:
    which = ["--subscription", subscription] if subscription else []
    command = ["az", "account", *arguments, "--output", "json", *which]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProviderError(f"Azure CLI not found on path: {error}") from error
    if done.returncode != 0:
        raise ProviderError(done.stderr.strip() or f"az ended with {done.returncode}")
    return as_object(json.loads(done.stdout))


def _of_the_machine() -> str:
    """A token for ARM from the machine's managed identity."""
    endpoint = os.environ.get("IDENTITY_ENDPOINT", "")
    query = urlencode({"api-version": "2019-08-01", "resource": AUDIENCE})
    request = urllib.request.Request(  # noqa: S310 - the scheme is the simulator's own
        f"{endpoint}?{query}",
        headers={
            "X-IDENTITY-HEADER": os.environ.get("IDENTITY_HEADER", ""),
            "User-Agent": USER_AGENT,
        },
    )
    # The identity endpoint is on loopback: a proxy must not see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    last: Exception | None = None
    for _ in range(3):
        try:
            with opener.open(request, timeout=10) as answer:
                return as_text(as_object(json.load(answer)).get("access_token"))
        except (OSError, ValueError, http.client.HTTPException) as error:
            last = error
            time.sleep(0.05)
    raise ProviderError(f"no token from the managed identity endpoint: {last}")
