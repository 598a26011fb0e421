"""Asks a Pyroscope server for a profile over its query API (Connect, versions 1.15 to 1.19).

``SelectMergeProfile`` is asked first: its answer is pprof and nothing is cut from it. A server or a
proxy that does not offer it is asked for a flame graph instead, whose truncation is reported.

Not here: who asks (`grafana` adds credentials), what the profile says.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import httpx

from contract.agent import LONGEST_QUERY_HOURS, SAMPLE_TYPE, SAMPLE_UNIT, measures_allocations
from contract.json import as_list, as_object, as_objects, as_text, is_object, parse
from flamegraphs.budget import MAX_FILE
from flamegraphs.errors import (
    FlameGraphError,
    NoSamplesError,
    NotAProfileError,
    NotAuthorisedError,
    TypeAbsentError,
    UnreachableError,
    UsageError,
)
from flamegraphs.formats import flamebearer, pprof
from flamegraphs.merge import merge
from flamegraphs.profile import Profile
from flamegraphs.profile_pb2 import SelectMergeProfileRequest
from flamegraphs.sources.look_back import CONFIGURATION, OVERRIDES, look_back
from flamegraphs.sources.selector import Filters, selector
from flamegraphs.window import Window, length_text, moment_text

_SERVICE = "/querier.v1.QuerierService/"
_LONGEST = timedelta(hours=LONGEST_QUERY_HOURS)
_LOOK_BACK = timedelta(days=7)
"""``limits.max_query_lookback`` of the server, as it comes."""
_NOT_OFFERED = frozenset({404, 405, 415, 501})
_GATEWAY = frozenset({502, 503, 504})
_TIMEOUT = httpx.Timeout(60, connect=10)


@dataclass(frozen=True)
class Server:
    """A Pyroscope, and how it is reached."""

    url: str
    """Where its API begins, e.g. a port on localhost, or a Grafana's data source proxy."""
    name: str
    """How a message calls it."""
    unreachable_hint: str = "Is the address right, and is the server running?"
    forbidden_hint: str = "The server asks for credentials that this command does not have."
    auth: httpx.Auth | None = None


@dataclass(frozen=True)
class Query:
    """What is asked for."""

    window: Window
    selector: str = ""
    filters: Filters = field(default_factory=Filters)
    profile_type: str | None = None
    """A full type id; None finds the type of GPU memory allocations (:mod:`contract.agent`)."""


@dataclass(frozen=True)
class _Type:
    id: str
    sample_type: str
    unit: str

    def measures_allocations(self) -> bool:
        return measures_allocations(self.sample_type, self.unit)


def fetch(
    server: Server, query: Query, now: datetime, progress: Callable[[str], None] = lambda _: None
) -> Profile:
    """Return the profile of a query; ``progress`` is called with a line for each of several parts.

    Where agents before and after the change of the type's id have pushed, both are added up. A
    window longer than the server answers at once is asked for in pieces.

    Raises `UnreachableError`, `NotAuthorisedError`, `TypeAbsentError`, `NoSamplesError`, or
    `FlameGraphError` for an answer that says something else.
    """
    with httpx.Client(auth=server.auth, timeout=_TIMEOUT) as http:
        api = _Api(http, server)
        window, notes = _within_reach(api, query.window, now)
        query = replace(query, window=window)
        labels: Collection[str] = ()
        if query.filters.given():
            labels = api.label_names(query.window)
        labels_text = selector(query.selector, query.filters, labels)
        types = _resolve(api, query, now)
        parts = [(kind, piece) for kind in types for piece in query.window.pieces(_LONGEST)]
        found: list[Profile] = []
        for number, (kind, piece) in enumerate(parts, 1):
            if len(parts) > 1:
                progress(f"reading part {number} of {len(parts)}: {piece}")
            profile = api.profile(kind.id, labels_text, piece)
            if profile is not None:
                found.append(profile)
    if not found:
        raise NoSamplesError(
            f"{server.name} has profiles of type {types[0].id}, but no samples from "
            f"{query.window} for {labels_text}. Widen the window with --from, or check the "
            "selector."
        )
    merged = merge(found)
    return replace(
        merged,
        sample_type=types[0].sample_type,
        unit=types[0].unit,
        facts={
            "source": server.name,
            "window": str(query.window),
            "selector": labels_text,
            "profile type": " + ".join(profile_type.id for profile_type in types),
        },
        notes=[
            *notes,
            *sorted({note for profile in found for note in profile.notes}),
        ],
    )


def _within_reach(api: "_Api", window: Window, now: datetime) -> tuple[Window, list[str]]:
    """The part of ``window`` that the server looks back to, and what to say of the rest.

    A server cuts silently. One that does not show its limits is asked for all of it.

    Raises `NoSamplesError` where nothing of it is in reach.
    """
    if window.start >= now - _LOOK_BACK:
        return window, []
    reach = api.look_back()
    if reach is None:
        return window, [
            f"A Pyroscope answers from the last {length_text(_LOOK_BACK)} unless its "
            "limits.max_query_lookback says otherwise, and does not say what it left out: what is "
            f"from before {moment_text(now - _LOOK_BACK)} may be missing."
        ]
    if not reach or window.start >= now - reach:
        return window, []
    given = Window(max(window.start, now - reach), max(window.end, now - reach))
    says = (
        f"{api.name} looks back {length_text(reach)} (limits.max_query_lookback), to "
        f"{moment_text(given.start)}"
    )
    if given.start >= given.end:
        raise NoSamplesError(f"Asked for {window}, and {says}: nothing of it is in reach.")
    return given, [f"Asked for {window}; {says}. This is {given}."]


def _resolve(api: "_Api", query: Query, now: datetime) -> list[_Type]:
    """Find the wanted types in the window, and tell an absent type from a quiet window."""
    here = api.profile_types(query.window)
    if wanted := _matching(here, query.profile_type):
        return wanted
    recent = _recent_types(api, now)
    if wanted := _matching(recent, query.profile_type):
        raise NoSamplesError(
            f"{api.name} has profiles of type {wanted[0].id}, but none from {query.window}. "
            "Widen the window with --from, and check that the workload allocated GPU memory in it."
        )
    known = ", ".join(sorted({t.id for t in [*here, *recent]})) or "none at all"
    what = query.profile_type or f"GPU memory allocations ({SAMPLE_TYPE} in {SAMPLE_UNIT})"
    raise TypeAbsentError(
        f"{api.name} has no profile type for {what}; it has {known}. Either nothing allocated GPU "
        "memory while the agent ran, or the agent's profiles do not reach the server: look at the "
        "agent's log, and check that the server's version speaks the agent's protocol."
    )


def _recent_types(api: "_Api", now: datetime) -> list[_Type]:
    """The types of as long a time as the server looks back."""
    try:
        return api.profile_types(Window(now - _LOOK_BACK, now))
    except NotAuthorisedError:
        raise
    except FlameGraphError:
        return []  # The server looks back less far: the window alone has to tell.


def _matching(types: Sequence[_Type], wanted: str | None) -> list[_Type]:
    if wanted is None:
        return [found for found in types if found.measures_allocations()]
    return [found for found in types if found.id == wanted]


class _Api:
    """The calls of the query API, with their failures in plain words."""

    def __init__(self, http: httpx.Client, server: Server) -> None:
        self._http = http
        self._server = server
        self.name = server.name

    def profile_types(self, window: Window) -> list[_Type]:
        types = {
            _Type(*(as_text(item.get(key)) for key in ("ID", "sampleType", "sampleUnit")))
            for piece in window.pieces(_LONGEST)
            for item in as_objects(self._json("ProfileTypes", _span(piece)).get("profileTypes"))
        }
        return sorted(types, key=lambda found: found.id)

    def look_back(self) -> timedelta | None:
        """How far back the server looks; 0: without a limit. None: it does not say."""
        said: list[bytes] = []
        for path in (CONFIGURATION, OVERRIDES):
            status, body = self._send("GET", path)
            said.append(body if status < 300 else b"")
        return look_back(*said)

    def label_names(self, window: Window) -> set[str]:
        found: set[str] = set()
        for piece in window.pieces(_LONGEST):
            names = self._json("LabelNames", {"matchers": [], **_span(piece)}).get("names")
            found.update(map(str, as_list(names)))
        return found

    def profile(self, type_id: str, labels: str, window: Window) -> Profile | None:
        """Return the merged profile, or None where there are no samples."""
        start, end = window.milliseconds
        request = SelectMergeProfileRequest(
            profile_type_id=type_id, label_selector=labels, start=start, end=end
        )
        status, body = self._send(
            "POST",
            _SERVICE + "SelectMergeProfile",
            content=request.SerializeToString(),
            headers={"Content-Type": "application/proto"},
        )
        if status in _NOT_OFFERED:
            return self._flame_graph(type_id, labels, window)
        self._expect_ok(status, body)
        if not body:
            return None
        profile = self._read(pprof.read, body)
        return profile if len(profile.stacks) else None

    def _flame_graph(self, type_id: str, labels: str, window: Window) -> Profile | None:
        start, end = window.milliseconds
        query = {
            "query": type_id + labels,
            "from": str(start),
            "until": str(end),
            "format": "json",
        }
        status, body = self._send("GET", "/pyroscope/render", params=query)
        self._expect_ok(status, body)
        profile = self._read(flamebearer.read, body)
        note = "The server offers no whole profile (SelectMergeProfile); this is its flame graph."
        return replace(profile, notes=[note]) if len(profile.stacks) else None

    def _read(self, reader: Callable[[bytes], Profile], body: bytes) -> Profile:
        try:
            return reader(body)
        except NotAProfileError as error:
            raise UnreachableError(
                f"{self.name} answered with something that is not a profile. {error} "
                f"{self._server.unreachable_hint}"
            ) from error

    def _json(self, method: str, request: Mapping[str, object]) -> Mapping[str, object]:
        status, body = self._send("POST", _SERVICE + method, json=request)
        self._expect_ok(status, body)
        answer = parse(body)
        if not is_object(answer):
            raise UnreachableError(
                f"{self.name} answered {method} with something other than JSON: this is not a "
                f"Pyroscope server. {self._server.unreachable_hint}"
            )
        return answer

    def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        url = self._server.url.rstrip("/") + path
        try:
            with self._http.stream(
                method, url, content=content, json=json, params=params, headers=headers
            ) as response:
                parts: list[bytes] = []
                size = 0
                for part in response.iter_bytes():
                    size += len(part)
                    if size > MAX_FILE:
                        raise FlameGraphError(
                            f"{self.name} answers with more than the {MAX_FILE >> 20} MiB that are "
                            "read. Take a shorter window or a narrower selector."
                        )
                    parts.append(part)
        except (httpx.TransportError, httpx.InvalidURL, httpx.DecodingError) as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(
                f"{self.name} cannot be reached: {reason}. {self._server.unreachable_hint}"
            ) from error
        if 300 <= response.status_code < 400:
            # Grafana sends whoever it does not know to its login page.
            raise NotAuthorisedError(
                f"{self.name} redirected the request ({response.status_code}), as to a sign-in "
                f"page. {self._server.forbidden_hint}"
            )
        return response.status_code, b"".join(parts)

    def _expect_ok(self, status: int, body: bytes) -> None:
        if status < 300:
            return
        said = _message(body)
        if status in (401, 403):
            raise NotAuthorisedError(
                f"{self.name} refused the query ({status}: {said}). {self._server.forbidden_hint}"
            )
        if status in _GATEWAY or status == 404:
            raise UnreachableError(
                f"{self.name} does not answer like Pyroscope ({status}: {said}). "
                f"{self._server.unreachable_hint}"
            )
        if status == 400:
            raise UsageError(f"{self.name} does not accept the query: {said}.")
        raise FlameGraphError(f"{self.name} failed to answer ({status}: {said}). Try again later.")


def _span(window: Window) -> dict[str, int]:
    start, end = window.milliseconds
    return {"start": start, "end": end}


def _message(body: bytes) -> str:
    """What an error's body says, in one short line."""
    text = body[:2000].decode("utf-8", "replace")
    text = as_text(as_object(parse(body)).get("message")) or text
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:300].rstrip(".") or "no reason given"
