"""The fault plan: which call meets which fault.

A plan is a JSON list of rules, tried in order::

    {"service": "arm", "method": "PUT", "path": ".*/managedPrivateEndpoints/[^/]+",
     "from": 1, "count": 1, "then": {"status": 500, "headers": {}, "body": {}}}

``service``, ``method``, ``path``, ``query``, ``caller`` and ``phase`` say which calls a rule is
about (each may be left out: any). ``path`` is a regular expression for the whole path as it was
sent (``/grafana/<workspace>/...`` and so on included), without case and without the query;
``query`` and ``caller`` are regular expressions found anywhere in the query as it was sent and in
the ``User-Agent``; ``phase`` is the word that ``POST settings`` set last. A rule counts the calls
it is about; it strikes from the ``from``-th (default 1) for ``count`` calls (default 1, null for
ever), and only one rule strikes a call, the first. ``then`` is one of

- ``{"status": 503, "headers"?, "body"?, "acted"?}``: answered instead of the service, or with
  ``"acted": true`` after the service acted; ``"text"`` in place of ``"body"`` is sent as it is,
  whether it is JSON or not, and so are the bytes in ``"base64"``;
- ``{"delay": 30}``: the service answers that many simulated seconds later;
- ``{"wait": 2}``: it acts, and answers, that many seconds by the wall clock later;
- ``{"hold": 2}``: it acts at once, and its answer comes that many seconds by the wall clock later,
  or when another plan is set;
- ``{"drop": "before" | "after"}``: the connection is cut, before or after the service acted;
- ``{"cut": 0.5}``: the connection is cut after this share of the answer's body;
- ``{"encoding": "gzip"}``: the answer says that its body is compressed like this, and it is not;
- ``{"operation": {"status": "Failed" | "Canceled" | "InProgress", "error": {"code", "message"}}}``:
  the long-running operation that the call starts ends like this, or never;
- ``{"patch": {...}}``: the answer's JSON is changed by this merge patch (RFC 7396).
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.values import JsonObject, as_integer, as_number, as_object, as_text, is_object

SERVICES = ("arm", "identity", "grafana", "pyroscope", "prometheus", "kubernetes")
MATCHES: Final = ("service", "method", "path", "query", "caller", "phase")
"""What a rule may say of the calls that it is about."""


OF_STATUS: Final = ("headers", "body", "text", "base64", "acted")
"""What may stand beside ``status``."""
NEVER_ENDS: Final = "InProgress"
"""The status of an operation that a rule lets run for ever."""


class FaultPlanError(ValueError):
    """A fault plan that cannot be used; the message says which rule and why."""


@dataclass(frozen=True)
class OperationFault:
    """How the operation that a call starts is to end."""

    status: str
    error: JsonObject


@dataclass(frozen=True)
class Effect:
    """What happens to a call: exactly one of these is set."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: object = None
    acted: bool = False
    """Whether the service sees the call before ``status`` is answered."""
    delay: float | None = None
    wait: float = 0.0
    hold: float = 0.0
    drop: str | None = None
    cut: float | None = None
    encoding: str = ""
    operation: OperationFault | None = None
    patch: JsonObject | None = None


@dataclass(frozen=True)
class Seen:
    """What a rule sees of a call."""

    service: str
    method: str
    path: str
    query: str = ""
    caller: str = ""
    """Its ``User-Agent``."""
    phase: str = ""


@dataclass
class Rule:
    """One rule of a plan, and how often it was about a call and struck."""

    source: JsonObject
    service: str | None
    method: str | None
    path: re.Pattern[str] | None
    query: re.Pattern[str] | None
    caller: re.Pattern[str] | None
    phase: str | None
    first: int
    count: int | None
    then: Effect
    seen: int = 0
    struck: int = 0

    @property
    def kind(self) -> str:
        """The kind of fault, as the plan names it."""
        return next(kind for kind in KINDS if kind in as_object(self.source["then"]))

    def is_about(self, call: Seen) -> bool:
        """Whether the call is one that this rule counts."""
        return (
            self.service in (None, call.service)
            and self.method in (None, call.method)
            and self.phase in (None, call.phase)
            and (self.path is None or self.path.fullmatch(call.path) is not None)
            and (self.query is None or self.query.search(call.query) is not None)
            and (self.caller is None or self.caller.search(call.caller) is not None)
        )

    def strikes(self) -> bool:
        """Count one more call; whether it is to meet the fault."""
        self.seen += 1
        strikes = self.seen >= self.first and (
            self.count is None or self.seen < self.first + self.count
        )
        self.struck += strikes
        return strikes


class FaultPlan:
    """The rules that apply."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = list(rules)

    @classmethod
    def parse(cls, document: object) -> "FaultPlan":
        """The plan that the JSON value ``document`` describes.

        Raises:
            FaultPlanError: a rule has an unknown key, or a value that means nothing.
        """
        if not isinstance(document, list):
            raise FaultPlanError("a fault plan is a JSON list of rules")
        items: list[object] = list(document)  # pyright: ignore[reportUnknownArgumentType]
        return cls([_rule(item, f"rule {number}") for number, item in enumerate(items, 1)])

    @classmethod
    def read(cls, file: Path) -> "FaultPlan":
        """The plan in ``file``.

        Raises:
            FaultPlanError: the file cannot be read, or is no plan.
        """
        try:
            document: object = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise FaultPlanError(f"{file}: {error}") from error
        return cls.parse(document)

    def strike(self, call: Seen) -> Rule | None:
        """The rule that strikes this call, if one does; counts the call."""
        for rule in self.rules:
            if rule.is_about(call) and rule.strikes():
                return rule
        return None

    def report(self) -> JsonObject:
        """The rules that struck, with how often, and those never used."""
        return {
            "used": [{**rule.source, "struck": rule.struck} for rule in self.rules if rule.struck],
            "unused": [rule.source for rule in self.rules if not rule.struck],
        }


def _rule(document: object, where: str) -> Rule:
    if not is_object(document):
        raise FaultPlanError(f"{where} is not an object")
    _only(document, where, *MATCHES, "from", "count", "then")
    service = document.get("service")
    if service is not None and service not in SERVICES:
        raise FaultPlanError(f"{where}: service {service!r} is none of {', '.join(SERVICES)}")
    for key in MATCHES:
        if not isinstance(document.get(key, ""), str | None):
            raise FaultPlanError(f"{where}: {key} {document[key]!r} is not a string")
    count = document.get("count", 1)
    return Rule(
        source=document,
        service=as_text(service) or None,
        method=as_text(document.get("method")).upper() or None,
        path=_pattern(document, "path", where),
        query=_pattern(document, "query", where),
        caller=_pattern(document, "caller", where),
        phase=as_text(document.get("phase")) or None,
        first=_positive(document.get("from", 1), f"{where}: from"),
        count=None if count is None else _positive(count, f"{where}: count"),
        then=_effect(document.get("then"), f"{where}: then"),
    )


def _pattern(document: JsonObject, key: str, where: str) -> re.Pattern[str] | None:
    text = as_text(document.get(key))
    try:
        return re.compile(text, re.IGNORECASE) if text else None
    except re.error as error:
        raise FaultPlanError(
            f"{where}: {key} {text!r} is not a regular expression: {error}"
        ) from error


def _positive(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise FaultPlanError(f"{where} {value!r} is not a whole number above 0")
    return value


def _effect(document: object, where: str) -> Effect:
    if not is_object(document):
        raise FaultPlanError(f"{where} is not an object")
    kinds = [kind for kind in KINDS if kind in document]
    if len(kinds) != 1:
        raise FaultPlanError(f"{where} needs exactly one of {', '.join(KINDS)}")
    (kind,) = kinds
    _only(document, where, kind, *(OF_STATUS if kind == "status" else ()))
    return KINDS[kind](document, where)


def _status(document: JsonObject, where: str) -> Effect:
    status = as_integer(document["status"])
    if not 100 <= status <= 599:
        raise FaultPlanError(f"{where}: status {document['status']!r} is not an HTTP status")
    acted = document.get("acted", False)
    if not isinstance(acted, bool):
        raise FaultPlanError(f"{where}: acted {acted!r} is neither true nor false")
    headers = as_object(document.get("headers"))
    return Effect(
        status=status,
        headers=tuple((name, str(value)) for name, value in headers.items()),
        body=_body(document, where),
        acted=acted,
    )


def _body(document: JsonObject, where: str) -> object:
    given = [key for key in ("body", "text", "base64") if key in document]
    if len(given) > 1:
        raise FaultPlanError(f"{where}: {' and '.join(given)} stand in place of each other")
    if given in ([], ["body"]):
        return document.get("body")
    (key,) = given
    text = document[key]
    if not isinstance(text, str):
        raise FaultPlanError(f"{where}: {key} {text!r} is not a string")
    if key == "text":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise FaultPlanError(f"{where}: base64: {error}") from error


def _delay(document: JsonObject, where: str) -> Effect:
    return Effect(delay=_seconds(document, "delay", where))


def _wait(document: JsonObject, where: str) -> Effect:
    return Effect(wait=_seconds(document, "wait", where))


def _hold(document: JsonObject, where: str) -> Effect:
    return Effect(hold=_seconds(document, "hold", where))


def _seconds(document: JsonObject, kind: str, where: str) -> float:
    seconds = as_number(document[kind], -1)
    if seconds < 0:
        raise FaultPlanError(f"{where}: {kind} {document[kind]!r} is not a number of seconds")
    return seconds


def _cut(document: JsonObject, where: str) -> Effect:
    share = as_number(document["cut"], -1)
    if not 0 <= share < 1:
        raise FaultPlanError(f"{where}: cut {document['cut']!r} is not a share from 0 to below 1")
    return Effect(cut=share)


def _encoding(document: JsonObject, where: str) -> Effect:
    encoding = document["encoding"]
    if encoding not in ("gzip", "deflate"):
        raise FaultPlanError(f"{where}: encoding {encoding!r} is neither gzip nor deflate")
    return Effect(encoding=as_text(encoding))


def _drop(document: JsonObject, where: str) -> Effect:
    drop = document["drop"]
    if drop not in ("before", "after"):
        raise FaultPlanError(f"{where}: drop {drop!r} is neither before nor after")
    return Effect(drop=as_text(drop))


def _operation(document: JsonObject, where: str) -> Effect:
    ending = document["operation"]
    if not is_object(ending):
        raise FaultPlanError(f"{where}: operation is not an object")
    _only(ending, f"{where}: operation", "status", "error")
    status = as_text(ending.get("status"), "Failed")
    if status not in ("Failed", "Canceled", NEVER_ENDS):
        raise FaultPlanError(
            f"{where}: operation status {status!r} is not Failed, Canceled or {NEVER_ENDS}"
        )
    error = as_object(ending.get("error")) or {
        "code": "InternalServerError",
        "message": "The operation failed because of a fault rule.",
    }
    return Effect(operation=OperationFault(status, error))


def _patch(document: JsonObject, where: str) -> Effect:
    if not is_object(document["patch"]):
        raise FaultPlanError(f"{where}: patch is not an object")
    return Effect(patch=document["patch"])


KINDS: Final[Mapping[str, Callable[[JsonObject, str], Effect]]] = {
    "status": _status,
    "delay": _delay,
    "wait": _wait,
    "hold": _hold,
    "drop": _drop,
    "cut": _cut,
    "encoding": _encoding,
    "operation": _operation,
    "patch": _patch,
}
"""What may happen to a call, and who reads it."""


def _only(document: JsonObject, where: str, *keys: str) -> None:
    unknown = sorted(set(document) - set(keys))
    if unknown:
        raise FaultPlanError(
            f"{where}: unknown key {', '.join(unknown)}; known are {', '.join(keys)}"
        )
