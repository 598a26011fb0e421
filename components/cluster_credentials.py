"""The kubeconfig of a cluster, as Azure hands it out to whoever deploys.

Where Azure does not, or hands out something else, a sentence says why: the SDK's own end of a call
that failed is a hundred lines of traceback.
"""

from importlib.metadata import version
from typing import cast

import pulumi
from pulumi.runtime import invoke_async

from components.kubeconfig import portable
from contract.choices import ClusterCredentials
from contract.json import as_objects, as_text, is_object

KUBECONFIG_FORMAT = "exec"
"""Entra credentials as a program to call; current Kubernetes clients know no other form."""

_FUNCTIONS = {
    ClusterCredentials.USER: "listManagedClusterUserCredentials",
    ClusterCredentials.ADMIN: "listManagedClusterAdminCredentials",
}
_SHOWN_CHARACTERS = 500
"""Of what the provider says, which may hold a whole page."""


def kubeconfig_of(
    parent: pulumi.Resource,
    cluster_name: pulumi.Output[str],
    resource_group_name: pulumi.Input[str],
    credentials: ClusterCredentials,
) -> pulumi.Output[str]:
    """The kubeconfig, a secret; unknown while ``cluster_name`` is: until the cluster is made.

    What fails is raised as RunError, which the engine shows without a traceback.
    """

    async def read(names: list[str]) -> str:
        group, cluster = names
        try:
            found = await _asked(parent, cluster, group, credentials)
        # The SDK raises a plain Exception for an invoke that failed.
        except Exception as error:
            said = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
            raise _unusable(cluster, credentials, said) from None
        entries = as_objects(found.get("kubeconfigs")) if is_object(found) else []
        encoded = as_text(entries[0].get("value")) if entries else ""
        try:
            return portable(encoded)
        except ValueError as error:
            raise _unusable(cluster, credentials, str(error)) from None

    # azure-native does not mark its answer as secret.
    names = pulumi.Output.all(resource_group_name, cluster_name)
    return pulumi.Output.secret(names.apply(read))


async def _asked(
    parent: pulumi.Resource, cluster: str, group: str, credentials: ClusterCredentials
) -> object:
    arguments = {"resourceGroupName": group, "resourceName": cluster}
    if credentials is ClusterCredentials.USER:
        arguments["format"] = KUBECONFIG_FORMAT
    options = pulumi.InvokeOptions(parent=parent, version=version("pulumi-azure-native"))
    function = f"azure-native:containerservice:{_FUNCTIONS[credentials]}"
    return cast("object", await invoke_async(function, arguments, options))


def _unusable(cluster: str, credentials: ClusterCredentials, why: str) -> pulumi.RunError:
    role = "Azure Kubernetes Service Cluster User Role"
    fix = f"your identity needs the role {role!r} on the cluster"
    if credentials is ClusterCredentials.ADMIN:
        fix = "`credentials: admin` needs local accounts and Contributor; `user` needs neither"
    return pulumi.RunError(
        f"The kubeconfig of cluster {cluster} cannot be used.\n  why: {why}\n  fix: {fix}"
    )
