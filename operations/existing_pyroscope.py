"""Looking at a Pyroscope that is there already: its version, and the source that shows it.

Facts for :mod:`operations.survey`. The server is asked from here, and through the data source: from
one of the two it may be out of reach.
"""

import httpx

from contract.azure import Role
from contract.json import Document
from contract.messages.survey import Presence, PyroscopeFacts, WantedPyroscope
from operations.errors import OperationError
from operations.grafana import Grafana, segment

SECONDS = 3.0
"""For a server that does not answer from here."""
_PATH = "/api/v1/status/buildinfo"
_ROLE = Role.GRAFANA_VIEWER.role_name


def look(wanted: WantedPyroscope, grafana: Grafana | None) -> PyroscopeFacts:
    """The facts; ``grafana`` is None where there is none yet."""
    facts = PyroscopeFacts(version=_asked_from_here(wanted.url))
    if grafana is None or wanted.data_source is None:
        return facts
    path = f"/api/datasources/uid/{segment(wanted.data_source)}"
    try:
        source = grafana.find(path, f"look up the data source {wanted.data_source}", _ROLE)
    except OperationError:
        return facts
    if source is None:
        return facts.model_copy(update={"source": Presence.ABSENT})
    return facts.model_copy(
        update={
            "source": Presence.FOUND,
            "source_type": source.text("type"),
            "version": facts.version or _asked_through(grafana, wanted.data_source),
        }
    )


def _asked_from_here(url: str) -> str:
    try:
        response = httpx.get(f"{url}{_PATH}", timeout=SECONDS)
    except httpx.HTTPError:
        return ""
    return _version(Document.parse(response.content)) if response.is_success else ""


def _asked_through(grafana: Grafana, uid: str) -> str:
    path = f"/api/datasources/proxy/uid/{segment(uid)}{_PATH}"
    try:
        return _version(grafana.get(path, "ask Pyroscope for its build", _ROLE))
    except OperationError:
        return ""


def _version(found: Document) -> str:
    return found.text("data", "version").removeprefix("v")
