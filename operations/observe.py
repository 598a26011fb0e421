"""Observing in one call what commands made: the approval, data sources and dashboards.

Never fails because of one object: what cannot be read gets a fresh revision and a sentence. Changes
nothing.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from contract.messages.base import Message, Verb
from contract.messages.drift import APPROVAL, PRIVATE_IP_PLACEHOLDER, Observation, ObserveRequest
from contract.messages.grafana import DashboardRequest, DataSourceRequest
from contract.messages.private_link import ApprovalRequest
from operations import dashboards, data_sources
from operations.errors import ExitCode, OperationError, unexpected
from operations.grafana import Grafana
from operations.session import Session, fresh_revision

DEADLINE = 10.0
"""Seconds for an object whose service is busy; a preview should not wait longer."""

_THREADS = 6

Probe = Callable[[], str | None]


def observe(request: ObserveRequest, session: Session) -> Observation:
    """A revision for each object: its own while it is as requested, otherwise a fresh one."""
    probes: dict[str, tuple[Message, Probe]] = {}
    clients = _Clients(session)
    if request.approval is not None:
        from operations import approval

        probes[APPROVAL] = (
            request.approval,
            partial(approval.observed_revision, request.approval, session),
        )
    for name, source in request.data_sources.items():
        probes[name] = (source, partial(_data_source, source, request.approval, session, clients))
    for name, dashboard in request.dashboards.items():
        probes[name] = (dashboard, partial(_dashboard, dashboard, clients))
    if request.on_new_grafana:
        return Observation(
            revisions={name: fresh_revision(wanted) for name, (wanted, _) in probes.items()}
        )
    # A revision for all of them, fetched once.
    if probes:
        _ = session.azure.credential
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = {
            name: pool.submit(_observed, session, name, wanted, probe)
            for name, (wanted, probe) in probes.items()
        }
        found = {name: answer.result() for name, answer in answers.items()}
    return Observation(
        revisions={name: revision for name, (revision, _) in found.items()},
        problems=tuple(dict.fromkeys(problem for _, problem in found.values() if problem)),
    )


def _observed(session: Session, name: str, wanted: Message, probe: Probe) -> tuple[str, str]:
    try:
        revision = session.clock.poll(
            probe,
            what=name,
            within=DEADLINE,
            # What is absent, forbidden or unclear is an answer here, not something to wait for.
            give_up_after={
                ExitCode.NOT_FOUND: 0.0,
                ExitCode.FORBIDDEN: 0.0,
                ExitCode.CONFLICT: 0.0,
            },
            quiet=True,
        )
    except OperationError as error:
        absent = error.kind is ExitCode.NOT_FOUND
        return fresh_revision(wanted), "" if absent else f"{name}: {error.sentence()}"
    # A defect of ours in one object is no reason to stop: applying it again tells more.
    except Exception as error:
        return fresh_revision(wanted), f"{name}: {unexpected(error, Verb.OBSERVE)}"
    return revision or fresh_revision(wanted), ""


def _data_source(
    request: DataSourceRequest,
    approval_request: ApprovalRequest | None,
    session: Session,
    clients: "_Clients",
) -> str | None:
    if PRIVATE_IP_PLACEHOLDER in request.url:
        address = _private_address(approval_request, session)
        if not address:
            return None
        url = request.url.replace(PRIVATE_IP_PLACEHOLDER, address)
        request = request.model_copy(update={"url": url})
    grafana = clients.of(request)
    return data_sources.observed_revision(request, grafana)


def _private_address(request: ApprovalRequest | None, session: Session) -> str:
    if request is None:
        return ""
    from operations import approval

    return approval.private_address(request, session)


def _dashboard(request: DashboardRequest, clients: "_Clients") -> str | None:
    grafana = clients.of(request)
    return dashboards.observed_revision(request, grafana)


class _Clients:
    """One client for each Grafana, so that connections and tokens are shared."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clients: dict[str, Grafana] = {}

    def of(self, request: DataSourceRequest | DashboardRequest) -> Grafana:
        if request.endpoint not in self._clients:
            self._clients[request.endpoint] = Grafana.named_by(request, self._session)
        return self._clients[request.endpoint]
