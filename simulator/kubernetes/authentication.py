"""Who a bearer token makes its bearer in a cluster.

The static tokens of AKS's kubeconfigs are cluster administrators. A cluster with Microsoft Entra ID
also takes Entra tokens of AKS's application; with Azure RBAC their owner needs a role on it.
"""

from dataclasses import dataclass

from simulator.arm import roles
from simulator.arm.roles import AKS_RBAC_CLUSTER_ADMIN
from simulator.http import Request
from simulator.identity import KUBERNETES_AUDIENCES, principal_of
from simulator.values import as_object
from simulator.world import World


@dataclass(frozen=True)
class Refusal:
    """Why a token is no good: nobody's (401), or somebody's without a right (403)."""

    status: int
    message: str


def user_of(world: World, cluster_id: str, token: str) -> str | Refusal:
    """The user's name.

    Args:
        world: the world.
        cluster_id: of the cluster, in lower case.
        token: without ``Bearer``.
    """
    cluster, state = world.get(cluster_id), world.clusters.get(cluster_id)
    if cluster is None or state is None:
        return Refusal(401, "Unauthorized")
    for user, known in state.tokens.items():
        if token and token == known:
            return f"cluster{user.capitalize()}"
    entra = as_object(cluster.properties.get("aadProfile"))
    request = Request("GET", "/", headers={"authorization": f"Bearer {token}"})
    principal = principal_of(world, request, KUBERNETES_AUDIENCES) if entra else None
    if principal is None:
        return Refusal(401, "Unauthorized")
    if entra.get("enableAzureRBAC") is True and not roles.holds(
        world, principal, cluster_id, {AKS_RBAC_CLUSTER_ADMIN}
    ):
        return Refusal(
            403,
            f'User "{principal}" cannot access this cluster: User does not have access to the '
            "resource in Azure. Update role assignment to allow access.",
        )
    return principal
