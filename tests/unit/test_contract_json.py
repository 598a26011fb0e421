"""Reading JSON of any shape never raises and never takes one type for another."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.json import Document, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)


@given(JSON, st.lists(st.text(max_size=4), max_size=4))
def test_any_document_can_be_asked_for_anything(value: object, path: list[str]) -> None:
    document = Document(value)
    document.value(*path)
    assert isinstance(document.text(*path), str)
    assert isinstance(document.flag(*path), bool)
    assert isinstance(document.integer(*path) or 0, int)
    assert list(document.texts(*path)) == [t for t in document.texts(*path) if t is not None]
    assert all(isinstance(child, Document) for child in document.children(*path))


@given(st.text() | st.binary())
def test_text_that_is_no_object_is_an_empty_document(text: str | bytes) -> None:
    try:
        expected = json.loads(text)
        json.dumps(expected, ensure_ascii=False).encode()
    except ValueError:
        expected = None
    assert bool(Document.parse(text)) == (isinstance(expected, dict) and expected != {})


@given(JSON)
def test_what_is_json_is_read_as_it_was_written_in_text_and_in_bytes(value: object) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        try:
            encoded = written.encode()
        except UnicodeEncodeError:
            assert parse(written) is None
        else:
            assert parse(written) == parse(encoded) == json.loads(written)


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": -Infinity}', '{"a": "\\ud800"}', '{"a": "\ud800"}', '{"\\uDFFF": 1}'],
)
def test_what_only_python_takes_for_json_is_none(text: str) -> None:
    assert parse(text) is None
    assert parse(text.encode(errors="surrogatepass")) is None


def test_a_character_written_as_a_surrogate_pair_is_read() -> None:
    assert parse(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_values_keep_their_types() -> None:
    document = Document({"a": {"b": "12", "c": 3, "d": True, "e": 2.0, "f": None}})
    assert document.integer("a", "b") == 12
    assert document.integer("a", "c") == 3
    assert document.integer("a", "d") is None
    assert document.integer("a", "e") == 2
    assert document.text("a", "c") == "3"
    assert document.text("a", "d") == ""
    assert document.text("a", "f") == ""
    assert document.flag("a", "b") is False
    assert document.flag("a", "d") is True


@pytest.mark.parametrize("value", [10**400, -(10**400), "9" * 400, 1e300])
def test_a_number_that_no_service_sends_is_none(value: object) -> None:
    assert Document({"a": value}).integer("a") is None
    assert Document({"a": 2**63}).integer("a") == 2**63
