"""``pyroscope.existing``: a server that is there already, in place of one that the stack runs.

The agent's exporter takes an address, whether to compress, and nothing else: it speaks gRPC without
TLS and without credentials (inspektor-gadget, ``pkg/operators/otel-profiles``), and to the Service
``pyroscope`` on one port. So what can be put behind that name is a server that is spoken to alike,
or a forwarder to another (:mod:`components.pyroscope_forwarder`).
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator

from contract.agent import NAMESPACE, PYROSCOPE_PORT, PYROSCOPE_SERVICE
from infra.settings.section import Described, RuleViolation, Section, Text, refuse
from infra.settings.types import GrafanaUid

_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_DEFAULT_PORTS = {"https": 443}
_RULE = (
    f"http://HOST:{PYROSCOPE_PORT}, another http://HOST:PORT, or https://HOST[:PORT], the address "
    "of a Pyroscope"
)


def _grpc(value: object) -> object:
    """Where a server can be that takes OTLP profiles by gRPC; normalised, with its port."""
    if not isinstance(value, str):
        return value
    try:
        parts = urlsplit(value)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if "@" in parts.netloc:
        raise refuse(
            _RULE,
            "a password in a stack file is read by whoever reads the file, and stays in the state.",
            "write credentials: { secret: NAME }, a Secret that you make in namespace gadget",
        )
    plain = parts.scheme in ("http", "https") and parts.path in ("", "/")
    if not plain or parts.query or parts.fragment:
        raise refuse(_RULE, "no profiles are taken there: OTLP by gRPC has no path.", "write it so")
    if port is None:
        raise refuse(
            _RULE,
            "Pyroscope listens on no usual port of http.",
            f"write the port, e.g. http://{host}:{PYROSCOPE_PORT}",
        )
    if not (_is_address(host) or _HOST.fullmatch(host)):
        raise refuse(
            _RULE,
            "a short name is looked up in the agent's own namespace.",
            "write a name with a domain, e.g. pyroscope.monitoring.svc.cluster.local",
        )
    return f"{parts.scheme}://{host}:{port}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


GrpcUrl = Annotated[
    str, BeforeValidator(_grpc), Described("http://HOST:PORT or https://HOST[:PORT]")
]
SecretName = Annotated[
    str,
    Text(
        pattern=r"(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
        rule="name of a Secret: lower-case letters, digits, `-` and `.`",
        why="Kubernetes knows no other.",
        fix="write e.g. pyroscope-push",
    ),
]
SecretKey = Annotated[
    str,
    Text(
        pattern=r"[-._a-zA-Z0-9]{1,253}",
        rule="key of a Secret: letters, digits, `-`, `_` and `.`",
        why="Kubernetes knows no other.",
        fix="leave it out for `authorization`",
    ),
]


class PushCredentials(Section):
    """What the forwarder signs in with: named, never written."""

    secret: SecretName
    """A Secret in namespace `gadget` that you make and the stack only names. The forwarder waits
    for it to be there."""
    key: SecretKey = "authorization"
    """Key in it, whose value is the whole header `Authorization`: `Basic ...`, or `Bearer ...`."""


class ExistingPyroscope(Section):
    """A Pyroscope that the stack uses and never changes, in place of release, disk and link."""

    url: GrpcUrl
    """Where it takes OTLP profiles by gRPC, as the cluster's pods reach it. The Service `pyroscope`
    in namespace `gadget` leads there: by name, where that is plain http on Pyroscope's usual port;
    else, as the agent speaks no TLS and to that port only, through a forwarder (an OpenTelemetry
    Collector of the agent's version of profiles). Its version must be one that reads the agent's
    profiles (1.15 to 1.19): a preview asks it where it can."""
    credentials: PushCredentials | None = None
    """For pushing, with `https` only; without, it takes profiles from everybody."""
    data_source: GrafanaUid | None = None
    """Uid of a data source of Grafana that shows it already: the dashboard uses it, and the stack
    makes none. Without, the stack makes one with `url`, which Grafana must reach (or with
    `grafana.selfHosted.pyroscopeUrl`)."""

    @property
    def host(self) -> str:
        """Its name, or address."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Its port."""
        return urlsplit(self.url).port or 0

    @property
    def tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.url.startswith("https:")

    @property
    def needs_forwarder(self) -> bool:
        """Whether a name in place of the agents' Service would not do."""
        return self.tls or self.port != PYROSCOPE_PORT or _is_address(self.host)

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The Service does not lead to itself, and credentials go where they are safe and read."""
        if self.credentials is not None and not self.tls:
            yield RuleViolation(
                fields=("credentials", "url"),
                at="credentials",
                rule="only with a `url` of https",
                why="they would go over the network for everybody to read.",
                fix="write the https:// address of the server, or leave `credentials` out",
            )
        if self.credentials is not None and self.data_source is None:
            yield RuleViolation(
                fields=("credentials", "dataSource"),
                at="credentials",
                rule="only with `dataSource`",
                why="the stack makes no data source with credentials, which would be in its state.",
                fix="write the uid of a data source of Grafana that shows this server",
            )
        if re.fullmatch(rf"{PYROSCOPE_SERVICE}\.{NAMESPACE}(\.svc(\.cluster\.local)?)?", self.host):
            yield RuleViolation(
                fields=("url",),
                value=self.url,
                rule="another host than the Service to which the agents push",
                why="that Service is what leads to it.",
                fix="write the server's own name",
            )
