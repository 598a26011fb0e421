"""``python -m operations <verb>``: the deploy-time steps that no resource of Azure offers.

Each verb is idempotent, reads one JSON request and writes one line of JSON; progress and errors go
to standard error. Only the modules that a verb needs are imported, since a deployment starts a
dozen of these processes.
"""

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contract import agent, azure, grafana
from contract.messages.agent import AgentRequest
from contract.messages.base import Message, Verb
from contract.messages.drift import ObserveRequest
from contract.messages.extension import ExtensionRecoveryRequest
from contract.messages.grafana import DashboardRequest, DataSourceRequest
from contract.messages.leftovers import LeftoversRequest
from contract.messages.namespace import NamespaceRequest
from contract.messages.private_link import ApprovalRequest, PrivateLinkRequest
from contract.messages.release import RecoveryRequest, RepairRequest
from contract.messages.server import HeldServer, ServerRequest
from contract.messages.signal import SignalRequest
from contract.messages.storage import KeptStorage, KeptStorageRequest, StorageStartRequest
from contract.messages.survey import SurveyRequest
from operations.errors import ExitCode, OperationError, explained
from operations.session import Session
from operations.streams import use_utf8

INTERRUPTED = 130
"""What shells answer for a process that SIGINT ended."""

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class _Answer:
    line: str
    exit_code: ExitCode = ExitCode.OK


@dataclass(frozen=True)
class _Command:
    summary: str
    example: str
    answer: Callable[[argparse.Namespace, Session], _Answer]
    reads_request: bool = True
    deadline_option: str = ""
    """Empty: the verb does not wait."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit status (:class:`operations.errors.ExitCode`)."""
    use_utf8()
    options = parser().parse_args(arguments)
    try:
        command = _COMMANDS[Verb(options.verb)]
        deadline = getattr(options, "deadline", None)
        with Session(deadline=deadline, verb=options.verb) as session:
            answer = command.answer(options, session)
        print(answer.line, flush=True)  # noqa: T201 - the one line of the contract
        return answer.exit_code
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, "error: interrupted")
    except Exception as error:
        kind = error.kind if isinstance(error, OperationError) else ExitCode.UNEXPECTED
        return _complain(kind, explained(error, options.verb))


def _survey(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.survey import survey

    return _Answer(survey(_request(options, session, SurveyRequest), session).to_json())


def _clear_leftovers(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.leftovers import clear

    return _Answer(clear(_request(options, session, LeftoversRequest), session).to_json())


def _remove_leftovers(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.leftovers import remove

    return _Answer(remove(_request(options, session, LeftoversRequest), session).to_json())


def _keep_namespace(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.namespace import keep

    return _Answer(keep(_request(options, session, NamespaceRequest), session).to_json())


def _release_namespace(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.namespace import release

    return _Answer(release(_request(options, session, NamespaceRequest), session).to_json())


def _record_agent_settings(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.agent import record

    return _Answer(record(_request(options, session, AgentRequest), session).to_json())


def _restart_agent(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.agent import restart

    return _Answer(restart(_request(options, session, AgentRequest), session).to_json())


def _hold_profile_storage(options: argparse.Namespace, session: Session) -> _Answer:
    request = _request(options, session, KeptStorageRequest)
    return _Answer(KeptStorage(account_id=request.account_id).to_json())


def _leave_profile_storage(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.profile_storage import leave

    return _Answer(leave(_request(options, session, KeptStorageRequest)).to_json())


def _await_profile_storage(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.profile_storage import await_start

    return _Answer(await_start(_request(options, session, StorageStartRequest), session).to_json())


def _recover_extension(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.extension import recover

    return _Answer(recover(_request(options, session, ExtensionRecoveryRequest), session).to_json())


def _hold_server(options: argparse.Namespace, session: Session) -> _Answer:
    request = _request(options, session, ServerRequest)
    return _Answer(HeldServer(namespace=request.namespace).to_json())


def _await_server_stopped(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.stopped import await_stopped

    return _Answer(await_stopped(_request(options, session, ServerRequest), session).to_json())


def _recover_release(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.release import recover

    return _Answer(recover(_request(options, session, RecoveryRequest), session).to_json())


def _repair_release(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.release_objects import repair

    return _Answer(repair(_request(options, session, RepairRequest), session).to_json())


def _hold_private_link(options: argparse.Namespace, session: Session) -> _Answer:
    # Without the SDKs: it only echoes.
    from contract.messages.private_link import HeldPrivateLink

    request = _request(options, session, PrivateLinkRequest)
    return _Answer(HeldPrivateLink(namespace=request.namespace).to_json())


def _await_private_link(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.private_link import await_ready

    return _Answer(await_ready(_request(options, session, PrivateLinkRequest), session).to_json())


def _await_private_link_unused(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.private_link import await_unused

    return _Answer(await_unused(_request(options, session, PrivateLinkRequest), session).to_json())


def _await_private_link_gone(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.private_link import await_gone

    return _Answer(await_gone(_request(options, session, PrivateLinkRequest), session).to_json())


def _approve_private_endpoint(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.approval import approve

    return _Answer(approve(_request(options, session, ApprovalRequest), session).to_json())


def _delete_private_endpoint(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.managed_endpoint import delete

    return _Answer(delete(_request(options, session, ApprovalRequest), session).to_json())


def _apply_data_source(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.data_sources import apply

    return _Answer(apply(_request(options, session, DataSourceRequest), session).to_json())


def _delete_data_source(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.data_sources import delete

    return _Answer(delete(_request(options, session, DataSourceRequest), session).to_json())


def _apply_dashboard(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.dashboards import apply

    return _Answer(apply(_request(options, session, DashboardRequest), session).to_json())


def _delete_dashboard(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.dashboards import delete

    return _Answer(delete(_request(options, session, DashboardRequest), session).to_json())


def _observe(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.observe import observe

    return _Answer(observe(_request(options, session, ObserveRequest), session).to_json())


def _check_signal(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.clock import say
    from operations.signal_check import check, checklist

    signal = check(_request(options, session, SignalRequest), session)
    for line in checklist(signal):
        say(line)
    return _Answer(signal.to_json(), ExitCode.OK if signal.ok else ExitCode.NO_SIGNAL)


def _kube_token(options: argparse.Namespace, session: Session) -> _Answer:
    from operations.kube_token import exec_credential

    if options.tenant_id:
        session.is_in(options.tenant_id)
    return _Answer(exec_credential(session))


_LINK_ID = azure.private_link_service_id("<id>", "<node group>", "<name>")
_LINK_EXAMPLE = (
    f"""echo '{{"id": "{_LINK_ID}", """
    f""""namespace": "{agent.NAMESPACE}", "release": "{agent.PYROSCOPE_SERVICE}"}}' """
    """| sh operations/run """
)
_NAMESPACE_EXAMPLE = (
    """echo '{"clusterId": "<ARM id of the cluster>", """
    f""""namespace": "{agent.NAMESPACE}", "service": "{agent.PYROSCOPE_SERVICE}"}}' """
    """| sh operations/run """
)
_LEFTOVERS_EXAMPLE = (
    """echo '{"clusterId": "<ARM id of the cluster>", "mark": "<annotation gpuobs/stack>"}' """
    """| sh operations/run """
)
_AGENT_EXAMPLE = (
    """echo '{"clusterId": "<ARM id of the cluster>", """
    f""""namespace": "{agent.NAMESPACE}", "daemonSet": "{agent.AGENT_DAEMON_SET}"}}' """
    """| sh operations/run """
)
_STORAGE_EXAMPLE = (
    """echo '{"accountId": "<ARM id of the storage account>", "container": "<container>"}' """
    """| sh operations/run """
)
_SERVER_EXAMPLE = (
    f"""echo '{{"clusterId": "<ARM id of the cluster>", "namespace": "{agent.NAMESPACE}"}}' """
    """| sh operations/run """
)
_RELEASE_EXAMPLE = (
    """echo '{"clusterId": "<ARM id of the cluster>", """
    f""""namespace": "{agent.NAMESPACE}", "records": [{{"name": "<Secret>", "uid": "<its uid>", """
    """"status": "pending-upgrade"}]}' | sh operations/run """
)
_ENDPOINT_EXAMPLE = (
    """echo '{"grafanaId": "<ARM id of the Grafana workspace>", "endpointName": """
    """"<endpoint>", "privateLinkId": "<ARM id of the Private Link Service>", """
    """"requestMessage": "<message of the endpoint>"}' | sh operations/run """
)
_SOURCE_EXAMPLE = f"""sh operations/run {{verb}} --request source.json

with source.json:
  {{{{"endpoint": "https://<name>.grafana.azure.com",
   "workspaceId": "<ARM id of the Grafana workspace>",
   "owner": {{{{"cluster": "<cluster id, lower case>", "project": "gpuobs", "stack": "dev"}}}},
   "name": "local-pyroscope", "uid": "local-pyroscope",
   "type": "{grafana.PYROSCOPE}", "url": "http://10.0.0.4:{agent.PYROSCOPE_PORT}"}}}}"""
_DASHBOARD_EXAMPLE = """sh operations/run {verb} --request dashboard.json

with dashboard.json:
  {{"endpoint": "https://<name>.grafana.azure.com",
   "workspaceId": "<ARM id of the Grafana workspace>",
   "owner": {{"cluster": "<cluster id, lower case>", "project": "gpuobs", "stack": "dev"}},
   "uid": "AdvancedGPUObservability", "dashboard": {{"title": "...", "panels": []}}}}"""

_COMMANDS = {
    Verb.SURVEY: _Command(
        "look up what exists: cluster, Grafana, workspace, roles, registrations, quota",
        """echo '{"providerSubscriptionId": "<id>", "providerObjectId": "", "namespaces": """
        f"""["{azure.provider_of(azure.GRAFANA)}"]}}' | sh operations/run survey""",
        _survey,
    ),
    Verb.CLEAR_LEFTOVERS: _Command(
        "remove what a killed run has left in the cluster (named in GPUOBS_OBSERVED)",
        _LEFTOVERS_EXAMPLE + "clear-leftovers",
        _clear_leftovers,
        deadline_option="--deadline",
    ),
    Verb.REMOVE_LEFTOVERS: _Command(
        "remove whatever carries the stack's mark in the cluster",
        _LEFTOVERS_EXAMPLE + "remove-leftovers",
        _remove_leftovers,
        deadline_option="--deadline",
    ),
    Verb.KEEP_NAMESPACE: _Command(
        "refuse to delete the agent's namespace while Pyroscope is in it",
        _NAMESPACE_EXAMPLE + "keep-namespace",
        _keep_namespace,
        deadline_option="--deadline",
    ),
    Verb.RELEASE_NAMESPACE: _Command(
        "take that protection away again",
        _NAMESPACE_EXAMPLE + "release-namespace",
        _release_namespace,
        deadline_option="--deadline",
    ),
    Verb.RECORD_AGENT_SETTINGS: _Command(
        "note on the agent's DaemonSet which settings its pods start with",
        _AGENT_EXAMPLE + "record-agent-settings",
        _record_agent_settings,
        deadline_option="--deadline",
    ),
    Verb.RESTART_AGENT: _Command(
        "restart the agent's pods, which read their settings when they start",
        _AGENT_EXAMPLE + "restart-agent",
        _restart_agent,
        deadline_option="--deadline",
    ),
    Verb.HOLD_PROFILE_STORAGE: _Command(
        "print the id of a storage account that stays (the create command of what names it later)",
        _STORAGE_EXAMPLE + "hold-profile-storage",
        _hold_profile_storage,
    ),
    Verb.LEAVE_PROFILE_STORAGE: _Command(
        "name the storage account that stays, and the line that deletes it",
        _STORAGE_EXAMPLE + "leave-profile-storage",
        _leave_profile_storage,
    ),
    Verb.AWAIT_PROFILE_STORAGE: _Command(
        "watch Pyroscope sign in to Blob Storage; name what keeps it out",
        """echo '{"clusterId": "<ARM id of the cluster>", """
        f""""namespace": "{agent.NAMESPACE}", "pod": "{agent.PYROSCOPE_SERVICE}-0", """
        """"account": "<storage account>", "container": "<container>", """
        """"clientId": "<client id of its identity>"}' """
        "| sh operations/run await-profile-storage",
        _await_profile_storage,
        deadline_option="--deadline",
    ),
    Verb.RECOVER_EXTENSION: _Command(
        "let Azure and Helm forget an extension whose removal the API server refused",
        """echo '{"clusterId": "<ARM id of the cluster>", """
        f""""namespace": "{agent.NAMESPACE}", "extensionId": "<ARM id of the extension>", """
        """"release": "<its Helm release>", "seen": ""}' | sh operations/run recover-extension""",
        _recover_extension,
        deadline_option="--deadline",
    ),
    Verb.HOLD_SERVER: _Command(
        "print the namespace (the create command of what waits for Pyroscope's end)",
        _SERVER_EXAMPLE + "hold-server",
        _hold_server,
    ),
    Verb.AWAIT_SERVER_STOPPED: _Command(
        "wait until Pyroscope's pods, which write what they hold as they end, are gone",
        _SERVER_EXAMPLE + "await-server-stopped",
        _await_server_stopped,
        deadline_option="--deadline",
    ),
    Verb.RECOVER_RELEASE: _Command(
        "remove Helm's record of a release that was cut off, so that Helm goes on",
        _RELEASE_EXAMPLE + "recover-release",
        _recover_release,
        deadline_option="--deadline",
    ),
    Verb.REPAIR_RELEASE: _Command(
        "put back what was changed by hand of the release's objects",
        """echo '{"clusterId": "<ARM id of the cluster>", "objects": [{"path": """
        f""""/api/v1/namespaces/{agent.NAMESPACE}/services/{agent.PYROSCOPE_SERVICE}", """
        """"name": "Service", "seen": ""}]}' | sh operations/run repair-release""",
        _repair_release,
        deadline_option="--deadline",
    ),
    Verb.HOLD_PRIVATE_LINK: _Command(
        "print the namespace (the create command of a private link's guard)",
        _LINK_EXAMPLE + "hold-private-link",
        _hold_private_link,
    ),
    Verb.AWAIT_PRIVATE_LINK_GONE: _Command(
        "wait until a Private Link Service is gone; name what holds it",
        _LINK_EXAMPLE + "await-private-link-gone",
        _await_private_link_gone,
        deadline_option="--deadline",
    ),
    Verb.AWAIT_PRIVATE_LINK: _Command(
        "wait until the cloud controller has made a Private Link Service",
        _LINK_EXAMPLE + "await-private-link --deadline 300",
        _await_private_link,
        deadline_option="--deadline",
    ),
    Verb.AWAIT_PRIVATE_LINK_UNUSED: _Command(
        "wait until nothing is connected to a Private Link Service; name what is",
        _LINK_EXAMPLE + "await-private-link-unused",
        _await_private_link_unused,
        deadline_option="--deadline",
    ),
    Verb.APPROVE_PRIVATE_ENDPOINT: _Command(
        "approve Grafana's managed private endpoint, refresh Grafana, print the private address",
        _ENDPOINT_EXAMPLE + "approve-private-endpoint",
        _approve_private_endpoint,
        deadline_option="--deadline",
    ),
    Verb.DELETE_PRIVATE_ENDPOINT: _Command(
        "delete that endpoint, as soon as no other operation runs on Grafana",
        _ENDPOINT_EXAMPLE + "delete-private-endpoint",
        _delete_private_endpoint,
        deadline_option="--deadline",
    ),
    Verb.APPLY_DATA_SOURCE: _Command(
        "create or update a Grafana data source that this stack owns",
        _SOURCE_EXAMPLE.format(verb="apply-data-source"),
        _apply_data_source,
        deadline_option="--deadline",
    ),
    Verb.DELETE_DATA_SOURCE: _Command(
        "delete a Grafana data source that this stack owns",
        _SOURCE_EXAMPLE.format(verb="delete-data-source"),
        _delete_data_source,
        deadline_option="--deadline",
    ),
    Verb.APPLY_DASHBOARD: _Command(
        "create or update a Grafana dashboard (and its folder) that this stack owns",
        _DASHBOARD_EXAMPLE.format(verb="apply-dashboard"),
        _apply_dashboard,
        deadline_option="--deadline",
    ),
    Verb.DELETE_DASHBOARD: _Command(
        "delete a Grafana dashboard (and its empty folder) that this stack owns",
        _DASHBOARD_EXAMPLE.format(verb="delete-dashboard"),
        _delete_dashboard,
        deadline_option="--deadline",
    ),
    Verb.OBSERVE: _Command(
        "report which of the approval, data sources and dashboards are as requested",
        """echo '{"dataSources": {"pyroscope": {...}}}' | sh operations/run observe""",
        _observe,
    ),
    Verb.CHECK_SIGNAL: _Command(
        "follow the data from the agent to Grafana; name the first broken link and the fix",
        "pulumi stack output signalCheck --json --stack dev | sh operations/run check-signal "
        "--wait 300",
        _check_signal,
        deadline_option="--wait",
    ),
    Verb.KUBE_TOKEN: _Command(
        "print an ExecCredential for an Entra-enabled AKS cluster (instead of kubelogin)",
        "sh operations/run kube-token  # named as the exec command of a kubeconfig",
        _kube_token,
        reads_request=False,
    ),
}

_EXIT_CODES = ", ".join(f"{code.value} {code.name.lower()}" for code in ExitCode).replace("_", " ")

_EPILOG = f"""\
Exit status: {_EXIT_CODES}.

Signing in: as Pulumi's Azure provider does, with `az login` or the ARM_* variables (a service
principal in ARM_CLIENT_ID, ARM_TENANT_ID and ARM_CLIENT_SECRET, ARM_USE_OIDC, ARM_USE_MSI). The
credential chain of azure-identity counts with ARM_USE_DEFAULT_AZURE_CREDENTIAL=true only.

Each verb explains itself: sh operations/run <verb> --help
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    top = argparse.ArgumentParser(
        prog="sh operations/run",
        description="Deploy-time steps that no Azure resource offers. Each is safe to repeat.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, command in _COMMANDS.items():
        one = verbs.add_parser(
            verb.value,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=f"Example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command.reads_request:
            one.add_argument(
                "--request",
                metavar="FILE",
                default="-",
                help="the request as JSON (contract/messages); -: standard input, the default",
            )
        if verb is Verb.KUBE_TOKEN:
            one.add_argument(
                "--tenant-id", default="", help="the cluster's tenant, where it is not the default"
            )
        if command.deadline_option:
            one.add_argument(
                command.deadline_option,
                dest="deadline",
                metavar="SECONDS",
                type=_seconds,
                default=None,
                help="keep trying for that long"
                + ("" if command.deadline_option == "--wait" else " (default: 15 minutes)"),
            )
    return top


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


def _request(options: argparse.Namespace, session: Session, kind: type[M]) -> M:
    """The request, for whose subscription ``session`` signs in.

    Raises BAD_REQUEST with everything that is wrong in it.
    """
    from pydantic import ValidationError

    text = _read(options.request)
    try:
        request = kind.model_validate_json(text)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the document'}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False)
        )
        raise OperationError(
            ExitCode.BAD_REQUEST,
            f"The request of {options.verb} is not a {kind.__name__}.",
            why=faults,
            fix=f"contract/messages describes it; sh operations/run {options.verb} --help",
        ) from error
    session.is_about(request)
    return request


def _read(name: str) -> str:
    if name == "-":
        if sys.stdin.isatty():
            _complain(0, "reading the request as JSON from the terminal; end it with Ctrl-D")
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OperationError(
            ExitCode.BAD_REQUEST, f"Cannot read the request from {name}.", why=str(error)
        ) from error


def _complain(status: int, text: str) -> int:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - for the person at the terminal
    return status


if __name__ == "__main__":
    # A short-lived process that imports many models: collecting them, during the work and at exit,
    # takes longer than the work.
    gc.disable()
    status = main()
    gc.freeze()
    sys.exit(status)
