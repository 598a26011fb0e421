"""Whom Entra ID and Storage let in, as a Pyroscope with workload identity meets them."""

import uuid
from collections.abc import Callable

import pytest

from simulator.arm.roles import STORAGE_BLOB_DATA_CONTRIBUTOR
from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.simulator.azure import CLUSTER, GROUP, Azure, Kubernetes, pyroscope_values

ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/profiles1"
CONTAINER = f"{ACCOUNT}/blobServices/default/containers/profiles"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/id-profiles"
TRUST = f"{IDENTITY}/federatedIdentityCredentials/pyroscope"
ROLE = f"{CONTAINER}/providers/Microsoft.Authorization/roleAssignments/{uuid.UUID(int=1)}"
LOG = "/api/v1/namespaces/gadget/pods/pyroscope-0/log?previous=true"


class World:
    """A cluster whose pods can sign in, an account, and an identity that may use it."""

    def __init__(self, azure: Azure) -> None:
        self.azure = azure
        self.sign_in(enabled=True)
        account = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
        azure.call("PUT", ACCOUNT, {**account, "properties": {}})
        azure.settled(ACCOUNT)
        azure.put(CONTAINER, {"properties": {}})
        self.client = as_text(
            dig(azure.put(IDENTITY, {"location": "westeurope"}), "properties", "clientId")
        )
        self.trust("system:serviceaccount:gadget:pyroscope")
        self.assign()
        azure.advance(600)

    def sign_in(self, *, enabled: bool) -> None:
        """Turn the cluster's workload identity on or off."""
        cluster = self.azure.get(CLUSTER)
        switches = {
            "oidcIssuerProfile": {"enabled": True},
            "securityProfile": {"workloadIdentity": {"enabled": enabled}},
        }
        properties = {**as_object(cluster["properties"]), **switches}
        self.azure.put(CLUSTER, {**cluster, "properties": properties})

    def trust(self, subject: str, issuer: str = "") -> None:
        """Let the identity trust a service account of this cluster, or of another issuer's."""
        found = dig(self.azure.get(CLUSTER), "properties", "oidcIssuerProfile", "issuerURL")
        trusted = {
            "issuer": issuer or found,
            "subject": subject,
            "audiences": ["api://AzureADTokenExchange"],
        }
        self.azure.put(TRUST, {"properties": trusted})

    def assign(self) -> None:
        """Give the identity its role."""
        definitions = f"/subscriptions/{SUBSCRIPTION_ID}/providers/Microsoft.Authorization"
        role = {
            "roleDefinitionId": f"{definitions}/roleDefinitions/{STORAGE_BLOB_DATA_CONTRIBUTOR}",
            "principalId": dig(self.azure.get(IDENTITY), "properties", "principalId"),
            "principalType": "ServicePrincipal",
        }
        self.azure.put(ROLE, {"properties": role})

    def install(self, *, label: str = "true") -> tuple[JsonObject, str]:
        """The release that comes of it, and the log of its pod."""
        kubernetes = Kubernetes(self.azure)
        kubernetes.make_namespace()
        values = as_object(pyroscope_values()["pyroscope"])
        annotations = {"azure.workload.identity/client-id": self.client}
        bucket = {"account_name": "profiles1", "container_name": "profiles"}
        values |= {
            "serviceAccount": {"annotations": annotations},
            "extraLabels": {"azure.workload.identity/use": label},
            "structuredConfig": {"storage": {"backend": "azure", "azure": bucket}},
        }
        release = kubernetes.release({"pyroscope": values})
        return release, kubernetes.call("GET", LOG).text


@pytest.fixture
def world(azure: Azure) -> World:
    return World(azure)


def test_an_identity_with_trust_and_role_gets_in(world: World) -> None:
    release, log = world.install()
    assert release["status"] == "deployed", release
    assert "previous terminated container" in log


FAULTS: dict[str, tuple[Callable[[World], object], str]] = {
    "no role": (lambda world: world.azure.delete(ROLE), "AuthorizationPermissionMismatch"),
    "another service account": (
        lambda world: world.trust("system:serviceaccount:gadget:Pyroscope"),
        "AADSTS700213",
    ),
    "another cluster": (
        lambda world: world.trust("system:serviceaccount:gadget:pyroscope", "https://other/"),
        "AADSTS700211",
    ),
    "no trust": (lambda world: world.azure.delete(TRUST), "AADSTS700211"),
    "no identity": (lambda world: world.azure.delete(IDENTITY), "AADSTS700016"),
    "a firewall": (
        lambda world: world.azure.call(
            "PATCH", ACCOUNT, {"properties": {"networkAcls": {"defaultAction": "Deny"}}}
        ),
        "ERROR CODE: AuthorizationFailure",
    ),
    "no public network": (
        lambda world: world.azure.call(
            "PATCH", ACCOUNT, {"properties": {"publicNetworkAccess": "Disabled"}}
        ),
        "ERROR CODE: AuthorizationFailure",
    ),
    "no account": (lambda world: world.azure.delete(ACCOUNT), "no such host"),
    "a cluster without workload identity": (
        lambda world: world.sign_in(enabled=False),
        "Identity not found",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whoever_is_not_let_in_stops_with_the_services_own_words(world: World, fault: str) -> None:
    make, words = FAULTS[fault]
    make(world)
    release, log = world.install()
    assert release["status"] == "failed"
    assert words in log
    pod = as_objects(
        Kubernetes(world.azure).call("GET", "/api/v1/namespaces/gadget/pods").json()["items"]
    )[0]
    container = as_objects(dig(pod, "status", "containerStatuses"))[0]
    assert words not in str(container), "only the log says why"


def test_a_pod_that_asks_for_no_token_gets_none(world: World) -> None:
    _, log = world.install(label="false")
    assert "Identity not found" in log


def test_a_role_takes_its_time_to_reach_storage_and_the_server_then_starts(world: World) -> None:
    world.azure.delete(ROLE)
    world.assign()
    release, _ = world.install()
    assert release["status"] == "deployed"


def test_a_name_that_somebody_in_azure_has_is_refused(azure: Azure) -> None:
    azure.settings(takenNames=["profiles1"])
    body = {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    refused = azure.call("PUT", ACCOUNT, {**body, "properties": {}})
    assert azure.error(refused) == (409, "StorageAccountAlreadyTaken")


def test_a_container_is_public_only_where_the_account_lets_it(world: World) -> None:
    refused = world.azure.call("PUT", CONTAINER, {"properties": {"publicAccess": "Blob"}})
    assert world.azure.error(refused) == (409, "PublicAccessNotPermitted")


def test_two_credentials_of_one_issuer_and_subject_are_refused(world: World) -> None:
    same = as_object(world.azure.get(TRUST)["properties"])
    refused = world.azure.call("PUT", TRUST + "-2", {"properties": same})
    assert refused.status_code == 409
