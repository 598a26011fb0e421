"""From the settings of a stack to the arguments of its Blob Storage for profiles.

A module of its own, as the SDK's modules that the component imports take their time: it is imported
where a stack has Blob Storage.
"""

import pulumi

from components.aks_cluster import AksCluster
from components.profile_storage import ProfileStorageArgs
from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.azure import STACK_TAG, STORAGE_ACCOUNT, ResourceId
from contract.choices import OnDestroy, Redundancy
from infra.preflight.request import container_name
from infra.settings import service_account
from infra.stack import Stack


def arguments(
    stack: Stack, group: pulumi.Input[str], aks: AksCluster, account_id: str
) -> ProfileStorageArgs:
    """Blob Storage for profiles, in the account of this ARM id."""
    settings, storage = stack.settings.pyroscope, stack.settings.pyroscope.storage
    account = ResourceId.parse(account_id, STORAGE_ACCOUNT)
    makes = storage.makes_account and not stack.existing.storage_kept
    elsewhere = account.resource_group.lower() != stack.resource_group.lower()
    found = stack.existing.cluster
    return ProfileStorageArgs(
        account_id=account_id,
        account_name=account.name,
        account_group=account.resource_group if elsewhere else group,
        container_name=container_name(storage),
        identity_name=stack.names.identity,
        identity_group=group,
        subscription_id=account.subscription,
        location=stack.existing.location,
        issuer_url=aks.issuer_url or (found.issuer_url if found else ""),
        namespace=NAMESPACE,
        service_account=service_account(settings.values, PYROSCOPE_SERVICE),
        mark={STACK_TAG: stack.names.request_message} if makes else None,
        redundancy=(storage.blob and storage.blob.redundancy) or Redundancy.LRS,
        stays=storage.makes_account
        and (stack.existing.storage_kept or storage.on_destroy is OnDestroy.KEEP),
        tags=stack.tags,
    )
