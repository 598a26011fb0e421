"""Asking Prometheus: directly, or through the data source of a Grafana.

Queries are sums of one selector, and the arithmetic is this program's: any Prometheus answers them
alike, and a figure can be followed to the series that it comes from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import httpx

from contract.grafana import AZURE_PROMETHEUS
from contract.json import Document, as_list, as_object, as_objects, as_text
from operations.errors import ExitCode, OperationError

if TYPE_CHECKING:
    from operations.session import Session

_TIMEOUT = httpx.Timeout(60, connect=10)
_ROLE = "Grafana Viewer"
MOST_POINTS = 240
"""Of one series in one answer: enough for a trend, and little to carry."""
LEAST_STEP = 60.0
"""Seconds between two points: Azure Monitor answers no finer over 48 hours."""


@dataclass(frozen=True)
class Series:
    """One series: its labels, and its values by time in seconds of the Unix epoch."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]

    def label(self, *names: str) -> str:
        """The first of these labels that is there; empty without any."""
        return next((self.labels[name] for name in names if self.labels.get(name)), "")


class Metrics(Protocol):
    """A Prometheus."""

    name: str
    """What a message calls it."""

    def range(self, query: str, start: float, end: float) -> list[Series]:
        """The series of ``query`` from ``start`` to ``end``; the last point is at ``end``.

        Raises :class:`OperationError` where there is no answer.
        """
        ...


def step_of(start: float, end: float) -> float:
    """Seconds between the points of a window."""
    return max(LEAST_STEP, (end - start) / MOST_POINTS)


class Prometheus:
    """A Prometheus that answers without credentials."""

    def __init__(self, url: str) -> None:
        self.name = f"Prometheus at {url.rstrip('/')}"
        self._url = url.rstrip("/")

    def range(self, query: str, start: float, end: float) -> list[Series]:
        """Ask ``/api/v1/query_range``."""
        step = step_of(start, end)
        # Counted back from the end, so that the last point is the end.
        begin = end - step * int((end - start) / step)
        form = {"query": query, "start": str(begin), "end": str(end), "step": str(step)}
        try:
            response = httpx.post(f"{self._url}/api/v1/query_range", data=form, timeout=_TIMEOUT)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise OperationError(
                ExitCode.UNREACHABLE,
                f"{self.name} gives no answer.",
                why=str(error) or type(error).__name__,
                fix="check the address, and a port-forward if there is one",
            ) from error
        answer = Document.parse(response.content)
        if response.status_code >= 400 or answer.text("status") != "success":
            raise OperationError(
                ExitCode.REJECTED,
                f"{self.name} refuses a query ({response.status_code}).",
                why=answer.text("error") or response.text[:300],
                fix="check that this is the address of a Prometheus, without /api/v1",
            )
        return [
            Series(
                {key: as_text(value) for key, value in as_object(one.get("metric")).items()},
                list(_points(as_list(one.get("values")))),
            )
            for one in as_objects(answer.child("data").value("result"))
        ]


def _points(values: Sequence[object]) -> Iterator[tuple[float, float]]:
    for value in values:
        pair = as_list(value)
        if len(pair) == 2 and isinstance(pair[0], int | float):
            yield float(pair[0]), float(str(pair[1]))


class GrafanaSource:
    """The Prometheus source of a Grafana; of one's own with the variable of its token."""

    def __init__(
        self, session: "Session", endpoint: str, uid: str, token_variable: str | None = None
    ) -> None:
        from operations.grafana import Grafana

        self.name = f"the data source {uid} of {endpoint.rstrip('/')}"
        self._grafana = Grafana(session, endpoint, token_variable=token_variable)
        self._uid = uid
        self._kind = ""

    def range(self, query: str, start: float, end: float) -> list[Series]:
        """Ask ``/api/ds/query``, which signs in to Azure Monitor as the source is told to."""
        step = step_of(start, end)
        body = {
            "from": str(int(1000 * start)),
            "to": str(int(1000 * end)),
            "queries": [
                {
                    "refId": "A",
                    "datasource": {"type": self._type(), "uid": self._uid},
                    "expr": query,
                    "range": True,
                    # As well: Grafana moves a range onto multiples of the step, and so may ask
                    # for nothing of the last one.
                    "instant": True,
                    "intervalMs": int(1000 * step),
                    "maxDataPoints": MOST_POINTS + 1,
                }
            ],
        }
        response = self._grafana.request(
            "POST",
            "/api/ds/query",
            f"query {self.name}",
            _ROLE,
            body=body,
            accept=lambda status: status < 429 and status not in (401, 403),
        )
        result = Document.parse(response.content).child("results", "A")
        if problem := result.text("error") or ("" if result else response.text[:300]):
            raise OperationError(
                ExitCode.REJECTED,
                f"A query of {self.name} is refused.",
                why=problem,
                fix="run `python -m gpuobs check`, which names the broken link",
            )
        return _joined(
            series for frame in result.children("frames") if (series := _of_frame(frame))
        )

    def _type(self) -> str:
        if not self._kind:
            found = self._grafana.find(
                f"/api/datasources/uid/{self._uid}", f"look up {self.name}", _ROLE
            )
            self._kind = found.text("type") if found else AZURE_PROMETHEUS
        return self._kind


def _joined(found: Iterable[Series]) -> list[Series]:
    """The frames of a range and of its end, one series for each set of labels."""
    points: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    for series in found:
        points.setdefault(tuple(sorted(series.labels.items())), {}).update(series.points)
    return [Series(dict(labels), sorted(of.items())) for labels, of in points.items()]


def _of_frame(frame: Document) -> Series | None:
    columns = [as_list(one) for one in as_list(frame.value("data", "values"))]
    fields = as_objects(frame.value("schema", "fields"))
    if len(columns) < 2 or len(fields) < 2:
        return None
    labels = as_object(fields[-1].get("labels"))
    points = [
        (float(at) / 1000, float(value))
        for at, value in zip(columns[0], columns[-1], strict=False)
        if isinstance(at, int | float) and isinstance(value, int | float)
    ]
    return Series({key: as_text(value) for key, value in labels.items()}, points)
