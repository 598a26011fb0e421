"""Finds out which of the JSON formats a document is, and reads it."""

from collections.abc import Mapping
from typing import cast

from contract.json import as_object
from flamegraphs import sniff
from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError
from flamegraphs.formats.json_text import load
from flamegraphs.profile import Profile

_NOT_READ = {
    "traceEvents": "a trace of events (Chrome, PyTorch's profiler), which holds no sampled stacks",
    "total_bytes_allocated": "memray's statistics, without stacks; `memray transform csv` has them",
    "timeDeltas": "V8's CPU profile; speedscope.app converts it",
    "snapshot": "a heap snapshot of V8",
    "nbformat": "a notebook",
    "panels": "a Grafana dashboard; its panels' data are in Inspect > Data > DataFrame JSON",
}
_KEYS_SHOWN = 8


def read(data: bytes | bytearray, sample_type: str | None, budget: Budget) -> Profile:
    """Read a JSON document; raises `NotAProfileError` where it is none of the known ones."""
    document = load(data, budget)
    is_list = isinstance(document, list)
    if is_list:
        items = cast("list[object]", document)
        keys = as_object(items[0]).keys() if items else ()
        if "schema" not in keys and "fields" not in keys:
            raise NotAProfileError(
                f"It seems to be a list in JSON, not a profile. {sniff.SUPPORTED}"
            )
    found = as_object(document)
    if is_list or found.keys() & {"results", "schema", "frames", "fields"}:
        from flamegraphs.formats import data_frame

        return data_frame.read(cast("object", document), sample_type, budget)
    if "profiles" in found and "shared" in found:
        from flamegraphs.formats import speedscope

        return speedscope.read(found, sample_type, budget)
    if "resourceProfiles" in found:
        from flamegraphs.formats import otlp_json

        return otlp_json.read(found, sample_type, budget)
    if "costs" in found and "events" in found:
        from flamegraphs.formats import memray

        return memray.read_gprof2dot(found, sample_type, budget)
    return _flame_graph(document, found, sample_type, budget)


def _flame_graph(
    document: object, found: Mapping[str, object], sample_type: str | None, budget: Budget
) -> Profile:
    from flamegraphs.formats import flamebearer

    if found and not found.keys() & {"flamegraph", "flamebearer", "levels", "names"}:
        raise NotAProfileError(_what(found))
    profile = flamebearer.of(document, budget)
    if sample_type is not None and sample_type != profile.sample_type:
        raise NotAProfileError(
            f"It has no values of type {sample_type!r}, but "
            f"{profile.sample_type or 'one without a name'}."
        )
    return profile


def _what(found: Mapping[str, object]) -> str:
    """What a document that is no profile says, or seems to be."""
    for key, what in _NOT_READ.items():
        if key in found:
            return f"It seems to be {what}. {sniff.SUPPORTED}"
    said = said_by(found)
    if said:
        return f"It is a server's error, not a profile. The server said: {said}"
    keys = ", ".join(map(repr, list(found)[:_KEYS_SHOWN]))
    return f"Its JSON is not a flame graph; it has {keys}. {sniff.SUPPORTED}"


def said_by(found: Mapping[str, object]) -> str:
    """The words of an error's body, whatever of the usual members they are in; empty for none."""
    for key in ("message", "error_description", "error", "detail", "title"):
        value = found.get(key)
        if isinstance(value, str) and value.strip():
            code = found.get("code")
            return f"{code}: {value}"[:500] if isinstance(code, str) else value[:500]
        if isinstance(value, dict) and (said := said_by(as_object(cast("object", value)))):
            return said
    return ""
