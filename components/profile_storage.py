"""Where profiles outlive every disk: a container in Azure Blob Storage, and who may write to it.

Pyroscope signs in by workload identity: a user-assigned identity that trusts one service account of
the cluster, and may read and write one container. There is no key anywhere. The storage account is
made here, or is there and never changed: somebody's own, or one that this stack kept before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import authorization, managedidentity, storage

from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.operation import operation
from components.role_assignment import role_assignment
from contract.azure import Role, container_id
from contract.choices import Redundancy
from contract.messages.base import Verb
from contract.messages.storage import KeptStorageRequest

SOFT_DELETE_DAYS = 7
"""For how long a deleted blob or container can be brought back; it is paid for as long."""
TOKEN_EXCHANGE_AUDIENCE = "api://AzureADTokenExchange"  # noqa: S105
"""Of the tokens that AKS gives to pods (workload identity's documentation)."""


@dataclass(frozen=True, kw_only=True)
class ProfileStorageArgs:
    """The container, and the service account that may use it."""

    account_id: str
    """ARM id that the storage account has, or will have."""
    account_name: str
    account_group: pulumi.Input[str]
    container_name: str
    identity_name: str
    identity_group: pulumi.Input[str]
    subscription_id: str
    """Of all of them."""
    location: str
    issuer_url: pulumi.Input[str]
    """The cluster's OIDC issuer."""
    namespace: str
    service_account: str
    mark: Mapping[str, str] | None = None
    """The tag by which the stack finds the account that it makes; None: account and container are
    there already."""
    redundancy: Redundancy = Redundancy.LRS
    stays: bool = False
    """Whether the account is this stack's, and stays when the stack goes: its end names it."""
    tags: Mapping[str, str] | None = None
    account_args: FurtherArgs | None = None
    """Further arguments of the ``storage.StorageAccount``, where one is made."""


class ProfileStorage(pulumi.ComponentResource):
    """A blob container for profiles, with an identity for the server that writes them."""

    TYPE = "gpuobs:index:ProfileStorage"

    account_name: pulumi.Output[str]
    container_name: pulumi.Output[str]
    client_id: pulumi.Output[str]
    """Of the identity; known once it has its role and trusts the service account."""

    def __init__(
        self, name: str, args: ProfileStorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args), opts)
        scope = pulumi.Output.from_input(container_id(args.account_id, args.container_name))
        if args.mark is not None:
            scope = known_once(_container(self, name, args, args.mark), scope)
        identity = managedidentity.UserAssignedIdentity(
            f"{name}-identity",
            resource_name_=args.identity_name,
            resource_group_name=args.identity_group,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        trust = managedidentity.FederatedIdentityCredential(
            f"{name}-trust",
            federated_identity_credential_resource_name=args.service_account,
            # From the id: another identity needs another credential.
            resource_name_=known_once(identity, args.identity_name),
            resource_group_name=args.identity_group,
            issuer=args.issuer_url,
            subject=f"system:serviceaccount:{args.namespace}:{args.service_account}",
            audiences=[TOKEN_EXCHANGE_AUDIENCE],
            opts=pulumi.ResourceOptions(parent=self),
        )
        role = _role(self, name, args, scope, identity)
        self.client_id = pulumi.Output.all(identity.client_id, trust.id, role.id).apply(
            lambda known: str(known[0])
        )
        if args.stays:
            operation(
                f"{name}-kept",
                Verb.HOLD_PROFILE_STORAGE,
                KeptStorageRequest(
                    account_id=args.account_id, container=args.container_name
                ).to_json(),
                delete=Verb.LEAVE_PROFILE_STORAGE,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[role]),
            )
        self.account_name = pulumi.Output.from_input(args.account_name)
        self.container_name = pulumi.Output.from_input(args.container_name)
        self.register_outputs(
            {
                "accountName": self.account_name,
                "containerName": self.container_name,
                "clientId": self.client_id,
            }
        )


def known_once(made: pulumi.CustomResource, value: pulumi.Input[str]) -> pulumi.Output[str]:
    """``value``, unknown exactly as long as ``made`` is."""
    return pulumi.Output.all(made.id, value).apply(lambda known: str(known[1]))


def _container(
    parent: ProfileStorage, name: str, args: ProfileStorageArgs, mark: Mapping[str, str]
) -> storage.BlobContainer:
    """The account, its soft delete, and the container in it."""
    account = storage.StorageAccount(
        f"{name}-account",
        account_name=args.account_name,
        resource_group_name=args.account_group,
        location=args.location,
        kind=storage.Kind.STORAGE_V2,
        sku={"name": f"Standard_{args.redundancy.value}"},
        # Profiles name functions and workloads: only identities with a role get at them.
        allow_shared_key_access=False,
        default_to_o_auth_authentication=True,
        allow_blob_public_access=False,
        allow_cross_tenant_replication=False,
        enable_https_traffic_only=True,
        minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,
        tags={**(args.tags or {}), **mark},
        opts=pulumi.ResourceOptions(
            parent=parent,
            transformations=adding("account_args", args.account_args),
            retain_on_delete=args.stays,
        ),
    )
    inside = pulumi.ResourceOptions(
        parent=parent,
        # The account's deletion takes along what is in it.
        deleted_with=account,
        retain_on_delete=args.stays,
    )
    account_name = known_once(account, args.account_name)
    kept: storage.DeleteRetentionPolicyArgsDict = {"enabled": True, "days": SOFT_DELETE_DAYS}
    storage.BlobServiceProperties(
        f"{name}-soft-delete",
        blob_services_name="default",
        account_name=account_name,
        resource_group_name=args.account_group,
        delete_retention_policy=kept,
        container_delete_retention_policy=kept,
        opts=inside,
    )
    return storage.BlobContainer(
        f"{name}-container",
        container_name=args.container_name,
        account_name=account_name,
        resource_group_name=args.account_group,
        public_access=storage.PublicAccess.NONE,
        opts=inside,
    )


def _role(
    parent: ProfileStorage,
    name: str,
    args: ProfileStorageArgs,
    scope: pulumi.Output[str],
    identity: managedidentity.UserAssignedIdentity,
) -> authorization.RoleAssignment:
    return role_assignment(
        f"{name}-role",
        Role.STORAGE_BLOB_DATA_CONTRIBUTOR,
        scope,
        identity.principal_id,
        subscription_id=args.subscription_id,
        opts=pulumi.ResourceOptions(
            parent=parent,
            # The server writes what it still holds where it was, before it is sent elsewhere.
            delete_before_replace=False,
        ),
    )
