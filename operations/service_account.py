"""The token of a service account, for a Grafana that is not Azure's: where it is, what lacks.

It is in the environment of whoever runs this, under the name that a request gives, and nowhere
else: neither in a request nor in an answer, a message or a state.
"""

import os
import re
from collections.abc import Generator

import httpx

from operations.errors import ExitCode, OperationError

_HOW = (
    "in Grafana, Administration > Users and access > Service accounts, add one with the role Admin "
    "and a token to it, and put the token into the environment of whoever runs Pulumi: "
)


class ServiceAccount(httpx.Auth):
    """Signs requests with the token in the environment variable ``variable``."""

    def __init__(self, variable: str, endpoint: str) -> None:
        self._variable = variable
        self._endpoint = endpoint

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """The request with its token; raises NOT_AUTHENTICATED where there is none."""
        request.headers["Authorization"] = f"Bearer {token(self._variable, self._endpoint)}"
        yield request


def token(variable: str, endpoint: str) -> str:
    """What ``variable`` holds; raises NOT_AUTHENTICATED where that is nothing, or no token."""
    found = os.environ.get(variable, "").strip()
    if not found:
        raise OperationError(
            ExitCode.NOT_AUTHENTICATED,
            f"The environment variable {variable} is not set; it holds the service account's token "
            f"for Grafana at {endpoint}.",
            fix=f"{_HOW}{variable}",
        )
    # Another character would end up, with the token, in the HTTP library's own message.
    if not re.fullmatch(r"[\x21-\x7e]+", found):
        raise OperationError(
            ExitCode.NOT_AUTHENTICATED,
            f"The environment variable {variable} does not hold a token: there are blanks, line "
            "breaks or other characters in it.",
            fix=f"{_HOW}{variable}",
        )
    return found


def refusal(
    status: int, why: str, *, action: str, role: str, variable: str, endpoint: str
) -> OperationError:
    """The error for a 401, a 403 or a redirect; none of them ends by waiting.

    ``role`` is what Azure calls the role, which Grafana calls by its last word.
    """
    happened = f"Could not {action}: Grafana answers {status}."
    if status == 401:
        return OperationError(
            ExitCode.NOT_AUTHENTICATED,
            happened,
            why=why,
            fix=f"the token in {variable} is not one of {endpoint}, or it has expired: {_HOW}"
            f"{variable}",
            service_code="401",
        )
    if status == 403:
        return OperationError(
            ExitCode.FORBIDDEN,
            happened,
            why=why,
            fix=f"the service account of the token in {variable} needs the role "
            f"{role.removeprefix('Grafana ')} on {endpoint}",
            service_code="403",
        )
    return OperationError(
        ExitCode.REJECTED,
        happened,
        why="the address leads elsewhere: to a sign-in page, to https, or to Grafana's own path",
        fix="write the address at which Grafana itself answers into gpuobs:grafana.selfHosted.url",
    )
