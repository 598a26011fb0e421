"""The rights that a deployment needs: one table, for the README and for what a preview checks.

Actions are those of Azure's published resource provider operations; a right that a person gets in
another way (a custom role, a group of groups) counts by its actions, not by a role's name.

    python -m infra.rights [--check]     # writes the table into README.md
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from contract import azure
from contract.messages.survey import SurveyRequest, WantedRight
from infra.deployed import Own
from infra.settings import Collect, Settings

README: Final = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- rights: python -m infra.rights -->\n", "<!-- end of rights -->\n"


class On(StrEnum):
    """What a right is on, as the README says it."""

    OWN_GROUP = "the resource group of what the stack creates (the cluster's, unless you name one)"
    CLUSTER = "the cluster"
    NODE_GROUP = "the cluster's node resource group"
    LINK_GROUP = "the private link's resource group, where you name one"
    GRAFANA = "the Grafana workspace"
    STORAGE = "the storage account for profiles (its resource group, where the stack makes it)"
    WORKSPACE = "the Azure Monitor workspace"
    SUBSCRIPTION = "the subscription"


@dataclass(frozen=True, kw_only=True)
class Right:
    """One right."""

    role: str
    """The built-in role to ask for."""
    on: On
    purpose: str
    actions: tuple[str, ...] = ()
    """What a preview looks for; empty: another check sees whether it is missing."""
    data_actions: tuple[str, ...] = ()
    needed: Callable[[Settings], bool] = lambda _: True
    makes: tuple[Own, ...] = ()
    """What it is needed to make; once all of it is deployed, a right that is missing only warns."""
    optional: bool = False
    """Whether a deployment goes on without it."""
    where_collected: bool = False
    """Whether it is needed only where this stack's own rule brings the metrics to the workspace."""
    with_azure_rbac: bool = False
    """Whether it is needed only in a cluster that uses Azure RBAC for Kubernetes."""


def _has_pool(settings: Settings) -> bool:
    return settings.gpu_pool.enabled and settings.cluster.existing is not None


def _has_existing_cluster(settings: Settings) -> bool:
    return settings.cluster.existing is not None


def _has_existing_grafana(settings: Settings) -> bool:
    return settings.grafana.existing is not None


def _creates_group(settings: Settings) -> bool:
    group = settings.azure.resource_group
    return group is not None and group.create


def _uses_own_group(settings: Settings) -> bool:
    return not _creates_group(settings)


def _may_collect(settings: Settings) -> bool:
    workspace = settings.prometheus.azure_monitor_workspace
    return workspace is not None and workspace.collect is not Collect.NO


def _alerts(settings: Settings) -> bool:
    return (
        settings.alerts.on
        and settings.prometheus.azure_monitor_workspace is not None
        and _uses_own_group(settings)
    )


def _creates(part: str) -> Callable[[Settings], bool]:
    """Whether the stack makes its own cluster, Grafana or workspace, in a group that exists."""

    def creates(settings: Settings) -> bool:
        workspace = settings.prometheus.azure_monitor_workspace
        made = {
            "cluster": settings.cluster.existing is None,
            "grafana": settings.grafana.create is not None,
            "workspace": workspace is not None and workspace.existing is None,
        }
        return made[part] and _uses_own_group(settings)

    return creates


def _assigns(settings: Settings) -> bool:
    return _creates("grafana")(settings) or _creates("workspace")(settings)


def _assigns_on_grafana(settings: Settings) -> bool:
    return _has_existing_grafana(settings) and bool(settings.grafana.role_assignments)


def _in_blob(settings: Settings) -> bool:
    return settings.pyroscope.storage.blob is not None and _uses_own_group(settings)


def _in_others_blob(settings: Settings) -> bool:
    """Whether the account is in a group that exists: of its own, or of the stack's other things."""
    blob = settings.pyroscope.storage.blob
    return blob is not None and (
        blob.existing is not None or blob.resource_group is not None or _uses_own_group(settings)
    )


def _puts_link_elsewhere(settings: Settings) -> bool:
    """Whether the link goes into a group that exists, and not into the nodes'."""
    group, own = settings.pyroscope.private_link.resource_group, settings.azure.resource_group
    makes_it = own is not None and own.create and own.name.lower() == (group or "").lower()
    return settings.makes_private_link and group is not None and not makes_it


RIGHTS: Final = (
    Right(
        role="Contributor",
        on=On.CLUSTER,
        purpose="the GPU node pool",
        actions=(f"{azure.MANAGED_CLUSTER}/agentPools/write",),
        needed=_has_pool,
        makes=(Own.GPU_POOL,),
    ),
    Right(
        role="Contributor",
        on=On.CLUSTER,
        purpose="the agent, which is an extension",
        actions=(f"{azure.EXTENSION}/write",),
        needed=_has_existing_cluster,
        makes=(Own.EXTENSION,),
    ),
    Right(
        role="Azure Kubernetes Service Cluster User Role",
        on=On.CLUSTER,
        purpose="the kubeconfig for namespace, device plugin and Helm release; Contributor "
        "includes it",
        actions=(f"{azure.MANAGED_CLUSTER}/listClusterUserCredential/action",),
        needed=_has_existing_cluster,
        makes=(Own.NAMESPACE, Own.RELEASE),
    ),
    Right(
        role="Azure Kubernetes Service RBAC Cluster Admin",
        on=On.CLUSTER,
        purpose="the same, where the cluster uses Azure RBAC (with Entra ID alone: `cluster-admin` "
        "in the cluster)",
        data_actions=(f"{azure.MANAGED_CLUSTER}/namespaces/write",),
        needed=_has_existing_cluster,
        makes=(Own.NAMESPACE, Own.RELEASE),
        with_azure_rbac=True,
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="a cluster that the stack creates",
        actions=(f"{azure.MANAGED_CLUSTER}/write",),
        needed=_creates("cluster"),
        makes=(Own.RELEASE,),
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="a Grafana that it creates",
        actions=(f"{azure.GRAFANA}/write",),
        needed=_creates("grafana"),
        makes=(Own.DASHBOARD,),
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="a workspace that it creates",
        actions=(f"{azure.MONITOR_WORKSPACE}/write",),
        needed=_creates("workspace"),
        makes=(Own.COLLECTION_RULE,),
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="collection rules",
        actions=(
            f"{azure.DATA_COLLECTION_ENDPOINT}/write",
            f"{azure.DATA_COLLECTION_RULE}/write",
        ),
        needed=lambda settings: _may_collect(settings) and _uses_own_group(settings),
        makes=(Own.COLLECTION_RULE,),
        where_collected=True,
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="alert rules",
        actions=(f"{azure.RULE_GROUP}/write", f"{azure.ACTION_GROUP}/write"),
        needed=_alerts,
        makes=(Own.DASHBOARD,),
    ),
    Right(
        role="Contributor",
        on=On.OWN_GROUP,
        purpose="Pyroscope's identity, only with `pyroscope.storage.blob`",
        actions=(f"{azure.USER_ASSIGNED_IDENTITY}/write",),
        needed=_in_blob,
        makes=(Own.STORAGE_ROLE,),
    ),
    Right(
        role="Contributor",
        on=On.STORAGE,
        purpose="a storage account that the stack creates",
        actions=(f"{azure.STORAGE_ACCOUNT}/write",),
        needed=lambda settings: (
            settings.pyroscope.storage.makes_account and _in_others_blob(settings)
        ),
        makes=(Own.STORAGE_ACCOUNT,),
    ),
    Right(
        role="Role Based Access Control Administrator",
        on=On.STORAGE,
        purpose="the role of Pyroscope's identity on the container; Owner includes it",
        actions=(f"{azure.ROLE_ASSIGNMENT}/write",),
        needed=_in_others_blob,
        makes=(Own.STORAGE_ROLE,),
    ),
    Right(
        role="Contributor",
        on=On.GRAFANA,
        purpose="the managed private endpoint",
        actions=(f"{azure.GRAFANA}/{azure.MANAGED_ENDPOINTS}/write",),
        needed=lambda settings: _has_existing_grafana(settings) and settings.makes_private_link,
        makes=(Own.PRIVATE_ENDPOINT,),
    ),
    Right(
        role="Grafana Admin",
        on=On.GRAFANA,
        purpose="data sources and dashboard; Owner does not imply it",
    ),
    Right(
        role="Network Contributor",
        on=On.NODE_GROUP,
        purpose="approving the private link's connection",
    ),
    Right(
        role="Role Based Access Control Administrator",
        on=On.LINK_GROUP,
        purpose="Network Contributor for the cluster's identity, where it may not make the link "
        "there yet; Owner includes it",
        actions=(f"{azure.ROLE_ASSIGNMENT}/write",),
        needed=_puts_link_elsewhere,
        makes=(Own.LINK_ROLE,),
    ),
    Right(role="Reader", on=On.WORKSPACE, purpose="where its metrics are queried"),
    Right(
        role="Role Based Access Control Administrator",
        on=On.OWN_GROUP,
        purpose="role assignments, only where the stack creates Grafana or the workspace; Owner "
        "includes it",
        actions=(f"{azure.ROLE_ASSIGNMENT}/write",),
        needed=_assigns,
        makes=(Own.DASHBOARD,),
    ),
    Right(
        role="Role Based Access Control Administrator",
        on=On.GRAFANA,
        purpose="`grafana.roleAssignments`, if you set them; Owner includes it",
        actions=(f"{azure.ROLE_ASSIGNMENT}/write",),
        needed=_assigns_on_grafana,
        makes=(Own.DASHBOARD,),
    ),
    Right(
        role="Contributor",
        on=On.SUBSCRIPTION,
        purpose="the resource group, only where the stack creates it",
        actions=(f"{azure.RESOURCE_GROUP}/write",),
        needed=_creates_group,
        makes=(Own.DASHBOARD,),
    ),
    Right(
        role="Reader",
        on=On.SUBSCRIPTION,
        purpose="the quota of the GPU nodes; without it a preview only warns that it is not known",
        actions=(f"{azure.COMPUTE_LOCATIONS}/usages/read",),
        needed=lambda settings: settings.gpu_pool.enabled,
        makes=(Own.GPU_POOL,),
        optional=True,
    ),
)


def wanted_rights(
    settings: Settings, request: SurveyRequest, group_id: str
) -> tuple[WantedRight, ...]:
    """What a survey is to look for; ``key`` is the row of :data:`RIGHTS`.

    Args:
        settings: the stack's.
        request: has the ids of cluster and Grafana.
        group_id: of the group that the stack's own resources go to.
    """
    scopes = {
        On.CLUSTER: request.cluster_id or "",
        On.GRAFANA: request.grafana_id or "",
        On.STORAGE: _storage_scope(settings, request.storage_account_id or ""),
        On.OWN_GROUP: group_id,
        On.LINK_GROUP: link_group_id(request),
        On.SUBSCRIPTION: f"/subscriptions/{azure.subscription_of(group_id)}",
    }
    return tuple(
        WantedRight(
            key=number,
            scope=scopes[right.on],
            actions=right.actions,
            data_actions=right.data_actions,
        )
        for number, right in enumerate(RIGHTS)
        if (right.actions or right.data_actions) and right.needed(settings)
    )


def link_group_id(request: SurveyRequest) -> str:
    """ARM id of the private link's own group: in the cluster's subscription; empty: none."""
    group = request.private_link_group
    if not group or not request.cluster_id:
        return ""
    return azure.group_id(azure.subscription_of(request.cluster_id), group)


def _storage_scope(settings: Settings, account_id: str) -> str:
    """The account, or the group that it is made in."""
    if settings.pyroscope.storage.makes_account:
        return azure.group_id(azure.subscription_of(account_id), azure.group_of(account_id))
    return account_id


# --- the README ---------------------------------------------------------------------------------


def table() -> Iterator[str]:
    """The lines of the README's table: equal roles on one thing are one row."""
    yield "| right | on | for |"
    yield "|---|---|---|"
    rows: dict[tuple[str, On], list[str]] = {}
    for right in RIGHTS:
        rows.setdefault((right.role, right.on), []).append(right.purpose)
    for (role, on), purposes in rows.items():
        yield f"| {role} | {on.value} | {'; '.join(purposes)} |"


def written(readme: str) -> str:
    """``readme`` with the table as it is now."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return "".join([before, BEGIN, "\n", "\n".join(table()), "\n\n", END, after])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table into the README, or with ``--check`` say whether it is stale."""
    parser = argparse.ArgumentParser(prog="python -m infra.rights")
    parser.add_argument("--check", action="store_true", help="only say whether it is stale")
    given = parser.parse_args(arguments)
    readme = README.read_text(encoding="utf-8")
    if given.check and written(readme) != readme:
        print("README.md: the rights are stale; run: python -m infra.rights")  # noqa: T201
        return 1
    if not given.check:
        README.write_text(written(readme), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
