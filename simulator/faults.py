"""The fault plan: which call meets which fault.

A plan is a JSON list of rules, tried in order::

    {"service": "arm", "method": "PUT", "path": ".*/managedPrivateEndpoints/[^/]+",
     "from": 1, "count": 1, "then": {"status": 500, "headers": {}, "body": {}}}

``service``, ``method`` and ``path`` say which calls a rule is about (each may be left out: any).
``path`` is a regular expression for the whole path as it was sent (``/grafana/<workspace>/...``
and so on included), without case and without the query. A rule counts the calls it is about; it
strikes from the ``from``-th (default 1) for ``count`` calls (default 1, null for ever), and only
one rule strikes a call, the first. ``then`` is one of

- ``{"status": 503, "headers"?, "body"?}``: answered instead of the service; ``"text"`` in place of
  ``"body"`` is sent as it is, whether it is JSON or not;
- ``{"delay": 30}``: the service answers that many simulated seconds later;
- ``{"drop": "before" | "after"}``: the connection is cut, before or after the service acted;
- ``{"operation": {"status": "Failed" | "Canceled", "error": {"code", "message"}}}``: the
  long-running operation that the call starts ends like this;
- ``{"patch": {...}}``: the answer's JSON is changed by this merge patch (RFC 7396).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simulator.values import JsonObject, as_integer, as_number, as_object, as_text, is_object

SERVICES = ("arm", "identity", "grafana", "pyroscope", "prometheus", "kubernetes")


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
    delay: float | None = None
    drop: str | None = None
    operation: OperationFault | None = None
    patch: JsonObject | None = None


@dataclass
class Rule:
    """One rule of a plan, and how often it was about a call and struck."""

    source: JsonObject
    service: str | None
    method: str | None
    path: re.Pattern[str] | None
    first: int
    count: int | None
    then: Effect
    seen: int = 0
    struck: int = 0

    def is_about(self, service: str, method: str, path: str) -> bool:
        """Whether the call is one that this rule counts."""
        return (
            self.service in (None, service)
            and self.method in (None, method)
            and (self.path is None or self.path.fullmatch(path) is not None)
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

    def strike(self, service: str, method: str, path: str) -> Rule | None:
        """The rule that strikes this call, if one does; counts the call."""
        for rule in self.rules:
            if rule.is_about(service, method, path) and rule.strikes():
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
    _only(document, where, "service", "method", "path", "from", "count", "then")
    service = document.get("service")
    if service is not None and service not in SERVICES:
        raise FaultPlanError(f"{where}: service {service!r} is none of {', '.join(SERVICES)}")
    method = document.get("method")
    if method is not None and not isinstance(method, str):
        raise FaultPlanError(f"{where}: method {method!r} is not a string")
    return Rule(
        source=document,
        service=as_text(service) or None,
        method=method.upper() if method else None,
        path=_pattern(document.get("path"), where),
        first=_positive(document.get("from", 1), f"{where}: from"),
        count=None
        if document.get("count", 1) is None
        else _positive(document.get("count", 1), f"{where}: count"),
        then=_effect(document.get("then"), f"{where}: then"),
    )


def _pattern(path: object, where: str) -> re.Pattern[str] | None:
    if path is None:
        return None
    try:
        return re.compile(as_text(path), re.IGNORECASE)
    except re.error as error:
        raise FaultPlanError(
            f"{where}: path {path!r} is not a regular expression: {error}"
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
    _only(document, where, kind, *(("headers", "body", "text") if kind == "status" else ()))
    return KINDS[kind](document, where)


def _status(document: JsonObject, where: str) -> Effect:
    status = as_integer(document["status"])
    if not 100 <= status <= 599:
        raise FaultPlanError(f"{where}: status {document['status']!r} is not an HTTP status")
    headers = as_object(document.get("headers"))
    text = document.get("text")
    if text is not None and (not isinstance(text, str) or "body" in document):
        raise FaultPlanError(f"{where}: text is a string, and stands in place of body")
    return Effect(
        status=status,
        headers=tuple((name, str(value)) for name, value in headers.items()),
        body=document.get("body") if text is None else text.encode(),
    )


def _delay(document: JsonObject, where: str) -> Effect:
    delay = as_number(document["delay"], -1)
    if delay < 0:
        raise FaultPlanError(f"{where}: delay {document['delay']!r} is not a number of seconds")
    return Effect(delay=delay)


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
    if status not in ("Failed", "Canceled"):
        raise FaultPlanError(f"{where}: operation status {status!r} is not Failed or Canceled")
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
    "drop": _drop,
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
