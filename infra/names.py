"""Default names of everything the stack creates, derived from the project and the stack.

Two stacks may share a subscription, a Grafana or a resource group, so a default name must differ
between them; and every service has a limit of its own. Each name is the stack's, shortened, plus a
digest of project and stack, which keeps it distinct whatever the shortening took away. A stack file
may set any of them; this module only says what they are where it does not.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import NamedTuple

from contract.messages.private_link import REQUEST_MARK

_DIGEST_CHARACTERS = 8


class StackName(NamedTuple):
    """What names and marks are made from."""

    project: str
    stack: str


@dataclass(frozen=True, kw_only=True)
class Names:
    """Default names, each within its service's limit."""

    private_link: str
    """Private Link Service: at most 80 letters, digits, ``_.-``."""
    private_endpoint: str
    """Grafana's managed private endpoint: 3 to 20 characters."""
    pyroscope_source: str
    """Name and uid of the Pyroscope data source: at most 40 characters."""
    prometheus_source: str
    """Name and uid of the Prometheus data source: at most 40 characters."""
    dashboard: str
    """Uid of the dashboard: at most 40 characters."""
    folder_uid: str
    """Uid of the dashboard's folder: at most 40 characters."""
    cluster: str
    """AKS cluster: at most 63 characters; kept short, as its node resource group repeats it."""
    grafana: str
    """Managed Grafana workspace: 2 to 23 characters, unique in all of Azure."""
    workspace: str
    """Azure Monitor workspace: 4 to 63 letters, digits, hyphens."""
    data_collection_endpoint: str
    """Data collection endpoint: 3 to 44 characters."""
    configuration_endpoint: str
    """Data collection endpoint in the cluster's region, if that is another: 3 to 44 characters."""
    data_collection_rule: str
    """Data collection rule: at most 64 characters."""
    rule_group: str
    """Prometheus rule group of the alerts: at most 80 letters, digits, hyphens."""
    action_group: str
    """Action group of the alerts' e-mails: at most 80 letters, digits, hyphens."""
    storage_account: str
    """Storage account of the profiles: 3 to 24 letters and digits, unique in all of Azure."""
    identity: str
    """Pyroscope's identity: 3 to 128 letters, digits, ``-_``."""
    dns_prefix: str
    """Prefix of the API server's host name: at most 54 letters, digits, hyphens."""
    request_message: str
    """What the private endpoint's request says; the approval looks for it: at most 140."""


def names_for(project: str, stack: str, subscription_id: str = "") -> Names:
    """The default names of ``stack`` in ``project``.

    The names depend on the two alone, except Grafana's and the storage account's: Azure keeps those
    unique over all customers, so ``subscription_id`` goes into their digest.
    """
    digest = _digest(project, stack)
    in_azure = _digest(project, stack, subscription_id.lower())

    def named(role: str, limit: int, digest: str = digest) -> str:
        room = limit - len(role) - len(digest) - 2
        return "-".join(part for part in (role, _slug(stack, room), digest) if part)

    return Names(
        private_link=named("pyroscope", 80),
        private_endpoint=named("p", 20),
        pyroscope_source=named("pyroscope", 40),
        prometheus_source=named("prometheus", 40),
        dashboard=named("gpuobs", 40),
        folder_uid=named("folder", 40),
        cluster=named("aks", 40),
        grafana=named("g", 23, in_azure),
        workspace=named("amw", 63),
        data_collection_endpoint=named("dce", 44),
        configuration_endpoint=named("dce-config", 44),
        data_collection_rule=named("dcr", 64),
        rule_group=named("alerts", 80),
        action_group=named("alerts", 80),
        storage_account=named("gpuobs", 26, in_azure).replace("-", ""),
        identity=named("pyroscope", 80),
        dns_prefix=named("gpuobs", 54),
        request_message=" ".join(
            (REQUEST_MARK, _slug(project, 50) or "project", _slug(stack, 60) or "stack", digest)
        ),
    )


def _digest(*parts: str) -> str:
    # The lengths keep ("a-b", "c") and ("a", "b-c") apart.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _slug(text: str, limit: int) -> str:
    """Lower-case letters, digits and single inner hyphens: what every service accepts."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return plain[:limit].rstrip("-")
