"""Azure Blob Storage and Entra ID as a pod with workload identity meets them: let in, or why not.

The way of Pyroscope's Azure client (``pkg/objstore/providers/azure``, ``azidentity``'s default
chain): a token of the service account, which AKS's webhook puts into pods that ask for it, is
exchanged for one of the identity that the service account names; with that it reads the properties
of the container, and makes a missing one. Codes and sentences are Entra's (AADSTS700016, 700211,
700213) and Storage's ("Common REST API error codes", ``AuthorizationFailure`` for a firewall,
``AuthorizationPermissionMismatch`` for a missing role).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from simulator.arm import roles
from simulator.arm.types.managed_identity import CREDENTIALS, IDENTITIES
from simulator.arm.types.storage import ACCOUNTS, CONTAINERS, is_open
from simulator.values import as_text, dig, texts
from simulator.world import Resource, World

TOKEN_EXCHANGE: Final = "api://AzureADTokenExchange"  # noqa: S105
UNIDENTIFIED: Final = (
    "DefaultAzureCredential: failed to acquire a token. WorkloadIdentityCredential: no client ID "
    "specified. Check pod configuration or set ClientID in the options; ManagedIdentityCredential: "
    "failed to authenticate a system assigned identity: Identity not found"
)


@dataclass(frozen=True)
class Pod:
    """What matters of a pod that wants into Storage."""

    cluster_id: str
    service_account: str
    """``namespace:name``."""
    asks_for_token: bool
    """Whether it has the label of the webhook."""
    client_id: str
    """What its service account names; may be empty."""


def refused(world: World, pod: Pod, account: str, container: str) -> str:
    """Why a pod does not get at a container; empty if it does."""
    return next(_reasons(world, pod, account, container), "")


def _reasons(world: World, pod: Pod, account: str, container: str) -> Iterator[str]:
    cluster = world.get(pod.cluster_id)
    properties = cluster.properties if cluster else {}
    on = dig(properties, "securityProfile", "workloadIdentity", "enabled") is True
    if not on or not pod.asks_for_token or not pod.client_id:
        yield UNIDENTIFIED
        return
    issuer = as_text(dig(properties, "oidcIssuerProfile", "issuerURL"))
    identity = _identity(world, pod.client_id)
    if identity is None:
        yield (
            f"AADSTS700016: Application with identifier '{pod.client_id}' was not found in the "
            "directory."
        )
        return
    yield from _not_trusted(world, identity, issuer, pod.service_account)
    yield from _not_let_in(world, identity, account, container)


def _identity(world: World, client_id: str) -> Resource | None:
    found = world.of_type(IDENTITIES)
    return next((one for one in found if one.properties.get("clientId") == client_id), None)


def _not_trusted(
    world: World, identity: Resource, issuer: str, service_account: str
) -> Iterator[str]:
    subject = f"system:serviceaccount:{service_account}"
    trusted = [
        one.properties
        for one in world.of_type(CREDENTIALS)
        if one.key.startswith(identity.key + "/")
        and TOKEN_EXCHANGE in texts(one.properties.get("audiences"))
    ]
    check = (
        "Check your federated identity credential Subject, Audience and Issuer against the "
        "presented assertion."
    )
    if not any(one.get("issuer") == issuer for one in trusted):
        yield (
            "AADSTS700211: No matching federated identity record found for presented assertion "
            f"issuer '{issuer}'. {check}"
        )
    elif not any((one.get("issuer"), one.get("subject")) == (issuer, subject) for one in trusted):
        yield (
            "AADSTS700213: No matching federated identity record found for presented assertion "
            f"subject '{subject}'. {check}"
        )


def _not_let_in(world: World, identity: Resource, account: str, container: str) -> Iterator[str]:
    found = next((one for one in world.of_type(ACCOUNTS) if one.name == account), None)
    if found is None:
        yield f"dial tcp: lookup {account}.blob.core.windows.net: no such host"
        return
    if not is_open(found):
        yield (
            "RESPONSE 403: 403 This request is not authorized to perform this operation. ERROR "
            "CODE: AuthorizationFailure"
        )
    scope = container_id(found, container)
    principal = as_text(identity.properties.get("principalId"))
    if not roles.holds(world, principal, scope, {roles.STORAGE_BLOB_DATA_CONTRIBUTOR}):
        yield (
            "RESPONSE 403: 403 This request is not authorized to perform this operation using this "
            "permission. ERROR CODE: AuthorizationPermissionMismatch"
        )
    if world.get(scope) is None:
        world.put(Resource(scope, CONTAINERS, {"properties": {"publicAccess": "None"}}))


def container_id(account: Resource, name: str) -> str:
    """ARM id of a container."""
    return f"{account.id}/blobServices/default/containers/{name}"
