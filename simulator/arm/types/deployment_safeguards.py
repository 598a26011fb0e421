"""Deployment Safeguards of a cluster, as ``az aks safeguards`` reads and writes them."""

from simulator.arm import schema
from simulator.arm.errors import ArmError
from simulator.arm.polling import CONTAINER_SERVICE
from simulator.arm.resource_type import Call, ResourceType
from simulator.world import Operation, Resource

SYSTEM_NAMESPACES = ("kube-system", "calico-system", "tigera-system", "gatekeeper-system")


class DeploymentSafeguards(ResourceType):
    """``Microsoft.ContainerService/deploymentSafeguards``, named ``default``, below a cluster.

    Members and long-running form as in the Azure CLI's generated client (2025-07-01). A cluster has
    none until it is made; what its policies refuse is not simulated.
    """

    type = "Microsoft.ContainerService/deploymentSafeguards"
    versions = ("2025-07-01",)
    name_pattern = "default"
    long_running = CONTAINER_SERVICE
    create_seconds = 30
    update_seconds = 30
    delete_seconds = 30
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "level": schema.text("Warn", "Enforce", required=True),
                    "excludedNamespaces": schema.texts(),
                    "podSecurityStandardsLevel": schema.text(
                        "Privileged", "Baseline", "Restricted", default="Privileged"
                    ),
                    **schema.computed("provisioningState", "systemExcludedNamespaces"),
                },
                required=True,
            ),
            **schema.computed("eTag"),
            **schema.ENVELOPE,
        }
    )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """The namespaces that are always left out."""
        new.properties["systemExcludedNamespaces"] = list(SYSTEM_NAMESPACES)

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """In effect."""
        return None
