"""``pyroscope.existing``: a server that is there already, in place of one that the stack runs.

The agent's exporter takes an address, whether to compress, and nothing else: it speaks gRPC without
TLS and without credentials (inspektor-gadget, ``pkg/operators/otel-profiles``), and to the Service
``pyroscope`` on one port. So what can be put behind that name is a server that is spoken to alike.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator

from contract.agent import NAMESPACE, PYROSCOPE_PORT, PYROSCOPE_SERVICE
from infra.settings.section import Described, RuleViolation, Section, refuse
from infra.settings.types import GrafanaUid

_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_FORWARDER = (
    "run a forwarder of plain gRPC in the cluster that adds them (nginx: grpc_pass grpcs://...; it "
    f"must pass OTLP profiles on as they are) and write its address, on port {PYROSCOPE_PORT}"
)


def _plain_grpc(value: object) -> object:
    """What the agent can push to, and nothing else."""
    if not isinstance(value, str):
        return value
    try:
        parts = urlsplit(value)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    rule = f"http://HOST:{PYROSCOPE_PORT}, the address of a Pyroscope without TLS and credentials"
    if parts.scheme == "https" or "@" in parts.netloc:
        raise refuse(
            rule,
            "the agent pushes by gRPC without TLS and without credentials, and its exporter has no "
            "setting for either; Grafana Cloud Profiles, for one, wants both.",
            _FORWARDER,
        )
    if parts.scheme != "http" or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise refuse(rule, "the agent finds no server there.", "write it so")
    if port != PYROSCOPE_PORT:
        raise refuse(
            rule,
            f"the agent pushes to port {PYROSCOPE_PORT}; a name leads to a host, not to a port.",
            f"let the server, or a Service or load balancer of it, listen on {PYROSCOPE_PORT}",
        )
    if _is_address(host) or not _HOST.fullmatch(host):
        raise refuse(
            rule,
            "a Kubernetes Service leads to another host by its full name, not by an address.",
            "write a name with a domain, e.g. pyroscope.monitoring.svc.cluster.local",
        )
    return f"http://{host}:{port}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


PlainGrpc = Annotated[
    str,
    BeforeValidator(_plain_grpc),
    Described(f"http://HOST:{PYROSCOPE_PORT}, the host by its full name"),
]


class ExistingPyroscope(Section):
    """A Pyroscope that the stack uses and never changes, in place of release, disk and link."""

    url: PlainGrpc
    """Where it takes OTLP profiles by gRPC without TLS, as the cluster's pods reach it. The Service
    `pyroscope` in namespace `gadget` leads there. Its version must be one that reads the agent's
    profiles (1.15 to 1.19): a preview asks it where it can."""
    data_source: GrafanaUid | None = None
    """Uid of a data source of Grafana that shows it already: the dashboard uses it, and the stack
    makes none. Without, the stack makes one with `url`, which Grafana must reach (or with
    `grafana.selfHosted.pyroscopeUrl`)."""

    @property
    def host(self) -> str:
        """The name that the Service stands for."""
        return urlsplit(self.url).hostname or ""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The Service does not lead to itself."""
        if re.fullmatch(rf"{PYROSCOPE_SERVICE}\.{NAMESPACE}(\.svc(\.cluster\.local)?)?", self.host):
            yield RuleViolation(
                fields=("url",),
                value=self.url,
                rule="another host than the Service to which the agents push",
                why="that Service is what leads to it.",
                fix="write the server's own name",
            )
