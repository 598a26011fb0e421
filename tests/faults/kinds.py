"""Kinds of faults, as rules of a fault plan (docs/maintainers/simulator.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from simulator.values import JsonObject
from tests.faults.calls import Call

PAGE: Final = (
    "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Corporate proxy</body></html>"
)
HTML: Final = {"Content-Type": "text/html; charset=utf-8"}
MARK: Final = "made to fail by the sweep"


@dataclass(frozen=True)
class Kind:
    """One kind of fault."""

    name: str
    says: str
    """For the page: what happens."""
    then: Callable[[Call], JsonObject]

    def rule(self, call: Call, *, first: int = 1, count: int | None = 1) -> JsonObject:
        """The rule that lets it strike ``call``."""
        return {**call.rule(), "from": first, "count": count, "then": self.then(call)}


def refusal(call: Call, status: int, code: str) -> JsonObject:
    """An error's body in the form of the call's service."""
    match call.service:
        case "grafana":
            return {"message": MARK, "messageId": code, "statusCode": status}
        case "kubernetes":
            return {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "metadata": {},
                "message": MARK,
                "reason": code,
                "code": status,
            }
        case "identity":
            return {"statusCode": status, "message": MARK}
        case _:
            return {"error": {"code": code, "message": MARK}}


def _answer(
    status: int, code: str, *, acted: bool = False, wait: str = ""
) -> Callable[[Call], JsonObject]:
    def then(call: Call) -> JsonObject:
        effect: JsonObject = {"status": status, "body": refusal(call, status, code)}
        if wait:
            effect["headers"] = {"Retry-After": wait}
        if acted:
            effect["acted"] = True
        return effect

    return then


def _always(effect: JsonObject) -> Callable[[Call], JsonObject]:
    return lambda _: effect


TRANSIENT: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(
            "429",
            "throttled, with a Retry-After",
            _answer(429, "TooManyRequests", wait="1"),
        ),
        Kind("500", "fails", _answer(500, "InternalServerError")),
        Kind("503", "fails, with a Retry-After", _answer(503, "ServiceUnavailable", wait="1")),
        Kind(
            "acted 500", "acts, and says that it failed", _answer(500, "InternalError", acted=True)
        ),
        Kind(
            "502 page",
            "a gateway's page in place of JSON",
            _always({"status": 502, "headers": HTML, "text": PAGE}),
        ),
        Kind(
            "200 page",
            "a sign-in page with the status of a success",
            _always({"status": 200, "headers": HTML, "text": PAGE}),
        ),
        Kind("200 empty", "a success without a body", _always({"status": 200, "text": ""})),
        Kind("dropped", "the connection is cut before it acts", _always({"drop": "before"})),
        Kind("unanswered", "the connection is cut after it acted", _always({"drop": "after"})),
        Kind("cut", "the answer ends in its middle", _always({"cut": 0.5})),
        Kind("bad gzip", "the answer's compression is broken", _always({"encoding": "gzip"})),
    )
}
"""What passes: the same request a moment later is answered."""
