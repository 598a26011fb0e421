"""The command lines that messages ask people to run, all made here.

Each is one that bash and zsh take as it stands: every word is quoted that needs it. What the reader
must fill in is a word in capitals. Lines of ``az`` use no extension of the Azure CLI, and none
names a host: ``az rest`` with a path asks Resource Manager of the cloud in use. What is done inside
a cluster goes through ``az aks command invoke``, so neither kubectl nor Helm nor a kubeconfig is
needed.
"""

import shlex

from contract.azure import group_of, name_of, subscription_of


def line(*words: str) -> str:
    """The command of these words."""
    return shlex.join(words)


def named(resource_id: str) -> tuple[str, ...]:
    """The options that name a resource to ``az``."""
    return ("--name", name_of(resource_id), *placed(resource_id))


def placed(resource_id: str) -> tuple[str, ...]:
    """The options that say to ``az`` where a resource is."""
    group, subscription = group_of(resource_id), subscription_of(resource_id)
    return ("--resource-group", group, "--subscription", subscription)


def pools_of(cluster_id: str) -> tuple[str, ...]:
    """The options that name to ``az`` the cluster whose pools a command is about."""
    return ("--cluster-name", name_of(cluster_id), *placed(cluster_id))


def in_cluster(cluster_id: str, *words: str) -> str:
    """The line that runs a command inside a cluster."""
    return line("az", "aks", "command", "invoke", *named(cluster_id), "--command", line(*words))


def delete_resource(resource_id: str, api_version: str) -> str:
    """The line that deletes a resource."""
    return line("az", "resource", "delete", "--ids", resource_id, "--api-version", api_version)


def delete_lock(lock_id: str) -> str:
    """The line that takes a management lock away."""
    return line("az", "lock", "delete", "--ids", lock_id)


def assign_role(*, role: str, assignee: str, kind: str, scope: str) -> str:
    """The line that gives a role, by its name, to the principal ``assignee`` of ``kind``."""
    principal = ("--assignee-object-id", assignee, "--assignee-principal-type", kind)
    return line("az", "role", "assignment", "create", "--role", role, *principal, "--scope", scope)


def delete_storage_account(account_id: str) -> str:
    """The line that deletes a storage account and all that is in it."""
    return line("az", "storage", "account", "delete", *named(account_id), "--yes")


def make_container(account_id: str, name: str) -> str:
    """The line that makes a blob container; it asks Resource Manager, not the account."""
    account = ("--storage-account", name_of(account_id), *placed(account_id))
    return line("az", "storage", "container-rm", "create", "--name", name, *account)


def register_provider(namespace: str, subscription: str) -> str:
    """The line that registers a resource provider, and waits until it is."""
    words = ("--namespace", namespace, "--subscription", subscription, "--wait")
    return line("az", "provider", "register", *words)


def show_resource(resource_id: str) -> str:
    """The line that shows a resource."""
    return line("az", "resource", "show", "--ids", resource_id)


def open_to_public_networks(grafana_id: str) -> str:
    """The line that lets a Grafana workspace answer in public networks."""
    change = ("--set", "properties.publicNetworkAccess=Enabled")
    return line("az", "resource", "update", "--ids", grafana_id, *change)
