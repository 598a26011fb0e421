"""Blob Storage for profiles: the account, the container, and an identity without a key."""

from dataclasses import replace
from typing import Any

from components.profile_storage import ProfileStorage, ProfileStorageArgs
from contract.azure import container_id, storage_account_id
from contract.messages.base import Verb, command_line
from tests.unit import answers
from tests.unit.recording import Recorded, record

ACCOUNT = "azure-native:storage:StorageAccount"
SOFT_DELETE = "azure-native:storage:BlobServiceProperties"
CONTAINER = "azure-native:storage:BlobContainer"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
TRUST = "azure-native:managedidentity:FederatedIdentityCredential"
ROLE = "azure-native:authorization:RoleAssignment"
COMMAND = "command:local:Command"
ACCOUNT_ID = storage_account_id(answers.SUBSCRIPTION, "rg-dev", "profiles1")
ARGS = ProfileStorageArgs(
    account_id=ACCOUNT_ID,
    account_name="profiles1",
    account_group="rg-dev",
    container_name="profiles",
    identity_name="id-pyroscope",
    identity_group="rg-dev",
    subscription_id=answers.SUBSCRIPTION,
    location="westeurope",
    issuer_url=answers.ISSUER,
    namespace="gadget",
    service_account="pyroscope",
    mark={"gpuobs-stack": "gpuobs gpuobs dev"},
    stays=True,
    tags={"a": "b"},
)


def deploy(**changes: Any) -> Recorded:
    args = replace(ARGS, **changes)
    return record(lambda: ProfileStorage("storage", args), answer_resource=answers.Azure().resource)


def test_a_new_account_is_open_to_identities_alone_and_carries_the_stacks_mark() -> None:
    inputs = deploy().only(ACCOUNT).inputs
    assert inputs["allowSharedKeyAccess"] is False
    assert inputs["allowBlobPublicAccess"] is False
    assert inputs["minimumTlsVersion"] == "TLS1_2"
    assert inputs["enableHttpsTrafficOnly"] is True
    assert inputs["tags"] == {"a": "b", "gpuobs-stack": "gpuobs gpuobs dev"}


def test_what_is_deleted_in_it_can_be_brought_back_for_a_week() -> None:
    inputs = deploy().only(SOFT_DELETE).inputs
    assert inputs["deleteRetentionPolicy"] == {"enabled": True, "days": 7}
    assert inputs["containerDeleteRetentionPolicy"] == {"enabled": True, "days": 7}


def test_the_identity_trusts_one_service_account_and_may_use_one_container() -> None:
    recorded = deploy()
    trust, role = recorded.only(TRUST).inputs, recorded.only(ROLE)
    assert trust["issuer"] == answers.ISSUER
    assert trust["subject"] == "system:serviceaccount:gadget:pyroscope"
    assert trust["audiences"] == ["api://AzureADTokenExchange"]
    assert role.inputs["scope"] == container_id(ACCOUNT_ID, "profiles")
    assert role.inputs["roleDefinitionId"].endswith("ba92f5b4-2d11-453d-a403-e96b0029c9fe")
    assert role.inputs["principalType"] == "ServicePrincipal"
    assert "storage-container" in role.depends_on


def test_who_takes_its_client_id_waits_for_role_and_trust() -> None:
    assert deploy().outputs["storage"] == {
        "accountName": "profiles1",
        "containerName": "profiles",
        "clientId": answers.IDENTITY_CLIENT,
    }


def test_an_account_that_is_there_is_left_alone() -> None:
    recorded = deploy(mark=None, stays=False)
    for kind in (ACCOUNT, SOFT_DELETE, CONTAINER, COMMAND):
        assert recorded.of_type(kind) == []
    assert recorded.only(ROLE).inputs["scope"] == container_id(ACCOUNT_ID, "profiles")


def test_the_end_of_what_stays_names_it() -> None:
    inputs = deploy().only(COMMAND).inputs
    assert inputs["create"] == command_line(Verb.HOLD_PROFILE_STORAGE)
    assert inputs["delete"] == command_line(Verb.LEAVE_PROFILE_STORAGE)
    assert deploy(stays=False).of_type(COMMAND) == []


def test_nothing_in_it_is_a_key() -> None:
    text = str([one.inputs for one in deploy().resources]).lower()
    assert "accountkey" not in text
    assert "connectionstring" not in text


def test_the_type_token_never_changes() -> None:
    assert ProfileStorage.TYPE == "gpuobs:index:ProfileStorage"
