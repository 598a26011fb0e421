"""Section ``cluster``: the AKS cluster to measure, yours or one that the stack creates."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from contract.azure import MANAGED_CLUSTER
from contract.choices import ClusterCredentials
from infra.settings.existing import ExistingResource
from infra.settings.section import Group, RuleViolation, Section, Text, exactly_one, one_required
from infra.settings.types import (
    LABEL_KEY_PATTERN,
    ClusterName,
    KubernetesVersion,
    LabelValue,
    ResourceGroupName,
    SystemNodeCount,
    VmSize,
)

NodeResourceGroupName = Annotated[
    ResourceGroupName,
    Text(
        pattern=r".{1,80}",
        rule="a node resource group's name has at most 80 characters",
        why="AKS refuses the cluster.",
        fix="shorten it, or leave it out for AKS' default",
    ),
]


class SystemPool(Section):
    """The pool of a new cluster's own services."""

    vm_size: VmSize = "Standard_D4s_v5"
    """VM size of the system nodes, which run Pyroscope as well."""
    count: SystemNodeCount = 2
    """How many system nodes the cluster is made with; later `az aks nodepool scale` changes it."""


class ExistingCluster(ExistingResource):
    """An AKS cluster this stack uses and never changes or deletes."""

    TYPE = MANAGED_CLUSTER

    name: ClusterName | None = None
    """Name of the cluster."""
    resource_group: ResourceGroupName | None = None
    """Its resource group (not its node resource group), with `name`."""


class NewCluster(Section):
    """An AKS cluster that the stack creates and deletes."""

    name: ClusterName | None = None
    """Name of the cluster; default: derived from the stack."""
    kubernetes_version: KubernetesVersion | None = None
    """Kubernetes version; default: AKS' own default at creation."""
    node_resource_group: NodeResourceGroupName | None = None
    """Name of the group that AKS creates for the nodes; default: AKS' own (`MC_...`)."""
    system_pool: SystemPool = SystemPool()
    """The pool of the cluster's own services."""


_LABEL_KEY = re.compile(LABEL_KEY_PATTERN)
_OWN_LABEL = re.compile(r"name|app\.kubernetes\.io/.*|azure\.workload\.identity/.*")


class ClusterSettings(Section):
    """The AKS cluster to measure."""

    model_config = one_required("existing", "create")

    existing: ExistingCluster | None = None
    """A cluster that is there already; it stays when the stack goes."""
    create: NewCluster | None = None
    """A cluster that the stack creates, and deletes with all that is in it; `{}` for defaults."""
    credentials: ClusterCredentials = ClusterCredentials.USER
    """Kubeconfig to use: `user` works with and without Entra ID, `admin` needs local accounts."""
    create_namespace: bool = True
    """Create the namespace `gadget` (and delete it last); false: it exists and stays."""
    pod_labels: Mapping[str, LabelValue] = Field(default_factory=dict)
    """Labels for the pods that the stack makes, Pyroscope's and the device plugin's, for a policy
    that demands some; the agent's are Microsoft's (`inspektorGadget.settings`). Pyroscope restarts
    for a change."""

    def named(self, default: str) -> str:
        """Name of the cluster, where the stack file says none ``default``."""
        if self.existing is not None:
            return self.existing.resource_name
        return (self.create.name if self.create is not None else None) or default

    def placed(self, default: Group) -> str | Group:
        """Resource group of the cluster; ``default`` where this stack makes it."""
        return self.existing.group if self.existing is not None else default

    def placed_in(self, default: str) -> str:
        """Subscription of the cluster; ``default`` where the stack file says no other."""
        existing = self.existing.subscription_id if self.existing is not None else None
        return existing or default

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Either an existing cluster or a new one."""
        yield from exactly_one(
            self,
            "existing",
            "create",
            why="the stack must know which cluster it measures, and whether destroying it deletes "
            "the cluster.",
            fix="write `existing: { name: NAME, resourceGroup: GROUP }` or `create: {}`",
        )
        for key in sorted(key for key in self.pod_labels if not _LABEL_KEY.fullmatch(key)):
            yield RuleViolation(
                fields=("podLabels",),
                value=key,
                rule="a Kubernetes label's key: an optional prefix and `/`, at most 63 letters, "
                "digits, `-_.`",
                why="Kubernetes refuses the pods.",
                fix="write another key",
            )
        for key in sorted(key for key in self.pod_labels if _OWN_LABEL.fullmatch(key)):
            yield RuleViolation(
                fields=("podLabels",),
                value=key,
                rule="not a label by which pods are found: `name`, `app.kubernetes.io/...` or "
                "`azure.workload.identity/...`",
                why="Services and controllers would no longer find their pods.",
                fix="leave it out, or choose another key",
            )
        if self.create is not None and not self.create_namespace:
            yield RuleViolation(
                fields=("create", "createNamespace"),
                at="createNamespace",
                value=False,
                rule="must be true on a cluster that the stack creates",
                why="nobody else could have created the namespace before, and Pyroscope's install "
                "would fail.",
                fix="leave `createNamespace` out",
            )
