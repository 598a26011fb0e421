"""The kubeconfigs that AKS hands out.

A cluster without Entra ID gives a static token. With Entra ID the user's file has an exec plugin
(kubelogin) and no secret; the admin's file keeps its static token unless local accounts are off.
A kubeconfig in the world's settings (``kubeconfigs: {cluster name: text}``) is given instead: a
real API server then stands for the cluster.
"""

import base64

from simulator.values import JsonObject, as_object, as_text, dig
from simulator.world import Resource, World

NOT_REACHABLE = "https://127.0.0.1:1"
"""The address of a private API server, as far as anybody outside its network can tell."""
AKS_SERVER_APPLICATION = "6dae42f8-4368-4678-94ff-3960e28e3630"


def kubeconfigs(world: World, cluster: Resource, user: str) -> list[JsonObject]:
    """The ``kubeconfigs`` of the answer for ``user`` or ``admin``."""
    replaced = as_text(as_object(world.settings.get("kubeconfigs")).get(cluster.name))
    text = replaced or _text(world, cluster, user)
    name = "clusterUser" if user == "user" else "clusterAdmin"
    return [{"name": name, "value": base64.b64encode(text.encode()).decode()}]


def _text(world: World, cluster: Resource, user: str) -> str:
    name = cluster.name
    group = cluster.id.split("/")[4]
    private = dig(cluster.properties, "apiServerAccessProfile", "enablePrivateCluster") is True
    real = world.clusters[cluster.key].server_url
    server = NOT_REACHABLE if private else real or f"{world.arm_url}/kubernetes/{name}"
    account = f"cluster{user.capitalize()}_{group}_{name}"
    entra = bool(cluster.properties.get("aadProfile")) and user == "user"
    authority = base64.b64encode(world.ca_pem.encode()).decode()
    secret = _KUBELOGIN if entra else f"    token: {world.clusters[cluster.key].tokens[user]}\n"
    return (
        "apiVersion: v1\n"
        "kind: Config\n"
        "clusters:\n"
        f"- name: {name}\n"
        "  cluster:\n"
        f"    certificate-authority-data: {authority}\n"
        f"    server: {server}\n"
        "contexts:\n"
        f"- name: {name}\n"
        "  context:\n"
        f"    cluster: {name}\n"
        f"    user: {account}\n"
        f"current-context: {name}\n"
        "preferences: {}\n"
        "users:\n"
        f"- name: {account}\n"
        "  user:\n" + secret
    )


_KUBELOGIN = (
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1beta1\n"
    "      command: kubelogin\n"
    "      args:\n"
    "      - get-token\n"
    "      - --login\n"
    "      - devicecode\n"
    "      - --server-id\n"
    f"      - {AKS_SERVER_APPLICATION}\n"
    "      installHint: kubelogin is not installed, see https://aka.ms/aks/kubelogin\n"
    "      provideClusterInfo: false\n"
)
