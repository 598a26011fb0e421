"""Answers an API server's question whose a bearer token is (authentication.k8s.io/v1 TokenReview).

The tokens are those of the kubeconfigs that AKS hands out, static ones or Microsoft Entra ID's. Who
may use a cluster at all may do everything in it: finer rights (Kubernetes RBAC) are not simulated.
"""

from simulator.http import Request, Response
from simulator.kubernetes.authentication import Refusal, user_of
from simulator.values import JsonObject, as_text, dig
from simulator.world import World


def review(world: World, cluster_name: str, request: Request) -> Response:
    """The reviewed token; ``request`` is the API server's."""
    token = as_text(dig(request.json(), "spec", "token"))
    found = world.cluster_named(cluster_name)
    user = Refusal(401, "the cluster does not exist")
    if found is not None:
        user = user_of(world, found[0], token)
    status: JsonObject = {"authenticated": False}
    if isinstance(user, Refusal):
        status["error"] = user.message
    else:
        groups = ["system:masters", "system:authenticated"]
        status = {"authenticated": True, "user": {"username": user, "groups": groups}}
    kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    return Response(200, {**kind, "status": status})
