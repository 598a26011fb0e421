"""``grafana.selfHosted``: a Grafana that is not Azure's, and how the stack gets at it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator

from contract.grafana import TOKEN_VARIABLE, may_carry_a_token
from infra.settings.prometheus import PlainUrl
from infra.settings.section import Described, RuleViolation, Section, Text, refuse


def _token_safe(value: object) -> object:
    """https, or this machine itself."""
    if not isinstance(value, str):
        return value
    try:
        parts = urlsplit(value)
        host, safe = parts.hostname, may_carry_a_token(value)
    except ValueError:
        host, safe, parts = None, False, urlsplit("")
    plain = not ("@" in parts.netloc or parts.query or parts.fragment or " " in value)
    if not host or not safe or not plain:
        raise refuse(
            "the https URL of Grafana, without user name, query or fragment",
            "a token is sent there, and the URL is kept in plain text in the stack's state.",
            "write e.g. https://grafana.example.org; http only for a port-forward, e.g. "
            "http://localhost:3000",
        )
    return value.rstrip("/")


GrafanaUrl = Annotated[
    str, BeforeValidator(_token_safe), Described("the https URL of Grafana; http on this machine")
]
VariableName = Annotated[
    str,
    Text(
        pattern=r"[A-Z_][A-Z0-9_]*",
        rule="the name of an environment variable: capital letters, digits, `_`",
        why="the token itself must not stand in a stack file, nor in the stack's state.",
        fix=f"put the token into the environment, e.g. as {TOKEN_VARIABLE}, and write that name",
    ),
]


class AzureSignIn(StrEnum):
    """As whom a Grafana that is not Azure's signs in to an Azure Monitor workspace."""

    MANAGED_IDENTITY = "managedIdentity"
    WORKLOAD_IDENTITY = "workloadIdentity"


AUTH_TYPES = {
    AzureSignIn.MANAGED_IDENTITY: "msi",
    AzureSignIn.WORKLOAD_IDENTITY: "workloadidentity",
}
"""What Grafana calls them in ``azureCredentials.authType``."""


class SelfHostedGrafana(Section):
    """A Grafana that is not Azure's. The stack makes no private endpoint and assigns no role."""

    url: GrafanaUrl
    """Where Grafana answers, from where you run Pulumi."""
    token_variable: VariableName = TOKEN_VARIABLE
    """Environment variable, wherever you run Pulumi or `python -m gpuobs`, with the token of a
    service account of its: role Admin, or the permissions that a preview names. The token itself is
    kept nowhere."""
    pyroscope_url: PlainUrl | None = None
    """Where this Grafana reaches Pyroscope; default: Pyroscope's address inside the cluster, the
    output `pyroscopeUrl`, for a Grafana that runs in it."""
    azure_sign_in: AzureSignIn | None = None
    """With `prometheus.azureMonitorWorkspace`: as whom this Grafana signs in to Azure, which its
    own configuration must allow, and who needs the role Monitoring Data Reader on the workspace."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The address inside the cluster is no URL of Grafana's."""
        if self.pyroscope_url is not None and self.pyroscope_url.rstrip("/") == self.url:
            yield RuleViolation(
                fields=("pyroscopeUrl", "url"),
                at="pyroscopeUrl",
                value=self.pyroscope_url,
                rule="Pyroscope's URL, not Grafana's",
                why="Grafana would ask itself for profiles.",
                fix="write where Pyroscope answers, or leave it out for the cluster's own address",
            )
