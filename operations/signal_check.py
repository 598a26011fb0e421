"""Following the data from the agent to Grafana, link by link, through Grafana's own data sources.

Run after ``pulumi up``, never as a part of it: data needs a GPU workload, which is not ours. Says
the first broken link, what was seen there in the service's own words, and what to do.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from contract.agent import (
    ALLOCATED,
    LONGEST_QUERY_HOURS,
    METRICS_PORT,
    NAMESPACE,
    POD_SELECTOR,
    SAMPLE_TYPE,
    SAMPLE_UNIT,
    measures_allocations,
)
from contract.azure import EXTENSION_API, Role, name_of
from contract.compatibility import installed_conflict
from contract.grafana import PROMETHEUS_TYPES, PYROSCOPE
from contract.json import Document, as_list
from contract.lines import assign_role, in_cluster
from contract.messages.signal import Link, LinkReport, Signal, SignalRequest
from operations.data_sources import ROLE
from operations.errors import ExitCode, OperationError
from operations.grafana import Grafana, message_of, segment
from operations.session import Session

_LONGEST_WINDOW_MINUTES = 60 * LONGEST_QUERY_HOURS

_CALL_DEADLINE = 20.0
"""Seconds for one call whose service is busy."""

_RUN_A_WORKLOAD = (
    "run (or restart) a GPU workload: only allocations made while the agent runs are recorded, and "
    "a server that took its memory before shows nothing"
)
_COLLECT = (
    "azureMonitor.enabled of the extension, and the cluster's data collection rule association"
)
_SCRAPE = (
    f"and that your Prometheus scrapes it: pods {POD_SELECTOR} of namespace {NAMESPACE}, port "
    f"{METRICS_PORT}, path /metrics (from agent 0.55 on; before, nothing answers there), with the "
    "cluster's name as label `cluster`"
)

_OWN_SIGN_IN = (
    "check the URL of the source, whether Grafana can reach it, and, for Azure Monitor, that "
    "Grafana's identity may read the workspace (Monitoring Data Reader) and that its configuration "
    "lets sources sign in to Azure ([azure] of grafana.ini)"
)

T = TypeVar("T")


class BrokenLinkError(Exception):
    """A link that does not hold; carries its report."""

    def __init__(self, link: Link, saw: str, fix: str) -> None:
        super().__init__(saw)
        self.report = LinkReport(link=link, ok=False, saw=saw, fix=fix)


def check(request: SignalRequest, session: Session) -> Signal:
    """Check all links once; with a deadline (``--wait``), until all hold or it expires."""
    if session.deadline is None:
        return _check(request, session)
    seen: list[Signal] = []

    def probe() -> Signal:
        seen.append(_check(request, session))
        broken = first_broken(seen[-1])
        if broken is None:
            return seen[-1]
        raise OperationError(ExitCode.NO_SIGNAL, f"{broken.link}: {broken.saw}", transient=True)

    try:
        return session.clock.poll(probe, what="the signal", within=session.deadline)
    except OperationError as error:
        if error.kind is not ExitCode.NO_SIGNAL:
            raise
        return seen[-1]


def first_broken(signal: Signal) -> LinkReport | None:
    """The first link that does not hold."""
    return next((report for report in signal.links if not report.ok), None)


def checklist(signal: Signal) -> Iterator[str]:
    """The report for a person, a line a link."""
    for report in signal.links:
        yield f"[{'ok' if report.ok else 'BROKEN'}] {report.link}: {report.saw}"
    broken = first_broken(signal)
    if broken is None:
        yield "The signal arrives."
    else:
        yield f"First broken link: {broken.link}."
        yield f"  fix: {broken.fix}"


def _check(request: SignalRequest, session: Session) -> Signal:
    chain = _Chain(request, session)
    reports: list[LinkReport] = []

    def follow(links: Iterator[LinkReport]) -> bool:
        try:
            reports.extend(links)
        except BrokenLinkError as broken:
            reports.append(broken.report)
            return False
        return True

    if follow(chain.grafana()):
        # Neither source depends on the other: the second is checked in any case.
        if request.prometheus_uid:
            follow(chain.prometheus(request.prometheus_uid))
        follow(chain.pyroscope(request.pyroscope_uid))
    return Signal(
        ok=all(report.ok for report in reports),
        links=tuple(reports),
        profile_type=chain.profile_type,
        bytes_in_window=chain.bytes_in_window,
    )


class _Chain:
    """The links of one check; each generator ends in a BrokenLinkError at the first broken one."""

    def __init__(self, request: SignalRequest, session: Session) -> None:
        self._request = request
        self._session = session
        self._grafana = Grafana(session, request.endpoint, token_variable=request.token_variable)
        self._minutes = max(1, min(request.window_minutes, _LONGEST_WINDOW_MINUTES))
        now = int(time.time() * 1000)
        self._window = {"start": now - self._minutes * 60_000, "end": now}
        self.profile_type = ""
        self.bytes_in_window = 0

    @property
    def _is_own(self) -> bool:
        """Whether it is a Grafana of the user's own, which no private endpoint belongs to."""
        return self._request.token_variable is not None

    def grafana(self) -> Iterator[LinkReport]:
        """Grafana answers, and answers us."""
        try:
            health = self._call(lambda: self._grafana.get("/api/health", "reach Grafana", ROLE))
            self._source(self._request.pyroscope_uid)
        except OperationError as error:
            if error.kind is ExitCode.NOT_AUTHENTICATED:
                raise
            raise BrokenLinkError(Link.GRAFANA, error.sentence(), error.fix) from error
        version = health.text("version")
        yield _holds(Link.GRAFANA, f"Grafana {version} answers".replace("  ", " "))

    def prometheus(self, uid: str) -> Iterator[LinkReport]:
        """The Prometheus source exists, answers, and has the agent's metrics."""
        source = self._source(uid)
        kind = source.text("type") if source else ""
        if kind not in PROMETHEUS_TYPES:
            saw = f"data source {uid} is of type {kind}" if source else f"no data source {uid}"
            raise BrokenLinkError(Link.PROMETHEUS_SOURCE, saw, "pulumi up puts it back")
        yield _holds(Link.PROMETHEUS_SOURCE, f"data source {uid} ({kind})")
        cluster = name_of(self._request.cluster_id)
        mine = self._series(
            uid, kind, f'{ALLOCATED}{{cluster="{cluster}"}}' if cluster else ALLOCATED
        )
        yield _holds(Link.PROMETHEUS_ANSWER, "queries are answered")
        if mine:
            yield _holds(Link.METRICS, f"{mine} series of {ALLOCATED}")
            return
        others = self._series(uid, kind, ALLOCATED) if cluster else 0
        saw = f"no series of {ALLOCATED}" + (f" with cluster={cluster!r}" if cluster else "")
        if others:
            saw += f", but {others} of other clusters"
        raise BrokenLinkError(
            Link.METRICS,
            saw,
            f"{_RUN_A_WORKLOAD}; then check the agent ({self._pods(POD_SELECTOR)}), "
            + (_SCRAPE if self._request.own_prometheus else _COLLECT),
        )

    def pyroscope(self, uid: str) -> Iterator[LinkReport]:
        """The Pyroscope source exists, answers through the private link, and has samples."""
        source = self._source(uid)
        kind = source.text("type") if source else ""
        url = source.text("url") if source else ""
        if source is None or kind != PYROSCOPE:
            saw = f"data source {uid} is of type {kind}" if source else f"no data source {uid}"
            raise BrokenLinkError(Link.PYROSCOPE_SOURCE, saw, "pulumi up puts it back")
        if not re.match(r"https?://[^/:\s]+", url):
            raise BrokenLinkError(
                Link.PYROSCOPE_SOURCE,
                f"data source {uid} has the URL {url!r}, without a host",
                "the private endpoint had no address when it was written: pulumi up --refresh",
            )
        yield _holds(Link.PYROSCOPE_SOURCE, f"data source {uid} at {url}")
        types = self._query(uid, "ProfileTypes", self._window)
        way = "" if self._is_own else " through the private link"
        yield _holds(Link.PYROSCOPE_ANSWER, f"the querier answers{way}")
        ids = [
            one.text("ID")
            for one in types.children("profileTypes")
            if measures_allocations(one.text("sampleType"), one.text("sampleUnit"))
        ]
        yield self._versions(uid, arrives=bool(ids))
        if not ids:
            present = ", ".join(one.text("ID") for one in types.children("profileTypes"))
            raise BrokenLinkError(
                Link.PROFILE_TYPE,
                f"no profile type {SAMPLE_TYPE}:{SAMPLE_UNIT} in the last {self._minutes} min; "
                f"present: {present or 'none'}",
                f"{_RUN_A_WORKLOAD}; then check the agent ({self._pods(POD_SELECTOR)}, and its log "
                "for 'produced zero addresses' and 'invalid metric name')",
            )
        totals = {one: self._total(uid, one) for one in ids}
        self.profile_type = max(totals, key=lambda one: totals[one])
        self.bytes_in_window = totals[self.profile_type]
        yield _holds(Link.PROFILE_TYPE, self.profile_type)
        if not self.bytes_in_window:
            raise BrokenLinkError(
                Link.SAMPLES,
                f"no samples of {self.profile_type} in the last {self._minutes} min",
                f"{_RUN_A_WORKLOAD}; or check a longer window (--window of `python -m gpuobs "
                f"check`, windowMinutes of the request; at most {_LONGEST_WINDOW_MINUTES})",
            )
        yield _holds(
            Link.SAMPLES,
            f"{self.bytes_in_window / 1e9:.1f} GB allocated in the last {self._minutes} min",
        )

    def _versions(self, uid: str, *, arrives: bool) -> LinkReport:
        """What agent and server are, and whether that explains that no profile ``arrives``."""
        server, agent = self._server_version(uid), self._agent_version()
        saw = f"Inspektor Gadget {agent or '(not known)'}, Pyroscope {server or '(not known)'}"
        conflict = installed_conflict(server=server, agent=agent) if server else None
        if conflict is None or arrives:
            return _holds(Link.VERSIONS, saw)
        raise BrokenLinkError(Link.VERSIONS, f"{saw}: {conflict.why}", conflict.fix)

    def _server_version(self, uid: str) -> str:
        """What the server itself says; empty where it does not."""
        path = f"/api/datasources/proxy/uid/{segment(uid)}/api/v1/status/buildinfo"
        try:
            found = self._grafana.get(path, "ask Pyroscope for its build", ROLE)
        except OperationError:
            return ""
        return found.text("data", "version").removeprefix("v")

    def _agent_version(self) -> str:
        """What Azure says of the extension; empty where it says nothing to us."""
        path = self._request.extension_id
        if not path:
            return ""
        try:
            found = self._session.azure.get(path, EXTENSION_API, "look up the agent")
        except OperationError:
            return ""
        return found.text("properties", "currentVersion")

    def _call(self, probe: Callable[[], T]) -> T:
        return self._session.clock.poll(
            probe,
            what="an answer",
            within=_CALL_DEADLINE,
            give_up_after={ExitCode.FORBIDDEN: 0.0},
            quiet=True,
        )

    def _source(self, uid: str) -> Document | None:
        path = f"/api/datasources/uid/{segment(uid)}"
        return self._call(lambda: self._grafana.find(path, f"read the data source {uid}", ROLE))

    def _series(self, uid: str, kind: str, expression: str) -> int:
        """How many series ``expression`` finds now."""
        query = {
            "refId": "A",
            "datasource": {"uid": uid, "type": kind},
            "expr": f"count({expression})",
            "instant": True,
            "range": False,
        }
        body = {"queries": [query], "from": "now-5m", "to": "now"}
        try:
            # Grafana passes on the source's own status; its words are in the result.
            response = self._call(
                lambda: self._grafana.request(
                    "POST",
                    "/api/ds/query",
                    "query the Prometheus source",
                    ROLE,
                    body=body,
                    accept=lambda status: status < 429 or status == 500,
                )
            )
        except OperationError as error:
            raise BrokenLinkError(
                Link.PROMETHEUS_ANSWER, error.sentence(), error.fix or "wait and run it again"
            ) from error
        result = Document.parse(response.content).child("results", "A")
        problem = result.text("error") or ("" if result else message_of(response))
        if problem or response.status_code >= 400:
            status = result.integer("status") or response.status_code
            raise BrokenLinkError(
                Link.PROMETHEUS_ANSWER,
                f"the source answers {status}: {problem or 'no message'}",
                _OWN_SIGN_IN if self._is_own else _prometheus_fix(status, problem),
            )
        return sum(_last_numbers(result))

    def _query(self, uid: str, method: str, body: dict[str, object] | dict[str, int]) -> Document:
        path = f"/api/datasources/proxy/uid/{segment(uid)}/querier.v1.QuerierService/{method}"
        try:
            response = self._call(
                lambda: self._grafana.request(
                    "POST", path, f"ask Pyroscope for {method}", ROLE, body=body
                )
            )
        except OperationError as error:
            way = (
                "check that Grafana can reach the URL of the source"
                if self._is_own
                else "check the private endpoint (its state and address: pulumi stack output "
                "privateEndpoint; pulumi up --refresh repairs it)"
            )
            raise BrokenLinkError(
                Link.PYROSCOPE_ANSWER, error.sentence(), f"{way} and the server: {self._pods()}"
            ) from error
        return Document.parse(response.content)

    def _pods(self, selector: str = "") -> str:
        """The line that shows the pods of our namespace, or those that ``selector`` selects."""
        chosen = ("--selector", selector) if selector else ()
        words = ("kubectl", "get", "pods", "--namespace", NAMESPACE, *chosen)
        return in_cluster(self._request.cluster_id, *words)

    def _total(self, uid: str, profile_type: str) -> int:
        body: dict[str, object] = {
            **self._window,
            "profileTypeID": profile_type,
            "labelSelector": "{}",
            "maxNodes": 16,
        }
        merged = self._query(uid, "SelectMergeStacktraces", body)
        return merged.integer("flamegraph", "total") or 0


def _holds(link: Link, saw: str) -> LinkReport:
    return LinkReport(link=link, ok=True, saw=saw)


def _prometheus_fix(status: int, problem: str) -> str:
    reader = Role.MONITORING_DATA_READER.role_name
    if status in (401, 403) or re.search(r"\b(401|403)\b|unauthorized|forbidden", problem, re.I):
        assign = assign_role(
            role=reader,
            assignee="PRINCIPAL-ID-OF-GRAFANA",
            kind="ServicePrincipal",
            scope="ID-OF-THE-AZURE-MONITOR-WORKSPACE",
        )
        return (
            f"Grafana's identity needs the role {reader!r} on the Azure Monitor workspace "
            f"(minutes to take effect): {assign}"
        )
    return "check the URL of the source and whether Grafana can reach it"


def _last_numbers(result: Document) -> Iterator[int]:
    """The last value of each frame's value column, as data frames carry them."""
    for frame in result.children("frames"):
        columns = as_list(frame.value("data", "values"))
        numbers = as_list(columns[-1]) if len(columns) > 1 else []
        if numbers and isinstance(numbers[-1], int | float):
            yield int(numbers[-1])
