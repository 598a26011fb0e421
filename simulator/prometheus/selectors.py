"""Label selectors such as ``{pod=~"vllm-.*"}``, as Prometheus and Pyroscope read them.

Pyroscope took the syntax from Prometheus, so both simulated services use this one parser. Regular
expressions are anchored at both ends. Non-goal: quoted label names (UTF-8 names of Prometheus 3).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

METRIC_NAME = "__name__"

_MATCHER = re.compile(
    r"""\s*(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)\s*(?P<operator>=~|!~|!=|=)\s*"""
    r"""(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)\s*"""
)
_SELECTOR = re.compile(r"\s*(?P<metric>[a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?P<braces>\{.*\})?\s*", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


class SelectorError(ValueError):
    """A selector that Prometheus would not parse; the message says where."""


class Operator(StrEnum):
    """How a matcher compares a label's value."""

    EQUAL = "="
    NOT_EQUAL = "!="
    MATCH = "=~"
    NOT_MATCH = "!~"


@dataclass(frozen=True)
class Matcher:
    """One comparison; a label that is absent counts as the empty string."""

    name: str
    operator: Operator
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with ``labels`` is selected by this matcher."""
        actual = labels.get(self.name, "")
        match self.operator:
            case Operator.EQUAL:
                return actual == self.value
            case Operator.NOT_EQUAL:
                return actual != self.value
            case Operator.MATCH:
                return re.fullmatch(self.value, actual) is not None
            case Operator.NOT_MATCH:
                return re.fullmatch(self.value, actual) is None


Selector = tuple[Matcher, ...]


def selects(selector: Sequence[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether every matcher holds; the empty selector selects everything."""
    return all(matcher.matches(labels) for matcher in selector)


def parse_selector(text: str) -> Selector:
    """Read ``metric``, ``metric{...}`` or ``{...}``; the metric becomes a ``__name__`` matcher.

    Raises:
        SelectorError: the text is not a selector, or a regular expression in it is not valid.
    """
    whole = _SELECTOR.fullmatch(text)
    if whole is None or not text.strip():
        raise SelectorError(f"{text!r} is not a label selector")
    metric, braces = whole["metric"], whole["braces"]
    matchers: list[Matcher] = []
    if metric:
        matchers.append(Matcher(METRIC_NAME, Operator.EQUAL, metric))
    if braces:
        matchers.extend(_matchers(braces[1:-1], text))
    return tuple(matchers)


def _matchers(inner: str, text: str) -> list[Matcher]:
    found: list[Matcher] = []
    position = 0
    while inner[position:].strip():
        match = _MATCHER.match(inner, position)
        if match is None:
            raise SelectorError(
                f"unexpected {inner[position:].strip()[:20]!r} in label matching of {text!r}"
            )
        found.append(_matcher(match, text))
        position = match.end()
        if inner[position : position + 1] == ",":
            position += 1
        elif inner[position:].strip():
            raise SelectorError(f'unexpected {inner[position:][:20]!r}, expected "," or "}}"')
    return found


def _matcher(match: re.Match[str], text: str) -> Matcher:
    matcher = Matcher(match["name"], Operator(match["operator"]), _unquote(match["quoted"]))
    if matcher.operator in (Operator.MATCH, Operator.NOT_MATCH):
        try:
            re.compile(matcher.value)
        except re.error as error:
            raise SelectorError(f"error parsing regexp in {text!r}: {error}") from error
    return matcher


def _unquote(quoted: str) -> str:
    inner = quoted[1:-1]
    if quoted[0] == "`":
        return inner

    def replace(escape: re.Match[str]) -> str:
        character = escape[1]
        if character not in _ESCAPES:
            raise SelectorError(f"unknown escape sequence \\{character} in {quoted}")
        return _ESCAPES[character]

    return re.sub(r"\\(.)", replace, inner)
