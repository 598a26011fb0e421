"""The Prometheus plugins: queries of an Azure Monitor workspace with the Grafana identity's token.

Signing in needs ``jsonData.azureCredentials`` of ``authType: msi`` (``workloadidentity`` does for a
Grafana of somebody's own), and from Grafana 13 on the
plugin for Azure: the core one ignores them there. The raw proxy knows nothing of
that and sends no token, so behind it such a source answers 401. Servers other than the simulated
workspaces cannot be reached.
"""

from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.grafana import own
from simulator.grafana.frames import Column, frame
from simulator.grafana.sources import SourceError, TimeRange, dial_error, source_url
from simulator.grafana.workspace import Workspace
from simulator.http import Request, Response
from simulator.prometheus import api as prometheus
from simulator.values import JsonObject, as_object, as_text, dig
from simulator.world import Resource

_FIRST_MAJOR_WITHOUT_AZURE = 13
_MINIMUM_STEP = 15.0
"""Seconds; the plugin's default scrape interval."""


class _Query(BaseModel):
    """A query of the plugin; unknown fields are ignored, like by it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    expr: str = ""
    instant: bool = False
    range: bool = False
    legend: str = Field(default="", alias="legendFormat")
    interval_ms: float = Field(default=0, alias="intervalMs")


class _Element(BaseModel):
    metric: dict[str, str] = Field(default_factory=dict[str, str])
    values: list[tuple[float, str]] = Field(default_factory=list[tuple[float, str]])
    value: tuple[float, str] | None = None

    @property
    def samples(self) -> list[tuple[float, str]]:
        """The samples, one of an instant query."""
        return self.values if self.value is None else [self.value]


class _Result(BaseModel):
    kind: str = Field(alias="resultType")
    result: list[_Element]


class PrometheusSource:
    """A Prometheus source in use."""

    def __init__(self, workspace: Workspace, source: JsonObject) -> None:
        self._workspace = workspace
        self._url = source_url(source)
        core = as_text(source.get("type")) == "prometheus"
        is_own = workspace.resource.type == own.TYPE
        ways = ("msi", "workloadidentity") if is_own else ("msi",)
        self._managed = dig(source, "jsonData", "azureCredentials", "authType") in ways and not (
            core and workspace.major >= _FIRST_MAJOR_WITHOUT_AZURE
        )

    def forward(self, request: Request, path: str) -> Response:
        """Answer through the proxy, which sends no token."""
        if self._target() is None:
            return Response(502, b"", {"Content-Type": "text/plain; charset=utf-8"})
        return prometheus.refused(401, "unauthorized", "the request carries no valid token")

    def check(self) -> str:
        """Whether ``1+1`` is answered."""
        try:
            self._call("/api/v1/query", {"query": "1+1", "time": "4"})
        except SourceError as error:
            message = f"{error} - There was an error returned querying the Prometheus API."
            raise SourceError(error.status, message) from error
        return "Successfully queried the Prometheus API."

    def query(self, query: JsonObject, window: TimeRange) -> list[JsonObject]:
        """Frames of an instant query at the window's end, and of a range query over it."""
        try:
            asked = _Query.model_validate(query)
        except ValidationError as error:
            raise SourceError(400, f"error parsing the query model: {error}") from error
        frames: list[JsonObject] = []
        end = str(window.end / 1000)
        step = max(asked.interval_ms / 1000, _MINIMUM_STEP)
        # Like the plugin: a query that says neither is a range query.
        if asked.range or not asked.instant:
            # The start is moved onto a multiple of the step, so that refreshing does not jitter.
            start = window.start / 1000 // step * step
            form = {"query": asked.expr, "start": str(start), "end": end, "step": str(step)}
            frames += self._frames(asked, step, self._call("/api/v1/query_range", form))
        if asked.instant:
            form = {"query": asked.expr, "time": end}
            frames += self._frames(asked, step, self._call("/api/v1/query", form))
        return frames

    def resource(self, request: Request, path: str) -> Response:
        """The HTTP API itself, with the token: label values and series for variables."""
        workspace = self._target()
        if workspace is None:
            return Response(502, {"message": dial_error(self._url)})
        if not self._managed:
            return prometheus.refused(401, "unauthorized", "the request carries no valid token")
        principal = self._workspace.principal_id
        return prometheus.answer(self._workspace.world, workspace, principal, path, request)

    def _target(self) -> Resource | None:
        world = self._workspace.world
        for workspace in world.of_type("Microsoft.Monitor/accounts"):
            if prometheus.query_endpoint(world, workspace).lower() == self._url.lower():
                return workspace
        return None

    def _call(self, path: str, form: dict[str, str]) -> object:
        """``data`` of the answer."""
        if self._target() is None:
            raise SourceError(500, f'Post "{self._url}{path}": {dial_error(self._url)}')
        headers = {"content-type": "application/x-www-form-urlencoded"}
        request = Request("POST", path, headers=headers, body=urlencode(form).encode())
        response = self.resource(request, path)
        answer = as_object(response.body)
        if response.status != 200:
            message = f"{as_text(answer.get('errorType'))}: {as_text(answer.get('error'))}"
            raise SourceError(response.status, message)
        return answer.get("data")

    def _frames(self, asked: _Query, step: float, data: object) -> list[JsonObject]:
        if dig(data, "resultType") == "scalar":
            data = {"resultType": "scalar", "result": [{"value": dig(data, "result")}]}
        result = _Result.model_validate(data)
        shown = {"vector": "numeric-multi", "matrix": "timeseries-multi"}
        meta: JsonObject = {
            "type": shown.get(result.kind, "numeric-multi"),
            "typeVersion": [0, 1],
            "custom": {"resultType": result.kind},
            "executedQueryString": f"Expr: {asked.expr}\nStep: {step:g}s",
        }
        return [
            frame(
                "",
                meta,
                [
                    Column(
                        "Time",
                        "time.Time",
                        [int(at * 1000) for at, _ in element.samples],
                        config={"interval": step * 1000},
                    ),
                    Column(
                        "Value",
                        "float64",
                        [float(value) for _, value in element.samples],
                        labels=element.metric,
                        config={"displayNameFromDS": asked.legend} if asked.legend else {},
                    ),
                ],
            )
            for element in result.result
        ]
