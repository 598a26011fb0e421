"""Answers changed into what no service answers: the mutations of ``hostile``."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from simulator.values import JsonObject, as_object, is_list, is_object
from tests.faults.kinds import HTML, PAGE

DEEP: Final = 100_000
JSON_TYPE: Final = {"Content-Type": "application/json"}

Json = object
Change = Callable[[Json, int], Json]


def places(document: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values in a document but itself; entries of lists left out, members not."""
    if is_object(document):
        for key, value in document.items():
            yield (*path, key)
            yield from places(value, (*path, key))
    elif is_list(document):
        for number, value in enumerate(document):
            yield from places(value, (*path, number))


def _at_one_place(change: Callable[[JsonObject, str], None]) -> Change:
    def changed(document: Json, number: int) -> Json:
        found = list(places(document))
        if not found:
            return change_of_all(document)
        copy: Json = json.loads(json.dumps(document))
        *above, last = found[number % len(found)]
        target = _inside(copy, above)
        change(target, str(last))
        return copy

    def change_of_all(document: Json) -> Json:
        return [document]

    return changed


def _inside(document: Json, path: Sequence[str | int]) -> JsonObject:
    for step in path:
        if is_list(document) and isinstance(step, int):
            document = document[step]
        else:
            document = as_object(document)[str(step)]
    return as_object(document)


def _remove(target: JsonObject, key: str) -> None:
    target.pop(key, None)


def _set(value: Json) -> Callable[[JsonObject, str], None]:
    def change(target: JsonObject, key: str) -> None:
        target[key] = value

    return change


def _wrong_type(target: JsonObject, key: str) -> None:
    target[key] = "text" if not isinstance(target.get(key), str) else [{"a": None}]


def _every_text(by: Callable[[str], str]) -> Change:
    def changed(document: Json, number: int) -> Json:
        del number
        return _mapped(document, by)

    return changed


def _mapped(value: Json, by: Callable[[str], str]) -> Json:
    if is_object(value):
        return {key: _mapped(one, by) for key, one in value.items()}
    if is_list(value):
        return [_mapped(one, by) for one in value]
    return by(value) if isinstance(value, str) else value


OTHERS: Final[tuple[Json, ...]] = tuple(
    json.loads(text)
    for text in ("null", "[]", "{}", '"text"', "7", "true", "[[]]", "[null]", '{"value": null}')
)
ANOTHER: Final = "another document"
CHANGES: Final[Mapping[str, Change]] = {
    "missing": _at_one_place(_remove),
    "null": _at_one_place(_set(None)),
    "wrong type": _at_one_place(_wrong_type),
    "a number": _at_one_place(_set(7)),
    "long": _every_text(lambda text: text * 300),
    "unicode": _every_text(lambda text: f"\u202e\0\u00c4\U0001f600\\\"'<\n\x1b[31m{text}"),
    ANOTHER: lambda _, number: OTHERS[number % len(OTHERS)],
}
"""What becomes of the JSON of an answer; the number chooses the place."""

AS_SENT: Final[Mapping[str, JsonObject]] = {
    "a page": {"status": 200, "headers": HTML, "text": PAGE},
    "a page as JSON": {"status": 200, "headers": JSON_TYPE, "text": PAGE},
    "nothing": {"status": 200, "text": ""},
    "no content": {"status": 204},
    "deep": {"status": 200, "headers": JSON_TYPE, "text": "[" * DEEP + "]" * DEEP},
    "a deep object": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"a":' * DEEP + "1" + "}" * DEEP,
    },
    "not a number": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"version": NaN, "expires_on": 1e999, "properties": {"count": 1e999}}',
    },
    "half a character": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"name": "\\ud800", "properties": {"endpoint": "\\udfff"}, "message": "\\ud83d"}',
    },
    "half a character in an error": {
        "status": 400,
        "headers": JSON_TYPE,
        "text": '{"error": {"code": "\\ud800", "message": "\\udfff"}, "message": "\\ud800"}',
    },
    "bytes of no encoding": {"status": 200, "headers": JSON_TYPE, "base64": "//4A/w=="},
    "another charset": {
        "status": 200,
        "text": "{}",
        "headers": {"Content-Type": "application/json; charset=klingon"},
    },
    "bad gzip": {"encoding": "gzip"},
    "a page that is not found": {"status": 404, "headers": HTML, "text": PAGE},
    "not found without a word": {"status": 404, "text": ""},
    "a redirect": {"status": 302, "headers": {"Location": "https://login.invalid/x"}},
    "a redirect without TLS": {"status": 307, "headers": {"Location": "http://127.0.0.1:9/x"}},
    "not modified": {"status": 304},
    "a long refusal": {"status": 451, "text": "x" * 2_000_000},
    "an odd challenge": {
        "status": 401,
        "headers": {"WWW-Authenticate": 'Bearer claims="%%%", error="insufficient_claims"'},
    },
    "wait for a year": {"status": 429, "headers": {"Retry-After": "31536000"}},
    "wait until a date": {
        "status": 429,
        "headers": {"Retry-After": "Wed, 21 Oct 2037 07:28:00 GMT"},
    },
    "wait for no number": {"status": 429, "headers": {"Retry-After": "nan"}},
    "cut": {"cut": 0.5},
}
"""What is sent in place of an answer, or of all of its body."""


def effect(mutation: str, answer: str, number: int) -> JsonObject:
    """The effect of a fault rule: ``answer``, mutated.

    A service that answers oddly has acted; what stands in between, and answers something of its
    own, has not.
    """
    if mutation in AS_SENT:
        return AS_SENT[mutation]
    try:
        document: Json = json.loads(answer)
    except ValueError:
        document = {}
    changed = CHANGES[mutation](document, number)
    return {
        "status": 200,
        "headers": JSON_TYPE,
        "text": json.dumps(changed),
        "acted": mutation != ANOTHER,
    }


MUTATIONS: Final = (*CHANGES, *AS_SENT)
